"""A cell's summary as the text that the index keeps; its events have the facts of their lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from harness.records.index.states import Event, Summary

_WITH_FACTS = ("last", "last_good", "first_bad", "unjudged")


def write(summary: Summary, facts_of: Callable[[Event], dict[str, Any]]) -> str:
    """The text; `facts_of(event)` is asked of each event that is kept."""
    table: dict[str, Any] = {**vars(summary), "silent": summary.silent and vars(summary.silent)}
    for key in _WITH_FACTS:
        event = table[key]
        if key != "last" and event is not None and event == summary.last:
            table[key] = True  # the same as the last
        elif event is not None:
            table[key] = vars(event) | {"facts": facts_of(event)}
    return json.dumps(table)


def read(text: str) -> Summary:
    table = json.loads(text)
    for key in (*_WITH_FACTS, "silent"):
        table[key] = table["last"] if table[key] is True else Event(**table[key]) if table[key] else None
    return Summary(**table)
