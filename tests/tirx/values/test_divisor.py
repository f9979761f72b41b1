"""Facts about an integer that are known while compiling: checked against every value that the inputs may have."""

import itertools

import pytest

from dsl.core import trace
from dsl.core.number.dtypes import Int32
from dsl.tirx.values import divisor

# An expression of two numbers of which x is a multiple of 4 and y any; what must be known of it.
EXPRESSIONS = {
    "x * 4": (lambda x, y: x * 4, 4),
    "x * 4 + 8": (lambda x, y: x * 4 + 8, 4),
    "y * 6 + 3": (lambda x, y: y * 6 + 3, 6),
    "(y * 2 + 1) * (x * 2)": (lambda x, y: (y * 2 + 1) * (x * 2), 2),
    "y << 3": (lambda x, y: y << 3, 8),
    "(y << 3) - 2": (lambda x, y: (y << 3) - 2, 8),
    "(y * 2 + 1) << 2": (lambda x, y: (y * 2 + 1) << 2, 8),
    "y & 12": (lambda x, y: y & 12, 4),
    "y * 12 - x * 8": (lambda x, y: y * 12 - x * 8, 4),
    "x + y": (lambda x, y: x + y, 1),
}


def traced(function):
    """`function(x, y)` of two numbers that are known at run time only."""

    class Number:
        def slot_formats(self):
            return "i"

        def rebuild(self, values):
            return Int32(values[0])

    said = []
    trace.trace_host("host", lambda x, y: said.append(function(x, y)), [Number(), Number()])
    return said[0]


@pytest.fixture
def known():
    """`known(function)`: what is known of a function of two arguments, and whether it is a multiple of each number."""

    def facts(value):
        return divisor.residue(value), [divisor.is_multiple(value, of) for of in range(1, 17)]

    return lambda function: traced(lambda x, y: facts(function(x, y)))


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_known_facts_hold_for_every_value(known, text):
    function, at_least = EXPRESSIONS[text]
    (modulus, rest), multiples = known(function)
    values = [function(x, y) for x, y in itertools.product(range(-9, 10), repeat=2)]
    assert modulus >= at_least and all((value - rest) % modulus == 0 for value in values)
    for of, is_multiple in enumerate(multiples, 1):
        if is_multiple is not None:
            assert {value % of == 0 for value in values} == {is_multiple}


def test_static_numbers_are_known_whole():
    assert divisor.residue(Int32(12)) == (0, 12)
    assert [divisor.is_multiple(Int32(12), of) for of in (1, 4, 5)] == [True, True, False]


def test_two_numbers_computed_alike_have_one_key(known):
    keys = []
    known(
        lambda x, y: keys.append([divisor.key(v) for v in (x * 4 + y, x * 4 + y, y * 4 + x, x * 5 + y, Int32(3))]) or x
    )
    one, again, swapped, other, static = keys[0]
    assert one == again and len({one, swapped, other}) == 3 and static == 3


PAIRS = {  # two expressions, and whether their difference is seen
    "x * 4 + 4, x * 4": (lambda x, y: (x * 4 + 4, x * 4), True),
    "(x + y) * 2 + 7, y * 2 + x * 2": (lambda x, y: ((x + y) * 2 + 7, y * 2 + x * 2), True),
    "x - y + 3, 5 - y + x": (lambda x, y: (x - y + 3, 5 - y + x), True),
    "(x << 2) + 1, x << 2": (lambda x, y: ((x << 2) + 1, x << 2), True),
    "x * y + 2, x * y": (lambda x, y: (x * y + 2, x * y), True),
    "12, 4": (lambda x, y: (12, 4), True),
    "x, y": (lambda x, y: (x, y), False),
    "x * 2, x": (lambda x, y: (x * 2, x), False),
    "x * 4, x * y": (lambda x, y: (x * 4, x * y), False),
}


@pytest.mark.parametrize("text", PAIRS)
def test_a_difference_that_is_seen_holds_for_every_value(text):
    function, is_seen = PAIRS[text]
    difference = traced(lambda x, y: divisor.difference(*function(x, y)))
    assert (difference is not None) == is_seen
    if is_seen:
        values = [function(x, y) for x, y in itertools.product(range(-9, 10), repeat=2)]
        assert {a - b for a, b in values} == {difference}
