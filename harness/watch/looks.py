"""The results of a run, and their differences from the run before."""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass
from pathlib import Path

from harness import judge
from harness.claim.repro_file import Case
from harness.claim.rule import Rule
from harness.comparison import compare
from harness.compiler_name import OURS
from harness.host.hosts import Host
from harness.reporting import text_report
from harness.run.result import Outcome
from harness.verdict import Verdict

LAST = "the last run"


def at(case: Case, host: Host, outcome: Outcome, root: Path) -> Look:
    """The look at this outcome. A program that claims nothing is not judged: its state is how it ended."""
    if not case.repro.script or case.repro.script.printed:
        return Look(case, host, judge.judge(case, host, outcome, root))
    how = f"exit status {outcome.detail['exit']}" if outcome.kind == "exited" else outcome.kind
    return Look(case, host, Verdict(how, "", "" if outcome.kind == "exited" else outcome.text, outcome, {}))


@dataclass(frozen=True)
class Look:
    """One case as it was run once."""

    case: Case
    host: Host
    verdict: Verdict

    @property
    def name(self) -> str:
        parts = [self.case.name, self.host.name if self.host.name != "embedded" else "", self._compiler]
        return " ".join(filter(None, parts)) or self.case.repro.path.name

    @property
    def _compiler(self) -> str:
        return self.host.compiler if self.host.compiler != OURS else ""

    @property
    def state(self) -> str:
        """`pass`, `fail: no golden`."""
        return f"{self.verdict.status}{': ' if self.verdict.reason else ''}{self.verdict.reason}"

    @property
    def text(self) -> str:
        """All of it."""
        of_script = self.case.repro.script is not None
        verdict = [self.verdict.text or self.state] if of_script else [
            text_report.verdict(self.case, self.host, self.verdict)
        ]  # fmt: skip
        said = {title: getattr(self.verdict.outcome, title) for title in ("stdout", "stderr")}
        printed = [f"--- {title}\n{text_report.capped(text).rstrip()}" for title, text in said.items() if text]
        return "\n".join(printed + verdict if of_script else verdict + printed)


def changes(before: Look | None, now: Look) -> str:
    """The differences from the run before; all of a case that was not there. One line if nothing differs."""
    if before is None:
        return now.text
    old, new = before.verdict.outcome, now.verdict.outcome
    lines = []
    if before.state != now.state:
        lines.append(f"{before.state} -> {now.state}")
    for title in ("stdout", "stderr"):
        lines += _text_changes(title, getattr(old, title), getattr(new, title))
    if old.kind == new.kind == "outputs":
        bits = {name: Rule() for name in new.outputs}
        differing = compare.differences(old.outputs, new.outputs, bits, LAST)
        lines += [text_report.differences([one], new, ("before", "now")) for one in differing]
    if now.verdict.text != before.verdict.text and now.verdict.text.strip():
        lines.append(now.verdict.text.strip())
    lines += [note for note in now.verdict.notes if note not in before.verdict.notes]
    if not lines:
        return f"{now.name}: {now.state}, as before"
    head = f"{now.name}: {now.state}" if before.state == now.state else f"{now.name}:"
    return "\n".join([head, *lines])


def _text_changes(title: str, old: str, new: str) -> list[str]:
    """The lines that went and came, with `-` and `+`."""
    if old == new:
        return []
    rows = [
        row for row in difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
        if not row.startswith(("---", "+++", "@@"))
    ]  # fmt: skip
    return [f"--- {title}", text_report.capped("\n".join(rows))]


def without_heavy(look: Look) -> Look:
    """The look without what is not compared: PTX and machine code."""
    facts = {"kernels": [{"launches": k.get("launches", [])} for k in look.verdict.outcome.kernels]}
    outcome = dataclasses.replace(look.verdict.outcome, facts=facts, others=[], spread=[])
    return dataclasses.replace(look, verdict=dataclasses.replace(look.verdict, outcome=outcome))
