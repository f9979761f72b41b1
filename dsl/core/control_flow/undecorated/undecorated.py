"""Functions of the author without a decorator: rewritten when rewritten code calls them, and decided by value.

NVIDIA's compiler runs such functions as plain Python and rejects a dynamic value in their `if`, `for` and `and`. So a
static test keeps Python's meaning here (one arm runs, `range(4)` counts in Python), and only a dynamic one becomes a
structured statement. Functions of Python's library and of installed packages are called as they are.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
from collections.abc import Callable

from dsl import span
from dsl.core.control_flow.text.runtime_text import text_method
from dsl.core.control_flow.undecorated.undecorated_statements import ByValue
from dsl.core.errors import DSLUserCodeError
from dsl.core.syntax import rewrite
from dsl.core.syntax.function_source import is_authors, refuses_rewriting
from dsl.core.syntax.rewrite_expression import Grammar

span.stands_for_python(__file__)

_PLAIN = (types.BuiltinFunctionType, types.MethodWrapperType, types.MethodDescriptorType, types.WrapperDescriptorType)
_SUSPENDS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Helpers:
    """The rewritten versions of undecorated functions under `grammar`, by code object."""

    def __init__(self, grammar: Grammar):
        self.grammar = grammar
        self._codes: dict[int, tuple[types.CodeType, tuple | None]] = {}  # the code is held, so its id stays its own

    def callee(self, function: Callable) -> Callable:
        """The function that a call of `function` in rewritten code calls: a rewritten version, or `function`."""
        kind = type(function)
        if kind is types.FunctionType:
            return self._function(function)
        if kind in _PLAIN:
            is_text = kind is types.BuiltinFunctionType and function.__name__ in ("join", "format")
            return text_method(function) if is_text else function
        if kind is types.MethodType:
            inner = function.__func__
            rewritten = self._function(inner) if type(inner) is types.FunctionType else inner
            return function if rewritten is inner else types.MethodType(rewritten, function.__self__)
        if kind is functools.partial:
            rewritten = self.callee(function.func)
            if rewritten is function.func:
                return function
            return functools.partial(rewritten, *function.args, **function.keywords)
        if isinstance(function, type):
            return self._constructor(function)
        call = getattr(kind, "__call__", None)  # noqa: B004 - the method itself
        if type(call) is types.FunctionType and (rewritten := self._function(call)) is not call:
            return types.MethodType(rewritten, function)
        return function

    def _function(self, function: types.FunctionType) -> Callable:
        code = function.__code__
        cached = self._codes.get(id(code))
        if cached is None:
            cached = self._codes[id(code)] = code, self._rewritten(function)
        if cached[1] is None:
            return function
        new_code, hooks = cached[1]
        return rewrite.function_of(new_code, function, hooks)

    def _rewritten(self, function: types.FunctionType) -> tuple[types.CodeType, ByValue] | None:
        """The code of `function` rewritten, and the hooks it calls; None where it stays as it is."""
        code = function.__code__
        if code.co_flags & _SUSPENDS or not is_authors(code.co_filename) or rewrite.is_rewritten(code):
            return None
        try:
            definition = rewrite.find_definition(function)
        except (DSLUserCodeError, SyntaxError):  # without source, Python runs it
            return None
        if refuses_rewriting(definition):
            return None
        return rewrite.rewritten_code(function, self.grammar), ByValue(self.grammar.hooks, function.__name__)

    def _constructor(self, cls: type) -> Callable:
        """`cls`, or a function that does what calling it does with its `__init__` rewritten."""
        if type(cls).__call__ is not type.__call__ or cls.__new__ is not object.__new__:
            return cls
        init: Callable = cls.__init__
        rewritten = self._function(init) if isinstance(init, types.FunctionType) else init
        after = self._after_init(cls)
        if rewritten is init and after is None:
            return cls

        def construct(*arguments, **keywords):
            instance = object.__new__(cls)
            if after is not None:  # found on the instance before the class
                instance.__dict__["__post_init__"] = types.MethodType(after, instance)
            rewritten(instance, *arguments, **keywords)
            instance.__dict__.pop("__post_init__", None) if after is not None else None
            return instance

        return construct

    def _after_init(self, cls: type) -> Callable | None:
        """`__post_init__` of a dataclass, rewritten; None where there is none, or it stays as it is."""
        method = getattr(cls, "__post_init__", None)
        if not dataclasses.is_dataclass(cls) or type(method) is not types.FunctionType or not cls.__dictoffset__:
            return None
        rewritten = self._function(method)
        return None if rewritten is method else rewritten
