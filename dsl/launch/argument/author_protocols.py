"""The argument protocols of the DSL's own values, to which methods of an author's class may delegate."""

from __future__ import annotations

import dataclasses
from typing import Any, Protocol, runtime_checkable

from dsl.core import pytree, trace, value_structure
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Numeric
from dsl.core.number.pointer import Pointer
from dsl.core.phrase import shown
from dsl.launch.argument import abi, kinds
from dsl.launch.argument.author_objects import Slot, slots_of
from dsl.launch.argument.fake_arguments import FakeStream, FakeTensor
from dsl.launch.argument.runtime_pointer import RuntimePointer
from dsl.launch.argument.runtime_tensor import RuntimeTensor
from dsl.layout import ComposedLayout, Layout
from dsl.tile.tensor.tensor import Tensor


@runtime_checkable
class JitArgument(Protocol):
    """An object that a call passes as numbers: an author's class may derive from it, and `isinstance` checks it."""

    def __c_pointers__(self) -> list: ...

    def __get_mlir_types__(self) -> list: ...

    def __new_from_mlir_values__(self, values: list) -> Any: ...


@runtime_checkable
class DynamicExpression(Protocol):
    """An object that is made of SSA values in a traced function."""

    def __extract_mlir_values__(self) -> list: ...

    def __new_from_mlir_values__(self, values: list) -> Any: ...


def _slots(value: Any) -> list[Slot]:
    """The slots of a number, pointer, tensor or container in plain Python."""
    type_ = kinds.type_of(value)
    if type_ is None:
        raise DSLUserCodeTypeError(
            f"a {type(value).__name__} has no values that a call could bring",
            fix="give numbers, pointers, tensors, or tuples and dataclasses of them",
        )
    known = getattr(value, "slots", None)
    if known and known[0] == type_:
        return known[1]
    letters = type_.slot_formats()
    is_fake = isinstance(value, (FakeTensor, FakeStream))  # it has types only, and no call brings it
    numbers = [0] * len(letters) if is_fake else type_.read(value, abi.Binding("an object's own values"))
    if isinstance(type_, abi.ScalarType):
        return slots_of(letters, numbers, [type_.dtype.mlir_type])
    slots = slots_of(letters, numbers, [trace.SLOT_TYPES[letter] for letter in letters])
    if isinstance(value, (RuntimeTensor, RuntimePointer)):
        value.slots = type_, slots
    return slots


def _is_traced(value: Any) -> bool:
    return trace.active() and not hasattr(value, "argument_type")


def get_mlir_types(value: Any) -> list:
    """The type of each value that a number, pointer, tensor or object with a protocol is made of, in order; for a
    tuple or list, the types of its parts."""
    own = getattr(value, "__get_mlir_types__", None)
    if own is not None and not isinstance(value, Numeric):
        return own()
    if isinstance(value, (tuple, list)):
        return [type_ for part in value for type_ in get_mlir_types(part)]
    if _is_traced(value):
        return [leaf.ir_type() for leaf in pytree.flatten(value, promote=False)[0]]
    return _types(value)


def get_c_pointers(value: Any) -> list:
    """The stand-ins for the C pointers to these values, before a call; for a tuple or list, those for its parts."""
    own = getattr(value, "__c_pointers__", None)
    if own is not None:
        return own()
    if isinstance(value, (tuple, list)):
        return [pointer for part in value for pointer in get_c_pointers(part)]
    return _slots(value)


def extract_mlir_values(obj: Any, *, structured: bool = False) -> Any:
    """The SSA values in a traced value; in plain Python, what stands for them.

    `structured`: a dict of a dataclass or dict, a list of a tuple or list, what an object's own protocol gives; of a
    number a list of its one value.
    """
    if structured:
        return _structured(obj)
    if not trace.active():
        return _slots(obj)
    leaves, _ = pytree.flatten(obj, promote=False)
    return [leaf.ir() for leaf in leaves]


def _structured(obj: Any) -> Any:
    if _has_own_protocol(obj):
        return obj.__extract_mlir_values__()
    parts = _named_parts(obj)
    if parts is not None:
        return {name: _structured(part) for name, part in parts.items()}
    if isinstance(obj, (tuple, list)):
        return [_structured(part) for part in obj]
    return extract_mlir_values(obj)


def _named_parts(obj: Any) -> dict[str, Any] | None:
    """The parts of a dataclass or dict that have values, by name; None for anything else."""
    if dataclasses.is_dataclass(obj) and not isinstance(obj, (type, Layout, ComposedLayout, Tensor)):
        obj = {each.name: getattr(obj, each.name) for each in dataclasses.fields(obj)}
    if not isinstance(obj, dict):
        return None
    return {name: part for name, part in obj.items() if pytree.flatten(part, promote=False)[0]}


def _has_own_protocol(value: Any) -> bool:
    own = getattr(type(value), "__new_from_mlir_values__", None)
    return own not in (None, new_from_mlir_values)


def new_from_mlir_values(obj: Any, values: Any, *, structured: bool = False) -> Any:
    """A value like `obj` with other SSA values in it, in a list, or `structured` as extract_mlir_values gives them."""
    if hasattr(obj, "argument_type"):
        return obj.argument_type().rebuild(list(values))
    if _has_own_protocol(obj):  # not asked for its values: they may be of the function around
        return obj.__new_from_mlir_values__(values)
    if not structured and not isinstance(values, (list, tuple)):
        raise DSLUserCodeTypeError(
            f"values of new_from_mlir_values must be a list of SSA values, got {shown(values)}",
            fix="give the values that extract_mlir_values gave, in their order",
        )
    if structured:
        values = _in_order(obj, values)
    leaves, node = pytree.flatten(obj, promote=False)
    if len(leaves) != len(values):
        raise DSLUserCodeTypeError(
            f"a {type(obj).__name__} is made of {len(leaves)} values, got {len(values)}",
            fix="give the values that extract_mlir_values gave, in their order",
        )
    return pytree.unflatten(node, iter([leaf.with_ir(new) for leaf, new in zip(leaves, values)]), obj)


def _in_order(obj: Any, values: Any) -> list:
    """The values of a structure that must be the one of `obj`. Raises DSLUserCodeTypeError."""
    found, given = (value_structure.taken_apart([each]) for each in (_structured(obj), values))
    if found[1] != given[1]:
        raise DSLUserCodeTypeError(
            f"the structure of the values differs from this {type(obj).__name__}",
            fix="give what extract_mlir_values(obj, structured=True) gives, with other values in it",
        )
    return given[0]


def debug_print_mlir_values(obj: Any, indent: int = 0, name: str | None = None, types_only: bool = False) -> str:
    """A text of the values in `obj`, one a line under the name it has there: with `types_only` their types alone."""
    margin, title = "  " * indent, type(obj).__name__ if name is None else name
    values = obj if isinstance(obj, (dict, list)) else _structured(obj)
    if isinstance(values, dict):
        parts = list(values.items())
    elif isinstance(values, (list, tuple)) and len(values) != 1:
        parts = [(f"[{i}]", each) for i, each in enumerate(values)]
    else:
        value = values[0] if isinstance(values, (list, tuple)) else values
        if isinstance(value, (dict, list, tuple)):
            parts = [("[0]", value)]
        else:
            return f"{margin}{title}: {value.type if types_only or isinstance(value, Slot) else value}"
    inside = [debug_print_mlir_values(part, indent + 1, str(key), types_only) for key, part in parts]
    return "\n".join([f"{margin}{title}:", *inside])


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
