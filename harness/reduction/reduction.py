"""One reduction from its start to its end: the property at the start, the search, the lines of progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from harness import store
from harness.errors import UsageError
from harness.reduction.candidates import START_RUNS, Candidates, tries_for
from harness.reduction.journal import Journal
from harness.reduction.progress import Progress
from harness.reduction.properties import Property, Seen
from harness.reduction.search import Passes, Search, TimeOver

SURE_RUNS = 2  # of a start that is the same each time
HANG_S = (2.0, 5.0, 15.0)  # a hang is looked for within the shortest of these in which it is the same
HANGS_S = 60.0  # so long must it go on in the first place: a program may compile for long
FACTOR, LEAST_S = 4.0, 3.0  # a candidate may take so many times as long as the slowest start, and so long in any case


@dataclass
class Report:
    """The result of a reduction. `left`: reason -> how many candidates were rejected for it."""

    text: str
    seen: Seen
    had: int
    runs: int
    seconds: float = 0.0
    ran: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    is_finished: bool = True
    is_over: bool = False  # since its time was over


def lines(text: str) -> int:
    """The lines of a program that are not empty."""
    return sum(bool(line.strip()) for line in text.split("\n"))


def begin(kept: Property, start: str, say: Callable[[str], None]) -> tuple[Seen, int, int]:
    """Run the start: what it does, in how many of how many runs; set the time that a candidate may take.

    Raises UsageError if the start does not have the property, or differs each time.
    """
    limit_s = kept.timeout_s
    seen = _first(kept, start, limit_s)
    if seen.problem:
        raise UsageError(f"the start could not be run: {seen.text or seen.problem}")
    if why := kept.refuse(seen):
        raise UsageError(f"the start has not the property: {why}")
    if not seen.is_stopped:
        kept.timeout_s = limit_s
    kept.hurry(seen)
    others = [kept.see(start) for _ in range(SURE_RUNS - 1)]
    if not all(_same(kept, one, seen) for one in others):
        kept.hurry(None)
        others = [kept.see(start) for _ in range(START_RUNS - 1)]
    if not seen.is_stopped:
        slowest_s = max(seen.seconds, *(one.seconds for one in others))
        kept.timeout_s = min(max(FACTOR * slowest_s + 1, LEAST_S), limit_s)
    had, runs = 1 + sum(_same(kept, one, seen) for one in others), 1 + len(others)
    if runs > SURE_RUNS and had == 1:
        raise UsageError(
            f"the start did it once in {runs} runs: each run did something else\n"
            "fix: name what is kept (--keep), or fix the order of threads by --seed N"
        )
    if had < runs:
        say(f"the start does it in {had} of {runs} runs: candidates are run up to {tries_for(had, runs)} times")
    return seen, had, runs


def _first(kept: Property, start: str, limit_s: float) -> Seen:
    """The first run. A program that does not end is stopped early, if it is then where it is later."""
    seen = None
    for short_s in [*(each for each in HANG_S if each < limit_s), limit_s]:
        kept.timeout_s = short_s
        before, seen = seen, kept.see(start)
        if seen.problem and short_s <= seen.seconds and short_s < limit_s:
            continue  # a command that takes longer
        if not seen.is_stopped:
            return seen
        is_known = before is not None and not before.problem and (before.lines or short_s == limit_s)
        if before is not None and is_known and not kept.differs(seen, before):
            short_s = HANG_S[HANG_S.index(short_s) - 1] if short_s in HANG_S else short_s
            kept.timeout_s = min(limit_s, HANGS_S)
            last = kept.see(start)
            if not last.is_stopped or kept.differs(last, before):
                return last
            kept.timeout_s = short_s
            return before
    assert seen is not None
    return seen


def _same(kept: Property, one: Seen, seen: Seen) -> bool:
    return not one.problem and not kept.differs(one, seen)


def reduce(
    start: str,
    kept: Property,
    passes: Passes,
    out: Path,
    journal: Journal,
    width: int,
    valid: Callable[[str], str],
    say: Callable[[str], None],
    is_terminal: bool = False,
    shape: Callable[[str], str] | None = None,
    limit_s: float | None = None,
) -> Report:
    """Reduce a program; `out` has the best one at any time. Ctrl-C ends it early, and `limit_s`: `is_finished` is then
    False. `valid`, `shape`: as of Candidates.

    Raises UsageError where the start has not the property.
    """
    begun = time.monotonic()
    seen, had, runs = begin(kept, start, say)
    say(f"kept: {seen.about if not isinstance(seen.about, tuple | int) else kept.about}")
    store.write_atomically(out, start.encode())
    trial = Candidates(kept, seen, width, valid, tries_for(had, runs), journal.known, shape)
    trial.on_rejected, trial.end = journal.reject, None if limit_s is None else begun + limit_s
    trial.take(start, seen)
    passes.look = lambda needs, text: trial.before.lines if needs == "found" else kept.executed(text)
    best = start
    if journal.best is not None and journal.best != start:
        again = trial.submit(journal.best).result()
        if again is not None:
            best = journal.best
            trial.take(best, again)
            store.write_atomically(out, best.encode())
            say(f"goes on from {lines(best)} lines of an earlier run (`--anew` begins again)")
    with Progress(lines(start), trial, say, is_terminal) as progress:

        def accepted(text: str, seen: Seen) -> None:
            store.write_atomically(out, text.encode(), sync=False)
            journal.keep(text)
            progress.lines = lines(text)

        search = Search(best, passes, trial, accepted, progress.at)
        progress.lines = lines(best)
        report = Report(best, trial.before, had, runs)
        try:
            search.run()
        except (KeyboardInterrupt, TimeOver) as end:
            report.is_finished, report.is_over = False, isinstance(end, TimeOver)
        finally:
            trial.close()
    report.text, report.seen = search.best, trial.before
    if report.is_finished and shape is not None and had == runs:  # a change of line breaks alone was not run
        report.seen = kept.confirm(search.best, kept.see(search.best))
        if why := report.seen.problem or kept.differs(report.seen, trial.before):
            say(f"run once more, the result does not keep the property: {why}")
    report.seconds, report.ran, report.rejected = time.monotonic() - begun, trial.ran, dict(trial.rejected)
    return report
