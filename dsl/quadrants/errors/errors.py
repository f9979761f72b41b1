"""Quadrants' error classes, with the author's line, a caret and the fix in their text.

The names and their bases are from quadrants 1.3.3; if that package raises one of Python's own classes, the name here
is ours and the class a subclass of it. All carry the parts of core's errors.
"""

from __future__ import annotations

from typing import Any, Self

from dsl.core.errors import DSLUserCodeError
from dsl.span import Span

# The public names.
__all__ = [
    "QuadrantsAssertionError",
    "QuadrantsCompilationError",
    "QuadrantsIndexError",
    "QuadrantsNameError",
    "QuadrantsRuntimeError",
    "QuadrantsRuntimeTypeError",
    "QuadrantsSyntaxError",
    "QuadrantsTypeError",
]


class Diagnostic(DSLUserCodeError):
    """An error under the name that authors know its class by."""

    @classmethod
    def at(
        cls, message: str, fix: str = "", place: Span | None = None, also: tuple[tuple[Span, str], ...] = ()
    ) -> Self:
        """An error at `place`, the expression being traced unless given. `also`: other places that matter, and why."""
        return cls(message, fix, None, place, also)

    @property
    def heading(self) -> str:
        return next(
            cls.__name__
            for cls in type(self).__mro__
            if cls.__name__.startswith("Quadrants") or cls.__module__ == "builtins"
        )


class QuadrantsCompilationError(Diagnostic):
    """The kernel cannot be compiled as written. `place` is in the author's code."""


class QuadrantsSyntaxError(QuadrantsCompilationError, SyntaxError):
    """A statement or expression that a kernel cannot have."""

    msg = property(str)  # what Python prints of a SyntaxError


class QuadrantsNameError(QuadrantsCompilationError, NameError):
    """A name that nothing in this scope defines."""


class QuadrantsIndexError(QuadrantsCompilationError, IndexError):
    """A wrong number of indices."""


class QuadrantsTypeError(QuadrantsCompilationError, TypeError):
    """An operand or argument of the wrong type."""


class QuadrantsRuntimeError(Diagnostic, RuntimeError):
    """A program that runs wrongly: a kernel before init, a field that is no more."""


class QuadrantsAssertionError(QuadrantsRuntimeError, AssertionError):
    """An `assert` of a kernel that did not hold, or an index out of bounds, with debug=True."""


class QuadrantsRuntimeTypeError(QuadrantsRuntimeError, TypeError):
    """An argument of a call with the wrong type."""

    @classmethod
    def get(cls, position: int, needed: str, provided: Any) -> QuadrantsRuntimeTypeError:
        return cls(f"Argument {position} (type={provided}) cannot be converted into required type {needed}")


class WrongValue(Diagnostic, ValueError):
    """An error for which the real package raises ValueError."""


class WrongType(Diagnostic, TypeError):
    """An error for which the real package raises TypeError."""


class NotIterable(WrongType, NotImplementedError):
    """Iteration outside kernels: the real package raises NotImplementedError for a field."""


class InvalidType(QuadrantsTypeError, ValueError):
    """Not an element type: the real package raises ValueError."""


class UnknownOption(Diagnostic, KeyError):
    """An error for which the real package raises KeyError."""


class OutOfRange(Diagnostic, IndexError):
    """An error for which the real package raises IndexError."""


class OutOfRangeWhileDebugging(OutOfRange, AssertionError):
    """The same with debug=True, for which the real package raises AssertionError."""


class UnknownAttribute(Diagnostic, AttributeError):
    """An error for which the real package raises AttributeError."""


class CalledFromPython(Diagnostic, AssertionError):
    """An error for which the real package raises AssertionError."""
