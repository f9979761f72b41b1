"""Objects of the author's own classes as arguments, by the two protocols of CuTe DSL.

`JitArgument`: `__get_mlir_types__` and `__c_pointers__` say what a call brings (a type and a C pointer to its value
each), `__new_from_mlir_values__` makes the object that the function gets. `DynamicExpression`: one method,
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

from dsl.core import trace
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.ir import mlir
from dsl.launch.argument.abi import Binding

_ADAPTERS: dict[type, Callable[[Any], Any]] = {}
_LETTERS = {str(type_): letter for letter, type_ in trace.SLOT_TYPES.items()} | {"i1": "?", "bf16": "H"}


def register_jit_arg_adapter(kind: type) -> Callable:
    """Decorator of an adapter: `adapter(value)` has the JitArgument protocol for values of class `kind`."""

    def register(adapter: Callable) -> Callable:
        _ADAPTERS[kind] = adapter
        return adapter

    return register


class Slot:
    """Stands for one value of an argument in plain Python: its slot's letter, the number a call brings, its type."""

    __slots__ = ("letter", "number", "type")

    def __init__(self, letter: str, number: int | float, type_: mlir.Type):
        self.letter, self.number, self.type = letter, number, type_


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
        return self.like.__new_from_mlir_values__([_loaded(value, type_) for value, type_ in zip(values, self.types)])

    def read(self, value: Any, binding: Binding) -> list:
        value = adapted(value)
        if type(value) is not type(self.like):
            raise binding.mismatch(TypeError, "", type(self.like).__name__, type(value).__name__)
        _, types, numbers = _values_of(value)
        if types != self.types:
            raise binding.mismatch(ValueError, "", f"made of ({', '.join(self.types)})", f"({', '.join(types)})")
        return numbers


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


def _loaded(value: mlir.Value, type_: str) -> mlir.Value:
    """A slot's value as the type the object said it has."""
    if type_ == "i1":
        return mlir.result("arith.trunci", mlir.i1, value)
    return mlir.result("arith.bitcast", mlir.bf16, value) if type_ == "bf16" else value


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
    types, pointers = value.__get_mlir_types__(), value.__c_pointers__()
    if len(types) != len(pointers):
        raise DSLUserCodeTypeError(
            f"`{type(value).__name__}` has {len(types)} types and {len(pointers)} C pointers",
            fix="a pointer a type: `__get_mlir_types__` and `__c_pointers__` go together",
        )
    letters = "".join(_letter(type_, value) for type_ in types)
    return letters, tuple(map(str, types)), [_read(pointer, letter) for pointer, letter in zip(pointers, letters)]


def _letter(type_: Any, value: Any) -> str:
    letter = _LETTERS.get(str(type_))
    if letter is None:
        raise DSLUserCodeTypeError(
            f"`{type(value).__name__}` is made of a {type_}, which no call can bring",
            fix="make it of numbers and pointers",
        )
    return letter


def _read(pointer: Any, letter: str) -> int | float:
    """The value a C pointer points at (a ctypes pointer, c_void_p, an address, or one of our slots)."""
    if isinstance(pointer, Slot):
        return pointer.number
    address = pointer if isinstance(pointer, int) else ctypes.cast(pointer, ctypes.c_void_p).value
    if not address:
        raise DSLUserCodeTypeError(
            "a C pointer of an argument is null", fix="point at a value: `ctypes.pointer(c_int(3))`"
        )
    letter = letter.replace("P", "Q")
    return struct.unpack(f"<{letter}", ctypes.string_at(address, struct.calcsize(letter)))[0]
