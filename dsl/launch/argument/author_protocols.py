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

from dsl.core import pytree, trace
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Numeric
from dsl.core.number.pointer import Pointer
from dsl.launch.argument import abi, kinds
from dsl.layout import ComposedLayout, Layout
from dsl.tile.tensor import Tensor

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


def _slots(value: Any) -> list[Slot]:
    """The slots of a number, pointer, tensor or container in plain Python."""
    type_ = kinds.typed(value)
    if not kinds.is_typed(type_):
        raise DSLUserCodeTypeError(f"a {type(value).__name__} has no values that a call could bring")
    numbers, letters = type_.read(value, abi.Binding("an object's own values")), type_.slot_formats()
    if isinstance(type_, abi.ScalarType):
        return [Slot(letters, numbers[0], type_.dtype.mlir_type)]
    return [Slot(letter, number, trace.SLOT_TYPES[letter]) for letter, number in zip(letters, numbers)]


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

    def read(self, value: Any, binding: abi.Binding) -> list:
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


def typed(value: Any) -> ObjectType | None:
    """The type of an object with a protocol, or None for one without."""
    value = adapted(value)
    own = (hasattr(value, "__get_mlir_types__") and hasattr(value, "__c_pointers__")) or hasattr(
        value, "__extract_mlir_values__"
    )
    if not own or isinstance(value, type) or not hasattr(value, "__new_from_mlir_values__"):
        return None
    letters, types, _ = _values_of(value)
    return ObjectType(value, letters, types)


def _loaded(value: mlir.Value, type_: str) -> mlir.Value:
    """A slot's value as the type the object said it has."""
    if type_ == "i1":
        return mlir.result("arith.trunci", mlir.i1, value)
    return mlir.result("arith.bitcast", mlir.bf16, value) if type_ == "bf16" else value


def _values_of(value: Any) -> tuple[str, tuple[str, ...], list]:
    """Letters, types and numbers of an object's slots."""
    if not (hasattr(value, "__get_mlir_types__") and hasattr(value, "__c_pointers__")):
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


# --- the protocols of our own values, which the author's objects delegate to ------------------------------------------


def extract_mlir_values(value: Any) -> list:
    """The SSA values in a traced value; in plain Python, what stands for them."""
    if not trace.active():
        return _slots(value)
    leaves, _ = pytree.flatten(value, promote=False)
    return [leaf.ir() for leaf in leaves]


def new_from_mlir_values(value: Any, values: Sequence) -> Any:
    """A value like `value` with other SSA values in it."""
    if hasattr(value, "argument_type"):
        return kinds.typed(value).rebuild(list(values))
    leaves, node = pytree.flatten(value, promote=False)
    if len(leaves) != len(values):
        raise DSLUserCodeTypeError(
            f"a {type(value).__name__} is made of {len(leaves)} values, got {len(values)}",
            fix="give the values that extract_mlir_values gave, in their order",
        )
    return pytree.unflatten(node, iter([leaf.with_ir(new) for leaf, new in zip(leaves, values)]), value)


def _types(value: Any) -> list:
    return [slot.type for slot in _slots(value)]


for _class in (Numeric, Pointer, Tensor, Layout, ComposedLayout, kinds.RuntimePointer, kinds.RuntimeTensor):
    _class.__extract_mlir_values__ = extract_mlir_values
    _class.__new_from_mlir_values__ = new_from_mlir_values
for _class in (Numeric, kinds.RuntimePointer, kinds.RuntimeTensor):
    _class.__get_mlir_types__, _class.__c_pointers__ = _types, _slots
