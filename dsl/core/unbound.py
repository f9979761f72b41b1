"""Variables that some path has not assigned: the objects in their place, and the error at their use.

A variable that one path assigns and another does not is a Partial: it carries the value, and poison on the other path.
A use that core.syntax.liveness proves to be reached by assigning paths only takes the value; any other is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.span import Span


class Name:
    """A variable that a branch or loop assigns: the place of its last assignment there, and whether it is used after.

    `lenient`: the rewriter's own names, whose types may differ between the paths as long as nothing uses them after.
    """

    __slots__ = ("name", "_place", "used_after", "lenient")

    def __init__(self, name: str, *place, used_after: bool = False, lenient: bool = False):
        self.name, self._place, self.used_after, self.lenient = name, place, used_after, lenient

    @property
    def place(self) -> Span:
        return Span(*self._place)

    @staticmethod
    def all(names: tuple) -> list[Name]:
        """Names from what rewritten code holds: (name, file, line, column, end line, end column[, used after])."""
        return [
            name
            if isinstance(name, Name)
            else Name(*name[:6], used_after=name[6], lenient=True)
            if len(name) > 6
            else Name(*name)
            for name in names
        ]


class Unbound:
    """Stands for a variable that no path has assigned; any use is an error that shows the paths without it.

    `missing`: (place, why nothing assigns it there) a path.
    """

    __slots__ = ("_name", "_missing")

    def __init__(self, name: str, missing: tuple[tuple[Span, str], ...] = ()):
        self._name, self._missing = name, missing

    def _raise(self):
        also = tuple((place, text.format(self._name)) for place, text in self._missing[:1])
        fix = f"assign `{self._name}` there too, or before it" if also else f"assign `{self._name}` first"
        raise DSLUserCodeError(
            f"`{self._name}` is not defined{' on every path' if also else ''}",
            id="SCOPE_UNBOUND_NAME",
            also=also,
            fix=fix,
        )

    def take(self, _proven: bool) -> Any:
        self._raise()

    def __getattr__(self, attribute):
        self._raise()


def _refuse(self, *_args):
    self._raise()


for _name in (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow and or xor lshift rshift "
    "neg invert abs eq ne lt le gt ge bool index int float call getitem setitem iter len repr str"
).split():
    setattr(Unbound, f"__{_name}__", _refuse)
Unbound.__hash__ = object.__hash__


UNUSED = Unbound("the loop variable")  # of a loop variable that nothing reads after the loop


class Partial(Unbound):
    """A variable that some paths have assigned: `value` there, and poison on the paths in `missing`."""

    __slots__ = ("value",)

    def __init__(self, name: str, missing: tuple[tuple[Span, str], ...], value: Any):
        super().__init__(name, missing)
        self.value = value

    def take(self, proven: bool) -> Any:
        """The value, for a use that only assigning paths reach."""
        if not proven:
            self._raise()
        return self.value


class Conflict(Unbound):
    """A variable that paths have assigned values of different types: nothing can use it."""

    __slots__ = ("error",)

    def __init__(self, name: str, error: DSLUserCodeTypeError):
        super().__init__(name)
        self.error = error

    def _raise(self):
        raise DSLUserCodeTypeError(
            self.error.message, fix=self.error.fix, id=self.error.id, also=((self.error.place, "assigned here"),)
        )


def missing_of(value: Any) -> tuple[tuple[Span, str], ...]:
    """The paths on which `value` is not there."""
    return value._missing if isinstance(value, Unbound) else ()


class Unread(Unbound):
    """A variable without a value that only functions read after the statement, if anything does."""

    __slots__ = ()


def bound(read: Callable[[], Any], name: str, kind: type[Unbound] = Unbound) -> Any:
    """The variable `read` reads, or an Unbound where it has no value yet."""
    try:
        return read()
    except NameError:
        return kind(name)


def use(value: Any, proven: bool) -> Any:
    """A variable where the author reads it; `proven`: every path that gets here has assigned it."""
    return value.take(proven) if isinstance(value, Unbound) else value
