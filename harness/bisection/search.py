"""Binary search for the first version that changed an answer. Some versions cannot run, and are skipped."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class State(Enum):
    """The result of one version: the answer of the good end, another answer, or none."""

    SAME = "same"
    OTHER = "other"
    SKIPPED = "skipped"


@dataclass
class Search:
    """`count` versions in order; the first one is good, the last one is bad.

    At most `most_runs()` versions between the ends run, and one more for each that is skipped.
    """

    count: int
    states: dict[int, State] = field(default_factory=dict)  # of versions between the ends

    @property
    def ends(self) -> tuple[int, int]:
        """The last version known to be good, and the first known to be bad."""
        good = max((place for place, state in self.states.items() if state is State.SAME), default=0)
        bad = min((place for place, state in self.states.items() if state is State.OTHER), default=self.count - 1)
        return good, bad

    def open(self) -> list[int]:
        """The versions that may still be asked."""
        good, bad = self.ends
        return [place for place in range(good + 1, bad) if place not in self.states]

    def candidates(self) -> list[int]:
        """The versions that may be the first bad one: one when nothing was skipped between the ends."""
        good, bad = self.ends
        return list(range(good + 1, bad + 1))

    def next(self) -> int | None:
        """The version to ask, None at the end.

        It is the version furthest from skipped versions, among those that keep the number of runs minimal: versions
        that cannot run come in rows.
        """
        places = self.open()
        if not places:
            return None
        half = 1 << (len(places).bit_length() - 1)
        first, last = len(places) - half, half - 1
        skipped = [place for place, state in self.states.items() if state is State.SKIPPED]
        middle = (len(places) - 1) / 2

        def merit(index: int) -> tuple[int, float]:
            return min((abs(places[index] - one) for one in skipped), default=0), -abs(index - middle)

        return places[max(range(first, last + 1), key=merit)]

    def take(self, place: int, state: State) -> None:
        """Note what a version did."""
        self.states[place] = state

    def after(self, place: int, state: State) -> int | None:
        """The version to ask next if this version had this result."""
        return Search(self.count, {**self.states, place: state}).next()

    def upcoming(self) -> list[int]:
        """The versions that may be asked after the next one."""
        place = self.next()
        if place is None:
            return []
        found = [self.after(place, state) for state in (State.OTHER, State.SAME)]
        return list(dict.fromkeys(one for one in found if one is not None))

    def most_runs(self) -> int:
        """The most runs that are left if nothing more is skipped."""
        return len(self.open()).bit_length()
