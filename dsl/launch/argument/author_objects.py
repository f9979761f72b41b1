"""Objects of the author's own classes as arguments, by the two protocols of CuTe DSL.

`JitArgument`: `__get_mlir_types__` and `__c_pointers__` give what a call passes (the types and C pointers to the
values), `__new_from_mlir_values__` makes the object that the function gets. `DynamicExpression`: one method,
`__extract_mlir_values__`, in place of the first two; in plain Python the numbers, pointers and tensors it is made of
stand for their values.
Source: CuTe DSL documentation, JIT Function Argument Generation.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Numeric
from dsl.launch.argument import struct_types
from dsl.launch.argument.abi import Binding

_ADAPTERS: dict[type, Callable[[Any], Any]] = {}


def register_jit_arg_adapter(python_type: type) -> Callable:
    """Decorator of an adapter: `adapter(value)` has the JitArgument protocol for values of class `python_type`."""

    def register(adapter: Callable) -> Callable:
        _ADAPTERS[python_type] = adapter
        return adapter

    return register


class Slot(int):
    """Stands for one value of an argument in plain Python: the address of the number that a call brings, with its
    slot's letter and type."""

    letter: str
    type: mlir.Type
    _cells: bytearray
    _offset_bytes: int

    def __new__(cls, letter: str, type_: mlir.Type, cells: bytearray, offset_bytes: int) -> Slot:
        slot = super().__new__(cls, ctypes.addressof(ctypes.c_char.from_buffer(cells)) + offset_bytes)
        slot.letter, slot.type = letter, type_
        slot._cells, slot._offset_bytes = cells, offset_bytes
        return slot

    @property
    def number(self) -> int | float:
        return struct.unpack_from(self.letter, self._cells, self._offset_bytes)[0]


def slots_of(letters: str, numbers: Sequence[int | float], types: Sequence[mlir.Type]) -> list[Slot]:
    """A slot for each number. The numbers follow one another in memory, each aligned, as the members of a struct."""
    cells = bytearray(struct.pack(letters, *numbers))
    offsets = [struct.calcsize(letters[: i + 1]) - struct.calcsize(letter) for i, letter in enumerate(letters)]
    return [Slot(letter, type_, cells, offset) for letter, type_, offset in zip(letters, types, offsets)]


@dataclass(frozen=True)
class ObjectType:
    """An object with a protocol: the object it was compiled for, and the letters and types of its slots."""

    like: Any
    letters: str
    types: tuple[str, ...]

    def slot_formats(self) -> str:
        return self.letters

    def __str__(self) -> str:
        return type(self.like).__name__

    def rebuild(self, values: Sequence[mlir.Value]) -> Any:
        slots = iter(values)
        return self.like.__new_from_mlir_values__([struct_types.assembled(type_, slots) for type_ in self.types])

    def read(self, value: Any, binding: Binding) -> list:
        value = adapted(value)
        if type(value) is not type(self.like):
            raise binding.mismatch(TypeError, "", type(self.like).__name__, type(value).__name__)
        _, types, numbers = _values_of(_typed_as(self.like, value))
        if types != self.types:
            raise binding.mismatch(ValueError, "", f"made of ({', '.join(self.types)})", f"({', '.join(types)})")
        return numbers


def _typed_as(like: Any, value: Any) -> Any:
    """A NamedTuple with Python's numbers as the types of numbers that `like` has there; any other object as it is."""
    if not (isinstance(value, tuple) and hasattr(value, "_fields")):
        return value
    parts = (
        type(typed)(given) if isinstance(typed, Numeric) and isinstance(given, (bool, int, float)) else given
        for typed, given in zip(like, value)
    )
    kind: Any = type(value)
    return kind(*parts)


def adapted(value: Any) -> Any:
    """`value`, or what its class's adapter makes of it."""
    adapter = next((_ADAPTERS[kind] for kind in type(value).__mro__ if kind in _ADAPTERS), None)
    return adapter(value) if adapter else value


def has_protocol(value: Any) -> bool:
    """Whether an object, or what its class's adapter makes of it, has one of the protocols."""
    value = adapted(value)
    has_values = _has_c_pointers(value) or hasattr(value, "__extract_mlir_values__")
    return has_values and not isinstance(value, type) and hasattr(value, "__new_from_mlir_values__")


def _has_c_pointers(value: Any) -> bool:
    return hasattr(value, "__get_mlir_types__") and hasattr(value, "__c_pointers__")


def type_of(value: Any) -> ObjectType:
    """The type of an object that has a protocol."""
    value = adapted(value)
    letters, types, _ = _values_of(value)
    return ObjectType(value, letters, types)


def _values_of(value: Any) -> tuple[str, tuple[str, ...], list]:
    """Letters, types and numbers of an object's slots."""
    if not _has_c_pointers(value):
        values = value.__extract_mlir_values__()
        if not all(isinstance(slot, Slot) for slot in values):
            raise DSLUserCodeTypeError(
                f"`{type(value).__name__}` defines `__extract_mlir_values__` but not `__c_pointers__`",
                fix="add `__get_mlir_types__` and `__c_pointers__`, or delegate to its members",
            )
        return (
            "".join(slot.letter for slot in values),
            tuple(str(slot.type) for slot in values),
            [slot.number for slot in values],
        )
    with mlir.context, mlir.ir.Location.unknown():
        types, pointers = value.__get_mlir_types__(), value.__c_pointers__()
    if len(types) != len(pointers):
        raise DSLUserCodeTypeError(
            f"`{type(value).__name__}` has {len(types)} types and {len(pointers)} C pointers",
            fix="a pointer a type: `__get_mlir_types__` and `__c_pointers__` go together",
        )
    parts = [(pointer, member) for type_, pointer in zip(types, pointers) for member in _members(type_, value)]
    letters = "".join(member.letter for _, member in parts)
    return letters, tuple(map(str, types)), [_read(*part) for part in parts]


def _members(type_: Any, value: Any) -> list[struct_types.Member]:
    try:
        return struct_types.members(type_)
    except struct_types.NoSlot as error:
        raise DSLUserCodeTypeError(
            f"`{type(value).__name__}` is made of a {error}, which no call can bring",
            fix="make it of numbers and pointers, or structs of them",
        ) from None


def _read(pointer: Any, member: struct_types.Member) -> int | float:
    """The value a C pointer points at (a ctypes pointer, c_void_p, an address, or one of our slots)."""
    if isinstance(pointer, Slot):
        return pointer.number
    address = pointer if isinstance(pointer, int) else ctypes.cast(pointer, ctypes.c_void_p).value
    if not address:
        raise DSLUserCodeTypeError(
            "a C pointer of an argument is null", fix="point at a value: `ctypes.pointer(c_int(3))`"
        )
    letter = member.letter.replace("P", "Q")
    return struct.unpack(f"<{letter}", ctypes.string_at(address + member.offset_bytes, struct.calcsize(letter)))[0]
