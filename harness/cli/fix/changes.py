"""Edits of findings, made in the texts of files: a unified diff, and the files written or put back."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.claim.repro_file import short
from harness.errors import UsageError
from harness.store import write_atomically

if TYPE_CHECKING:
    from harness.reporting.case_findings import Edit, Finding

_OFFSETS = {"insert_before": (0, 0), "insert_after": (1, 1), "replace": (0, 1)}


@dataclass(frozen=True)
class Change:
    """A file whose text becomes another one. `added`: the numbers of its new lines."""

    path: Path
    before: str
    after: str
    added: frozenset[int]

    def diff(self) -> str:
        """A unified diff that `git apply` takes, by the path from the working folder."""
        name = short(self.path)
        old, new = (text.splitlines(keepends=True) for text in (self.before, self.after))
        rows = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}")
        return "".join(row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n" for row in rows)

    def write(self) -> None:
        """Write the new text. Raises OSError, and UsageError if the file has changed."""
        if _text(self.path) != self.before:
            raise UsageError(f"{short(self.path)} has changed since it ran: nothing was written\nfix: run it again")
        _replace(self.path, self.after)

    def put_back(self) -> None:
        """Write the old text. Raises OSError."""
        _replace(self.path, self.before)


def of(findings: Iterable[Finding], file: Path, root: Path) -> list[Change]:
    """The changes that findings about the program in `file` propose, each edit once and one for each line.

    Raises UsageError for an edit of a file outside of the project, and for one that does not fit its file.
    """
    edits: dict[Path, dict[int, Edit]] = {}
    for one in findings:
        edit = one.edit and (one.edit if one.edit.file else _in_text(one.edit, file))
        if edit is not None:
            path = _inside(root, file, str(edit.file))
            edits.setdefault(path, {}).setdefault(edit.line, edit)
    return [_change(path, [*of_lines.values()]) for path, of_lines in edits.items()]


def _inside(root: Path, file: Path, name: str) -> Path:
    path = (root / name).resolve()
    if not any(path.is_relative_to(folder.resolve()) for folder in (root, file.parent)):
        raise UsageError(f"the edit is of {name}, which is outside of the project\nfix: make it by hand")
    return path


def _in_text(edit: Edit, file: Path) -> Edit | None:
    """The edit of PTX that the program itself has as text: of the one line there that is the same."""
    same = [number for number, line in enumerate(_text(file).splitlines(), 1) if line == edit.old]
    return replace(edit, file=str(file.resolve()), line=same[0]) if len(same) == 1 else None


def _change(path: Path, edits: list[Edit]) -> Change:
    before = _text(path)
    lines = before.splitlines(keepends=True)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    added: list[int] = []
    for edit in sorted(edits, key=lambda one: one.line, reverse=True):
        at = edit.line - 1
        if at >= len(lines) or lines[at].rstrip("\r\n") != edit.old:
            raise UsageError(f"line {edit.line} of {short(path)} is not what ran\nfix: run it again")
        lines[at] = lines[at] if lines[at].endswith("\n") else lines[at] + end
        first, last = (at + offset for offset in _OFFSETS[edit.kind])
        new = [f"{row}{end}" for row in edit.text.split("\n")]
        lines[first:last] = new
        added = [*range(first + 1, first + 1 + len(new)), *(each + len(new) - last + first for each in added)]
    return Change(path, before, "".join(lines), frozenset(added))


def _text(path: Path) -> str:
    """The text of a file with its line endings. Raises OSError, UsageError."""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        raise UsageError(f"{short(path)} is not UTF-8\nfix: make the edit by hand") from None


def _replace(path: Path, text: str) -> None:
    mode = path.stat().st_mode
    write_atomically(path, text.encode())
    os.chmod(path, mode)
