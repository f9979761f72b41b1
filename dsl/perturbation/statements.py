"""PTX text as statements with their offsets. PTX ISA chapter 4, Syntax. Nothing of the text is changed or understood
beyond that, so PTX of every version and compiler can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SKIPPED = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = r'"(?:\\.|[^"\\])*"'
_PIECE = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/|[{{}};()]|[^\"/{{}};()]+|/", re.DOTALL)
_NUMBER = r"\s+\d+"
_LOC = re.compile(
    rf"\.loc{_NUMBER * 3}(?:\s*,\s*function_name\s+[\w$.%]+(?:\s*\+\s*\d+)?\s*,\s*inlined_at{_NUMBER * 3})?"
)
_FILE = re.compile(rf"\.file{_NUMBER}\s+{_STRING}(?:\s*,\s*\d+\s*,\s*\d+)?")
_HEADER = re.compile(r"\.(?:version|target|address_size)\b[^\n]*")
_LABEL = re.compile(r"([A-Za-z_$%][\w$]*)\s*:(?!:)")
_NAME = re.compile(r"\.(?:entry|func)\b\s*(?:\.\w+\s*)*(?:\([^)]*\)\s*)?([\w$%]+)")
_OPCODE = re.compile(r"(?:@\s*!?\s*[\w$%]+\s+)?([A-Za-z_][\w.:]*)")
_PLACE = re.compile(r"\.loc\s+(\d+)\s+(\d+)")


class BadPtx(ValueError):
    """The text is not PTX; the message names its line, from 1."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One instruction of a function's body. `start` is the offset of its guard, or of its opcode; `end` is the offset
    after its semicolon. `file` and `line` are from the .loc before it; 0: none."""

    function: str
    start: int
    end: int
    opcode: str
    text: str
    file: int
    line: int


def statements(ptx: str) -> Iterator[Statement]:
    """The instructions of every function, in the order of the text. Raises BadPtx."""
    at, depth, function, place = _after_space(ptx, 0), 0, "", (0, 0)
    while at < len(ptx):
        if ptx[at] == "{" and depth:
            at, depth = at + 1, depth + 1
        elif ptx[at] == "}" and depth:
            at, depth = at + 1, depth - 1
        elif known := _LOC.match(ptx, at) or _FILE.match(ptx, at) or (None if depth else _HEADER.match(ptx, at)):
            loc = _PLACE.match(known.group())
            place = (int(loc[1]), int(loc[2])) if loc else place
            at = known.end()
        elif depth and (label := _LABEL.match(ptx, at)):
            at = label.end()
        elif depth:
            end = _end(ptx, at)
            opcode = _OPCODE.match(ptx, at)
            if opcode:
                text = " ".join(ptx[at:end].split())
                yield Statement(function, at, end, opcode[1], text, *place)
            at = end
        else:
            at, function, depth = _definition(ptx, at)
            place = (0, 0)
        at = _after_space(ptx, at)
    if depth:
        raise BadPtx(f"PTX line {_line(ptx, len(ptx))}: the body of `{function}` does not end")


def _definition(ptx: str, at: int) -> tuple[int, str, int]:
    """The next item at module level: where it ends, or where the body of the function that it names begins."""
    parens = braces = 0
    start, name = at, None
    is_section = ptx.startswith(".section", at)
    for piece in _PIECE.finditer(ptx, at):
        text = piece.group()
        parens += (text == "(") - (text == ")")
        if text == "{" and not parens and not is_section:
            name = _NAME.search(ptx, start, piece.start())
            if name:
                return piece.end(), name[1], 1
        braces += (text == "{") - (text == "}")
        if braces < 0 or (text == ";" and not braces and not is_section) or (is_section and text == "}"):
            return piece.end(), "", 0
    raise BadPtx(f"PTX line {_line(ptx, start)}: this does not end: {ptx[start : start + 60].strip()}")


def _end(ptx: str, at: int) -> int:
    """The offset after a statement's semicolon."""
    for piece in _PIECE.finditer(ptx, at):
        if piece.group() == ";":
            return piece.end()
    raise BadPtx(f"PTX line {_line(ptx, at)}: a semicolon is missing")


def _after_space(ptx: str, at: int) -> int:
    skipped = _SKIPPED.match(ptx, at)
    return skipped.end() if skipped else at


def _line(ptx: str, at: int) -> int:
    return ptx.count("\n", 0, at) + 1
