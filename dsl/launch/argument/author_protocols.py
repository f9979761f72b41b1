"""The argument protocols of the DSL's own values, to which methods of an author's class may delegate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from dsl.core import pytree, trace
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Numeric
from dsl.core.number.pointer import Pointer
from dsl.launch.argument import abi, kinds
from dsl.launch.argument.author_objects import Slot
from dsl.launch.argument.fake_arguments import FakeStream, FakeTensor
from dsl.launch.argument.runtime_pointer import RuntimePointer
from dsl.launch.argument.runtime_tensor import RuntimeTensor
from dsl.layout import ComposedLayout, Layout
from dsl.tile.tensor import Tensor


@runtime_checkable
class JitArgument(Protocol):
    """What an object has that a call passes as numbers: an author's class may derive from it, and `isinstance` asks."""

    def __c_pointers__(self) -> list: ...

    def __get_mlir_types__(self) -> list: ...

    def __new_from_mlir_values__(self, values: list) -> Any: ...


@runtime_checkable
class DynamicExpression(Protocol):
    """What an object has that is made of SSA values in a traced function."""

    def __extract_mlir_values__(self) -> list: ...

    def __new_from_mlir_values__(self, values: list) -> Any: ...


def _slots(value: Any) -> list[Slot]:
    """The slots of a number, pointer, tensor or container in plain Python."""
    type_ = kinds.type_of(value)
    if type_ is None:
        raise DSLUserCodeTypeError(f"a {type(value).__name__} has no values that a call could bring")
    letters = type_.slot_formats()
    is_fake = isinstance(value, (FakeTensor, FakeStream))  # it has types only, and no call brings it
    numbers = [0] * len(letters) if is_fake else type_.read(value, abi.Binding("an object's own values"))
    if isinstance(type_, abi.ScalarType):
        return [Slot(letters, numbers[0], type_.dtype.mlir_type)]
    return [Slot(letter, number, trace.SLOT_TYPES[letter]) for letter, number in zip(letters, numbers)]


def _is_traced(value: Any) -> bool:
    return trace.active() and not hasattr(value, "argument_type")


def get_mlir_types(value: Any) -> list:
    """The type of each value that a number, pointer, tensor or object with a protocol is made of, in order; of a tuple
    or list those of its parts."""
    own = getattr(value, "__get_mlir_types__", None)
    if own is not None and not isinstance(value, Numeric):
        return own()
    if isinstance(value, (tuple, list)):
        return [type_ for part in value for type_ in get_mlir_types(part)]
    if _is_traced(value):
        return [leaf.ir_type() for leaf in pytree.flatten(value, promote=False)[0]]
    return _types(value)


def get_c_pointers(value: Any) -> list:
    """What stands for the C pointer to each of these values, before a call; of a tuple or list those of its parts."""
    own = getattr(value, "__c_pointers__", None)
    if own is not None:
        return own()
    if isinstance(value, (tuple, list)):
        return [pointer for part in value for pointer in get_c_pointers(part)]
    return _slots(value)


def extract_mlir_values(value: Any) -> list:
    """The SSA values in a traced value; in plain Python, what stands for them."""
    if not trace.active():
        return _slots(value)
    leaves, _ = pytree.flatten(value, promote=False)
    return [leaf.ir() for leaf in leaves]


def new_from_mlir_values(value: Any, values: Sequence) -> Any:
    """A value like `value` with other SSA values in it."""
    if hasattr(value, "argument_type"):
        return value.argument_type().rebuild(list(values))
    own = getattr(type(value), "__new_from_mlir_values__", None)
    if own not in (None, new_from_mlir_values):  # not asked for its values: they may be of the function around
        return own(value, values)
    leaves, node = pytree.flatten(value, promote=False)
    if len(leaves) != len(values):
        raise DSLUserCodeTypeError(
            f"a {type(value).__name__} is made of {len(leaves)} values, got {len(values)}",
            fix="give the values that extract_mlir_values gave, in their order",
        )
    return pytree.unflatten(node, iter([leaf.with_ir(new) for leaf, new in zip(leaves, values)]), value)


def _types(value: Any) -> list:
    return [slot.type for slot in _slots(value)]


_DYNAMIC_EXPRESSION = {"__extract_mlir_values__": extract_mlir_values, "__new_from_mlir_values__": new_from_mlir_values}
_JIT_ARGUMENT = {"__get_mlir_types__": _types, "__c_pointers__": _slots}
for _classes, _methods in (
    ((Numeric, Pointer, Tensor, Layout, ComposedLayout, RuntimePointer, RuntimeTensor), _DYNAMIC_EXPRESSION),
    ((Numeric, RuntimePointer, RuntimeTensor), _JIT_ARGUMENT),
):
    for _class in _classes:
        for _name, _method in _methods.items():
            setattr(_class, _name, _method)
