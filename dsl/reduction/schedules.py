"""Schedules of `python -m dsl --schedule` with fewer decisions of a seed, and lists of `--delays` with fewer delays.

A schedule is the list alone, `7: 0-4 19`; a list of delays has one in each line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dsl.emulator.execute.decisions import Decisions, spelled
from dsl.reduction.edit import Change, Edit, merged, spliced
from dsl.reduction.program import Refused


class Schedule:
    """Raises ValueError for a text that is not a schedule, or one of all decisions, whatever they are."""

    def __init__(self, source: str):
        self.source = source
        self.kept: dict[str, Any] = {}
        decisions = Decisions.of(source)
        if decisions.kept is None:
            raise ValueError("a schedule must list its decisions; `python -m dsl --schedule SEED FILE` prints them")
        self.numbers = sorted(decisions.kept)
        self.head = decisions.head
        self.text = (self.head + "".join(f"{number} " for number in self.numbers)).encode()

    def apply(self, edits: Sequence[Edit]) -> str:
        """The list after these edits. Raises Refused."""
        numbers = spliced(self.text, merged(edits)).decode().removeprefix(self.head).split()
        if len(numbers) == len(self.numbers):
            raise Refused("the text stays as it is")
        return f"{self.head}{spelled(map(int, numbers))}\n"


def decisions(schedule: Schedule) -> Iterator[Edit]:
    """Each decision, the last first: what comes after it may go another way."""
    end = len(schedule.text)
    for number in reversed(schedule.numbers):
        start = end - len(f"{number} ")
        yield Edit(f"without the decision {number}", 1, [Change(start, end)])
        end = start


class Delays:
    """Raises ValueError for a text that is not a list of delays, or one of a seed."""

    def __init__(self, source: str):
        self.source = source
        self.kept: dict[str, Any] = {}
        self.text = source.encode()
        if source.lstrip().startswith("seed "):
            raise ValueError("the delays must be listed; `repro run FILE --delays 'seed N'` prints the list of a seed")

    def apply(self, edits: Sequence[Edit]) -> str:
        """The list after these edits. Raises Refused."""
        text = spliced(self.text, merged(edits)).decode()
        if text == self.source:
            raise Refused("the text stays as it is")
        return text


def delays(listed: Delays) -> Iterator[Edit]:
    """Each line."""
    start = 0
    for number, line in enumerate(listed.text.splitlines(keepends=True), 1):
        yield Edit(f"without {line.decode().strip()}", number, [Change(start, start + len(line))])
        start += len(line)
