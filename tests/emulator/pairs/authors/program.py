"""Programs of authors: a mistake, and the program put right, in one text.

A line that begins with `-` is in the wrong one alone, one with `+` in the right one alone. `# <-` marks the line of the
finding. A program leaves its result in `out`, and what it must be in `expected`.
"""

from __future__ import annotations

import textwrap
from typing import NamedTuple


class Pair(NamedTuple):
    """`kind`, `text`: of the finding; `fix`: words of its fix. `body`: the lines with their marks, at any indentation;
    `head`, `tail`: the lines before and after."""

    name: str
    kind: str
    text: str
    fix: str
    head: str
    body: str
    tail: str

    def source(self, is_right: bool) -> str:
        rows = [row for row in textwrap.dedent(self.body.strip("\n")).splitlines() if row.strip()]
        rows = [row for row in rows if row[:1] != ("-" if is_right else "+")]
        assert all(row[:2] in ("  ", "- ", "+ ") for row in rows), self.name
        return self.head + "".join(f"{row[2:]}\n" for row in rows) + self.tail

    @property
    def line(self) -> int:
        """The line of the finding in the wrong one."""
        marked = [number for number, row in enumerate(self.source(False).splitlines(), 1) if row.endswith("# <-")]
        assert len(marked) == 1, self.name
        return marked[0]
