"""Quadrants' error classes, with the author's line, a caret and the fix in their text.

The names and their bases are those of quadrants 1.3.3; where that package raises one of Python's own classes the name
here is ours and the class a subclass of it. All carry the parts of core's errors. `at_boundary` turns what core raises
while a kernel is traced, and what Python itself raises there, into them.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from dsl import span
from dsl.core.errors import DSLUserCodeError, of_family
from dsl.exceptions import KernelFault
from dsl.span import Span


class Diagnostic(DSLUserCodeError):
    """An error under the name that authors know its class by."""

    @classmethod
    def at(
        cls, message: str, fix: str = "", place: Span | None = None, also: tuple[tuple[Span, str], ...] = ()
    ) -> Diagnostic:
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
    """The kernel cannot be compiled as written. `place` is the author's."""


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
    """Where the real package raises ValueError."""


class WrongType(Diagnostic, TypeError):
    """Where the real package raises TypeError."""


class InvalidType(QuadrantsTypeError, ValueError):
    """What is no element type: the real package raises ValueError."""


class UnknownOption(Diagnostic, KeyError):
    """Where the real package raises KeyError."""


class OutOfRange(Diagnostic, IndexError):
    """Where the real package raises IndexError."""


class UnknownAttribute(Diagnostic, AttributeError):
    """Where the real package raises AttributeError."""


class CalledFromPython(Diagnostic, AssertionError):
    """Where the real package raises AssertionError."""


def of_launch(error: Exception) -> Exception:
    """What a launch raised, as Quadrants' own: a failed assert and an access out of bounds are assertion errors."""
    if isinstance(error, DSLUserCodeError):
        return _of_core(error)
    if not isinstance(error, KernelFault) or error.kind not in ("trap", "out_of_bounds"):
        return error
    made = _Reported(str(error), place=error.place)
    made.outcome = error.repro_outcome
    return made


class _Reported(QuadrantsAssertionError):
    """What the device found, in its report's words."""

    outcome: dict

    @property
    def repro_outcome(self) -> dict:
        return self.outcome

    def __str__(self) -> str:
        return self.message


_Reported.__name__ = _Reported.__qualname__ = "QuadrantsAssertionError"
_KINDS = (
    (NameError, QuadrantsNameError),
    (IndexError, QuadrantsIndexError),
    (TypeError, QuadrantsTypeError),
    (SyntaxError, QuadrantsSyntaxError),
)


def _kind_of(error: BaseException) -> type[QuadrantsCompilationError]:
    if isinstance(error, DSLUserCodeError) and error.id == "SCOPE_UNBOUND_NAME":
        return QuadrantsNameError
    return next((made for python, made in _KINDS if isinstance(error, python)), QuadrantsCompilationError)


_TYPE = re.compile(r"\b(Int|Uint|Float)(8|16|32|64)\b|\bBoolean\b")
_OF_CUTE = re.compile(r"cutlass|cute\b|onstexpr|const_expr")
_FIXES = {
    "PHASE_DYNAMIC_TO_STATIC_BOOL": "decide in an `if` statement of the kernel, or pass the value as qd.Template",
    "PHASE_DYNAMIC_INDEX": "compute with it in the kernel, or pass the value as qd.Template",
}


def own_words(text: str) -> str:
    """A text of core's with the types under this surface's names."""
    text = _TYPE.sub(lambda match: "u1" if match[1] is None else match[1][0].lower() + match[2], text)
    return re.sub(r"\b([Aa]) (?=[if](?:8|16|32|64)\b)", r"\1n ", text)


def _fix_of(error: DSLUserCodeError) -> str:
    """What to do, where core says it in words that are not another surface's."""
    if "calls itself" in error.message:
        return "write a loop, or end the recursion by qd.static(...) of a qd.Template argument"
    if error.id in _FIXES or _OF_CUTE.search(error.fix) or not error.fix:
        return _FIXES.get(error.id, "compute it outside the kernel, and pass it as an argument")
    return own_words(error.fix)


def _of_core(error: DSLUserCodeError) -> QuadrantsCompilationError:
    also = tuple((place, own_words(text)) for place, text in error.also)
    made = of_family(error, _kind_of(error))
    return made(own_words(error.message), _fix_of(error), error.id, error.place, also)


@contextlib.contextmanager
def at_boundary() -> Iterator[None]:
    """Errors of what is traced in this `with` leave it as Quadrants' own, at the author's place."""
    try:
        yield
    except (QuadrantsCompilationError, QuadrantsRuntimeError):
        raise
    except Diagnostic as error:
        raise _kind_of(error)(error.message, error.fix, error.id, error.place, error.also) from None
    except DSLUserCodeError as error:
        raise _of_core(error) from None
    except Exception as error:
        from dsl.quadrants import wording

        message, fix = wording.of_python(error)
        kind = QuadrantsSyntaxError if wording.is_component(error) else _kind_of(error)
        raise kind.at(message, fix, span.of_traceback(error.__traceback__)) from error
