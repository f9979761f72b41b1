"""Quadrants' error classes, with the author's line, a caret and the fix in their text.

The names and their bases are those of quadrants 1.3.3. `at_boundary` turns what core raises while a kernel is traced,
and what Python itself raises there, into them.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from dsl import span
from dsl.core.errors import DSLUserCodeError
from dsl.span import Span


class QuadrantsCompilationError(Exception):
    """The kernel cannot be compiled as written. `place` is the author's."""

    place: Span | None = None
    text = fix = ""

    @classmethod
    def at(cls, message: str, fix: str = "", place: Span | None = None,
           also: tuple[tuple[Span, str], ...] = ()) -> QuadrantsCompilationError:
        """An error at `place`, the expression being traced unless given. `also`: other places that matter, and why."""
        place = place or span.here()
        made = cls(span.render(place, cls.__name__, message, fix, also))
        made.place, made.text, made.fix = place, message, fix
        return made

    @property
    def repro_outcome(self) -> dict:
        """What a harness records of this error."""
        place = self.place or Span("<unknown>", 1)
        return {"outcome": "rejected", "class": type(self).__name__, "id": None, "file": place.file, "line": place.line,
                "text": str(self)}


class QuadrantsSyntaxError(QuadrantsCompilationError, SyntaxError):
    """A statement or expression that a kernel cannot have."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class QuadrantsNameError(QuadrantsCompilationError, NameError):
    """A name that nothing in this scope defines."""


class QuadrantsIndexError(QuadrantsCompilationError, IndexError):
    """A wrong number of indices."""


class QuadrantsTypeError(QuadrantsCompilationError, TypeError):
    """An operand or argument of the wrong type."""


class QuadrantsRuntimeError(RuntimeError):
    """A program that runs wrongly: a kernel before init, a field that is no more."""


class QuadrantsAssertionError(QuadrantsRuntimeError, AssertionError):
    """An `assert` of a kernel that did not hold, or an index out of bounds, with debug=True."""


def of_launch(error: Exception) -> Exception:
    """What a launch raised, as Quadrants' own: a failed assert and an access out of bounds are assertion errors."""
    if isinstance(error, DSLUserCodeError):
        return _of_core(error)
    if getattr(error, "kind", None) not in ("trap", "out_of_bounds"):
        return error
    made = QuadrantsAssertionError(str(error))
    made.place, made.repro_outcome = error.place, error.repro_outcome
    return made


class QuadrantsRuntimeTypeError(QuadrantsRuntimeError, TypeError):
    """An argument of a call with the wrong type."""

    @classmethod
    def get(cls, position: int, needed: str, provided: object) -> QuadrantsRuntimeTypeError:
        return cls(f"Argument {position} (type={provided}) cannot be converted into required type {needed}")


_KINDS = ((NameError, QuadrantsNameError), (IndexError, QuadrantsIndexError), (TypeError, QuadrantsTypeError),
          (SyntaxError, QuadrantsSyntaxError))


def _kind_of(error: BaseException) -> type[QuadrantsCompilationError]:
    if isinstance(error, DSLUserCodeError) and error.id == "SCOPE_UNBOUND_NAME":
        return QuadrantsNameError
    return next((made for python, made in _KINDS if isinstance(error, python)), QuadrantsCompilationError)


_TYPE = re.compile(r"\b(Int|Uint|Float)(8|16|32|64)\b|\bBoolean\b")
_OF_CUTE = re.compile(r"cutlass|cute\b|onstexpr|const_expr")
_FIXES = {"PHASE_DYNAMIC_TO_STATIC_BOOL": "decide in an `if` statement of the kernel, or pass the value as qd.Template",
          "PHASE_DYNAMIC_INDEX": "compute with it in the kernel, or pass the value as qd.Template"}


def _own_words(text: str) -> str:
    """A text of core's with the types under this surface's names."""
    return _TYPE.sub(lambda match: "u1" if match[1] is None else match[1][0].lower() + match[2], text)


def _fix_of(error: DSLUserCodeError) -> str:
    """What to do, where core says it in words that are not another surface's."""
    return _FIXES.get(error.id) or ("" if _OF_CUTE.search(error.fix) else _own_words(error.fix))


def _of_core(error: DSLUserCodeError) -> QuadrantsCompilationError:
    also = tuple((place, _own_words(text)) for place, text in error.also)
    return _kind_of(error).at(_own_words(error.message), _fix_of(error), error.place, also)


@contextlib.contextmanager
def at_boundary() -> Iterator[None]:
    """Errors of what is traced in this `with` leave it as Quadrants' own, at the author's place."""
    try:
        yield
    except (QuadrantsCompilationError, QuadrantsRuntimeError):
        raise
    except DSLUserCodeError as error:
        raise _of_core(error) from None
    except Exception as error:
        place = span.of_traceback(error.__traceback__)
        text = str(error) or type(error).__name__
        if not isinstance(error, (NameError, TypeError, IndexError, AssertionError, ValueError)):
            text = f"{type(error).__name__}: {text}"
        raise _kind_of(error).at(_own_words(text), place=place) from error
