"""The place where an exception was raised: the author's frames in its traceback, and the author's expression."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from typing import Any

from dsl.core.syntax.function_source import is_authors
from dsl.span import Span, author_frame, here, is_between, is_our_file, is_part, of_code


def walk(error: BaseException) -> Iterator[types.TracebackType]:
    """The entries of its traceback, the outermost first."""
    traceback = error.__traceback__
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def is_authors_code(code: types.CodeType) -> bool:
    return is_authors(code.co_filename) and not is_between(code)


def place_of(error: BaseException) -> Span:
    """The author's expression nearest to where it was raised, or that called what raised it."""
    frames = [(entry.tb_frame.f_code, entry.tb_lasti) for entry in walk(error)]
    places = [of_code(code, at) for code, at in frames if is_authors_code(code)]
    return next((place for place in reversed(places) if place.source_line()), places[-1] if places else here())


def innermost(error: BaseException) -> types.CodeType | None:
    """The code nearest to where it was raised that belongs to the compiler or the author, not to a library."""
    codes = [entry.tb_frame.f_code for entry in walk(error)]
    return next(
        (code for code in reversed(codes) if is_our_file(code.co_filename) or is_authors(code.co_filename)), None
    )


def words(place: Span) -> set[str]:
    """The names in the author's line at `place`."""
    return set(re.findall(r"\w+", place.source_line()))


def _comprehended(line: str) -> set[str]:
    """The variables of the comprehensions in a line. From Python 3.12 on they are gone when an exception is caught."""
    return {name for targets in re.findall(r"\bfor\s+(.+?)\s+in\b", line) for name in re.findall(r"\w+", targets)}


def names_at(error: BaseException) -> tuple[dict[str, Any], dict[str, Any], set[str]]:
    """The local and the global variables that the author's innermost function sees, and the names of the functions
    around it.

    A function is cut into parts (rewrite_statement), which hold what they use: the variables of the others count too.
    """
    frames = [entry.tb_frame for entry in walk(error) if is_authors_code(entry.tb_frame.f_code)]
    if not frames:  # its traceback has not reached the author's frame
        frames = [frame for frame in (author_frame(),) if frame is not None]
    if not frames:
        return {}, {}, set()
    last = frames[-1]
    top = last.f_code.co_qualname.partition(".")[0]
    local: dict[str, Any] = {}
    functions = set(last.f_code.co_qualname.split("."))
    for frame in frames:
        if frame.f_code.co_filename != last.f_code.co_filename or frame.f_code.co_qualname.partition(".")[0] != top:
            local.clear()
        elif frame.f_locals is not frame.f_globals:
            local.update(frame.f_locals)
    local.update(dict.fromkeys(_comprehended(place_of(error).source_line()) & {*last.f_code.co_varnames} - {*local}))
    functions |= {frame.f_code.co_name for frame in frames if not is_part(frame.f_code)}
    return {name: value for name, value in local.items() if not name.startswith("__")}, last.f_globals, functions
