"""Expressions that Python would decide itself: `and`, `or`, `not`, `a if c else b`, comparisons, calls, texts.

`and`, `or` and `if` expressions guard what their arms load, not what their arms change: an atomic or a call of a func
that stores runs whatever the test gives, as in quadrants 1.3.3.
"""

from __future__ import annotations

import inspect
import operator
import re
import string
import sys
import types as python_types
import warnings
from collections.abc import Callable
from typing import Any

from dsl.core.control_flow.branches.merge import Scratch
from dsl.core.control_flow.branches.merged_value import poison
from dsl.core.control_flow.loops.speculation import Attempt
from dsl.core.errors import DSLUserCodeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Boolean, Numeric
from dsl.core.number.operators import operate, select
from dsl.core.syntax.function_source import is_authors
from dsl.quadrants import runtime
from dsl.quadrants.errors.description import described
from dsl.quadrants.errors.errors import QuadrantsSyntaxError, QuadrantsTypeError
from dsl.quadrants.functions.decorated_function import Function
from dsl.quadrants.functions.task import dynamic, program
from dsl.quadrants.syntax import hooks
from dsl.quadrants.syntax.iterate import Domain, StaticIterable
from dsl.quadrants.values import dtypes as types, ops, printing, scalar_functions
from dsl.quadrants.values.assignable import value_of
from dsl.quadrants.values.matrix import Matrix, entries_like
from dsl.quadrants.values.printing import Text
from dsl.span import here


def and_(left: Any, right: Callable) -> Any:
    """`left and right`: the first operand that is zero, else the last. With vectors or matrices 0 or 1 each."""
    return _either("and", left, right)


def or_(left: Any, right: Callable) -> Any:
    """`left or right`: the first operand that is not zero, else the last. With vectors or matrices 0 or 1 each."""
    return _either("or", left, right)


def _either(name: str, left: Any, right: Callable) -> Any:
    left, goes_on = value_of(left), name == "and"
    if not runtime.check().short_circuit_operators:
        return (operator.and_ if goes_on else operator.or_)(left, value_of(right()))
    if isinstance(left, (Matrix, list, tuple)):
        return _by_element(name, left, right())
    if isinstance(left, Numeric):
        test = hooks.truth(left)
        wanted = test if goes_on else not_(test)
        value = _guarded(wanted, lambda: _operand(name, left, right()))
        if isinstance(value, Matrix):
            return value
        core = types.promote(type(left), type(value))
        return select(wanted, core(value), core(left))
    if bool(left) == goes_on:
        value = right()
        return _by_element(name, left, value) if isinstance(value, Matrix) else value
    return left if types.number(left) is None else _decided(name, left, right)


def _decided(name: str, left: Any, right: Callable) -> Any:
    """The value where a number known while compiling decides, unless the other operand is a vector or matrix."""
    with Attempt() as attempt:
        scratch = Scratch()
        try:
            with mlir.inside(scratch.block), program().nested("expression"):
                is_one = not isinstance(right(), Matrix)
        except Exception:  # code that is not reached may be wrong
            is_one = True
        attempt.discard([scratch.holder])
    return left if is_one else _by_element(name, left, right())


def _operand(name: str, left: Numeric, value: Any) -> Numeric | Matrix:
    """The right operand of `and` or `or` as a number, or the result where it is a vector or matrix."""
    if isinstance(value, Matrix):
        return _by_element(name, left, value)
    number = types.number(value_of(value))
    if number is None:
        raise QuadrantsTypeError.at(
            f"`and` and `or` take numbers, got {described(value)}",
            "compare it first, or mark both sides with qd.static(...)",
        )
    return number


def _by_element(name: str, left: Any, right: Any) -> Any:
    """`left and right` or `left or right` of which one at least is a vector or matrix: 1 or 0 for every element."""
    left, right = (Matrix(value) if isinstance(value, (list, tuple)) else value for value in (left, right))
    shaped = left if isinstance(left, Matrix) else right
    if isinstance(left, Matrix) and isinstance(right, Matrix) and left.shape != right.shape:
        raise QuadrantsTypeError.at(
            f"`{name}` takes operands of one shape, got {left.described()} and {right.described()}",
            "give both one shape, or test whole vectors: `v.any()`, `v.all()`",
        )

    def one(a: Any, b: Any) -> Numeric:
        numbers = [scalar_functions.integer_of(value_of(value), name) for value in (a, b)]
        core = types.promote(*map(type, numbers))
        return core(operate(name, *(Boolean(operate("ne", number, 0)) for number in numbers)))

    return shaped.like([one(a, b) for a, b in zip(entries_like(shaped, left), entries_like(shaped, right))])


def _traced(evaluate: Callable) -> tuple[Scratch, Any, bool]:
    """The operations of `evaluate()` in a separate block, its value, and whether they have effects."""
    scratch, task = Scratch(), program().task
    before = task.effects
    with mlir.inside(scratch.block), program().nested("expression"):
        value = evaluate()
    return scratch, value, task.effects != before


def _guarded(test: Boolean, evaluate: Callable) -> Any:
    """A number that is evaluated only if `test` is true, or a matrix that always is; changes happen anyway."""
    scratch, value, changes = _traced(evaluate)
    numbers = value.entries if isinstance(value, Matrix) else [value]
    with mlir.inside(scratch.block):
        results = [number.ir() for number in numbers]
    scratch.end("scf.yield", results)
    other = Scratch()
    with mlir.inside(other.block):
        nothing = [mlir.constant(0, result.type) for result in results]
    other.end("scf.yield", nothing)
    always = changes or isinstance(value, Matrix)
    chosen = _choice(Boolean(True) if always else test, scratch, other, [result.type for result in results])
    values = [number.with_ir(result) for number, result in zip(numbers, chosen)]
    return value.like(values) if isinstance(value, Matrix) else values[0]


def _choice(test: Boolean, then: Scratch, orelse: Scratch, result_types: list) -> list:
    choice = mlir.op("scf.if", result_types, [test.ir()], regions=2)
    then.move_to(choice, 0)
    orelse.move_to(choice, 1)
    return list(choice.results)


def ifexp(test: Any, then: Callable, orelse: Callable) -> Any:
    """`a if test else b` of a run-time test: numbers in their common type, matrices element by element."""
    if isinstance(test, Matrix):
        raise QuadrantsSyntaxError.at(
            'The test of this conditional expression is a matrix. Please use "qd.select" instead.',
            fix="qd.select(test, a, b) chooses element by element",
        )
    flag = hooks.truth(test)
    arms = [_traced(lambda arm=arm: _arm(arm())) for arm in (then, orelse)]
    values = [value for _, value, _ in arms]
    if all(isinstance(value, (Domain, StaticIterable)) for value in values):
        return values[0] if flag.value is True or flag.value == 1 else values[1]
    parts, like = _alike(*values)
    sides: list[list] = [[], []]
    for a, b in parts:
        core = types.promote(type(a), type(b))
        for side, (scratch, number) in enumerate(zip((arms[0][0], arms[1][0]), (a, b))):
            with mlir.inside(scratch.block):
                sides[side].append(core(number))
    yielded = [[number.ir() for number in _inside(arms[side][0], sides[side])] for side in (0, 1)]
    kinds = [value.type for value in yielded[0]]
    if not (arms[0][2] or arms[1][2]):
        for side in (0, 1):
            arms[side][0].end("scf.yield", yielded[side])
        results = _choice(flag, arms[0][0], arms[1][0], kinds)
        return like([number.with_ir(value) for number, value in zip(sides[0], results)])
    chosen = []
    for side in (0, 1):
        arms[side][0].end("scf.yield", yielded[side])
        nothing = Scratch()
        with mlir.inside(nothing.block):
            empty = [poison(kind) for kind in kinds]
        nothing.end("scf.yield", empty)
        wanted = Boolean(True) if arms[side][2] else flag if side == 0 else not_(flag)
        chosen.append(_choice(wanted, arms[side][0], nothing, kinds))
    return like([select(flag, number.with_ir(a), number.with_ir(b)) for number, a, b in zip(sides[0], *chosen)])


def _inside(scratch: Scratch, numbers: list) -> list:
    """`numbers` as SSA values made in that region."""
    with mlir.inside(scratch.block):
        return [dynamic(number) for number in numbers]


def _arm(value: Any) -> Any:
    value = hooks.copied(value)
    return value


def _alike(a: Any, b: Any) -> tuple[list, Callable]:
    """The pairs of numbers of two arms, and what makes a value of the results."""
    shaped = next((value for value in (a, b) if isinstance(value, Matrix)), None)
    if shaped is not None:
        if isinstance(a, Matrix) and isinstance(b, Matrix) and a.shape != b.shape:
            raise QuadrantsTypeError.at(
                f"Cannot broadcast tensor to tensor: {a.described()} and {b.described()}", "give both arms one shape"
            )
        left, right = (entries_like(shaped, value) for value in (a, b))
        return [(types.number(x), types.number(y)) for x, y in zip(left, right)], shaped.like
    numbers = types.number(a), types.number(b)
    if None in numbers:
        raise QuadrantsTypeError.at(
            f"a run-time test chooses between numbers, got {described(a)} and {described(b)}",
            fix="mark the test: `a if qd.static(test) else b`",
        )
    return [numbers], lambda results: results[0]


def not_(value: Any) -> Any:
    """`not value`."""
    value = value_of(value)
    if isinstance(value, Matrix):
        return value.map(not_)
    if not isinstance(value, Numeric):
        return not value
    return ops.logical_not(value)


_COMPARISONS = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": lambda x, xs: x in xs,
    "NotIn": lambda x, xs: x not in xs,
}


def compare(left: Any, *pairs: tuple[str, Callable]) -> Any:
    """`left < b < c`: each operand is evaluated once."""
    result: Any = True
    for name, read in pairs:
        right = read()
        step = _COMPARISONS[name](left, right)
        if result is True:
            result = step
        elif isinstance(result, (Numeric, Matrix)) or isinstance(step, (Numeric, Matrix)):
            result = operator.and_(result, step)
        else:
            result = result and step
        left = right
    return result


# --- calls and texts -------------------------------------------------------------------------------------------------


def call(function: Callable, *arguments, **keywords) -> Any:
    """A call, except of builtins with a special meaning."""
    if function in (str, repr, format) and any(isinstance(value_of(value), (Numeric, Matrix)) for value in arguments):
        raise QuadrantsTypeError.at(
            f"a run-time value has no text, got {described(arguments[0])}", "print it: `print(x)`"
        )
    if isinstance(function, Function) and not function.is_inlined:
        raise QuadrantsSyntaxError.at(
            "Kernels cannot call other kernels",
            f"make `{function.__name__}` a @qd.func",
            also=((function.place(), "it is a kernel"),),
        )
    if isinstance(function, types.DataType):
        return ops.typed(function, arguments, keywords)
    plain = function.__func__ if isinstance(function, python_types.MethodType) else function
    if isinstance(plain, python_types.FunctionType) and is_authors(plain.__code__.co_filename):
        place = here()
        warnings.warn_explicit(
            f'Calling non-quadrants function "{plain.__qualname__}": it runs while compiling, on '
            "expressions; @qd.func makes it part of the "
            "kernel",
            SyntaxWarning,
            place.file,
            place.line,
        )
    try:
        return function(*arguments, **keywords)
    except (TypeError, ValueError, AttributeError, DSLUserCodeError) as error:
        if (told := _of_call(function, arguments, error)) is None:
            raise
        raise told from None


_HOMES = {"builtins": "Python", "operator": "Python"}


def _of_call(function: Callable, arguments: tuple, error: Exception) -> QuadrantsTypeError | None:
    """The error of a call of this package's function, or of a function of Python or numpy with run-time values."""
    name = getattr(function, "__name__", type(function).__name__)
    is_arity = (
        type(error) is TypeError
        and f"{name}() " in str(error)
        and error.__traceback__ is not None
        and error.__traceback__.tb_next is None
    )
    if is_arity and (getattr(function, "__module__", None) or "").startswith("dsl.quadrants"):
        names = ", ".join(inspect.signature(function).parameters)
        text = str(error).rpartition(f"{name}() ")[2]
        return QuadrantsTypeError.at(f"`{name}` {text}", f"call it as `{name}({names})`")
    if not callable(function):
        return QuadrantsTypeError.at(f"{described(function)} cannot be called", "call a @qd.func; `*` multiplies")
    home = (getattr(function, "__module__", None) or type(function).__module__).partition(".")[0]
    traced = [value for value in arguments if isinstance(value_of(value), (Numeric, Matrix))]
    if not traced or home not in ("math", "cmath", "numpy", "builtins", "random", "operator"):
        return None
    if function is range:
        return QuadrantsTypeError.at(
            f"`range` in qd.static needs bounds known while compiling, got {described(traced[0])}",
            "pass the bound as qd.Template, or drop qd.static",
        )
    package = sys.modules["dsl.quadrants"]
    own = next(
        (
            f"{prefix}.{name}"
            for prefix, module in (("qd", package), ("qd.math", vars(package)["math"]))
            if name in vars(module)
        ),
        "",
    )
    return QuadrantsTypeError.at(
        f"`{name}` of {_HOMES.get(home, home)} takes what is known while compiling, got {described(traced[0])}",
        f"write `{own}`"
        if own
        else "take the extent: `x.shape[0]`, or `v.n` of a vector"
        if name == "len"
        else "compute it in the kernel",
    )


def of_text(name: str, left: Any, right: Any) -> Any:
    """`left op right` where one of them is a string that the author wrote."""
    values = value_of(left), value_of(right)
    wrong = next((value for value in values if isinstance(value, (Numeric, Matrix))), None)
    if wrong is not None:
        raise QuadrantsTypeError.at(
            f"a string cannot be combined with {described(wrong)}",
            "use numbers: a string is for print and assert, or for qd.static(...)",
        )
    return _OF_TEXT[name](*values)


_OF_TEXT = {"Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv, **_COMPARISONS}


def joined(*parts) -> Any:
    """An f-string. Python writes the values that are known while compiling."""
    return Text([str(part[0]) if _is_plain(part) else part for part in parts])


def _is_plain(part: Any) -> bool:
    return isinstance(part, tuple) and type(part[0]) in (int, float, bool) and not part[1]


def formatted(text: str, *arguments, **named) -> Text:
    """`text.format(...)`. A place without a number takes the next argument, however many have numbers.

    Raises QuadrantsSyntaxError where places and arguments do not fit each other.
    """
    pieces: list = []
    unused, following, needed = set(named), 0, 0
    for before, place, spec, conversion in string.Formatter().parse(text):
        pieces.append(before)
        if place is None:
            continue
        if conversion or "." in place or "[" in place:
            raise QuadrantsSyntaxError.at(
                f"`{{{place}{'!' * bool(conversion)}{conversion or ''}}}` is not a place of a kernel's format",
                "name the value alone, `{}`, `{0}` or `{name}`",
            )
        if place and not place.isdigit():
            if place not in named:
                raise QuadrantsSyntaxError.at(f"Keyword '{place}' not found.", f"pass it: `{place}=...`")
            unused.discard(place)
            pieces.append((named[place], spec or ""))
            continue
        position = int(place) if place else following
        following += not place
        needed = max(needed, position + 1)
        pieces.append((arguments[position] if position < len(arguments) else None, spec or ""))
    if needed != len(arguments):
        raise QuadrantsSyntaxError.at(
            f"Expected {needed} positional argument(s), but received {len(arguments)} instead.",
            "give each place one value, and each value a place",
        )
    if unused:
        raise QuadrantsSyntaxError.at(f"Keyword '{min(unused)}' not used.", f"add a place for it: `{{{min(unused)}}}`")
    return Text(pieces)


def percent(text: str, arguments: Any) -> Any:
    """`text % arguments`."""
    values = iter(arguments if isinstance(arguments, tuple) else (arguments,))
    pieces: list = []
    wanted = len([match for match in re.findall(r"%%|%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]", text) if match != "%%"])
    count = len(arguments) if isinstance(arguments, tuple) else 1
    if wanted != count:
        raise QuadrantsTypeError.at(
            f"the format has {wanted} place{'s' * (wanted != 1)} for values, got {count}", "give one value for each `%`"
        )
    for part in re.split(r"(%%|%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z])", text):
        pieces.append("%" if part == "%%" else (next(values), part) if part.startswith("%") else part)
    return Text(pieces)


def print_(*values, sep: str = " ", end: str = "\n", **other) -> None:
    """`print` on the device."""
    if other:
        raise QuadrantsTypeError.at(f"`print` of a kernel has no `{min(other)}`", "it has `sep` and `end`")
    printing.emit(values, sep, end)


def assert_(test: Callable, message: Callable, text: str) -> None:
    """`assert`: evaluated, and checked with debug=True only."""
    if not program().debug:
        hooks.truth(test())
        return
    printing.check(hooks.truth(test()), message(), text)


def length(value: Any) -> Any:
    return len(value)
