"""T.prim_func, T.jit and T.inline: functions of the author, traced where they are defined, by their annotations."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from dsl.core import number_rules, trace
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.phrase import shown
from dsl.core.syntax import rewrite
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.errors.expression_errors import of_the_author
from dsl.tirx.memory.memory import match_buffer
from dsl.tirx.syntax import grammar
from dsl.tirx.syntax.parameters import (
    at_parameter as _at_parameter,
    bad_annotation as _bad_annotation,
    check_parameters as _check_parameters,
    parameter_place,
)
from dsl.tirx.syntax.signature import Handle, Signature, describing
from dsl.tirx.syntax.statements import Statements
from dsl.tirx.values.dtypes import DType, find
from dsl.tirx.values.promotion import TIRX

GRAMMAR = grammar.grammar(Statements)


# --- annotations -----------------------------------------------------------------------------------------------------


class BufferType:
    """The annotation `T.Buffer(shape, dtype)`: T.match_buffer's arguments."""

    def __init__(self, shape: Any, dtype: Any = "float32", **options: Any):
        self.shape, self.dtype, self.options = shape, dtype, options


class HandleType:
    """The annotation T.handle, or `T.handle("float32", "global")`."""

    def __init__(self, dtype: Any = None, scope: str = "global"):
        self.dtype, self.scope = dtype, scope

    def __call__(self, dtype: Any = None, scope: str = "global", **_options: Any) -> HandleType:
        return HandleType(dtype, scope)


class OptionalType:
    """The annotation `T.Optional(T.handle)` of T.jit: None may be given for it when specializing."""

    def __init__(self, inner: Any):
        self.inner = inner


handle = HandleType()


class constexpr:
    """The annotation of a parameter that T.jit's `.specialize` gives. `T.constexpr(x)` is `x`."""

    def __new__(cls, value: Any) -> Any:
        return value


def _evaluated(function: types.FunctionType, names: dict[str, Any]) -> dict[str, Any]:
    """The annotations of a function as objects; `names` are more that they may use."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or ())
    closure = {}
    for name, cell in cells:
        try:
            closure[name] = cell.cell_contents
        except ValueError:
            continue
    annotations = {}
    for name, value in getattr(function, "__annotations__", {}).items():
        if isinstance(value, str):
            try:
                with _at_parameter(function, name):
                    value = eval(value, function.__globals__, {**closure, **names})  # the author's own expression
            except NameError as error:
                raise DSLUserCodeError(
                    f"the annotation of `{name}` uses `{error.name}`, which is not defined",
                    place=parameter_place(function, name),
                    id="ANNOTATION",
                    fix="define it before, or take it as `T.constexpr` of a T.jit function",
                ) from None
        annotations[name] = value
    return annotations


# --- functions -------------------------------------------------------------------------------------------------------


class PrimFunc:
    """A traced function: `traced` is its text, `signature` what a call brings."""

    __name__: str
    meaning, rules = GRAMMAR, TIRX

    def __init__(
        self,
        function: types.FunctionType,
        names: dict[str, Any],
        absent: frozenset[str] = frozenset(),
        optional: bool = False,
    ):
        functools.update_wrapper(self, function)
        self.function, self.attrs = function, {"global_symbol": function.__name__}
        annotations = _evaluated(function, names)
        self.signature = Signature(function.__name__)
        with number_rules.using(self.rules), describing(self.signature), of_the_author():
            self.traced = trace.trace_host(
                function.__name__, lambda: self._body(annotations, names, absent, optional), []
            )
            self.signature.finish()

    def _body(self, annotations: dict, names: dict, absent: frozenset, optional: bool) -> None:
        rewrite.rewrite(self.function, self.meaning)(**self._values(annotations, names, absent, optional))

    def _values(self, annotations: dict, names: dict, absent: frozenset, optional: bool) -> dict[str, Any]:
        """The values of the parameters while the function is traced."""
        values = {}
        _check_parameters(self.function, names)
        for name in inspect.signature(self.function).parameters:
            with _at_parameter(self.function, name):
                values[name] = (
                    names[name]
                    if name in names
                    else self._absent(name)
                    if name in absent
                    else self._parameter(name, annotations.get(name), optional)
                )
        return values

    def _absent(self, _name: str) -> None:
        """A parameter that is specialized to None: a call does not have it."""

    def _parameter(self, name: str, annotation: Any, optional: bool) -> Any:
        if isinstance(annotation, OptionalType):
            if not optional:
                raise DSLUserCodeError(
                    f"`{name}` is T.Optional, which is only supported by @T.jit",
                    id="ANNOTATION",
                    place=parameter_place(self.function, name),
                    fix="@T.jit, and .specialize()",
                )
            annotation = annotation.inner
        if isinstance(annotation, BufferType):
            tensor = self.signature.handle(name)
            matched = match_buffer(tensor, annotation.shape, annotation.dtype, **annotation.options)
            tensor.matched = parameter_place(self.function, name)
            return matched
        if isinstance(annotation, HandleType) or annotation is HandleType:
            return self.signature.handle(name)
        if isinstance(annotation, DType) and annotation.lanes == 1:
            return self.signature.number(name, annotation.scalar)
        if isinstance(annotation, str):
            return self.signature.number(name, find(annotation).scalar)
        raise _bad_annotation(self.function, name, annotation)

    @property
    def params(self) -> list[Parameter]:
        """Its parameters in order."""
        return [
            Parameter(kind.buffer_name or name if isinstance(kind, Handle) else name, kind)
            for name, kind in self.signature.parameters
        ]

    def with_attr(self, *attributes: Any) -> PrimFunc:
        """The function with another attribute; "global_symbol" is its name."""
        copy = object.__new__(type(self))
        copy.__dict__.update(vars(self))
        copy.attrs = {**self.attrs, **(attributes[0] if len(attributes) == 1 else {attributes[0]: attributes[1]})}
        return copy

    def __call__(self, *arguments: Any) -> None:
        raise DSLUserCodeError(
            f"`{self.__name__}` is not compiled",
            id="CALL_NOT_COMPILED",
            fix=f"tvm.compile({self.__name__}, target=...)(...)",
        )


class Parameter:
    """One parameter of a PrimFunc: its name, and whether it is a tensor."""

    def __init__(self, name: str, kind: Any):
        self.name, self.is_tensor = name, isinstance(kind, Handle) and kind.type is not None

    def __repr__(self) -> str:
        return self.name


def prim_func(function: Callable | None = None, **_options: Any) -> Any:
    """Trace `function` by its annotations. Raises DSLUserCodeError (tvm.error.DiagnosticError) for what is no T."""
    if function is None:
        return prim_func
    require_function(function, "T.prim_func")
    return PrimFunc(function, {})


def require_function(function: Any, name: str) -> None:
    """Raise for what `@name` cannot decorate."""
    if not isinstance(function, types.FunctionType) or inspect.iscoroutinefunction(function):
        what = "an async function" if inspect.iscoroutinefunction(function) else type_name(function)
        raise DSLUserCodeTypeError(
            f"{name} decorates a function, got {what}", id="DECORATOR", fix=f"put @{name} directly over the `def`"
        )


class JitFunction:
    """A function with T.constexpr parameters; `.specialize(N=256)` gives the PrimFunc for their values."""

    __name__: str
    specialized: type[PrimFunc] = PrimFunc

    def __init__(self, function: types.FunctionType):
        functools.update_wrapper(self, function)
        self.function, self.made = function, {}
        texts = {name: str(value) for name, value in getattr(function, "__annotations__", {}).items()}
        parameters = inspect.signature(function).parameters
        self.constants = {
            name: parameters[name].default
            for name, text in texts.items()
            if name in parameters and self._is_constexpr(text, function.__annotations__[name])
        }
        self.optional = frozenset(name for name in parameters if self._is_optional(function.__annotations__.get(name)))

    @staticmethod
    def _is_constexpr(text: str, annotation: Any) -> bool:
        return annotation is constexpr or (isinstance(annotation, str) and text.replace(" ", "").endswith("constexpr"))

    @staticmethod
    def _is_optional(annotation: Any) -> bool:
        if isinstance(annotation, str):
            return annotation.startswith(("T.Optional(", "Optional("))
        return isinstance(annotation, OptionalType)

    def specialize(self, **values: Any) -> PrimFunc:
        """The function with these constants. Raises TypeError where one is missing or unexpected."""
        unexpected = sorted(values.keys() - self.constants.keys() - self.optional)
        if unexpected:
            raise DSLUserCodeTypeError(
                f"{self.__name__}.specialize() got unexpected arguments: {', '.join(unexpected)}",
                id="SPECIALIZE",
                fix=f"its constants: {', '.join(self.constants) or 'none'}",
            )
        absent = frozenset(values.keys() & self.optional)
        for name in absent:
            if values[name] is not None:
                raise DSLUserCodeTypeError(
                    f"{self.__name__}.specialize(): optional parameters only accept None, got "
                    f"{shown(values[name])} for `{name}`",
                    id="SPECIALIZE",
                    fix=f"{name}=None",
                )
        constants = {name: values.get(name, default) for name, default in self.constants.items()}
        missing = [name for name, value in constants.items() if value is inspect.Parameter.empty]
        if missing:
            raise DSLUserCodeTypeError(
                f"{self.__name__}.specialize() is missing constants: {', '.join(missing)}",
                id="SPECIALIZE",
                fix=f"{self.__name__}.specialize({missing[0]}=...)",
            )
        key = (tuple(constants.items()), absent)
        if key not in self.made:
            self.made[key] = self.specialized(self.function, constants, absent, optional=True)
        return self.made[key]

    def __call__(self, *_arguments: Any, **_options: Any) -> None:
        raise DSLUserCodeError(
            f"`{self.__name__}` has constants to be given first",
            id="CALL_NOT_COMPILED",
            fix=f"tvm.compile({self.__name__}.specialize(...), target=...)(...)",
        )


def jit(function: Callable | None = None, **_options: Any) -> Any:
    """A function with compile-time parameters (`*, N: T.constexpr`), traced by its `.specialize`."""
    if function is None:
        return jit
    require_function(function, "T.jit")
    return JitFunction(function)


class Inline:
    """A function whose body is traced in place of each call."""

    __name__: str
    meaning = GRAMMAR

    def __init__(self, function: types.FunctionType):
        functools.update_wrapper(self, function)
        self.function = function
        self.is_rewritten = rewrite.is_rewritten(function.__code__)  # one inside a T function has been with it

    @functools.cached_property
    def rewritten(self) -> Callable:
        return self.function if self.is_rewritten else rewrite.rewrite(self.function, self.meaning)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if not trace.active():
            raise DSLUserCodeError(
                f"`{self.__name__}` is T.inline and called outside a T function",
                id="CALL_INLINE",
                fix="call it in a T.prim_func",
            )
        return self.rewritten(*arguments, **keywords)

    def __get__(self, instance: Any, _owner: type | None = None) -> Any:
        """A method, where it is one of a class."""
        return self if instance is None else types.MethodType(self, instance)

    def __reached__(self) -> tuple:
        """The objects that dynamic statements reach through this: mutable_state."""
        return (self.function,)


def inline(function: Callable | None = None, **_options: Any) -> Any:
    """A function of T that is written into its callers; it is called with T's values and Python's alike."""
    if function is None:
        return inline
    require_function(function, "T.inline")
    return Inline(function)


def meta_class(cls: type) -> type:
    """A Python class whose instances hold buffers and registers."""
    return cls
