"""The meaning of the statements of a CuTe DSL program: `if`, `while` and `range` are dynamic, `const_expr` and
`range_constexpr` are static. CuTe DSL documentation: Control Flow."""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Callable

from dsl.core.control_flow import expressions as core_expression
from dsl.core.control_flow.hooks import Hooks
from dsl.core.control_flow.statements import Range
from dsl.core.control_flow.undecorated.undecorated import Helpers
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, warn_at, warn_of_old_name
from dsl.core.number.dtypes import is_dynamic
from dsl.core.number.operators import type_name
from dsl.core.state import this_thread
from dsl.core.syntax.function_source import register_language
from dsl.core.syntax.rewrite_expression import Grammar
from dsl.cutlass.preprocessor import preprocessed
from dsl.gpu.debug import printf
from dsl.span import here


class Constexpr:
    """Annotation of a parameter that is known while compiling: `Constexpr` or `Constexpr[int]`."""

    def __class_getitem__(cls, item):
        return cls


class GridConstant:
    """Annotation of a kernel's parameter that stays in the parameters' memory: `GridConstant[TensorMap]`."""

    def __class_getitem__(cls, item):
        return item


def const_expr(expression):
    """`expression`, evaluated while compiling. Raises DSLUserCodeTypeError where it is dynamic."""
    return core_expression.const_expr(expression)


def dsl_user_op(opFunc):
    """`opFunc`, whose `loc` and `ip` stay as they are: places are known without.

    It is rewritten as functions without a decorator are, also if an operator, a property or an installed package
    calls it.
    """
    if not isinstance(opFunc, types.FunctionType):
        return opFunc

    @functools.wraps(opFunc)
    def op(*arguments, **keywords):
        called = _HOOKS.callee(opFunc) if this_thread.functions else opFunc
        return called(*arguments, **keywords)

    return op


def dynamic_expr(expression):
    """`expression` as an ordinary dynamic test (deprecated upstream: a test without a mark is dynamic)."""
    warn_of_old_name("cutlass.dynamic_expr is deprecated: a test without const_expr is dynamic already")
    return expression


def range(*bounds, unroll=-1, unroll_full=False, prefetch_stages=None, pipelining=None, vectorize=None):
    """A dynamic loop over start, stop, step. `unroll` n trips at once (1: never), `unroll_full` all of them."""
    _outside_for("cutlass.range")


def range_dynamic(*bounds, **options):
    """`cutlass.range` under its older name."""
    _outside_for("cutlass.range_dynamic")


def _outside_for(name: str):
    raise DSLUserCodeError(
        f"{name} is the iterable of a `for` statement in a @cute.jit or @cute.kernel function",
        fix="write `for i in cutlass.range(...)` there, or use Python's range here",
    )


def range_constexpr(*bounds):
    """A loop unrolled while compiling; all bounds are static."""
    numbers: list[int] = []
    for bound in bounds:
        if is_dynamic(bound):
            raise DSLUserCodeTypeError(
                "a bound of range_constexpr is known only at run time",
                id="ARG_NON_CONSTANT",
                fix="use `range(...)`, or pass the bound as cutlass.Constexpr",
            )
        try:
            numbers.append(int(bound))
        except (TypeError, ValueError, OverflowError):
            raise DSLUserCodeTypeError(
                f"bound of range_constexpr must be an integer, got {type_name(bound)}",
                fix="write range_constexpr(stop), (start, stop) or (start, stop, step)",
            ) from None
    if not 1 <= len(bounds) <= 3 or (len(bounds) == 3 and numbers[2] == 0):
        raise DSLUserCodeTypeError(
            "range_constexpr takes one to three bounds, of which the third, the step, is not 0",
            fix="write range_constexpr(stop), (start, stop) or (start, stop, step)",
        )
    return builtins.range(*numbers)


class _Hooks(Hooks):
    """core's hooks with this surface's range."""

    callee: Callable  # what calls of functions without a decorator go through

    @staticmethod
    def Range(
        *bounds, unroll=-1, unroll_full=False, prefetch_stages=None, pipelining=None, vectorize=None, **unknown
    ) -> Range:
        if unknown:
            raise DSLUserCodeTypeError(
                f"range takes no keyword `{next(iter(unknown))}`",
                id="UNSUP_RANGE_ARGS",
                fix="write range(start, stop, step); cutlass.range also takes unroll=, "
                "unroll_full= and prefetch_stages=",
            )
        if vectorize:
            raise DSLUserCodeError(
                "cutlass.range(vectorize=True) needs compute capability 10", id="UNSUP_ARCH", fix="drop vectorize"
            )
        if prefetch_stages or pipelining:
            warn_at(
                "software pipelining skipped: cutlass.range(prefetch_stages=) compiles as a plain loop here",
                UserWarning,
                here(),
            )
        return Range(*bounds, unroll=unroll, unroll_full=unroll_full)

    def range_dynamic(self, *bounds, **options) -> Range:
        warn_of_old_name("cutlass.range_dynamic is deprecated: `range` is dynamic already")
        return self.Range(*bounds, **options)


_HOOKS = _Hooks()
_WORDS = {
    "hooks": _HOOKS,
    "static": (const_expr,),
    "ranges": {builtins.range: "Range", range: "Range", range_dynamic: "range_dynamic"},
    "calls": {
        builtins.min: "min_",
        builtins.max: "max_",
        builtins.any: "any_",
        builtins.all: "all_",
        builtins.bool: "bool_",
    },
    "named": {builtins.print: "print_", builtins.str: "str_", builtins.repr: "repr_", builtins.format: "format_"},
    "formats": (printf,),
    "ambient": ("loc", "ip"),
}
GRAMMAR = Grammar(**_WORDS, warns_of_exits=True, preprocessed=preprocessed)
UNDECORATED = Grammar(**_WORDS, by_value=True)
_HOOKS.callee = Helpers(UNDECORATED).callee
register_language("cutlass")
