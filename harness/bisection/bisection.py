"""A bisection: the ends first, then as few versions between them as it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness.bisection import answer
from harness.bisection.answer import Answer
from harness.bisection.axes import Axis
from harness.bisection.journal import Journal
from harness.bisection.preparation import Preparations
from harness.bisection.runs import CannotRun, Runs
from harness.bisection.search import Search, State

FOUND, AMBIGUOUS, UNCHANGED, ABORTED = "found", "ambiguous", "unchanged", "aborted"


@dataclass
class Result:
    """`kind`: found, ambiguous (the candidates are several), unchanged (both ends answer the same), aborted (an end
    cannot run). `good` and `bad`: the last version with the answer of the good end, the first known with another.
    `changes`: case -> how its answer differs there."""

    kind: str
    why: str = ""
    good: str = ""
    bad: str = ""
    candidates: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    answers: tuple[list[Answer], list[Answer]] = ([], [])
    changes: dict[str, str] = field(default_factory=dict)
    is_third: bool = False  # the answer of `bad` is not the bad end's either
    runs: int = 0

    def as_data(self) -> dict[str, Any]:
        """The data that is kept and printed as JSON; the answers by the ids of their records."""
        good, bad = ({one.case: one.record for one in group} for group in self.answers)
        return {
            "kind": self.kind, "why": self.why, "last_good": self.good or None, "first_bad": self.bad or None,
            "candidates": self.candidates, "skipped": self.skipped, "changes": self.changes,
            "third_answer": self.is_third, "records": {"last_good": good, "first_bad": bad}, "runs": self.runs,
        }  # fmt: skip


class Bisection:
    """One claim along one axis. `tell` takes a line of progress."""

    def __init__(
        self, axis: Axis, runs: Runs, journal: Journal, preparations: Preparations, tell: Callable[[str], None]
    ) -> None:
        self._axis, self._runs, self._journal, self._tell = axis, runs, journal, tell
        self._preparations = preparations
        self._made = 0
        self._skipped: dict[str, str] = {}

    def run(self) -> Result:
        """Find the first version that changes the answer. Raises OSError, UsageError for a host."""
        last = len(self._axis.versions) - 1
        search = Search(last + 1)
        between = search.most_runs()
        self._tell(f"{last + 1} versions, {self._label(0)} to {self._label(last)}: at most {2 + between} runs")
        ends: list[list[Answer]] = []
        for place, which in ((0, "good"), (last, "bad")):
            self._prepare(place, last, search.next())
            given = self._ask(place)
            if isinstance(given, str):
                self._tell(f"{self._label(place)}: cannot run")
                return self._result(ABORTED, f"the {which} end, {self._label(place)}, cannot run: {given}")
            ends.append(given)
            self._tell(f"{self._label(place)}: the {which} end, {_ended(given)}")
        good, bad = ends
        if not self._differences(good, bad):
            why = f"{self._label(0)} and {self._label(last)} give the same answer: {_ended(good)}"
            return self._result(UNCHANGED, why, good=self._label(0), bad=self._label(last), answers=(good, bad))
        while (place := search.next()) is not None:
            self._prepare(place, *search.upcoming())
            given = self._ask(place)
            given = self._unless_broken(given, good, bad)
            state, text = self._state(good, given)
            if isinstance(given, str):
                self._skipped[self._label(place)] = given
            search.take(place, state)
            left = search.most_runs()
            runs = "done" if not search.open() else f"at most {left} run{'s' * (left != 1)} left"
            self._tell(f"{self._label(place)}: {text}; {runs}")
        return self._found(search, good, bad)

    def _found(self, search: Search, good: list[Answer], bad: list[Answer]) -> Result:
        last_good, first_bad = search.ends
        places = search.candidates()
        before, after = (self._journal.known[self._label(place)] for place in (last_good, first_bad))
        assert not isinstance(before, str) and not isinstance(after, str)
        changes = self._differences(good, after)
        names = [self._label(place) for place in places]
        if len(places) == 1:
            kind, why = FOUND, f"{names[0]} is the first that changes the answer"
        else:
            kind = AMBIGUOUS
            why = f"one of {len(places)} versions changes the answer: "
            why += f"nothing between {self._label(last_good)} and {names[-1]} can run"
        third = first_bad != len(self._axis.versions) - 1 and bool(self._differences(bad, after))
        return self._result(
            kind, why, good=self._label(last_good), bad=self._label(first_bad), candidates=names,
            answers=(before, after), changes=changes, is_third=third,
        )  # fmt: skip

    def _result(self, kind: str, why: str, **more: Any) -> Result:
        return Result(kind, why, skipped=self._skipped, runs=self._made, **more)

    def _label(self, place: int) -> str:
        return self._axis.versions[place].label

    def _prepare(self, *places: int | None) -> None:
        for place in places:
            if place is not None and self._label(place) not in self._journal.known:
                version = self._axis.versions[place]
                self._preparations.begin(version.label, self._runs.preparation(version))

    def _ask(self, place: int) -> list[Answer] | str:
        """The answers of a version, or why it cannot run; from the journal if it ran before."""
        version = self._axis.versions[place]
        if version.label in self._journal.known:
            return self._journal.known[version.label]
        self._preparations.wait(version.label)
        self._made += 1
        try:
            given: list[Answer] | str = self._runs.run(version)
        except CannotRun as error:
            given = str(error)
        self._journal.take(version.label, given)
        return given

    @staticmethod
    def _unless_broken(given: list[Answer] | str, good: list[Answer], bad: list[Answer]) -> list[Answer] | str:
        """The answers; a text if the version raises an exception and neither end does: it is broken otherwise."""
        if isinstance(given, str) or any(one.raised for one in (*good, *bad)):
            return given
        return next((f"it raises an exception, as neither end does: {one.brief}" for one in given if one.raised), given)

    def _state(self, good: list[Answer], given: list[Answer] | str) -> tuple[State, str]:
        if isinstance(given, str):
            return State.SKIPPED, f"skipped: {_first_line(given)}"
        changes = self._differences(good, given)
        if not changes:
            return State.SAME, f"as the good end, {_ended(given)}"
        return State.OTHER, f"another answer, {_first_line(next(iter(changes.values())))}"

    def _differences(self, good: list[Answer], other: list[Answer]) -> dict[str, str]:
        """How each case that changed differs."""
        by_case = {one.case: one for one in other}
        found = {}
        for case, one in zip(self._runs.cases, good, strict=True):
            text = answer.difference(case, one, by_case[one.case])
            if text:
                found[one.case] = text
        return found


def _ended(answers: list[Answer]) -> str:
    """`pass`, or how often each end was given."""
    counts: dict[str, int] = {}
    for one in answers:
        counts[one.ended] = counts.get(one.ended, 0) + 1
    return next(iter(counts)) if len(counts) == 1 else ", ".join(f"{text} {count}" for text, count in counts.items())


def _first_line(text: str) -> str:
    lines = text.strip().splitlines() or [""]
    return lines[0][:160]
