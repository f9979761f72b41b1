"""@qd.func and @qd.real_func: inlined where a kernel calls them."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any

from dsl.core.syntax.assigned_names import assigned_in
from dsl.core.syntax.function_source import find_definition
from dsl.quadrants.errors.description import an, described
from dsl.quadrants.errors.errors import CalledFromPython, QuadrantsSyntaxError, QuadrantsTypeError
from dsl.quadrants.functions import annotations, task
from dsl.quadrants.functions.annotations import MatrixAnnotation
from dsl.quadrants.functions.decorated_function import Function
from dsl.quadrants.functions.signature import checked
from dsl.quadrants.functions.struct_types import StructType
from dsl.quadrants.memory.dense import Indexed
from dsl.quadrants.memory.tensor import Tensor, bare_of
from dsl.quadrants.syntax import hooks, surface
from dsl.quadrants.values import dtypes as types
from dsl.quadrants.values.assignable import value_of
from dsl.quadrants.values.matrix import Matrix
from dsl.quadrants.values.structure import Struct


class Func(Function):
    """A `@qd.func`: inlined where a kernel calls it."""

    grammar = surface.FUNC
    is_inlined = True

    def __init__(self, function: Callable, requires_top_level: bool = False):
        super().__init__(function)
        self.requires_top_level = requires_top_level

    def __call__(self, *arguments, **keywords):
        if not task.active():
            raise CalledFromPython.at(
                f"`{self.__name__}` is a @qd.func, which only kernels and other funcs call",
                "call it in a @qd.kernel",
                also=((self.place(), "it is defined here"),),
            )
        if self.requires_top_level and not task.program().is_top:
            raise QuadrantsSyntaxError.at(
                f"`{self.__name__}` requires the outermost scope of a kernel, but is called inside a run-time "
                "statement",
                "move the call out of the `if`, `for` or `while` around it",
                also=((self.place(), "it is defined here"),),
            )
        bound = self._arguments(arguments, keywords)
        return self._returned(self._run([self._argument(name, value) for name, value in bound.items()]))

    def _run(self, values: list) -> Any:
        return self.rewritten(*values)

    def _argument(self, name: str, value: Any) -> Any:
        annotation = self.annotations.get(name)
        if annotations.is_template(annotation) or (name == "self" and self.is_method):
            return value
        if isinstance(annotation, type) and issubclass(annotation, Tensor):
            return bare_of(value)
        if annotations.is_array(annotation):
            if isinstance(value, Indexed):
                kind = annotations.array_kind(name, 0, annotation)
                kind.check(value.element_type, len(value.shape), value.element_shape)
            return value
        if isinstance(value, tuple):
            return tuple(self._argument("", part) for part in value)
        dtype = types.of(annotation) if annotation is not None else None
        if dtype is not None and not isinstance(value, Matrix):
            if types.number(value_of(value)) is None:
                raise QuadrantsTypeError.at(
                    f"`{name}` of `{self.__name__}` must be {an(dtype)}, got {described(value)}",
                    f"pass a number for `{name}`",
                    also=((self.parameter_place(name), "it is declared here"),),
                )
            value = dtype(value_of(value))
        if isinstance(annotation, MatrixAnnotation):
            if isinstance(value, Matrix) and value.shape != annotation.element_shape:
                wanted, got = annotation.described(), described(value)
                if value.ndim == 1 and len(annotation.element_shape) == 1:
                    wanted, got = f"Matrix with n {annotation.element_shape[0]}", str(value.n)
                raise QuadrantsSyntaxError.at(
                    f"Argument {name} is expected to be a {wanted}, but got {got}",
                    f"pass a {annotation.described()}",
                    also=((self.parameter_place(name), "it is declared here"),),
                )
            value = annotation(value)
        if isinstance(annotation, StructType):
            if not isinstance(value, (Struct, dict)):
                raise QuadrantsTypeError.at(
                    f"`{name}` of `{self.__name__}` must be {annotation.described()}, got {described(value)}",
                    "make one by calling the struct type",
                    also=((self.parameter_place(name), "it is declared here"),),
                )
            value = annotation.cast(value)
        if name in self.read_only and not isinstance(value, Matrix):
            number = types.number(value_of(value))
            if number is not None:
                return task.dynamic(number)
        return hooks.declare(value, name)

    @functools.cached_property
    def read_only(self) -> set[str]:
        """The parameters that need no place: none is assigned, or handed on as a place."""
        definition = find_definition(self.function)
        assert isinstance(definition, ast.FunctionDef)
        body = definition.body
        nodes = [node for statement in body for node in ast.walk(statement)]
        handed = {
            argument.id
            for node in nodes
            if isinstance(node, ast.Call) and not _reads(node.func)
            for argument in (*node.args, *(keyword.value for keyword in node.keywords))
            if isinstance(argument, ast.Name)
        }
        return set(self.signature.parameters) - set(assigned_in(body)) - handed

    def _returned(self, value: Any) -> Any:
        wanted = self.annotations.get("return")
        if value is None and wanted is not None:
            raise QuadrantsSyntaxError.at(
                "Function has a return type but does not have a return statement",
                "return a value, or drop the annotation",
                self.parameter_place("return"),
            )
        return hooks.converted(value, wanted)


_READERS = {"range", "ndrange", "int", "float", "min", "max", "abs", "print", "cast", "static"}


def _reads(callee: ast.expr) -> bool:
    """Whether a call of that name only reads its arguments."""
    return getattr(callee, "attr", getattr(callee, "id", "")) in _READERS


class RealFunc(Func):
    """A `@qd.real_func`: may return early, and its loops are serial. It is inlined like any func."""

    grammar = surface.REAL_FUNC

    def __init__(self, function: Callable):
        super().__init__(function)
        for name, parameter in self.signature.parameters.items():
            if parameter.annotation is parameter.empty and not (name == "self" and self.is_method):
                raise QuadrantsSyntaxError.at(
                    f"`{name}` of real_func `{function.__name__}` must be type annotated",
                    f"for example `{name}: qd.f32`",
                    self.parameter_place(name),
                )

    def _run(self, values: list) -> Any:
        program = task.program()
        program.returns.append(self.annotations.get("return"))
        try:
            with program.nested("call"):
                value = self.rewritten(*values)
        finally:
            program.returns.pop()
        if value is not None and "return" not in self.annotations:
            raise QuadrantsSyntaxError.at(
                "The type of a real_func's return value must be annotated",
                f"for example `def {self.__name__}(...) -> qd.f32:`",
                self.place(),
            )
        return value


@checked
def func(fn: Callable | None = None, *, is_real_function: bool = False, requires_top_level: bool = False):
    """A function that kernels and other funcs call; it becomes part of them."""
    if fn is None:
        return lambda function: func(function, is_real_function=is_real_function, requires_top_level=requires_top_level)
    if not hasattr(fn, "__code__"):
        raise QuadrantsTypeError.at(f"@qd.func decorates a function, got {described(fn)}", "write it over a `def`")
    return RealFunc(fn) if is_real_function else Func(fn, requires_top_level)


def real_func(fn: Callable) -> RealFunc:
    """A func that may return early."""
    return RealFunc(fn)
