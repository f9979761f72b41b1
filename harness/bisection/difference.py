"""Changes between the last good version and the first bad one: values, messages, PTX, SASS, files of a commit."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

from harness.bisection import commits
from harness.bisection.answer import Answer
from harness.bisection.axes import Axis
from harness.bisection.bisection import Result
from harness.records import differ
from harness.records.index import index
from harness.records.index.cells import NoRecord
from harness.records.tables import table
from harness.run.transport import LinkDown

SHOWN_CASES, SHOWN_LINES, SHOWN_ELEMENTS = 3, 40, 8


def text(result: Result, axis: Axis, root: Path) -> str:
    """Of each case that changed: how, its message, the code of its kernels; then what the commit changed."""
    good, bad = ({one.case: one for one in group} for group in result.answers)
    lines: list[str] = []
    for case, change in list(result.changes.items())[:SHOWN_CASES]:
        lines += ["", f"--- {case}" if case else "--- what changed", change]
        lines += _message(good[case], bad[case])
        lines += _code(good[case], bad[case], root)
    more = len(result.changes) - SHOWN_CASES
    lines += [f"\n... and {more} more case{'s' * (more > 1)} changed"] if more > 0 else []
    return "\n".join([*lines, *_commit(result, axis)]).strip("\n")


def _message(a: Answer, b: Answer) -> list[str]:
    if a.text == b.text:
        return []
    if not a.text or not b.text:
        side, said = ("bad", b.text) if b.text else ("good", a.text)
        return [f"message, {side}:", *(f"    {line}" for line in _some(said.strip().splitlines()))]
    return ["message:", *_diff(a.text, b.text)]


def _diff(a: str, b: str) -> list[str]:
    lines = difflib.unified_diff(a.splitlines(), b.splitlines(), "good", "bad", n=1, lineterm="")
    return [f"    {line}" for line in _some(list(lines))]


def _some(lines: list[str]) -> list[str]:
    more = len(lines) - SHOWN_LINES
    return [*lines[:SHOWN_LINES], *([f"... and {more} more lines"] if more > 0 else [])]


def _code(a: Answer, b: Answer, root: Path) -> Iterator[str]:
    """The elements that differ from what is right, and the diffs of PTX and SASS, as the records have them."""
    with index.open_index(root) as records:
        try:
            data = differ.compare(records, records.record(a.record), records.record(b.record), ())
        except NoRecord:
            return  # a script, whose observations have no code
    for one in data["differences"]:
        yield f"{'good' if one['letter'] == 'A' else 'bad'}: {one['message']}"
        yield from table(
            [("index", "where", "expected", "got"), *(tuple(map(str, r)) for r in one["first"][:SHOWN_ELEMENTS])]
        )
    for one in data["texts"]:
        yield f"{one['kind'].upper()} of {one['kernel']}:"
        shown = one["diff"].replace("--- A\n+++ B\n", "--- good\n+++ bad\n", 1) or one["note"]
        yield from (f"    {line.rstrip()}" for line in _some(shown.splitlines()))
    yield f"more: repro record diff {a.record} {b.record}"


def _commit(result: Result, axis: Axis) -> list[str]:
    """The files that the first bad commit changed."""
    version = next((one for one in axis.versions if one.label == result.bad), None)
    if version is None or version.commit is None or version.tree is None or len(result.candidates) != 1:
        return []
    sha = version.commit.sha
    try:
        stat = commits.git(
            Path(version.tree.repo),
            "show",
            "--stat=100",
            "--format=commit %H%n%an, %as%n%n    %s",
            "-m",
            "--first-parent",
            sha,
        )
    except LinkDown:
        return []
    lines = ["", *_some(stat.splitlines())]
    if version.commit.is_merge:
        lines += [
            "it is a merge; for the commits it brought:",
            f"    --commit {sha[: commits.SHOWN]}^1..{sha[: commits.SHOWN]}^2",
        ]
    return lines
