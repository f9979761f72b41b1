"""The answer of one case under one version, and whether another version answers differently. Kept as JSON."""

from __future__ import annotations

import base64
import difflib
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.comparison import compare, printed
from harness.reporting import text_report
from harness.run.result import DTYPES, RAW, Array, Outcome

if TYPE_CHECKING:
    from harness.claim.repro_file import Case

SHOWN_LINES = 20
KEPT_TEXT = 20_000  # characters
_ABOUT = ("class", "id", "kind", "signal", "found")


@dataclass(frozen=True)
class Answer:
    """`verdict` is '' of a script. `sass`: kernel -> hash. `record`: the id of the record or of the observation."""

    case: str
    verdict: str
    reason: str
    kind: str
    about: tuple[str, ...]
    brief: str
    text: str
    exit: int | None = None
    stdout: str = ""
    outputs: dict[str, Array] = field(default_factory=dict)
    sass: dict[str, str] = field(default_factory=dict)
    ptxas: str = ""
    record: str = ""

    @property
    def ended(self) -> str:
        """`pass`, `fail: differs from the golden`, `fail (rejected E_LAYOUT)`, `exit status 1`."""
        how = " ".join(dict.fromkeys([self.kind, *self.about]))
        if not self.verdict:
            return f"exit status {self.exit}" if self.kind == "exited" else how
        if self.kind != "outputs":
            return f"{self.verdict} ({self.brief if self.kind == 'error' else how})"
        return f"{self.verdict}: {self.reason}" if self.reason and self.verdict != "pass" else self.verdict

    @property
    def raised(self) -> bool:
        """Whether the program ended with an exception that is neither a rejection nor a finding."""
        return self.kind == "error" or (self.kind == "exited" and "error" in self.about)

    def as_data(self) -> dict[str, Any]:
        """As JSON takes it."""
        outputs = {
            name: [one.dtype.name, list(one.shape), base64.b64encode(one.raw.tobytes()).decode()]
            for name, one in self.outputs.items()
        }
        return asdict(self) | {"about": list(self.about), "outputs": outputs}


def from_data(data: dict[str, Any]) -> Answer:
    """The answer that `as_data` wrote. Raises KeyError, TypeError, ValueError."""
    outputs = {name: _array(*one) for name, one in data["outputs"].items()}
    return Answer(**{**data, "about": tuple(data["about"]), "outputs": outputs})


def _array(dtype_name: str, shape: list[int], text: str) -> Array:
    dtype = printed.TEXT if dtype_name == printed.TEXT.name else DTYPES[dtype_name]
    return Array(dtype, np.frombuffer(base64.b64decode(text), RAW[dtype.bits]).reshape(shape))


def of(case: Case, outcome: Outcome, verdict: str, reason: str, record: str, sass: dict[str, str]) -> Answer:
    """The answer that a run gave."""
    detail = outcome.detail
    return Answer(
        case.name, verdict, reason, outcome.kind,
        tuple(str(detail[key]) for key in _ABOUT if detail.get(key)),
        text_report.brief(outcome), outcome.text[:KEPT_TEXT],
        detail.get("exit") if outcome.kind == "exited" else None,
        outcome.stdout if case.repro.script and outcome.kind == "exited" else "",
        {} if case.repro.varies else dict(outcome.outputs),
        sass, str(outcome.facts.get("ptxas") or ""), record,
    )  # fmt: skip


def difference(case: Case, good: Answer, other: Answer) -> str:
    """How an answer differs from the good end's answer, in words; '' if it is the same.

    Values are compared by the rules of the repro. Machine code counts if both answers have some.
    """
    if good.ended != other.ended and _counts(good) != _counts(other):
        return f"{good.ended} -> {other.ended}{_said(other)}"
    if good.kind == "error" and good.brief != other.brief:
        return f"{good.brief} -> {other.brief}"
    rows = compare.differences(good.outputs, other.outputs, dict(case.repro.compare), "the good end")
    if rows:
        return "\n".join(row.message for row in rows)
    if good.stdout != other.stdout:
        return "\n".join(["another text was printed", *_lines(good.stdout, other.stdout)])
    if good.sass and other.sass and sorted(good.sass.values()) != sorted(other.sass.values()):
        return "other SASS"
    return ""


def _counts(one: Answer) -> tuple[Any, ...]:
    """The parts of an end that must be the same. A passed claim has passed, whatever was expected of its compiler.

    The reason of a claim that did not give outputs names a line, which may move.
    """
    passed = one.verdict == "pass"
    return passed, one.reason if one.kind == "outputs" and not passed else "", one.kind, one.about, one.exit


def _said(one: Answer) -> str:
    shown = one.brief.partition(": ")[2]
    return f": {shown}" if one.kind in ("error", "rejected") and shown and shown not in one.ended else ""


def _lines(a: str, b: str) -> list[str]:
    lines = list(difflib.unified_diff(a.splitlines(), b.splitlines(), "good", "bad", n=1, lineterm=""))
    more = [f"... and {len(lines) - SHOWN_LINES} more lines"] if len(lines) > SHOWN_LINES else []
    return [f"    {line}" for line in [*lines[:SHOWN_LINES], *more]]
