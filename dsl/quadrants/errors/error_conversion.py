"""Errors of core, of a launch and of Python itself as Quadrants' own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from dsl import span
from dsl.core.diagnosis import index_guard
from dsl.core.errors import DSLUserCodeError, of_family
from dsl.exceptions import KernelFault
from dsl.quadrants.errors import wording
from dsl.quadrants.errors.errors import (
    Diagnostic,
    QuadrantsAssertionError,
    QuadrantsCompilationError,
    QuadrantsIndexError,
    QuadrantsNameError,
    QuadrantsRuntimeError,
    QuadrantsSyntaxError,
    QuadrantsTypeError,
)


class _Reported(QuadrantsAssertionError):
    """A fault that the device found, in its report's words."""

    outcome: dict | None

    @property
    def repro_outcome(self) -> dict | None:
        return self.outcome

    def __str__(self) -> str:
        return self.message


_Reported.__name__ = _Reported.__qualname__ = "QuadrantsAssertionError"
_CLASSES = (
    (NameError, QuadrantsNameError),
    (IndexError, QuadrantsIndexError),
    (TypeError, QuadrantsTypeError),
    (SyntaxError, QuadrantsSyntaxError),
)


def of_launch(error: Exception) -> Exception:
    """The error of a launch as Quadrants' own: a failed assert and an access out of bounds are assertion errors."""
    if isinstance(error, DSLUserCodeError):
        return _of_core(error)
    if not isinstance(error, KernelFault) or error.kind not in ("trap", "out_of_bounds"):
        return error
    if error.kind == "out_of_bounds" or "is out of bounds of dimension" in str(error):
        error.add_fix(index_guard.fix(error.place, str(error), _extent, "{access} if {test} else 0"))
    reported = _Reported(str(error), place=error.place)
    reported.outcome = error.repro_outcome
    return reported


def _extent(base: str, axis: int, rank: int, is_element: bool) -> str:
    return f"{base}.{'nm'[axis]}" if is_element else f"{base}.shape[{axis}]"


def _class_of(error: BaseException) -> type[QuadrantsCompilationError]:
    if isinstance(error, DSLUserCodeError) and error.id == "SCOPE_UNBOUND_NAME":
        return QuadrantsNameError
    return next((cls for python, cls in _CLASSES if isinstance(error, python)), QuadrantsCompilationError)


def _of_core(error: DSLUserCodeError) -> DSLUserCodeError:
    also = tuple((place, wording.of_core(text)) for place, text in error.also)
    cls = of_family(error, _class_of(error))
    return cls(wording.of_core(error.message), wording.fix_of(error), error.id, error.place, also)


@contextlib.contextmanager
def converted() -> Iterator[None]:
    """Errors of what is traced in this `with` leave it as Quadrants' own, at the author's place."""
    try:
        yield
    except (QuadrantsCompilationError, QuadrantsRuntimeError):
        raise
    except Diagnostic as error:
        raise _class_of(error)(error.message, error.fix, error.id, error.place, error.also) from None
    except DSLUserCodeError as error:
        raise _of_core(error) from None
    except Exception as error:
        message, fix = wording.of_python(error)
        component = wording.component_error(error.obj, error.name) if isinstance(error, AttributeError) else None
        cls = component or _class_of(error)
        raise cls.at(message, fix, span.of_traceback(error.__traceback__)) from error
