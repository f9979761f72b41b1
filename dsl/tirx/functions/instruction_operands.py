"""The operands of a PTX instruction that T.ptx names: which arguments they take, and how they are written.

The instruction table has the operands of each form (emulator/ir/operand_grammar.py). An argument is a number, an
address, or a constant; several in braces, such as `{a, b}`, are several arguments. Destinations come
first, as in PTX: `T.ptx.add.rn.f32(d, a, b)`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dsl.core.ir import mlir
from dsl.core.number import dtypes
from dsl.core.number.dtypes import Boolean, Numeric, is_dynamic, numeric
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.emulator.families import table
from dsl.emulator.ir import operand_grammar
from dsl.emulator.ir.needs import Need
from dsl.emulator.ptx.syntax import TYPE_BITS
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.functions.instruction_arguments import Moved, Predicate
from dsl.tirx.memory.buffer import Buffer
from dsl.tirx.values import dtypes as names
from dsl.tirx.values.promotion import literal_value

SPACES = ("shared::cta", "shared::cluster", "shared", "global", "local", "const")
WRITES, READS, ADDRESS, POINTER, TENSOR, CONSTANT = "writes", "reads", "address", "pointer", "tensor", "constant"
_PAIRED = frozenset({"setp", "shfl", "match", "elect", "lop3"})  # may write a second result, a predicate: d|p
# Operands that the table leaves to emitters, by opcode; of mov for each width of the whole and of its parts.
_OWN = {
    "mov": "=1 %1",
    "elect": "=u32 u32",
    "cvta": "=1 1",
    "isspacep": "=pred u64",
    "bar": "=1 u32 pred | =1 u32 u32 pred",
    "cp": "[] [] n | [] [] n u32 | [] [] n pred | [] [] n u64@L2::cache_hint | [] [] n u32 u64@L2::cache_hint | "
    "[] [] n pred u64@L2::cache_hint",
}
_PARTS = {"b32": ("b16",), "b64": ("b32", "b16")}


class Mismatch(Exception):
    """Arguments that do not fit the operands: the number of the first one that does not, the message and a fix."""

    def __init__(self, place: int, message: str, fix: str):
        super().__init__(message)
        self.place, self.message, self.fix = place, message, fix


@dataclass(frozen=True)
class Slot:
    """One operand: `count` arguments of `type`, in braces where `in_braces`; `paired`: with a predicate, `d|p`; `sunk`:
    the sink `_` without an argument."""

    kind: str
    type: str = ""
    count: int = 1
    in_braces: bool = False
    paired: bool = False
    sunk: bool = False
    values: tuple[int, ...] = ()
    space: str = ""
    is_loose: bool = False

    @property
    def arguments(self) -> int:
        """How many arguments of the call it takes."""
        return (0 if self.sunk else self.count) + self.paired + (self.kind == TENSOR)

    @property
    def shown(self) -> str:
        """How a message writes it."""
        match self.kind:
            case "address":
                return "address"
            case "tensor":
                return f"tensor map, {self.count} coordinates"
            case "constant":
                return "constant"
        if self.sunk:
            return "destination bool"
        what = {1: "bool"}.get(TYPE_BITS.get(self.type, 0), self.type)
        return (
            "destination " if self.kind == WRITES else ""
        ) + f"{what}{' x' + str(self.count) if self.count > 1 else ''}"


@dataclass(frozen=True)
class Layout:
    """One list of operands of an instruction, written `text` with its modifiers."""

    text: str
    slots: tuple[Slot, ...]
    need: Need

    @property
    def arguments(self) -> int:
        return sum(slot.arguments for slot in self.slots)

    @property
    def written(self) -> int:
        """How many arguments, the first ones, are written."""
        return sum(slot.arguments for slot in self.slots if slot.kind == WRITES)


@functools.cache
def layouts(opcode: str, modifiers: tuple[str, ...]) -> tuple[Layout, ...]:
    """The lists of operands of an instruction, whose modifiers may be in any order; () where the table has no form."""
    found: dict[tuple, Layout] = {}
    for row, ordered, need in table.spelled(opcode, modifiers):
        text = ".".join((opcode, *ordered))
        for slots in _lists(opcode, ordered, row.operands or table.OPERANDS.get(opcode, "")):
            found.setdefault(slots, Layout(text, slots, need))
    return tuple(found.values())


def _lists(opcode: str, modifiers: tuple[str, ...], text: str) -> list[tuple[Slot, ...]]:
    types = operand_grammar.types_of(modifiers)
    if "*" in text.split() or "*?" in text.split():
        text = _own(opcode, modifiers)
    if text == "[] n":  # discard, applypriority, fence: the size that the ISA has
        text = "[] n=128"
    lists = []
    for words in operand_grammar.read(text) if text.strip() else [()]:
        there = [each for each in words if not each.modifier or each.modifier in modifiers]
        if any(each.type and each.type not in TYPE_BITS for each in there):
            continue
        least = (
            len(there)
            if opcode in ("shfl", "vote") and "sync" in modifiers
            else sum(not each.is_optional for each in there)
        )
        for count in range(least, len(there) + 1):
            slots = tuple(_with_spaces([_slot(each, types, modifiers) for each in there[:count]], modifiers))
            if opcode == "isspacep" or (opcode == "cvta" and "to" in modifiers):
                slots = (slots[0], replace(slots[1], kind=POINTER))
            lists += _with_results(opcode, modifiers, slots)
    if opcode == "mov" and types:
        for part in _PARTS.get(types[0], ()):
            number = TYPE_BITS[types[0]] // TYPE_BITS[part]
            whole, parts = types[0], {"type": part, "count": number, "in_braces": True}
            lists.append((Slot(WRITES, whole), Slot(READS, **parts)))
            lists.append((Slot(WRITES, **parts), Slot(READS, whole)))
    return lists


def _with_results(opcode: str, modifiers: tuple[str, ...], slots: tuple[Slot, ...]) -> list[tuple[Slot, ...]]:
    """Lists of operands with the results that an instruction may have: `d`, `d|p`, `_|p`, or the sink alone."""
    if not slots or slots[0].kind != WRITES:
        return [slots]
    first, rest = slots[0], slots[1:]
    paired, sunk = (replace(first, paired=True), *rest), (replace(first, sunk=True), *rest)
    if opcode == "lop3":  # both, or none, of the predicates
        has_two = not {"and", "or", "xor"}.isdisjoint(modifiers)
        if has_two != (rest[-1].type == "pred"):
            return []
        return [paired, (replace(first, paired=True, sunk=True), *rest)] if has_two else [slots]
    if opcode in _PAIRED:
        return [slots, paired]
    may_sink = opcode in ("atom", "mbarrier") and first.type != "pred" and not first.in_braces
    return [slots, sunk] if may_sink else [slots]


def _own(opcode: str, modifiers: tuple[str, ...]) -> str:
    if opcode == "vote":
        return f"={'b32' if 'ballot' in modifiers else 'pred'} pred u32?"
    return _OWN["bar" if opcode == "barrier" else opcode]


def _slot(word: operand_grammar.Operand, types: Sequence[str], modifiers: Sequence[str]) -> Slot:
    match word.text:
        case "[]":
            return Slot(ADDRESS)
        case "[d]":
            dimensions = next(int(each[0]) for each in modifiers if each in ("1d", "2d", "3d", "4d", "5d"))
            return Slot(TENSOR, "s32", dimensions, True)
        case "n":
            return Slot(CONSTANT, values=word.values, count=len(word.values) != 1)
    kind = WRITES if word.is_written else READS
    wanted = types[word.place - 1] if word.place and word.place <= len(types) else word.type
    if word.may_be_wide and "wide" in modifiers:
        wanted = f"{wanted[0]}{2 * TYPE_BITS[wanted]}"
    vector = next((int(each[1:]) for each in modifiers if each in ("v2", "v4", "v8")), 1)
    if word.count == "v" or (word.is_loose and vector > 1 and not word.count):
        return Slot(kind, wanted, vector, vector > 1, is_loose=True)
    if word.count:
        if word.count in ("mn", "mk", "mh", "kn"):
            wanted = operand_grammar.REGISTER_TYPE.get(wanted, wanted)
            wanted = "f64" if wanted == "b64" else wanted
        return Slot(kind, wanted, word.number(types[word.place - 1] if word.place else wanted, modifiers), True)
    return Slot(kind, wanted, is_loose=word.is_loose)


def _with_spaces(slots: list[Slot], modifiers: Sequence[str]) -> list[Slot]:
    """Addresses with the state spaces that the modifiers name, in their order; an mbarrier is in shared memory."""
    named = [each for each in modifiers if each in SPACES]
    at, placed = 0, []
    for slot in slots:
        if slot.kind == ADDRESS:
            space = named[at] if at < len(named) else "shared" if named and named[0].startswith("shared") else ""
            slot, at = replace(slot, space=space), at + 1
        elif slot.kind == TENSOR:
            slot, at = slot, at + ("global" in named[at : at + 1])
        placed.append(slot)
    return placed


# --- arguments -------------------------------------------------------------------------------------------------------


_CLASSES = {
    "f16": dtypes.Float16,
    "bf16": dtypes.BFloat16,
    "f32": dtypes.Float32,
    "f64": dtypes.Float64,
    **{f"s{width}": getattr(dtypes, f"Int{width}") for width in (8, 16, 32, 64)},
    **{f"u{width}": getattr(dtypes, f"Uint{width}") for width in (8, 16, 32, 64)},
}


def class_of(kind: str) -> type[Numeric]:
    """The numbers that a register of a PTX type holds: of a bit or packed type an unsigned integer of its width."""
    return _CLASSES.get(kind) or _CLASSES[f"u{TYPE_BITS[kind]}"]


def is_bits(kind: str) -> bool:
    """Whether the registers of a type hold any numbers of its width: bits, packed types, floats of 16 bits."""
    return kind not in _CLASSES or kind in ("f16", "bf16")


def number_for(place: int, slot: Slot, value: Any) -> Numeric:
    """An argument as the number that the instruction reads."""
    literal = literal_value(value)
    if slot.type == "pred":
        content = value.value if isinstance(value, Predicate) else value
        number = numeric(content)
        if number is None or not (type(number) is Boolean or isinstance(value, Predicate)):
            raise Mismatch(
                place,
                f"argument {place} must be a bool, got {type_name(content)}",
                "compare, or mark it: `T.ptx.pred(x)`",
            )
        return Boolean(number)
    if isinstance(value, Predicate):
        raise Mismatch(place, f"argument {place} is a value, not a predicate: it is of .{slot.type}", "drop T.ptx.pred")
    number, wanted = numeric(value), class_of(slot.type)
    if number is None:
        raise Mismatch(
            place, f"argument {place} must be a value of .{slot.type}, got {type_name(value)}", _cast(wanted)
        )
    if literal is not None and type(value) in (int, float):
        if isinstance(literal, float) and wanted.is_integer:
            raise Mismatch(
                place, f"argument {place} is a value of .{slot.type}, got the float {literal}", f"T.float32({literal})"
            )
        return wanted(literal)
    given = type(number)
    if given.width == wanted.width and (is_bits(slot.type) or given.is_integer == wanted.is_integer):
        if not is_bits(slot.type) and wanted.is_float and given is not wanted:
            raise Mismatch(
                place, f"argument {place} must be a value of .{slot.type}, got {type_name(value)}", _cast(wanted)
            )
        return number if given is wanted else number.bitcast(wanted)
    if slot.is_loose and wanted.is_integer and given.is_integer and given.width > wanted.width:
        return wanted(number)
    raise Mismatch(place, f"argument {place} must be a value of .{slot.type}, got {type_name(value)}", _cast(wanted))


def _cast(wanted: type[Numeric]) -> str:
    return f"T.{names.find(wanted)}(...) converts"


def pointer_for(place: int, slot: Slot, value: Any) -> Numeric:
    """An argument that is a generic address, as a number."""
    if not isinstance(value, Pointer):
        return number_for(place, slot, value)
    generic = value.address
    if value.space != AddressSpace.generic:
        generic = mlir.result("llvm.addrspacecast", mlir.ptr(AddressSpace.generic), generic)
    return dtypes.Uint64(mlir.result("llvm.ptrtoint", mlir.i64, generic))


def constant_for(place: int, slot: Slot, value: Any) -> str:
    """An argument that is part of the text."""
    number = numeric(value)
    if number is None or is_dynamic(number) or not number.is_integer:
        raise Mismatch(
            place,
            f"argument {place} must be an integer known while compiling, got {type_name(value)}",
            "write a number, or loop with T.unroll",
        )
    if slot.values and int(number.value) not in slot.values:
        every = ", ".join(map(str, slot.values))
        raise Mismatch(place, f"argument {place} must be one of {every}, got {int(number.value)}", f"one of {every}")
    return str(int(number.value))


def address_for(place: int, slot: Slot, value: Any) -> tuple[mlir.Value, str, int]:
    """The address, the letter of its register, and the bytes after it."""
    offset = 0
    if isinstance(value, Moved):
        value, offset = value.base, value.offset
    if isinstance(value, Buffer):
        value = value.data
    in_shared = slot.space.startswith("shared")
    where = (
        f"shared memory (.{slot.space})" if in_shared else f".{slot.space} memory" if slot.space else "global memory"
    )
    if isinstance(value, Pointer):
        if (value.space == AddressSpace.smem) != in_shared:
            fix = (
                "name the memory: `.shared`" if not in_shared else "give an element of T.alloc_shared: `sm.ptr_to([i])`"
            )
            raise Mismatch(place, f"argument {place} must be an address in {where}, got one in {_memory(value)}", fix)
        return value.toint().ir(), "r" if in_shared else "l", offset
    number = numeric(value)
    wanted = dtypes.Uint32 if in_shared else dtypes.Uint64
    if (
        number is None
        or not number.is_integer
        or type(number).width != wanted.width
        or literal_value(value) is not None
    ):
        raise Mismatch(
            place,
            f"argument {place} must be an address in {where}, got {type_name(value)}",
            "an element: `A.ptr_to([i])`",
        )
    return wanted(number).ir(), "r" if in_shared else "l", offset


def _memory(pointer: Pointer) -> str:
    return {AddressSpace.smem: "shared memory", AddressSpace.rmem: "local memory"}.get(pointer.space, "global memory")
