"""Handlers of exceptions that only Python's own values raise, and the variables in the `try` that they are about."""

import ast

import pytest

from dsl.core.syntax.handlers import arithmetic_handlers


def found(text: str) -> list[tuple[str, list[str]]]:
    (statement,) = ast.parse(text).body
    return [(name, [operand.id for operand in operands]) for _, name, operands in arithmetic_handlers(statement)]


@pytest.mark.parametrize(
    "handler, expected",
    [
        ("ZeroDivisionError", [("ZeroDivisionError", ["n", "m"])]),
        ("ArithmeticError as error", [("ArithmeticError", ["n", "m"])]),
        ("IndexError", [("IndexError", ["i"])]),
        ("(ValueError, IndexError, ZeroDivisionError)", [("IndexError", ["i"]), ("ZeroDivisionError", ["n", "m"])]),
        ("ValueError", []),
        ("Exception", []),
        ("", []),
    ],
)
def test_the_variables_that_a_handler_is_about(handler, expected):
    assert found(f"try:\n    x = 10 // n + 3 % m + a[i] + 7 // 2 + a[0]\nexcept {handler}:\n    pass") == expected


def test_a_body_without_such_operations_has_none():
    assert found("try:\n    x = n + m\nexcept ZeroDivisionError:\n    pass") == []
