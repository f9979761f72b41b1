"""The values that a host function returns to Python: the numbers it computed, in the structure it gave them.

A dynamic number is stored in a slot of the argument block after the arguments, and read from there after each call, so
a compiled function returns new values each time. Numbers come back as Python numbers; everything static as it is; a
pointer as `make_ptr` makes one. Objects in the function's own memory (a tensor, a fragment) cannot leave it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from dsl.core import pytree, trace
from dsl.core.errors import DSLUserCodeTypeError, warn_not_portable
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Boolean, Float32, Float64, Int8, Int16, Int32, Int64, Numeric, Uint64, is_dynamic
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.launch.argument.runtime_pointer import RuntimePointer

_BY_TYPE = {"i1": Boolean, "i8": Int8, "i16": Int16, "i32": Int32, "i64": Int64, "f32": Float32, "f64": Float64}


@dataclass(frozen=True)
class _Slot:
    """A leaf that a call brings: the type it is stored as, and the pointer it is, or None for a number."""

    stored: type[Numeric]
    pointer: Pointer | None = None

    def python(self, raw: bytes | memoryview) -> Any:
        letter = self.stored.format
        number = struct.unpack_from(f"<{letter}", raw)[0]
        if self.pointer is None:
            return number
        return RuntimePointer(self.pointer.dtype, number, self.pointer.space, self.pointer.alignment_bytes)


@dataclass(frozen=True)
class _Plain:
    """A Python number where an object's `__new_from_mlir_values__` is given its values."""

    number: Any

    def ir(self) -> Any:
        return self.number


@dataclass(frozen=True)
class Result:
    """The returned value's structure, and for each leaf a slot or the static Python number."""

    like: Any
    node: pytree.Node
    leaves: tuple

    @property
    def slots(self) -> int:
        """How many slots a call fills."""
        return sum(isinstance(leaf, _Slot) for leaf in self.leaves)

    def of_call(self, block: bytes | memoryview) -> Any:
        """The value that a call left in its slots, `block` being their bytes."""
        leaves, at = [], 0
        for leaf in self.leaves:
            if isinstance(leaf, _Slot):
                leaf = leaf.python(block[at : at + trace.SLOT_BYTES])
                at += trace.SLOT_BYTES
            leaves.append(leaf)
        return pytree.unflatten(_with_plain(self.node, leaves), iter(leaves), self.like)


def _with_plain(node: pytree.Node, leaves: list) -> pytree.Node:
    """`node` with the leaves of objects wrapped that have their own protocol."""
    position = 0

    def walk(part: pytree.Node) -> None:
        nonlocal position
        if part.kind == "leaf":
            position += 1
        elif part.kind == "protocol":
            for _ in part.children:
                leaves[position] = _Plain(leaves[position])
                position += 1
        else:
            for child in part.children:
                walk(child)

    walk(node)
    return node


def store(function: str, returned: Any) -> Result | Any:
    """Trace the stores of what host function `function` returns. A static value is returned as it is.

    Raises DSLUserCodeTypeError for what cannot leave the function.
    """
    leaves, node = pytree.flatten(returned, promote=False)
    if not leaves:
        return returned
    _refuse_memory(function, node)
    host, values = trace.host(), []
    assert host.entry is not None  # it is being traced
    for leaf in leaves:
        if isinstance(leaf, Numeric) and not is_dynamic(leaf):
            values.append(leaf.value)
            continue
        slot, value = _slot_of(function, leaf)
        number = trace.out_slot(host.slots, sum(isinstance(part, _Slot) for part in values))
        address = mlir.gep(host.entry.arguments[0], mlir.i64, number)
        Pointer(slot.stored, address, AddressSpace.generic, trace.SLOT_BYTES).store(value)
        values.append(slot)
    return Result(returned, node, tuple(values))


def warn_of_numbers(function: str, result: Any) -> None:
    """Warn that a call returns a result, at the place where the author returns it; once a place."""
    if isinstance(result, Result) and result.slots:
        warn_not_portable(
            f"`{function}` returns what it computes to Python",
            fix="write it into a tensor",
            does="gives back no number",
        )


def _refuse_memory(function: str, node: pytree.Node) -> None:
    if node.kind == "object" and any(child.kind == "leaf" and isinstance(child.key, tuple) for child in node.children):
        name = node.key[0].__name__
        raise DSLUserCodeTypeError(
            f"`{function}` returns a {name} to Python, but its memory ends with the function",
            fix="write into a tensor that is an argument, and return numbers",
        )
    for child in node.children:
        _refuse_memory(function, child)


def _slot_of(function: str, leaf: Any) -> tuple[_Slot, Any]:
    """How a leaf is stored, and the value to store."""
    if isinstance(leaf, Pointer):
        if leaf.space not in (AddressSpace.generic, AddressSpace.gmem):
            raise DSLUserCodeTypeError(
                f"`{function}` returns a pointer into {leaf.space.name} memory to Python, where it is not valid",
                fix="return numbers",
            )
        return _Slot(Uint64, leaf), Uint64(leaf.toint())
    if isinstance(leaf, pytree.RawValue):
        dtype = _BY_TYPE.get(str(leaf.value.type))
        if dtype is None:
            raise DSLUserCodeTypeError(
                f"`{function}` returns an object made of a {leaf.value.type} to Python", fix="return its numbers"
            )
        return _Slot(dtype), dtype(leaf.value)
    dtype = type(leaf)
    if dtype.width > 64:
        raise DSLUserCodeTypeError(
            f"`{function}` returns an {type_name(leaf)} to Python, which has no way back",
            fix="return its two halves as Int64",
        )
    stored = (
        dtype
        if dtype in (Boolean, Float64) or (dtype.is_integer and dtype.format)
        else Float32
        if dtype.is_float
        else Int32
    )
    return _Slot(stored), stored(leaf)
