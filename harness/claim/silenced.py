"""The races that a repro allows, each at a line with its reason: `flags[1] = 1  # repro: allow RACE why`."""

from __future__ import annotations

import re
from typing import Any

KIND = "RACE"
_COMMENT = re.compile(r"(?:#|//)\s*repro:\s*allow\b[ \t]*(\S*)[ \t]*(.*)")
_FIX = "write `# repro: allow RACE` and then why the race is meant, at the end of the line of one of its accesses"


def read(source: Any) -> tuple[tuple[int, str], ...]:
    """(line, reason) of each. Raises ReproError for another kind of finding, and where no reason is given."""
    found = []
    for number, text in enumerate(source.lines, 1):
        match = _COMMENT.search(text) if "repro:" in text else None
        if match is None:
            continue
        column, width = match.start() + 1, len(match[0])
        if match[1] != KIND:
            why = f"allows {match[1] or 'nothing'}; only a RACE can be allowed"
            source.error(number, column, width, "BAD_ALLOW", why, _FIX)
        if not match[2].strip():
            source.error(number, column, width, "BAD_ALLOW", "has no reason", _FIX)
        found.append((number, match[2].strip()))
    return tuple(found)
