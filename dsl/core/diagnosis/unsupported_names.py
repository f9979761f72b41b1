"""Names that are not here: names of upstream, refused by name, and misspelt names, with the name that was meant."""

from __future__ import annotations

import dis
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from dsl import span
from dsl.core import trace
from dsl.core.diagnosis import author_traceback, spelling
from dsl.core.errors import DSLUserCodeError


class UnsupportedName(DSLUserCodeError, AttributeError):
    """A name of upstream's that this compiler does not have."""


class UnknownName(DSLUserCodeError, AttributeError):
    """A name that neither this compiler nor upstream has."""


class UnknownImport(DSLUserCodeError, ImportError):
    """A name that is imported from a module that does not have it."""


class UnknownModule(DSLUserCodeError, ModuleNotFoundError):
    """A module that is imported and not there."""


_stand_ins: list[Callable[[str], bool]] = []  # what a surface makes in the place of a module that it does not have


def know_stand_ins(make: Callable[[str], bool]) -> None:
    """Let `make(name)` put a module in the place of upstream's module `name`, and return whether it did."""
    _stand_ins.append(make)


def missing_module(name: str) -> None:
    """Make a stand-in of upstream's module `name`, which this compiler does not have, or raise UnknownModule."""
    if not any(make(name) for make in _stand_ins):
        raise _unknown_module(name)


def _unknown_module(name: str) -> UnknownModule:
    parent, _, last = name.rpartition(".")
    theirs = spelling.upstream(parent)
    if theirs is None or last in theirs:
        what, fix, id = (
            f"{name} is not part of this compiler yet",
            "leave out what needs it, or run the file with the package itself",
            "UNSUPPORTED_NAME",
        )
    else:
        what, fix, id = f"there is no module {name}", _meant(parent, last, theirs), "UNKNOWN_NAME"
    error = UnknownModule(what, fix=fix, id=id)
    error.name = name
    return error


def refuser(
    module: str,
    fix: str,
    instead: dict[str, str] | None = None,
    upstream: Callable[[str], set[str] | None] = lambda module: None,
    fix_of: Callable[[str], str | None] = lambda name: None,
) -> Callable:
    """A module's `__getattr__` that refuses names by their upstream spelling; `fix_of` gives the fixes for some.

    `instead`: names that may be imported and are refused where they are called, each with what to write in its place.
    `upstream`: the names that upstream's module has, or None where that is not known. A program may import them, and
    the top level of a library may write them: they are refused where they are used.
    """

    @author_traceback.guarded
    def missing(name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        if instead is not None and name in instead:
            return _refused_when_called(f"{module}.{name}", instead[name])
        package = _module_called(module)
        if hasattr(package, "__path__") and importlib.util.find_spec(f"{package.__name__}.{name}") is not None:
            return importlib.import_module(f"{package.__name__}.{name}")  # a module that nobody imported yet
        theirs = upstream(module)
        if theirs is not None and name in theirs and _is_only_declared():
            return RefusedWhenUsed(f"{module}.{name}", fix_of(name) or fix)
        if theirs is None or name in theirs:
            what, id, kind, said = (
                f"{module}.{name} is not part of this compiler yet",
                "UNSUPPORTED_NAME",
                UnsupportedName,
                fix_of(name) or fix,
            )
        else:
            what, id, kind = f"{module} has no name `{name}`", "UNKNOWN_NAME", UnknownName
            said = _meant(module, name, theirs)
        if (place := _import_of(name)) is not None:
            kind = UnknownImport
        raise kind(what, id=id, fix=said, place=place)

    return missing


def _meant(module: str, name: str, theirs: set[str]) -> str:
    """The fix for a `name` that `module` does not have.

    A private name is a tool's question about an object (unittest.mock's `_mock_name`), and no misspelling.
    """
    listed = f"`dir({module.rpartition('.')[2]})` lists the names it has"
    if name.startswith("_"):
        return listed
    own = [each for each in vars(_module_called(module)) if not each.startswith("_")]
    if (near := spelling.nearest(name, own)) is not None:
        return f"did you mean `{near}`?"
    frame = span.author_frame()
    if frame is not None and (elsewhere := spelling.in_modules(name, frame.f_globals)) is not None:
        return f"did you mean `{elsewhere}`?"
    if (near := spelling.nearest(name, theirs)) is not None:
        return f"did you mean `{near}`? It is not part of this compiler yet"
    return listed


def _module_called(name: str) -> Any:
    root, _, rest = name.partition(".")
    return sys.modules[f"dsl.{root}{rest and '.'}{rest}"]


def _is_only_declared() -> bool:
    """Whether the author's innermost frame imports a name at its top level, or is the top level of a library."""
    frame = span.author_frame()
    if frame is None or frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return False
    return frame.f_globals.get("__name__") != "__main__" or _imports(frame)


def _imports(frame: FrameType) -> bool:
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] == "IMPORT_FROM"


def _import_of(name: str) -> span.Span | None:
    """The place of `name` in the `from ... import name` that is running, or None."""
    frame = span.author_frame()
    if frame is None or not _imports(frame):
        return None
    place = span.of_frame(frame)
    matches = list(re.finditer(rf"\b{re.escape(name)}\b", place.source_line()))
    if not matches:
        return place
    start = len(place.source_line()[: matches[-1].start()].encode()) + 1
    return span.Span(place.file, place.line, start, place.line, start + len(name.encode()))


def _refused_when_called(name: str, fix: str) -> Callable:
    def call(*_, **__):
        raise UnsupportedName(f"{name} is not part of this compiler", id="UNSUPPORTED_NAME", fix=fix)

    return call


class RefusedWhenUsed:
    """The stand-in for a name of upstream that is not here: it may be imported, written and derived from.

    Nothing is an instance of it. A call raises UnsupportedName with the name, and so does an attribute, but at the top
    level of a library: that is another name that is not here.
    """

    def __init__(self, name: str, fix: str):
        self._name, self._fix = name, fix

    def __repr__(self) -> str:
        return f"<{self._name}, not part of this compiler yet>"

    def __or__(self, other: Any) -> RefusedWhenUsed:
        return self

    __ror__ = __or__

    def __getitem__(self, item: Any) -> RefusedWhenUsed:
        return self

    @author_traceback.guarded
    def _refuse(self, *_, **__):
        raise UnsupportedName(f"{self._name} is not part of this compiler yet", id="UNSUPPORTED_NAME", fix=self._fix)

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        if _is_only_declared():
            return RefusedWhenUsed(f"{self._name}.{name}", self._fix)
        self._refuse()

    def __instancecheck__(self, instance: object) -> bool:
        return False

    __subclasscheck__ = __instancecheck__

    def __mro_entries__(self, bases: tuple) -> tuple[type]:
        """The base of a class that derives from this: the class is made, and refuses to be called."""
        return (type(self._name.rpartition(".")[2], (), {"__new__": lambda cls, *_, **__: self._refuse()}),)

    __call__ = __iter__ = _refuse


class RefusedDeclaration(RefusedWhenUsed):
    """A name that programs call, or decorate with, where they declare classes: that may be done, outside of functions
    that are traced, and gives the same again."""

    @author_traceback.guarded
    def _declare(self, *_, **__):
        return self._refuse() if trace.active() else self

    __call__ = _declare

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return self._declare()
