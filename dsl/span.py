"""Source places: where the author is, and the caret text every error uses."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from types import CodeType, FrameType, TracebackType

_PACKAGE_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a source file. Lines and columns are 1-based; `end_column` is one past the last character.

    Columns count bytes of UTF-8, as Python's code objects and syntax trees do; what an author reads counts characters.
    """

    file: str
    line: int
    column: int = 1
    end_line: int | None = None
    end_column: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.character()}"

    def character(self) -> int:
        """The column in characters."""
        text = self.source_line()
        return self.column if text.isascii() else _characters(text, self.column - 1) + 1

    def source_line(self) -> str:
        """The text of the first line, or '' where there is no source."""
        return linecache.getline(self.file, self.line).rstrip("\n")

    def underlined(self, message: str = "") -> str:
        """The source line with carets under the span and `message` after them."""
        text = self.source_line()
        if not text.strip():
            return f"    {message}"
        indent = len(text) - len(text.lstrip())
        start = max(_characters(text, self.column - 1), indent)
        one_line = self.end_line in (None, self.line)
        end = _characters(text, self.end_column - 1) if one_line and self.end_column is not None else len(text)
        end = min(max(end, start + 1), max(len(text), start + 1))
        before = "".join("\t" if each == "\t" else " " * _cells(each) for each in text[indent:start])
        carets = before + "^" * max(sum(map(_cells, text[start:end])), 1)
        return f"    {text.strip()}\n    {carets} {message}".rstrip()


def source_lines(text: str) -> list[str]:
    """The lines of a source text as Python counts them: a form feed ends none."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [f"{line}\n" for line in lines[:-1]] + lines[-1:] * bool(lines[-1])


def _characters(text: str, count_bytes: int) -> int:
    """How many characters the first bytes of a line are."""
    return count_bytes if text.isascii() else len(text.encode(errors="replace")[:count_bytes].decode(errors="ignore"))


def _cells(character: str) -> int:
    """How many columns of a terminal a character takes: Unicode Standard Annex 11, East Asian Width."""
    if character.isascii():
        return 1
    import unicodedata

    return 0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1


def render(
    span: Span | None, diagnostic_id: str | None, message: str, fix: str = "", also: Sequence[tuple[Span, str]] = ()
) -> str:
    """The text of an error: place and id, the author's line with carets and `message`, other places, and `fix:`."""
    head = f"{short(span.file)}:{span.line}:{span.character()}: " if span else ""
    lines = [head + (diagnostic_id or "error")]
    lines.append(span.underlined(message) if span else f"    {message}")
    for place, text in also:
        lines += [f"{short(place.file)}:{place.line}:{place.character()}: see", place.underlined(text)]
    if fix:
        lines.append(f"fix: {fix}")
    return "\n".join(lines)


_named: dict[str, str] = {}


def name_file(file: str, name: str) -> None:
    """Let `file` be called `name` in what authors read: a cell of a notebook."""
    _named[file] = name


def short(file: str) -> str:
    """`file` as it was named, or relative to the working directory if it is below it."""
    if file in _named:
        return _named[file]
    relative = os.path.relpath(file) if os.path.isabs(file) else file
    return file if relative.startswith("..") else relative


_ours: dict[str, bool] = {}


def is_ours(code: CodeType) -> bool:
    """Whether `code` belongs to this package (and not to an author's file)."""
    return is_our_file(code.co_filename)


def is_our_file(file: str) -> bool:
    """Whether a code object's file is one of this package."""
    cached = _ours.get(file)
    if cached is None:
        cached = _ours[file] = file.startswith(_PACKAGE_FOLDER)
    return cached


_for_python: dict[str, bool] = {}  # files of this package: whether they evaluate the author's operators


def stands_for_python(file: str, operators: bool = False) -> None:
    """Mark a module, by its `__file__`, that does in the author's place what Python or a library would do there:
    `x in xs`, `max(xs)`, `print(x)`. Errors it lets through are Python's own. `operators`: of an expression too."""
    _for_python[file] = operators


def is_for_python(file: str, operators: bool = False) -> bool:
    """Whether `stands_for_python` marked a code object's file (as one of `operators`)."""
    return _for_python[file] or not operators if file in _for_python else False


_LIBRARY = tuple(
    {
        os.path.join(folder, "")
        for name in ("stdlib", "platstdlib")
        for folder in (sysconfig.get_path(name), os.path.realpath(sysconfig.get_path(name)))
    }
)


def is_installed_file(file: str) -> bool:
    """Whether a code object's file is of an installed package."""
    return any(f"{os.sep}{folder}{os.sep}" in file for folder in ("site-packages", "dist-packages"))


def is_library_file(file: str) -> bool:
    """Whether a code object's file is of Python's own library."""
    return file.startswith((*_LIBRARY, "<frozen ")) and not is_installed_file(file)


def is_part(code: CodeType) -> bool:
    """Whether `code` is a part that a function of the author was cut into (core.syntax.rewrite_statement),
    and not a separate function."""
    return code.co_qualname.rpartition(".")[2].startswith("__dsl_")


_between: dict[str, bool] = {}


def is_between(code: CodeType) -> bool:
    """Whether `code` is only between the author's code and an error: part of this package, or of Python's library."""
    if code.co_filename == "<string>":  # a dataclass's method, or a method of the author
        return code.co_qualname.startswith("__create_fn__.")
    cached = _between.get(code.co_filename)
    if cached is None:
        cached = _between[code.co_filename] = is_ours(code) or is_library_file(code.co_filename)
    return cached


def author_frame() -> FrameType | None:
    """The innermost frame that is neither of this package nor of Python's library; the innermost that is not of this
    package where there is none; or None."""
    innermost = frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        between = _between.get(code.co_filename)
        if not (is_between(code) if between is None else between):
            return frame
        frame = frame.f_back
    while innermost is not None and is_ours(innermost.f_code):
        innermost = innermost.f_back
    return innermost


def here() -> Span:
    """The place of the expression that the author's innermost frame is evaluating."""
    frame = author_frame()
    if frame is None:
        return Span("<unknown>", 1)
    return of_frame(frame)


MOST_CALLS = 12
_MOST_FRAMES = 150  # of statements in statements: every operation of the innermost looks through them
_PART_NAMES = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
_OURS, _CALLS, _PART, _ROOT = range(4)
_roles: dict[int, tuple[CodeType, int]] = {}  # by id of the code, which is held


def begins_trace(*codes: CodeType) -> None:
    """Mark what calls the functions that are traced: the calls of one begin there."""
    _roles.update({id(code): (code, _ROOT) for code in codes})


def calls_here() -> tuple[int, ...]:
    """The calls that led from the function that is traced to the author's innermost frame, that one first: for each the
    id of its code and the byte offset. `()` if no frame belongs to the author."" For `places_of_calls`."""
    frame, key, in_part, left = sys._getframe(1), [], False, _MOST_FRAMES
    while frame is not None and len(key) < 2 * MOST_CALLS and left:
        code, left = frame.f_code, left - 1
        role = (_roles.get(id(code)) or _role(code))[1]
        if role == _ROOT:
            return tuple(key)
        if role != _OURS:
            if not in_part:  # a part is called by the function that it is of
                key += id(code), frame.f_lasti
            in_part = role == _PART
        frame = frame.f_back
    return tuple(key if frame is not None and left else key[:2])


def places_of_calls(key: tuple[int, ...]) -> list[Span]:
    """The places of `calls_here`."""
    return [of_code(_roles[code][0], offset) for code, offset in zip(key[::2], key[1::2])]


def _role(code: CodeType) -> tuple[CodeType, int]:
    part = is_part(code) or code.co_name in _PART_NAMES
    role = _roles[id(code)] = code, _OURS if is_between(code) else _PART if part else _CALLS
    return role


def callers() -> list[tuple[CodeType, int]]:
    """The calls that led here, as code and byte offset, the innermost last."""
    frame, calls = sys._getframe(1), []
    while frame is not None:
        calls.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return calls[::-1]


def of_frame(frame: FrameType) -> Span:
    """The place `frame` is at, exact to the column where Python knows it."""
    return _position(frame.f_code, frame.f_lasti)


def of_code(code: CodeType, offset_bytes: int) -> Span:
    """The place of the instruction at `offset_bytes` of `code`."""
    return _position(code, offset_bytes)


def of_traceback(traceback: TracebackType | None) -> Span | None:
    """The place in the author's code nearest to where an exception was raised, or None."""
    place = None
    while traceback is not None:
        if not is_between(traceback.tb_frame.f_code):
            place = _position(traceback.tb_frame.f_code, traceback.tb_lasti)
        traceback = traceback.tb_next
    return place


# Keys are identities: two equal code objects may come from two files, and hashing one costs as much as it is long.
_positions: dict[int, tuple[CodeType, list[tuple], dict[int, Span]]] = {}


def _position(code: CodeType, offset_bytes: int) -> Span:
    cached = _positions.get(id(code))
    if cached is None:
        cached = _positions[id(code)] = code, list(code.co_positions()), {}
    _, positions, spans = cached
    span = spans.get(offset_bytes)
    if span is None:
        span = spans[offset_bytes] = _span_of(code, positions, offset_bytes // 2)
    return span


def _span_of(code: CodeType, positions: list[tuple], index: int) -> Span:
    line, end_line, column, end_column = positions[index] if 0 <= index < len(positions) else (None,) * 4
    if line is None:
        return Span(code.co_filename, code.co_firstlineno)
    return Span(code.co_filename, line, (column or 0) + 1, end_line, end_column + 1 if end_column else None)
