"""A file in which git left a merge conflict: its two sides."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from harness.claim.repro_file import short
from harness.terminal import one_line

OPENS, BASE, TURNS, CLOSES = MARKS = "<<<<<<<", "|||||||", "=======", ">>>>>>>"


class Side(NamedTuple):
    """The text of the file on one side, and git's name for the side (a branch, a commit)."""

    name: str
    text: str


def sides(text: str) -> tuple[Side, Side] | None:
    """Both sides of a file with a conflict, or None where it holds none that is whole."""
    ours: list[str] = []
    theirs: list[str] = []
    names, takers = [], [ours, theirs]
    for line in text.splitlines(keepends=True):
        mark, _, name = line.rstrip("\r\n").partition(" ")
        if mark == OPENS:
            names, takers = [name], [ours]
        elif mark == BASE and names:
            takers = []
        elif mark == TURNS and not name and names:
            takers = [theirs]
        elif mark == CLOSES and names:
            names, takers = [names[0], name], [ours, theirs]
        else:
            for lines in takers:
                lines.append(line)
    if len(names) != 2:
        return None
    return Side(names[0] or "ours", "".join(ours)), Side(names[1] or "theirs", "".join(theirs))


def unmerged(path: Path) -> str:
    """The message for a file that could not be read, if it holds a merge conflict; else ''."""
    try:
        both = sides(path.read_text("utf-8", "replace"))
    except OSError:
        return ""
    if both is None:
        return ""
    name, names = short(path), " and ".join(one_line(side.name) for side in both)
    return f"{name} holds a merge conflict between {names}\nfix: resolve the conflict in {name}"
