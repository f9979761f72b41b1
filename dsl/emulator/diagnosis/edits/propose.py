"""Edits for a launch: statements at a spot between two instructions, or a change of the line of one."""

from __future__ import annotations

import functools
import linecache
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from dsl.emulator.diagnosis import frames, language
from dsl.emulator.diagnosis.edits import cuda_statements, python_statements
from dsl.emulator.diagnosis.edits.edit import INSERT_AFTER, INSERT_BEFORE, REPLACE, Edit
from dsl.emulator.diagnosis.edits.ptx_lines import PtxLines
from dsl.emulator.diagnosis.edits.statements import Spot, Statements
from dsl.emulator.ptx.syntax import Instr
from dsl.span import Span, short


class _Source(NamedTuple):
    """A text that edits change. `file`: '' for the PTX text; `language`: None for PTX."""

    file: str
    text: str
    language: int | None
    spots: Statements | PtxLines

    def line(self, number: int) -> str:
        return self.text.splitlines()[number - 1]


def after(launch, names: Sequence[str], first: Instr, second: Instr) -> Edit | None:
    """Put statements after the first instruction, before the second one."""
    return _between(launch, names, first, second, lambda spots, a, b: spots.after(a, b))


def before(launch, names: Sequence[str], first: Instr, second: Instr) -> Edit | None:
    """Put statements right before the second instruction, in what has both."""
    return _between(launch, names, first, second, lambda spots, a, b: spots.before(a, b))


def end_of_round(launch, names: Sequence[str], first: Instr, second: Instr) -> Edit | None:
    """Put statements at the end of the loop that has both instructions."""
    return _between(launch, names, first, second, lambda spots, a, b: spots.end_of_round(a, b))


def right_before(launch, name: str, instr: Instr, number: int = 0) -> Edit | None:
    """Put a statement right before one instruction, for the threads that execute it."""
    return _at(launch, name, instr, lambda spots, line: spots.at_statement(line, True), number)


def right_after(launch, name: str, instr: Instr) -> Edit | None:
    """Put a statement right after one instruction, for the threads that execute it."""
    return _at(launch, name, instr, lambda spots, line: spots.at_statement(line, False))


def at_end(launch, name: str, instr: Instr) -> Edit | None:
    """Put a statement at the end of the kernel that has an instruction."""
    author = frames.of(launch, instr).author
    found = _of(launch, author[0] if author else None, instr)
    return _inserted(*found, [name], lambda spots, line: spots.end_of_function(line)) if found else None


def change(launch, name: str, instr: Instr) -> Edit | None:
    """Change the line of an instruction, by the name of the change."""
    return _replaced(launch, instr, lambda source, line: language.changed(name, source.language, source.text, line))


def number(launch, instr: Instr, old: int, new: int) -> Edit | None:
    """Write a number in the place of another one at the line of an instruction, if it is there once."""
    pattern = rf"(?<![\w.%]){old}(?![\w.])"

    def written(_: _Source, line: str) -> str | None:
        changed, count = re.subn(pattern, str(new), line)
        return changed if count == 1 else None

    return _replaced(launch, instr, written)


def is_in_branch(launch, first: Instr, second: Instr) -> bool:
    """Whether what is between two instructions of an author's file is in a branch that some threads may not take."""
    places = frames.apart(launch, first, second)
    ours, theirs = (_of(launch, place, instr) for place, instr in zip(places or (None, None), (first, second)))
    if ours is None or theirs is None or ours[0] is not theirs[0] or ours[0].language is None:
        return False
    spots, lines = ours[0].spots, (ours[1], theirs[1])
    spot = spots.after(*lines) or spots.end_of_round(*lines)
    return spot is not None and spot.conditional


def _between(launch, names: Sequence[str], first: Instr, second: Instr, choose: Callable) -> Edit | None:
    places = frames.apart(launch, first, second)
    ours = _of(launch, places and places[0], first)
    theirs = _of(launch, places and places[1], second)
    if ours is None or theirs is None or ours[0] is not theirs[0]:
        return None
    return _inserted(*ours, names, lambda spots, line: choose(spots, line, theirs[1]))


def _at(launch, name: str, instr: Instr, choose: Callable, number: int = 0) -> Edit | None:
    found = _of(launch, frames.place_of(launch, instr), instr)
    return _inserted(*found, [name], choose, number) if found is not None else None


def _inserted(source: _Source, line: int, names: Sequence[str], choose: Callable, number: int = 0) -> Edit | None:
    spot: Spot | None = choose(source.spots, line)
    if spot is None or (spot.conditional and not language.OF_ALL.isdisjoint(names)):
        return None
    rows = [language.statements(name, source.language, source.text, number) for name in names]
    if not all(rows):
        return None
    like, old = source.line(spot.like), source.line(spot.line)
    indent = like[: len(like) - len(like.lstrip())]
    text = "\n".join(indent + statement for row in rows for statement in row)
    return Edit(source.file, spot.line, INSERT_BEFORE if spot.is_before else INSERT_AFTER, text, old)


def _replaced(launch, instr: Instr, rewrite: Callable[[_Source, str], str | None]) -> Edit | None:
    found = _of(launch, frames.place_of(launch, instr), instr)
    if found is None:
        return None
    source, line = found
    old = source.line(line)
    new = rewrite(source, old)
    return Edit(source.file, line, REPLACE, new, old) if new is not None and new != old else None


def _of(launch, place: Span | None, instr: Instr) -> tuple[_Source, int] | None:
    """The text to edit and the line of an instruction in it: a source of the author, or the PTX if no source is there.
    None if it cannot be edited."""
    files = launch.program.files.values()
    if not any(linecache.getlines(file) or file.startswith("<") for file in files):
        return _ptx(launch.program.ptx), instr.line
    text = "".join(linecache.getlines(place.file)) if place is not None else ""
    if place is None or not text:
        return None
    source = _author(place.file, text)
    return (source, place.line) if source is not None and place.line <= text.count("\n") + 1 else None


@functools.lru_cache(16)
def _ptx(text: str) -> _Source:
    return _Source("", text, None, PtxLines(text))


@functools.lru_cache(64)
def _author(file: str, text: str) -> _Source | None:
    kind = language.of(file)
    if kind is None:
        return None
    spots = cuda_statements.parse(text) if kind == language.CUDA else python_statements.parse(text)
    return _Source(short(file), text, kind, spots) if spots is not None else None
