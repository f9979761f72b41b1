"""The state of one cell (a claim's case, on one arch, by one compiler, on one host) from its records. Pure functions.

`summarise` folds a cell's records, in any order and with repetitions, into a summary; `state` holds the summary
against what is true now. docs/goldens-and-records.md has the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

VALIDATED, STALE, REGRESSED = "validated", "stale", "regressed"
CONTRADICTED, PREDICTED, FLAKY = "contradicted", "predicted", "flaky"
FAILING, UNKNOWN, GONE = "failing", "unknown", "gone"
STATES = (CONTRADICTED, REGRESSED, FLAKY, FAILING, STALE, UNKNOWN, PREDICTED, VALIDATED, GONE)  # the worst first
TICKS = 24
_TICK = {"pass": "p", "fail": "f", "contradicted": "c"}
NO_GOLDEN, NOT_ACCEPTED = "no golden", "not accepted yet"  # reasons of verdicts on what nobody accepted
NO_ARCH = "any"  # of programs without kernels
FORGOTTEN = "forgotten"  # the verdict of a line by which a person put a cell's earlier records aside


@dataclass(frozen=True)
class Event:
    """The facts of one record that matter here. `digest` names the question: equal digests must get equal verdicts."""

    id: str
    date: str
    verdict: str
    reason: str = ""
    digest: str = ""
    hardware: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def speaks(self) -> bool:
        """Whether it judges the claim: infra and skip do not, nor does an answer that nobody has judged yet."""
        return self.verdict in _TICK and not self.is_unjudged

    @property
    def is_unjudged(self) -> bool:
        """Whether it ended as claimed, and waits for a person to accept it."""
        return (self.verdict, self.reason) in (("fail", NO_GOLDEN), ("pass", NOT_ACCEPTED))

    @property
    def holds(self) -> bool:
        return self.verdict == "pass"


@dataclass(frozen=True)
class Summary:
    """A cell's records in short. `silent` is the newest record that does not judge the claim."""

    last: Event | None = None
    last_good: Event | None = None
    first_bad: Event | None = None  # the first after last_good, or the first of all where none is good
    silent: Event | None = None
    unjudged: Event | None = None  # the newest that waits for a person, where it is newer than `last`
    passes: int = 0
    fails: int = 0
    mixed: int = 0  # records under the digest of `last` whose verdict differs from `last`
    ticks: str = ""  # the newest verdicts, oldest first: p f c
    forgotten: str = ""  # when a person put the cell aside; what came later counts


@dataclass(frozen=True)
class Now:
    """The facts of a cell's claim today; None if a fact is not known, and then nothing is stale by it."""

    gone: str = ""  # why nothing claims this any more
    repro_sha256: str | None = None
    golden_sha256: str | None = None
    driver: str | None = None
    kernels: Mapping[str, str] | None = None  # name -> sha256 of the PTX, of the newest record by this compiler
    newest: str = "?"  # the id of that record


def summarise(events: Iterable[Event]) -> Summary:
    """Fold records into a summary."""
    ordered = sorted({event.id: event for event in events}.values(), key=lambda event: (event.date, event.id))
    ends = [number for number, event in enumerate(ordered, 1) if event.verdict == FORGOTTEN]
    forgotten, ordered = (ordered[ends[-1] - 1].date, ordered[ends[-1] :]) if ends else ("", ordered)
    said = [event for event in ordered if event.speaks]
    silent = next((event for event in reversed(ordered) if not event.speaks), None)
    later = ordered[ordered.index(said[-1]) + 1 :] if said else ordered
    unjudged = next((event for event in reversed(later) if event.is_unjudged), None)
    if not said:
        return Summary(silent=silent, unjudged=unjudged, forgotten=forgotten)
    last = said[-1]
    good = next((n for n in reversed(range(len(said))) if said[n].holds), None)
    bad = next((event for event in said[0 if good is None else good + 1 :] if not event.holds), None)
    passes = sum(event.holds for event in said)
    return Summary(
        last=last,
        last_good=None if good is None else said[good],
        first_bad=bad,
        silent=silent,
        unjudged=unjudged,
        passes=passes,
        fails=len(said) - passes,
        mixed=sum(e.digest == last.digest and e.holds != last.holds for e in said) if last.digest else 0,
        ticks="".join(_TICK[event.verdict] for event in said[-TICKS:]),
        forgotten=forgotten,
    )


def state(summary: Summary, now: Now, rivals: Sequence[Event] = ()) -> tuple[str, str]:
    """The state and its reason. `rivals`: the newest verdicts of the same claim, arch and compiler on other hosts."""
    last = summary.last
    if last is None and summary.silent is None and summary.forgotten:
        return GONE, f"forgotten on {summary.forgotten[:10]}"
    if now.gone:
        return GONE, now.gone
    if last is None:
        if summary.silent is None:
            return UNKNOWN, "never run"
        why = summary.silent.reason or summary.silent.verdict
        return UNKNOWN, f"never judged: {why}"
    waiting = summary.unjudged
    if waiting is not None and not last.holds and (not last.digest or waiting.digest != last.digest):
        return UNKNOWN, f"not judged since {waiting.date[:10]}: {waiting.reason}"
    if summary.mixed:
        total = summary.passes + summary.fails
        return FLAKY, f"the same question got both verdicts: {summary.passes} of {total} runs passed"
    rival = _contradiction(last, rivals)
    if rival:
        return CONTRADICTED, rival
    if not last.holds:
        if last.verdict == "contradicted":
            return CONTRADICTED, last.reason or "hardware gave the golden"
        if summary.last_good is not None and summary.first_bad is not None:
            changed = differing(summary.last_good.facts, summary.first_bad.facts)
            return REGRESSED, f"{last.reason or 'fails'} since {summary.first_bad.date[:10]}; {_changed(changed)}"
        return FAILING, last.reason or "never passed"
    outdated = out_of_date(last, now)
    if outdated:
        return STALE, f"{outdated} since the pass of {last.date[:10]}"
    if last.hardware:
        return VALIDATED, f"passed on {last.facts.get('gpu') or 'hardware'} on {last.date[:10]}"
    return PREDICTED, "no hardware has run it"


def _contradiction(last: Event, rivals: Sequence[Event]) -> str:
    """Why an emulator and hardware disagree on the same question now, or ''."""
    for other in rivals:
        if other.hardware == last.hardware or other.holds == last.holds:
            continue
        if any(other.facts.get(key) != last.facts.get(key) for key in ("repro_sha256", "case")):
            continue
        hardware = last if last.hardware else other
        said, not_said = ("passes", "fails") if hardware.holds else ("fails", "passes")
        return f"{hardware.facts.get('host') or 'hardware'} {said}, the emulator {not_said}"
    return ""


def out_of_date(good: Event, now: Now) -> str:
    """The change since a pass, in a few words, or ''."""
    facts = good.facts
    if now.repro_sha256 and facts.get("repro_sha256") not in (None, now.repro_sha256):
        return "the repro changed"
    if now.golden_sha256 and facts.get("golden_sha256") not in (None, now.golden_sha256):
        return "the golden changed"
    if newer_code(good, now):
        return "the compiler makes other PTX"
    if good.hardware and now.driver and facts.get("driver") not in (None, now.driver):
        return f"the driver changed from {facts['driver']} to {now.driver}"
    return ""


def newer_code(good: Event, now: Now) -> str:
    """The record that has other PTX than a pass, or ''."""
    kernels = good.facts.get("kernels")
    if now.kernels is None or kernels is None:
        return ""
    return now.newest if dict(now.kernels) != dict(kernels) else ""


def differing(good: Mapping[str, Any], bad: Mapping[str, Any]) -> list[str]:
    """The names of facts that are not the same in both; machine code only if both have some."""
    names = good.keys() | bad.keys()
    if not all(any(key.startswith("sass.") for key in facts) for facts in (good, bad)):
        names = {key for key in names if not key.startswith("sass.") and key not in ("ptxas", "no_sass")}
    return sorted(
        key
        for key in names
        if key not in ("date", "arithmetic", "evidence", "commit") and good.get(key) != bad.get(key)
    )


def _changed(names: list[str]) -> str:
    return f"changed: {', '.join(names)}" if names else "nothing recorded changed"


def worst(states: Iterable[str]) -> str:
    """The state that a reader must see first."""
    return min(states, key=STATES.index, default=UNKNOWN)


def combined(states: Iterable[tuple[str, bool]]) -> str:
    """The state over hosts, from (state, is hardware): where hardware answered, a prediction adds nothing."""
    listed = list(states)
    answered = any(hardware and s != UNKNOWN for s, hardware in listed)
    quiet = (PREDICTED, UNKNOWN, STALE) if answered else ()
    return worst(s for s, hardware in listed if hardware or s not in quiet)
