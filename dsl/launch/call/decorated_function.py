"""A function of the author under a decorator: rewritten when it is first used, with its signature and annotations."""

from __future__ import annotations

import functools
import inspect
import linecache
import types
from collections.abc import Collection
from typing import Any

from dsl.core.diagnosis import author_traceback
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.operators import type_name
from dsl.core.syntax import function_source, rewrite
from dsl.core.syntax.rewrite_expression import Grammar
from dsl.launch.argument import kinds
from dsl.launch.call.argument_checks import check_argument
from dsl.span import Span


class DecoratedFunction:
    """A decorated function of the author and its surface's grammar."""

    __name__: str

    @author_traceback.guarded
    def __init__(self, function: types.FunctionType, grammar: Grammar, static_marker: type):
        if not isinstance(function, types.FunctionType):
            raise _not_decorable(function)
        functools.update_wrapper(self, function)
        function_source.note(function)
        self.function, self.grammar, self.static_marker = function, grammar, static_marker
        self.symbol = function.__name__  # what the names of its code in PTX begin with

    @functools.cached_property
    def rewritten(self) -> types.FunctionType:
        return rewrite.rewrite(self.function, self.grammar)

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @functools.cached_property
    def annotations(self) -> dict[str, Any]:
        """Annotations as objects; one that cannot be evaluated counts as none."""
        resolved = {}
        for name, value in getattr(self.function, "__annotations__", {}).items():
            if isinstance(value, str):
                value = self._evaluate(value)
            resolved[name] = value
        return resolved

    def _evaluate(self, text: str) -> Any:
        cells = zip(self.function.__code__.co_freevars, self.function.__closure__ or ())
        names = {name: cell.cell_contents for name, cell in cells if cell is not None}
        try:
            return eval(text, self.function.__globals__, names)  # an annotation is the author's own expression
        except Exception:  # whatever it does, it only loses its annotation
            return None

    def set_name_prefix(self, prefix: str) -> None:
        """Let the names of this function's code in PTX begin with `prefix`."""
        self.symbol = f"{prefix}_{self.function.__name__}"

    def is_static(self, name: str) -> bool:
        """Whether parameter `name` is annotated as known while compiling."""
        return self.annotations.get(name) is self.static_marker

    def converted(self, name: str, value: Any) -> Any:
        """The value of parameter `name` for a traced `value`, converted by the annotation if it can convert."""
        convert = getattr(self.annotations.get(name), "__from_argument__", None)
        return value if convert is None else convert(value)

    def typed(self, name: str, value: Any) -> Any:
        """How `value` is passed for parameter `name` from Python. Raises DSLUserCodeTypeError where it cannot be."""
        annotation = self.annotations.get(name)
        check_argument(self.__name__, name, value, annotation)
        try:
            return kinds.typed(value, annotation, self.static_marker)
        except RecursionError:
            raise DSLUserCodeTypeError(
                f"`{self.__name__}` gets a container for `{name}` that contains itself",
                fix="pass its parts",
                id="ARG_UNSUPPORTED_TYPE",
            ) from None

    def bind(self, args: tuple, keywords: dict) -> inspect.BoundArguments:
        try:
            bound = self.signature.bind(*args, **keywords)
        except TypeError as error:
            raise self._mismatch(str(error), args, keywords) from None
        bound.apply_defaults()
        return bound

    def _mismatch(self, text: str, args: tuple, keywords: dict) -> DSLUserCodeTypeError:
        """The error of a call that does not fit the signature, with the function's own line."""
        parameters = self.signature.parameters
        definition = ((_definition(self.function.__code__), f"`{self.__name__}` is defined here"),)
        unknown = [name for name in keywords if name not in parameters]
        if "missing" in text:
            id, what = "CALL_MISSING_ARG", "lacks" + text.partition("required")[2].replace(": ", " ")
        elif unknown:
            id, what = "CALL_UNEXPECTED_KWARG", f"has no parameter `{unknown[0]}`"
        else:
            id, what = "CALL_EXTRA_ARG", _too_many(parameters.values(), len(args), len(keywords))
        fix = f"call it as `{self.__name__}({', '.join(map(_spelt, parameters.values()))})`"
        return DSLUserCodeTypeError(
            f"`{self.__name__}` {what}", id=id, also=definition, fix=self._as_method(id, args) or fix
        )

    def _as_method(self, id: str, args: tuple) -> str:
        """The fix of a method without `self`, and of one that is called without an object; else ''."""
        owner = self.function.__qualname__.rpartition(".")[0].rpartition(".")[2]
        if owner in ("", "<locals>"):
            return ""
        names = list(map(_spelt, self.signature.parameters.values()))
        has_object = bool(args) and owner in (each.__name__ for each in type(args[0]).__mro__)
        if id == "CALL_EXTRA_ARG" and has_object and names[:1] != ["self"]:
            return f"the object is its first argument: `def {self.__name__}({', '.join(['self', *names])})`"
        if id == "CALL_MISSING_ARG" and not has_object and names[:1] == ["self"]:
            return f"call it on an object of the class: `{owner}(...).{self.__name__}({', '.join(names[1:])})`"
        return ""

    def __call__(self, *args, **keywords) -> Any:
        """Handle a call from Python, or inside a traced function."""
        raise NotImplementedError

    def __reached__(self) -> tuple:
        """The objects that dynamic statements reach through this: mutable_state."""
        return (self.function,)

    def __get__(self, instance, owner=None):
        return self if instance is None else BoundMethod(self, instance)


class BoundMethod:
    """A method: the function with its instance as the first argument."""

    def __init__(self, function: DecoratedFunction, instance: Any):
        self.function, self.instance = function, instance
        self.__name__ = function.__name__

    def __call__(self, *args, **keywords):
        return self.function(self.instance, *args, **keywords)

    def __reached__(self) -> tuple:
        return (self.instance, self.function)


def _not_decorable(value: Any) -> DSLUserCodeTypeError:
    """The error of a decorator over `value`, which is not a function."""
    inner = value.function if isinstance(value, (DecoratedFunction, BoundMethod)) else getattr(value, "__func__", None)
    if inner is not None:
        return DSLUserCodeTypeError(
            f"decorates `{inner.__name__}`, which another decorator has made {type_name(value)}",
            fix="put it directly over the `def`, and only once",
            id="UNSUP_DECORATOR_ORDER",
        )
    what = f"`{value.__name__}`" if hasattr(value, "__name__") else type_name(value)
    return DSLUserCodeTypeError(
        f"decorates {what}, but needs a function written in Python",
        id="ARG_UNSUPPORTED_TYPE",
        fix="decorate a `def`, and call it there",
    )


def _definition(code: types.CodeType) -> Span:
    """The line with the `def` of a function, below its decorators."""
    line = code.co_firstlineno
    while (text := linecache.getline(code.co_filename, line)) and not text.lstrip().startswith(("def ", "async def ")):
        line += 1
    return Span(code.co_filename, line if text else code.co_firstlineno)


def _too_many(parameters: Collection[inspect.Parameter], positional: int, by_name: int) -> str:
    """The message for a call with more arguments than there are parameters, or with more without a name."""
    places = sum(parameter.kind is not parameter.KEYWORD_ONLY for parameter in parameters)
    if places < min(positional, len(parameters)):
        return f"takes {places} argument{'s' * (places != 1)} without a name, got {positional}"
    return f"takes {len(parameters)} argument{'s' * (len(parameters) != 1)}, got {positional + by_name}"


def _spelt(parameter: inspect.Parameter) -> str:
    """A parameter without its annotation: `n`, `n=3`, `*args`."""
    return str(parameter.replace(annotation=parameter.empty)).replace(" = ", "=")
