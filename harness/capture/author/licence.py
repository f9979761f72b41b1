"""The licence at the top of an author's file, as comments."""

from __future__ import annotations

import re
import textwrap

WIDTH = 120
_WRAPPED = 60  # a line at least so long may go on in the next one
_NEW = re.compile(r"\W*(\d+\.|[-*]|\(|Copyright|SPDX|https?:)", re.IGNORECASE)


def filled(text: str) -> str:
    """The same words as comments of full width; lines that were not broken by their width stay alone."""
    paragraphs: list[str] = []
    before = ""
    for line in (line.strip().lstrip("#").strip() for line in text.splitlines()):
        if len(before) >= _WRAPPED and line and not _NEW.match(line):
            paragraphs[-1] += f" {line}"
        else:
            paragraphs.append(line)
        before = line
    rows = [row for each in paragraphs for row in textwrap.wrap(each, WIDTH - 2, break_on_hyphens=False) or [""]]
    return "\n".join(f"# {row}".rstrip() for row in rows)
