"""Names of a T function: registers of one dtype, and values that are not numbers."""

from __future__ import annotations

from typing import Any

from dsl.core import trace
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, warn
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Numeric, numeric
from dsl.core.number.operators import operate
from dsl.core.unbound import Unbound
from dsl.span import here
from dsl.tile.vector.ssa import TensorSSA
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.functions.ids import Launched
from dsl.tirx.memory import memory
from dsl.tirx.memory.buffer import Buffer
from dsl.tirx.syntax import signature
from dsl.tirx.syntax.statement_names import LetOf, let
from dsl.tirx.values import dtypes
from dsl.tirx.values.dtypes import Declaration, DType
from dsl.tirx.values.promotion import as_register
from dsl.tirx.values.vector_lanes import as_vector, refuse

_MISSING = object()
_OPERATORS = {
    "Add": "add",
    "Sub": "sub",
    "Mult": "mul",
    "Div": "truediv",
    "FloorDiv": "floordiv",
    "Mod": "mod",
    "BitAnd": "and",
    "BitOr": "or",
    "BitXor": "xor",
    "LShift": "lshift",
    "RShift": "rshift",
    "Pow": "pow",
}


class Unset(Unbound):
    """A register that is declared without a value. Reading it is an error."""

    __slots__ = ("dtype", "place")

    def __init__(self, name: str, dtype: DType):
        super().__init__(name)
        self.dtype, self.place = dtype, here()

    def _raise(self):
        raise DSLUserCodeError(
            f"`{self._name}` is read before anything is stored in it",
            id="REGISTER_UNSET",
            also=((self.place, "declared here, without a value"),),
            fix=f"give it one where it is declared: `{self._name}: T.{self.dtype} = 0`",
        )

    def filled(self) -> Numeric:
        """An undefined value, where a path without a value meets one with it. `--check undefined` finds its reads."""
        if not trace.in_kernel():
            self._raise()
        undefined = mlir.Operation.create(
            "llvm.mlir.undef", results=[self.dtype.scalar.carrier], loc=mlir.location(self.place)
        )
        block = mlir.current_block()
        assert block is not None
        block.append(undefined)
        return self.dtype.scalar(undefined.results[0])


def read(value: Any) -> Any:
    """A register where the author reads it. Raises DSLUserCodeError for one that holds nothing."""
    if isinstance(value, memory.SharedScalar):
        return value[0]
    return value._raise() if isinstance(value, Unset) else value


class Filling:
    """A dynamic statement's state: an Unset name holds a number on the way through core, and is Unset again after it
    if the statement has not assigned it."""

    def __init__(self, state: tuple):
        self.unset = {k: value for k, value in enumerate(state) if type(value) is Unset}
        self.numbers = {k: value.filled() for k, value in self.unset.items()}

    def fill(self, state: tuple) -> tuple:
        """A state with numbers where it has Unset."""
        return tuple(
            self.numbers[k] if value is self.unset.get(k, _MISSING) else value for k, value in enumerate(state)
        )

    def clear(self, state: tuple) -> tuple:
        """A state with Unset where it has the numbers of `fill`."""
        return tuple(
            self.unset[k]
            if k in self.numbers and isinstance(value, Numeric) and value.value is self.numbers[k].value
            else value
            for k, value in enumerate(state)
        )


class Meta:
    """`T.meta_var(value)`: a name for the Python value itself, not a register."""

    def __init__(self, value: Any):
        self.value = value


def first(value: Any, name: str) -> Any:
    """The value of the first `name = value`: of a number a register of its dtype, otherwise the value itself."""
    if isinstance(value, Meta):
        return value.value
    if isinstance(value, Launched):
        return value.number
    if isinstance(value, memory.Scalar):
        return Unset(name, value.dtype)
    if isinstance(value, Buffer):
        memory.name(value, name)
        return value
    value = as_vector(value)
    number = numeric(value)
    signature.name_symbol(number, name)
    return value if number is None else as_register(number)


def assign(old: Any, value: Any, name: str) -> Any:
    """The value of a later `name = value`, where `name` is `old`: a register keeps its dtype."""
    if isinstance(old, Unset):
        old = old.dtype.scalar(0)
    if isinstance(old, Buffer) and old.is_single and not isinstance(value, (Buffer, Meta)):
        old[0] = value  # its one element
        return old
    if isinstance(old, Buffer):
        return rebound(old, value, name)
    if isinstance(old, Unbound) or not isinstance(old, (Numeric, TensorSSA)):
        return first(value, name)
    value = as_vector(value)
    if isinstance(value, TensorSSA) and not isinstance(old, TensorSSA):
        refuse("a register is carried from trip to trip")
    if not isinstance(value, TensorSSA) and numeric(value) is None:
        raise DSLUserCodeTypeError(
            f"`{name}` is a register of {dtypes.of(old)}, got {type_name(value)}",
            id="ASSIGN_TYPE",
            fix="use another name",
        )
    dtype = dtypes.of(old)
    _warn_of_fraction(value, dtype, name)
    return _register_of(value, dtype)


def rebound(old: Any, value: Any, name: str) -> Any:
    """The value of `name = value` where `name` is `old`, a parameter or a buffer. Raises for a number over a buffer."""
    if isinstance(old, Buffer) and numeric(value) is not None:
        raise DSLUserCodeTypeError(
            f"`{name}` is a buffer, got {type_name(value)}",
            id="ASSIGN_TYPE",
            fix=f"store in its elements: `{name}[i] = ...`; or use another name",
        )
    return first(value, name)


def _register_of(value: Any, dtype: DType) -> Any:
    """The content of a register of `dtype` after `value` is assigned to it."""
    number = dtypes.cast(value, dtype)
    return as_register(number) if isinstance(number, Numeric) else number


def _warn_of_fraction(value: Any, dtype: DType, name: str) -> None:
    if dtypes.loses_fraction(value, dtype):
        warn(
            f"a float is assigned to `{name}`, a register of {dtype}, and loses its fraction: write `T.{dtype}(...)` "
            "if you mean that",
            "STORE_TRUNCATES",
        )


def declared(annotation: Any, name: str, value: Any = _MISSING) -> Any:
    """The value of `name: annotation = value`."""
    if annotation is let or isinstance(annotation, LetOf):
        if value is _MISSING:
            raise DSLUserCodeError(f"`{name}` is a T.let without a value", fix=f"{name}: T.let = ...", id="DECLARATION")
        content = value.value if isinstance(value, Meta) else value
        number = numeric(content)
        if isinstance(annotation, LetOf):
            return _register_of(content, dtypes.find(annotation.dtype))
        return content if number is None else as_register(number)
    if isinstance(annotation, Declaration):
        if value is not _MISSING:
            raise DSLUserCodeError(
                f"`{name}` is an array, so it cannot be assigned one value",
                id="DECLARATION",
                fix="assign its elements in a loop",
            )
        content = memory.alloc_local(annotation.shape, annotation.dtype)
        memory.name(content, name)
        return content
    if not isinstance(annotation, DType):
        raise DSLUserCodeTypeError(
            f"`{name}` must be declared with a data type, got {type_name(annotation)}",
            fix=f"{name}: T.int32 = 0, or {name}: T.let = ...",
            id="DECLARATION",
        )
    if value is _MISSING:
        return Unset(name, annotation) if annotation.lanes == 1 else dtypes.cast(0, annotation)
    if not isinstance(value, TensorSSA) and numeric(value) is None:
        raise DSLUserCodeTypeError(
            f"`{name}` is a register of {annotation}, got {type_name(value)}", id="ASSIGN_TYPE", fix="give it a number"
        )
    _warn_of_fraction(value, annotation, name)
    return _register_of(value, annotation)


def unused(value: Any, text: str) -> None:
    """A statement that is a name or a comparison. Raises DSLUserCodeError for a function that is not called."""
    if isinstance(value, (Numeric, TensorSSA)) and " == " in text:
        warn(f"`{text}` compares, and nothing uses the answer: `=` stores", "NO_EFFECT")
    elif callable(value):
        raise DSLUserCodeError(f"`{text}` is not called", id="NO_EFFECT", fix=f"write `{text}()`")


def stored(value: Any, items: Any) -> Any:
    """`value`, which `items[...] = value` stores. Raises where no element of a buffer holds it."""
    if isinstance(items, Buffer):
        items.check_value(value)
    return value


def augmented(operator: str, items: Any, index: Any, value: Any) -> None:
    """`items[index] += value`, its index evaluated once."""
    items[index] = operate_(operator, items[index], value)


def operate_(operator: str, a: Any, b: Any) -> Any:
    """`a operator b` by the name that Python's syntax tree has for it."""
    name = _OPERATORS[operator]
    if isinstance(a, TensorSSA) or isinstance(b, TensorSSA):
        return getattr(a, f"__{name}__")(b)
    result = operate(name, a, b)
    if result is NotImplemented:
        raise DSLUserCodeTypeError(
            f"{type_name(a)} and {type_name(b)} have no `{operator}`", id="OPERATOR_TYPE", fix="convert one of them"
        )
    return result
