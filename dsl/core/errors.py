"""Errors about the author's program: the author's line, a caret, the fix."""

from __future__ import annotations

import warnings

from dsl import span
from dsl.core import number_rules
from dsl.core.state import this_thread, when_accepted
from dsl.exceptions import OutcomeError, finding, related_place
from dsl.layout import LayoutError
from dsl.span import Span


class DSLUserCodeError(OutcomeError):
    """The program cannot be compiled as written. `id` is the diagnostic's name where the field has one.

    `place` defaults to the expression the author's innermost frame is evaluating. `also`: other places that matter,
    each with its message. `callers`: the calls that led to `place` (span.callers), where the error is
    raised later than it was found.
    """

    def __init__(
        self,
        message: str,
        fix: str = "",
        id: str | None = None,
        place: Span | None = None,
        also: tuple[tuple[Span, str], ...] = (),
        callers: list | None = None,
    ):
        self.callers = callers
        self.id, self.message, self.fix, self.also = id, message, fix, also
        self.place = place or span.here()
        super().__init__(message)

    @property
    def heading(self) -> str:
        """The text after the place: the diagnostic's name, or the class."""
        return self.id or type(self).__name__

    def __str__(self) -> str:
        return span.render(self.place, self.heading, self.message, self.fix, self.also)

    @property
    def repro_outcome(self) -> dict:
        """The fields of this error that a harness records."""
        return {
            "outcome": "rejected",
            "class": type(self).__name__,
            "id": self.id,
            "file": self.place.file,
            "line": self.place.line,
            "text": str(self),
            "finding": finding(
                self.heading, self.message, self.fix, self.place, [related_place(*each) for each in self.also]
            ),
        }


class DSLUserCodeTypeError(DSLUserCodeError, TypeError):
    """A value of the wrong type, or a type that changes where it must not."""


class DSLUserCodeRuntimeError(DSLUserCodeError, RuntimeError):
    """A call that is wrong where it stands: outside a jit function, after the launch, without a device."""


class DSLUserCodeValueError(DSLUserCodeError, ValueError):
    """An argument of the right type with a value that cannot be."""


class DSLUserCodeOverflowError(DSLUserCodeError, OverflowError):
    """A number that no type holds."""


class DSLUserCodeZeroDivisionError(DSLUserCodeError, ZeroDivisionError):
    """A division by zero of numbers known while compiling."""


class DSLUserCodeShiftError(DSLUserCodeValueError, TypeError):
    """A shift of a number that has no bits to shift; of NVIDIA's class too."""


class DSLUserCodeLayoutError(DSLUserCodeError, ValueError):
    """A shape, stride, coordinate or tiler that a layout function is not defined for."""


class DSLUserCodeNameError(DSLUserCodeError, NameError):
    """A name that nothing has given a value where a traced function reads it."""


class DSLUserCodeAttributeError(DSLUserCodeError, AttributeError):
    """An attribute that an object of the compiler's does not have."""


class DSLUserCodeRecursionError(DSLUserCodeError, RecursionError):
    """A function that calls itself, or a value that contains itself, without an end while compiling."""


_GENERAL = (
    DSLUserCodeError,
    DSLUserCodeTypeError,
    DSLUserCodeRuntimeError,
    DSLUserCodeValueError,
    DSLUserCodeLayoutError,
    DSLUserCodeNameError,
    DSLUserCodeRecursionError,
)
_joined: dict[tuple[type, type], type] = {}


def of_family(error: DSLUserCodeError, family: type[DSLUserCodeError]) -> type[DSLUserCodeError]:
    """The class of `error` in a surface's `family`: the family's and, where it names what is wrong, its own too."""
    own = type(error)
    if own in _GENERAL or issubclass(own, family):
        return family
    return _joined.setdefault((family, own), type(own.__name__, (family, own), {"__doc__": own.__doc__}))


def at_author(error: LayoutError) -> DSLUserCodeLayoutError:
    """A layout function's error at the author's expression that called it."""
    layout_error = DSLUserCodeLayoutError(error.message, fix=error.fix, place=span.of_traceback(error.__traceback__))
    return layout_error.with_traceback(error.__traceback__)


class PortabilityWarning(UserWarning):
    """This program works here and is rejected by NVIDIA's compiler; the text names its diagnostic."""


_warned: dict[str, dict] = {}  # for each file of the author what it has been warned of, as `warnings` keeps it


def warn_at(text: str, category: type[Warning], place: Span, module: str | None = None) -> None:
    """Warn, once a place (in `module`), when what is being traced is sure to stay.

    Raises the warning where the author made it an error.
    """
    when_accepted(lambda: _show(text, category, place, module))


def warn_of_old_name(text: str) -> None:
    """Warn at the author's line, as Python shows a DeprecationWarning, of a name that upstream is giving up."""
    frame = span.author_frame()
    assert frame is not None  # the author's function calls this
    warn_at(text, DeprecationWarning, span.of_frame(frame), module=frame.f_globals.get("__name__", "<unknown>"))


def _show(text: str, category: type[Warning], place: Span, module: str | None = None) -> None:
    registry = _warned.setdefault(place.file, {})
    if module is None:  # not the same as None as an argument, which warns of nothing
        warnings.warn_explicit(text, category, place.file, place.line, registry=registry)
    else:
        warnings.warn_explicit(text, category, place.file, place.line, module=module, registry=registry)


def warn_not_portable(
    what: str, id: str | None = None, fix: str = "", place: Span | None = None, does: str = "rejects that"
) -> None:
    """Warn, once a place (the author's expression unless given), that NVIDIA's compiler rejects `what` (a sentence), or
    what it `does` with it.

    Raises DSLUserCodeError instead where such warnings are errors (`--portable`).
    """
    if number_rules.current() is not number_rules.CUTE:  # another surface's program: NVIDIA's compiler does not matter
        return
    place = place or span.here()
    suffix = f" ({id})" if id else ""
    callers = span.callers() if this_thread.deferred else None

    def show() -> None:
        try:
            _show(f"{what}: NVIDIA's compiler {does}{suffix}", PortabilityWarning, place)
        except PortabilityWarning:
            said = (
                f"{what}, which NVIDIA's compiler rejects"
                if does == "rejects that"
                else f"{what}: NVIDIA's compiler {does}"
            )
            raise DSLUserCodeError(said, id=id, fix=fix, place=place, callers=callers) from None

    when_accepted(show)


class DSLWarning(UserWarning):
    """Something of the author's program that is accepted and probably not meant."""


def warn(what: str, id: str) -> None:
    """Warn, at the author's expression, once a place, of `what` (a sentence)."""
    warn_at(f"{id}: {what}", DSLWarning, span.here())
