"""`repro record history` of scripts: the runs of some observations as data, and as text for a person."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from harness.records import observations
from harness.records.observations import Observation

SHOWN_LINES = 12  # of what a run printed, where several are shown


def history(
    found: Sequence[Observation],
    most: int,
    grep: str | None = None,
    host: str | None = None,
    compiler: str | None = None,
) -> dict[str, Any]:
    """The runs, newest first, at most `most`, of one host and compiler if they are given."""
    some = [one for one in found if host in (None, one.host) and compiler in (None, one.asked)]
    return {"runs": [_run(one, grep) for one in some[:most]], "total": len(some)}


def _run(one: Observation, grep: str | None) -> dict[str, Any]:
    text, script = observations.output_of(one), observations.script_of(one)
    lines = [line for line in (text + "\n" + script).splitlines() if grep and re.search(grep, line, re.IGNORECASE)]
    return {
        "id": one.id,
        "date": one.date,
        "script": one.script,
        "args": one.args,
        "host": one.host,
        "compiler": one.asked,
        "outcome": one.outcome,
        "exit": one.exit,
        "text": one.text,
        "output": text,
        "source": script,
        "lines": lines,
        "interrupted": one.interrupted,
    }


def text(data: dict[str, Any]) -> str:
    """One run whole, with its script; of several what they printed, or the lines that were looked for."""
    runs = data["runs"]
    if not runs:
        return "no run of a script fits"
    if len(runs) == 1 and data["total"] == 1:
        (one,) = runs
        head = [_head(one), f"again: repro run {one['id']}"]
        return "\n".join([*head, *_indented(one["source"], "the script"), *_indented(one["output"], "it printed")])
    lines = []
    for one in runs:
        shown = one["lines"] or one["output"].splitlines()
        lines += [_head(one), *(f"    {line}" for line in shown[:SHOWN_LINES])]
        if len(shown) > SHOWN_LINES:
            lines.append(f"    ... {len(shown) - SHOWN_LINES} lines more: repro record history {one['id']}")
    if data["total"] > len(runs):
        lines.append(f"... and {data['total'] - len(runs)} older ones: -n")
    return "\n".join(lines)


def _head(one: dict[str, Any]) -> str:
    ended = "interrupted" if one["interrupted"] else one["outcome"]
    status = f", exit status {one['exit']}" if one["exit"] is not None else ""
    called = " ".join([one["script"], *one["args"]])
    when = one["date"][:19].replace("T", " ")
    return f"{one['id']}  {when}  {called}  on {one['host']} {one['compiler']}: {ended}{status}"


def _indented(text: str, title: str) -> list[str]:
    return [f"--- {title}", *text.rstrip().splitlines()] if text else [f"--- {title}: nothing is kept"]
