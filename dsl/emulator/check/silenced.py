"""Lines at which the author allows a race: `# repro: allow RACE why`, or `// repro: allow RACE why`.

The accesses of such a line are compared with nothing: a race has two lines, and one of them is enough.
"""

from __future__ import annotations

import re

from dsl.span import Span

_COMMENT = re.compile(r"(?:#|//)\s*repro:\s*allow\s+RACE\s+\S")


def is_silenced(places: list[Span]) -> bool:
    """Whether an instruction, or a call that leads to it, is on such a line."""
    return any("repro:" in (text := place.source_line()) and _COMMENT.search(text) for place in places)
