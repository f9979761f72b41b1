"""T.function, T.jit, T.inline and T.macro of tvm_tirx: dsl.tirx's functions with tvm_tirx's statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dsl.tirx.memory import memory
from dsl.tirx.syntax import function as shared, grammar, registers
from dsl.tirx.syntax.parameters import at_parameter, parameter_place
from dsl.tirx.syntax.signature import Absent, Handle
from dsl.tirx.tvm_tirx import launch
from dsl.tirx.tvm_tirx.dynamic import RULES, valued
from dsl.tirx.tvm_tirx.memory import InitializedScalar, TensorType
from dsl.tirx.tvm_tirx.statements import Bindings, InlineBindings
from dsl.tirx.tvm_tirx.wording import respelled


class Hooks(grammar.TirxHooks):
    """TIRx's hooks with tvm_tirx's meaning."""

    @staticmethod
    def device(function: Callable, options: dict[str, Any], *arguments: Any) -> None:
        launch.enter(function, options, *arguments)

    extent = staticmethod(valued)

    @staticmethod
    def first(value: Any, name: str) -> Any:
        """The value of a binding, or of the first assignment to a variable."""
        if isinstance(value, InitializedScalar):
            return registers.declared(value.dtype, name, value.value)
        return registers.first(value, name)


HOOKS = Hooks()
HOOKS.callee = grammar.UNDECORATED.hooks.callee
GRAMMAR, INLINE = (
    grammar.grammar(rewriter, hooks=HOOKS, static=(shared.constexpr,)) for rewriter in (Bindings, InlineBindings)
)


@dataclass
class Unmatched:
    """A tensor parameter before its shape is read."""

    handle: Handle
    type: TensorType


class Function(shared.PrimFunc):
    """A traced T.function."""

    meaning, rules = GRAMMAR, RULES

    def _values(self, annotations: dict, names: dict, absent: frozenset, optional: bool) -> dict[str, Any]:
        values = super()._values(annotations, names, absent, optional)
        for name, value in values.items():  # after all parameters come the extents that their shapes name
            if isinstance(value, Unmatched):
                with at_parameter(self.function, name):
                    values[name] = value.type.matched(value.handle)
                memory.name(values[name], name)
                value.handle.matched = parameter_place(self.function, name)
        return values

    def _absent(self, name: str) -> None:
        """A parameter that is specialized to None: a call passes None for it."""
        self.signature.parameters.append((name, Absent()))

    def _parameter(self, name: str, annotation: Any, optional: bool) -> Any:
        kind = annotation.inner if optional and isinstance(annotation, shared.OptionalType) else annotation
        if isinstance(kind, TensorType):
            return Unmatched(self.signature.handle(name), kind)
        return super()._parameter(name, annotation, optional)

    def __call__(self, *arguments: Any) -> None:
        with respelled():
            super().__call__(*arguments)


class JitFunction(shared.JitFunction):
    """A function with T.constexpr parameters."""

    specialized = Function

    def specialize(self, **values: Any) -> shared.PrimFunc:
        with respelled():
            return super().specialize(**values)

    def __call__(self, *arguments: Any, **options: Any) -> None:
        with respelled():
            super().__call__(*arguments, **options)

    @staticmethod
    def _is_optional(annotation: Any) -> bool:
        text = annotation.replace(" ", "") if isinstance(annotation, str) else ""
        return text.endswith("|None") or shared.JitFunction._is_optional(annotation)


class Inline(shared.Inline):
    """A function whose body is traced in place of each call."""

    meaning = INLINE


def function(
    function: Callable | None = None, *, private: bool = False, persistent: bool = False, check_well_formed: bool = True
) -> Any:
    """Trace a function by its annotations. Raises DSLUserCodeError where it is no T."""
    if function is None:
        return decorate
    return decorate(function)


def decorate(function: Any) -> Function:
    """The traced function."""
    with respelled():
        shared.require_function(function, "T.function")
        return Function(function, {})


def jit(function: Callable | None = None, *, private: bool = False, persistent: bool = False) -> Any:
    """A function with compile-time parameters (`*, N: T.constexpr`), traced by its `.specialize`."""
    if function is None:
        return jit
    with respelled():
        shared.require_function(function, "T.jit")
        return JitFunction(function)


def inline(function: Callable | None = None) -> Any:
    """A function of T that is written into its callers; it is called with T's values and Python's alike."""
    if function is None:
        return inline
    with respelled():
        shared.require_function(function, "T.inline")
        return Inline(function)
