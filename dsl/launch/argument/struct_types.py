"""C structs as parts of an argument: `!llvm.struct<(ptr, i32, ...)>`; each member is a separate slot.

A member is at the next multiple of its size, a struct at a multiple of the size of its greatest member, as in C.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from dsl.core import trace
from dsl.core.ir import mlir
from dsl.layout.int_tuple import round_up

LETTERS = {str(type_): letter for letter, type_ in trace.SLOT_TYPES.items()} | {
    "i1": "?",
    "bf16": "H",
    "!llvm.ptr": "P",
}


class Member(NamedTuple):
    """A number or pointer in a struct, or the whole value: its type, where it lies, and its indices in the structs."""

    type: str
    offset_bytes: int
    path: tuple[int, ...]

    @property
    def letter(self) -> str:
        return LETTERS[self.type]


class NoSlot(Exception):
    """A type that no slot has; its text."""


def members(type_: Any) -> list[Member]:
    """The numbers and pointers that a type is made of. Raises NoSlot."""
    return list(_members(type_, 0, ()))


def _members(type_: Any, offset_bytes: int, path: tuple[int, ...]) -> Iterator[Member]:
    if str(type_) in LETTERS:
        yield Member(str(type_), offset_bytes, path)
        return
    for index, part in enumerate(_body(type_)):
        offset_bytes = round_up(offset_bytes, _extent(part)[1])
        yield from _members(part, offset_bytes, (*path, index))
        offset_bytes += _extent(part)[0]


def _body(type_: Any) -> list[Any]:
    if not isinstance(type_, mlir.ir.Type) or not str(type_).startswith("!llvm.struct<("):
        raise NoSlot(str(type_))
    return list(type_.body)


def _extent(type_: Any) -> tuple[int, int]:
    """Size and alignment in bytes."""
    if str(type_) in LETTERS:
        size = struct.calcsize(LETTERS[str(type_)])
        return size, size
    size, alignment = 0, 1
    for part in _body(type_):
        part_size, part_alignment = _extent(part)
        size, alignment = round_up(size, part_alignment) + part_size, max(alignment, part_alignment)
    return round_up(size, alignment), alignment


def assembled(type_: str, values: Iterator[mlir.Value]) -> mlir.Value:
    """The value of a type, of the next of `values`, one a member."""
    if type_ == "i1":
        return mlir.result("arith.trunci", mlir.i1, next(values))
    if type_ == "bf16":
        return mlir.result("arith.bitcast", mlir.bf16, next(values))
    if type_ == "!llvm.ptr":
        return mlir.result("llvm.addrspacecast", mlir.ptr(), next(values))
    if type_ in LETTERS:
        return next(values)
    parsed = mlir.ir.Type.parse(type_, mlir.context)
    whole = mlir.result("llvm.mlir.undef", parsed)
    for member in members(parsed):
        position = mlir.ir.DenseI64ArrayAttr.get(list(member.path), mlir.context)
        whole = mlir.result("llvm.insertvalue", parsed, whole, assembled(member.type, values), position=position)
    return whole
