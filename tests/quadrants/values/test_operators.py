"""Operators defined by three functions: each gets Python's operator and the operands in the order they are written."""

import operator

from dsl.quadrants.values import operators


class Number:
    def __init__(self, value):
        self.value = value


operators.define(
    Number,
    lambda python, a, b: ("of", python(a.value, getattr(b, "value", b))),
    lambda python, a, b: ("reflected", python(b, a.value)),
    lambda python, a: ("one", python(a.value)),
)


def test_binary_and_comparing_operators():
    names = "add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift eq ne lt le gt ge".split()
    for name in names:
        python = getattr(operator, name)
        assert python(Number(13), Number(3)) == python(Number(13), 3) == ("of", python(13, 3)), name


def test_reflected_operators_keep_the_order_of_the_operands():
    for name in "add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift".split():
        python = getattr(operator, name)
        assert python(13, Number(3)) == ("reflected", python(13, 3)), name


def test_operators_of_one_operand():
    for python in (operator.neg, operator.pos, operator.invert, abs):
        assert python(Number(-5)) == ("one", python(-5))
