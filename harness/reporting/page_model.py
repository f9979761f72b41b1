"""The contents of the report: claims, columns and cells, as plain data without details of storage or drawing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

# state: (its symbol, what it means); in the order of states.STATES, the worst first; cells that are gone are not shown
STATES = {
    "contradicted": ("≠", "the emulator and hardware disagree"),
    "regressed": ("▼", "passed earlier, fails now"),
    "flaky": ("±", "the same question got both verdicts"),
    "failing": ("✗", "fails; has never passed"),
    "stale": ("↺", "passed; something has changed since"),
    "unknown": ("?", "never judged: skipped, or could not be run"),
    "predicted": ("◇", "an emulator passed it; no hardware has run it"),
    "validated": ("✓", "hardware passed it; nothing has changed since"),
}
ATTENTION = ("contradicted", "regressed", "flaky", "failing")


@dataclass(frozen=True)
class Claim:
    """One row: a case of a repro. `text` is the claim, `repro` its path below the project's root."""

    repro: str
    case: str
    text: str


@dataclass(frozen=True)
class Column:
    """One column: the arch, host and compiler that judge claims. `hardware` is false for emulators, which only predict.

    gpu, driver and release (of the compiler): of its newest run, '' where they are not known. first, last: the dates
    of its first and of its newest run.
    """

    arch: str
    host: str
    compiler: str
    hardware: bool
    gpu: str = ""
    driver: str = ""
    release: str = ""
    first: str = ""
    last: str = ""


@dataclass(frozen=True)
class Run:
    """One run. `date` is UTC, ISO 8601; `facts` are its provenance, field by field, in the order to show."""

    id: str
    date: str
    facts: tuple[tuple[str, str], ...]


class Past(NamedTuple):
    """One run of a cell's history. Runs of one `digest` asked the same question."""

    id: str
    date: str
    verdict: str
    reason: str
    digest: str


@dataclass(frozen=True)
class Output:
    """How one output differs from what was expected.

    lanes: for each of the 32 lanes, how many elements differ; empty where elements belong to no lanes.
    rows: (index, where, expected, got) of the first elements that differ.
    line: where the repro's `run` names the output, 0 if that is not known.
    """

    name: str
    message: str
    lanes: tuple[int, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    line: int = 0


@dataclass(frozen=True)
class Code:
    """One kernel's PTX or SASS (`kind`) in the base run and in the newest; None where it was not kept."""

    kind: str
    kernel: str
    base: str | None
    newest: str | None


@dataclass(frozen=True)
class Cell:
    """A claim in a column.

    newest: the newest run that judges the claim. base: what it is held against, called `base_name`: the last good run
    or, where the emulator and hardware disagree, the other side's newest. bad: the first that failed after the last
    good one.
    finding: the text of the fault or finding that ended the newest run. source: the repro's file as that run read it;
    '' if the file has changed.
    first, last, changed: the days of its first and newest run, and of the first run that ended as the newest does.
    history: oldest first; the newest of `runs` in all where it was cut.
    validated: the date of the last run that passed on hardware here, or ''.
    cause: what may have changed the verdict, in a sentence. known: conclusions from earlier records.
    tell: (command, what it tells) of the cheapest runs that would tell more.
    arithmetic: exact, bounded or open, '' where nobody followed what the outputs depend on.
    evidence: emulator, published:KEY or hardware:GPU, why to believe the golden; '' without one.
    seen: (count, outcome) of the newest run, where it called run() often.
    """

    claim: int
    column: int
    state: str
    reason: str
    newest: Run | None = None
    base: Run | None = None
    base_name: str = "last good"
    bad: Run | None = None
    validated: str = ""
    history: tuple[Past, ...] = ()
    runs: int = 0
    outputs: tuple[Output, ...] = ()
    code: tuple[Code, ...] = ()
    rerun: str = ""
    cause: str = ""
    known: tuple[str, ...] = ()
    tell: tuple[tuple[str, str], ...] = ()
    seen: tuple[tuple[int, str], ...] = ()
    arithmetic: str = ""
    evidence: str = ""
    finding: str = ""
    source: str = ""
    first: str = ""
    last: str = ""
    changed: str = ""


class Figure(NamedTuple):
    """A count of something in the machine code of one kernel, from our compiler and from NVIDIA's compiler."""

    name: str
    ours: int
    theirs: int
    worse: bool = False


@dataclass(frozen=True)
class BothCodes:
    """One kernel's SASS from both compilers, made by one ptxas. `theirs`: NVIDIA's compiler and its release.

    problem: why there is none, with what to do about it.
    """

    kernel: str
    theirs: str
    ptxas: str = ""
    figures: tuple[Figure, ...] = ()
    our_sass: str = ""
    their_sass: str = ""
    problem: str = ""


@dataclass(frozen=True)
class Report:
    """The whole page. Rows and columns keep the order given; `title` names the project.

    both_codes: (row, column, code) of kernels that both compilers made.
    """

    title: str
    claims: tuple[Claim, ...]
    columns: tuple[Column, ...]
    cells: tuple[Cell, ...]
    both_codes: tuple[tuple[int, int, BothCodes], ...] = ()

    @cached_property
    def newest(self) -> str:
        """The date of the newest run, to which ages count; '' where nothing was run."""
        return max((cell.newest.date for cell in self.cells if cell.newest), default="")
