"""Expressions that Python would decide itself: `and`, `or`, `not`, `a if c else b`, chained comparisons, min, max."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

from dsl import span
from dsl.core.control_flow.branches.truth_value import described, single_truth, truth, truth_in_expression
from dsl.core.control_flow.objects.dynamic_element import is_same
from dsl.core.control_flow.statements import Name, Unbound, if_
from dsl.core.errors import DSLUserCodeTypeError, warn_not_portable
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Boolean, Int64, Numeric, is_dynamic, numeric, promote
from dsl.core.number.operators import maximum, minimum, operate, select, type_name, type_of_literal
from dsl.core.phrase import STATIC_PARAMETER, Phrase, dynamic
from dsl.span import here

span.stands_for_python(__file__, operators=True)


def const_expr(value: Any) -> Any:
    """`value`, which must be known while compiling."""
    if is_dynamic(value):
        raise DSLUserCodeTypeError(
            Phrase("needs a value known while compiling, got {type}", type=dynamic(type_name(value))),
            fix=Phrase("drop const_expr, or {parameter}", "DROP_CONST_EXPR", parameter=STATIC_PARAMETER),
            id="PHASE_REQUIRES_CONSTANT",
        )
    if hasattr(type(value), "__flatten__") and len(value.__flatten__()[0]):
        raise DSLUserCodeTypeError(
            Phrase("needs a value known while compiling, got {type}", type=described(value)),
            fix="use `is not None`, or test something static",
            id="PHASE_REQUIRES_CONSTANT",
        )
    return value.value if isinstance(value, Numeric) else value


def bool_(value: Any = False) -> bool:
    """`bool(value)`."""
    if is_dynamic(value):
        raise DSLUserCodeTypeError(
            Phrase("Python needs a bool while compiling, got {type}", type=dynamic(type_name(value))),
            fix=Phrase("use it as it is, or `cutlass.{type}(x)`", "USE_OR_CAST", type=Boolean),
            id="PHASE_REQUIRES_CONSTANT",
        )
    return truth_in_expression(value, "the argument of bool()")


def matched(subject: Any) -> Any:
    """The subject of a `match`, which Python decides."""
    if is_dynamic(subject):
        raise DSLUserCodeTypeError(
            Phrase(
                "the subject of `match` must be known while compiling, got {type}", type=dynamic(type_name(subject))
            ),
            fix="write `if x == 1: ... elif x == 2: ...`",
            id="PHASE_DYNAMIC_TO_STATIC_BOOL",
        )
    return subject


def ifexp(test: Any, then: Callable, orelse: Callable) -> Any:
    """`a if test else b`: Python's where `test` is static; two numbers in their common type."""
    if not is_dynamic(test):
        return then() if truth_in_expression(test) else orelse()
    name = Name("the conditional expression", *dataclasses.astuple(here()))
    first: list = []  # what the first arm returns; the second may find that it must be converted
    blocks, arms = [], []

    def one(_):
        first[:] = arms[:] = [then()]
        blocks.append(mlir.current_block())
        return first

    def other(_):
        value = orelse()
        arms.append(value)
        common = _common_type(first[0], value)
        if common is None:
            return (value,)
        with mlir.inside(blocks[-1]):
            first[0] = common(first[0])
        return (common(value),)

    try:
        return if_(test, one, other, (Unbound(name.name),), (name,))[0]
    except DSLUserCodeTypeError as error:
        if error.id not in ("TYPE_UNSTABLE_JOIN", "TYPE_DYNAMIC_EXPR_UNSUPPORTED") or len(arms) < 2:
            raise
        kinds = [repr(value) if isinstance(value, str) else type_name(value) for value in arms]
        raise DSLUserCodeTypeError(
            Phrase("is {a} where the test is true and {b} where it is false", a=kinds[0], b=kinds[1]),
            fix=Phrase("choose between numbers of one kind, or mark the test `const_expr(...)`", "CHOOSE_OR_MARK"),
            id="TYPE_DYNAMIC_EXPR_UNSUPPORTED"
            if any(isinstance(value, str) for value in arms)
            else "TYPE_CONDITIONAL_BRANCH_MISMATCH",
        ) from None


def _common_type(a: Any, b: Any) -> type[Numeric] | None:
    """The type of a choice between two numbers of different types; None if they agree, or one is not a number."""
    left, right = numeric(a), numeric(b)
    if left is None or right is None or type(left) is type(right):
        return None
    of_literal = type_of_literal(a, b)
    if of_literal is not None:
        return of_literal
    dtype = promote(type(left), type(right))
    warn_not_portable(
        f"a choice between {type_name(a)} and {type_name(b)} becomes {dtype}",
        "TYPE_CONDITIONAL_BRANCH_MISMATCH",
        fix=f"convert both: `{dtype}(...)`",
    )
    return dtype


def and_(left: Any, right: Callable) -> Any:
    """`left and right`: a number of the DSL on the left does not short-circuit,
    so both are evaluated (as upstream does)."""
    if not isinstance(left, Numeric):
        return right() if _is_true(left, "and") else left
    return _choose(left, right(), left)


def or_(left: Any, right: Callable) -> Any:
    """`left or right`: a number of the DSL on the left does not short-circuit,
    so both are evaluated (as upstream does)."""
    if not isinstance(left, Numeric):
        return left if _is_true(left, "or") else right()
    return _choose(left, left, right())


def _is_true(value: Any, word: str) -> bool:
    """The truth of an operand of `and`, `or` or `not`, in which the author may test whether a function is there."""
    return (truth if getattr(type(value), "truth_fix", "") else single_truth)(value, f"what `{word}` tests")


def kept(cell: list, value: Any, assigned: tuple) -> Any:
    """`value`, the right side of an `and` or `or` that has assigned variables: they are left in `cell`."""
    cell[:] = assigned
    return value


def given(cell: list, position: int, before: Any) -> Any:
    """A variable after such an `and` or `or`: as its right side has left it, `before` where that was not evaluated."""
    return cell[position] if cell else before


def held(value: Any) -> Callable[[], Any]:
    """`value`, evaluated already, where a thunk is taken."""
    return lambda: value


def every(*values: Any) -> Any:
    """`a and b and ...`, of values that are there already. Raises DSLUserCodeTypeError without any."""
    return _folded(and_, values, "and_")


def some(*values: Any) -> Any:
    """`a or b or ...`, of values that are there already. Raises DSLUserCodeTypeError without any."""
    return _folded(or_, values, "or_")


def _folded(combine: Callable, values: tuple, name: str) -> Any:
    if not values:
        raise DSLUserCodeTypeError(f"{name}() requires at least one argument", fix=f"{name}(a, b)")
    result = values[0]
    for value in values[1:]:
        result = combine(result, lambda value=value: value)
    return result


def _choose(test: Numeric, if_true: Any, if_false: Any) -> Any:
    """One of two numbers in their common type; where the test is static, one of any two values."""
    types = [type(number) for number in map(numeric, (if_true, if_false)) if number is not None]
    if len(types) < 2 and not is_dynamic(test):
        return if_true if test else if_false
    if len(types) < 2:
        side = if_true if numeric(if_true) is None else if_false
        raise DSLUserCodeTypeError(
            Phrase("`and` and `or` of {value} need numbers, got {type}", value=dynamic("value"), type=type_name(side)),
            fix="use an `if` statement",
        )
    dtype = promote(*types)
    return select(test, dtype(numeric(if_true)), dtype(numeric(if_false)))


def not_(lhs: Any) -> Any:
    if not is_dynamic(lhs):
        return not _is_true(lhs, "not")
    return Boolean(operate("xor", Boolean(lhs), Boolean(True)))


_OPERATORS = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
}


def iterated(values: Any) -> Iterator:
    """An iterator of what a `for` or a comprehension iterates over."""
    return iter(values)


def filters(test: Any) -> bool:
    """The test of a comprehension's `if`, which Python evaluates."""
    return truth_in_expression(test)


def compared(name: str, a: Any, b: Any) -> Any:
    """`a == b`, `a < b` ...: of tuples and lists with dynamic elements as Python does it, element by element; a tuple
    may equal a list then, as in NVIDIA's compiler."""
    if not isinstance(a, (tuple, list)) or (not _has_dynamic(a) and not _has_dynamic(b)):
        return _OPERATORS[name](a, b)
    if not {type(a).__eq__, type(b).__eq__} <= {tuple.__eq__, list.__eq__}:
        return _OPERATORS[name](a, b)
    a, b = tuple(a), tuple(b)
    if name == "NotEq":
        return not_(compared("Eq", a, b))
    if name == "Eq" and len(a) != len(b):
        return False
    for position, (left, right) in enumerate(zip(a, b)):
        equal = compared("Eq", left, right)
        if not is_dynamic(equal):
            if equal:
                continue
            return False if name == "Eq" else compared(name, left, right)
        rest = compared(name, a[position + 1 :], b[position + 1 :])
        if name == "Eq":
            return and_(equal, lambda: rest)  # noqa: B023 - asked at once
        return select(equal, Boolean(rest), Boolean(compared(name, left, right)))
    return _OPERATORS[name](len(a), len(b))


def _has_dynamic(value: Any) -> bool:
    return is_dynamic(value) or (isinstance(value, (tuple, list)) and any(map(_has_dynamic, value)))


_COMPARISONS = {
    **{name: functools.partial(compared, name) for name in _OPERATORS},
    "Is": is_same,
    "IsNot": lambda a, b: not is_same(a, b),
    "In": lambda x, xs: contains(xs, x),
    "NotIn": lambda x, xs: not_(contains(xs, x)),
}


def compare(left: Any, *pairs: tuple[str, Callable]) -> Any:
    """A chained comparison: `0 < a < 5` is `0 < a and a < 5` with `a` evaluated once."""
    result: Any = True
    for name, read in pairs:
        right = read()
        step = _COMPARISONS[name](left, right)
        result = step if result is True else and_(result, lambda step=step: step)
        if not is_dynamic(result) and not result:
            return result
        left = right
    return result


def contains(items: Any, x: Any) -> Any:
    """`x in items`; a Boolean where an element or `x` is dynamic."""
    if isinstance(items, range) and is_dynamic(x) and x.is_integer:
        return _in_range(items, x if x.width == 64 else Int64(x))
    if not isinstance(items, (tuple, list, range, dict, set, frozenset, *_VIEWS)):
        return x in items
    if not _has_dynamic((x, *items)):
        return x in items
    if not isinstance(items, (tuple, list, range)):
        word = type(items).__name__
        warn_not_portable(
            f"`in` asks a {word} for a dynamic value", "UNSUP_IN_OPERATOR", fix=f"ask a tuple of what the {word} has"
        )
    result: Any = False
    for item in items:
        result = or_(result, lambda item=item: compared("Eq", x, item))
    return result


_VIEWS = (type({}.keys()), type({}.values()), type({}.items()))


def _in_range(items: range, x: Numeric) -> Any:
    if not items:
        return False
    low, high = min(items[0], items[-1]), max(items[0], items[-1])
    inside = operate("and", x >= low, x <= high)
    return operate("and", inside, (x - low) % abs(items.step) == 0) if abs(items.step) != 1 else inside


def min_(*values, **options):
    return _extreme(min, minimum, values, options)


def max_(*values, **options):
    return _extreme(max, maximum, values, options)


def _extreme(python: Callable, pairwise: Callable, values: tuple, options: dict) -> Any:
    items = list(values[0]) if len(values) == 1 else list(values)
    if options or not any(isinstance(item, Numeric) for item in items):
        return python(*([items] if len(values) == 1 else values), **options)
    if len(values) == 1 and not isinstance(values[0], (tuple, list)) and any(map(is_dynamic, items)):
        _warn_of_iterator(python.__name__, values[0])
    result = items[0]
    for item in items[1:]:
        result = pairwise(result, item)
    return result


def any_(iterable) -> Any:
    return _decided("any", or_, False, iterable)


def all_(iterable) -> Any:
    return _decided("all", and_, True, iterable)


def _decided(name: str, combine: Callable, result: Any, values) -> Any:
    for value in values:
        result = combine(result, lambda value=value: value)
    if not is_dynamic(result):
        return bool(result)
    if not isinstance(values, (tuple, list)):
        _warn_of_iterator(name, values)
    return Boolean(result)


def _warn_of_iterator(name: str, values: Any) -> None:
    warn_not_portable(
        f"`{name}` asks a {type(values).__name__} of dynamic values",
        "PHASE_DYNAMIC_TO_STATIC_BOOL",
        fix=f"ask a list: `{name}([...])`",
    )
