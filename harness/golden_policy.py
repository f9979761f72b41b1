"""The policy of goldens: the row by which an outcome passes, waits, replaces the golden or fails."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from harness.claim.repro_file import Case
from harness.comparison import arithmetic, compare, golden, modelled, observed
from harness.compiler_name import OURS
from harness.records import history
from harness.records.index.states import NO_GOLDEN, NOT_ACCEPTED
from harness.reporting import text_report
from harness.run.result import Outcome
from harness.verdict import Trial, Verdict, gpu_of

SHARED_IDENTITY = ("id", "kind")  # what two compilers call alike; the class and the line are each one's own


class _Comparison:
    """A declared case and its golden. `known`: the golden, None where there is none; `problem`: why it cannot be read;
    `differs`: how the outcome differs, or '', and `differences`, in which elements."""

    def __init__(self, trial: Trial):
        case, outcome = trial.case, trial.outcome
        self.trial, self.arch = trial, golden.arch_of(outcome.device)
        self.path = golden.path_of(case, self.arch, gpu_of(trial.host, outcome))
        self.known: Any = None  # the golden.Golden where there is one
        self.problem, self.differs, self.is_unmerged = "", "", False
        self.differences: list[compare.Difference] = []
        try:
            self.known = golden.read(self.path)
        except golden.CorruptGolden as error:
            self.problem, self.is_unmerged = str(error), isinstance(error, golden.Unmerged)
        if self.known is not None:
            self.differs, self.differences = _differs(case, self.known, outcome, trial.other_outputs)
            self.differs = self.differs or modelled.difference(case, trial.host.device, self.known)

    @property
    def is_missing(self) -> bool:
        return self.known is None

    @property
    def agrees(self) -> bool:
        return not self.differs

    @property
    def update(self) -> bool:
        return self.trial.update

    @property
    def is_hardware(self) -> bool:
        return self.trial.host.is_hardware

    @property
    def is_validated(self) -> bool:
        """Whether hardware gave the golden."""
        return self.known.validated

    @property
    def is_unconfirmed(self) -> bool:
        """Whether this is hardware, and no hardware gave the golden yet."""
        return self.is_hardware and not self.is_validated

    @property
    def is_of_one_arch(self) -> bool:
        """Whether the golden is the answer of this architecture alone."""
        return "@" in self.path.name

    @property
    def elsewhere(self) -> str:
        """The architecture that gave the golden, if this device has a different one; or ''."""
        gave = golden.arch_of(self.known.provenance)
        return gave if self.arch and gave != self.arch else ""

    @property
    def is_of_another_model(self) -> bool:
        """Whether an emulator that computes as one GPU model meets the golden of one that computes as another."""
        named = [name for name in (self.arch, self.elsewhere) if not name.startswith("sm_")] if self.elsewhere else []
        return bool(named) and not self.is_hardware

    def accepted(self, path: Path | None = None) -> golden.Pending:
        trial = self.trial
        provenance = history.provenance(trial.case, trial.host, trial.outcome)
        return golden.make(trial.case, trial.outcome, provenance, path)

    def evidence(self, verdict: Verdict) -> str:
        """Why to believe the golden that there is, or will be when the verdict's is written."""
        if verdict.pending:
            provenance = history.provenance(self.trial.case, self.trial.host, self.trial.outcome)
            return golden.evidence_of(self.trial.case.repro.evidence, provenance, self.is_hardware)
        if self.known is None:
            return ""
        return self.known.evidence if self.is_validated else self.trial.case.repro.evidence or self.known.evidence

    def accept(self, note: str) -> Verdict:
        """It passes, and this outcome becomes the golden."""
        notes = [note.format(text_report.short(self.path))]
        return self.trial.verdict("pass", pending=self.accepted(self.path), notes=notes, validated=self.is_hardware)

    def accept_of_its_own(self) -> Verdict:
        """The golden of the other model stays, and this outcome becomes the answer of this model next to it."""
        path = golden.own_path(self.path, self.arch)
        notes = [f"accepted {text_report.short(path)}: {self.elsewhere} has another answer"]
        return self.trial.verdict("pass", pending=self.accepted(path), notes=notes)

    def no_golden(self) -> Verdict:
        text = text_report.missing_golden(self.trial.case, self.path, self.trial.outcome)
        text = "\n".join([text, *arithmetic.notes(self.trial.case, self.trial.outcome)])
        proposal = self.accepted() if self.trial.outcome.compiler == OURS else None  # others give no golden
        return self.trial.verdict("fail", NO_GOLDEN, text, proposal=proposal)

    def own_answer(self) -> Verdict:
        note = f"{self.arch} has its own answer: {text_report.short(self.path)}"
        return self.trial.verdict("pass", notes=[note], validated=self.is_validated)

    def could_validate(self) -> Verdict:
        note = "hardware agrees with the prediction: --update-goldens makes it validated"
        return self.trial.verdict("pass", notes=[note])

    def contradicted(self) -> Verdict:
        text = text_report.contradicted(self.differs, self.path, self.known)
        return self.trial.verdict("contradicted", "hardware gave the golden", text, differences=self.differences)

    def other(self) -> Verdict:
        case, outcome, elsewhere = self.trial.case, self.trial.outcome, self.elsewhere
        reason = "differs from the golden"
        text = text_report.differs_from_golden(
            case, self.differs, self.path, self.known, self.is_hardware, outcome.compiler
        )
        proposal = None
        if outcome.compiler == OURS:
            proposal = self.accepted()
            if elsewhere:
                reason = f"differs from the golden of {elsewhere}"
                text = f"{text}\n{text_report.other_arch(case, elsewhere, self.arch)}"
        return self.trial.verdict("fail", reason, text, proposal=proposal, differences=self.differences)


# The policy: the first row that holds decides. Only hardware changes what hardware gave.
_POLICY: tuple[tuple[Callable[[_Comparison], Any], Callable[[_Comparison], Verdict]], ...] = (
    (lambda c: c.is_unmerged, lambda c: c.trial.verdict("infra", "merge conflict", c.problem)),
    (lambda c: c.problem, lambda c: c.trial.verdict("fail", "corrupt golden", c.problem)),
    (lambda c: c.is_missing and c.update, lambda c: c.accept("accepted {}")),
    (
        lambda c: c.is_missing and c.trial.is_expected and not c.trial.strict,
        lambda c: c.trial.verdict("pass", NOT_ACCEPTED, proposal=c.accepted()),
    ),
    (lambda c: c.is_missing, _Comparison.no_golden),
    (lambda c: c.agrees and c.is_unconfirmed and c.update, lambda c: c.accept("validated {}")),
    (lambda c: c.agrees and c.is_unconfirmed, _Comparison.could_validate),
    (lambda c: c.agrees and c.is_of_one_arch, _Comparison.own_answer),
    (lambda c: c.agrees and c.is_validated, lambda c: c.trial.verdict("pass", validated=True)),
    (lambda c: c.agrees, lambda c: c.trial.verdict("pass")),
    (lambda c: c.is_validated and not c.is_hardware and not c.elsewhere, _Comparison.contradicted),
    (lambda c: c.update and c.is_of_another_model, _Comparison.accept_of_its_own),
    (lambda c: c.update and (c.is_hardware or not c.is_validated), lambda c: c.accept("accepted {} anew")),
    (lambda c: True, _Comparison.other),
)


def against_golden(trial: Trial) -> Verdict:
    case = trial.case
    if not case.is_declared and case.repro.has_expected and trial.has_outputs:
        return trial.verdict("pass", notes=[f"{case.name} is not declared in params: judged by expected() alone"])
    if not case.is_declared:
        text = f"{case.name} is not declared in params, and there is no expected() to judge it by"
        return trial.verdict("fail", "nothing to judge by", text)
    compared = _Comparison(trial)
    verdict = next(verdict(compared) for holds, verdict in _POLICY if holds(compared))
    verdict.evidence = compared.evidence(verdict)
    return verdict


def _differs(
    case: Case, expected: golden.Golden, outcome: Outcome, other_outputs: Collection[str]
) -> tuple[str, list[compare.Difference]]:
    """How the outcome differs from the golden, or '', and which elements do."""
    if expected.outcome != outcome.kind:
        return f"the golden holds {expected.outcome}; this run gave {outcome.kind}\n{outcome.text}".rstrip(), []
    identity = golden.identity_of(case, outcome)
    if outcome.compiler != text_report.compiler_of(expected):
        identity = {key: identity[key] for key in identity if key in SHARED_IDENTITY}
    changed = [key for key in identity if identity[key] != expected.identity.get(key)]
    if changed:
        rows = [f"    {key}: expected {expected.identity.get(key)!r}, got {identity[key]!r}" for key in changed]
        return "\n".join([f"the program is {outcome.kind}, but not as in the golden", *rows, outcome.text]), []
    rules = dict(case.repro.compare)
    left_out = {name for name, rule in rules.items() if rule.is_free} | set(other_outputs)
    golden_outputs = {name: array for name, array in expected.outputs.items() if name not in left_out}
    masks = observed.masks(case, outcome) if outcome.kind == "outputs" else {}
    differences: list[compare.Difference] = []
    for ends in ({}, *outcome.spread):
        got = {name: array for name, array in (outcome.outputs | ends).items() if name not in left_out}
        differences = differences or compare.differences(golden_outputs, got, rules, "the golden", masks=masks)
    return text_report.differences(differences, outcome), differences
