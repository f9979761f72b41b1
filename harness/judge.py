"""The judge: what an outcome says about a claim.

In this order: could it be run; did it end as the claim says; does it agree with `expected()`, with its CHECK lines,
with its golden. Only an outcome that passes all but the last may become a golden.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.claim import check_lines, findings
from harness.claim.repro_file import NVIDIA, Case, Otherwise
from harness.comparison import arithmetic, compare, golden, observed
from harness.host import releases
from harness.host.hosts import Host
from harness.records import history
from harness.records.states import NOT_ACCEPTED
from harness.reporting import text_report
from harness.run import result
from harness.run.result import EMBEDDED, Outcome
from harness.run.transport import Job, LinkDown, Transport

REPLAYED_RUNS = 200  # of a case that is recorded, and then replayed, more often
SHARED_IDENTITY = ("id", "kind")  # what two compilers call alike; the class and the line are each one's own


@dataclass
class Verdict:
    """What is said about one case.

    status: pass | fail | contradicted (an emulator disagrees with hardware) | infra | skip. `reason` is a few words on
    why it is not pass.
    """

    status: str
    reason: str
    text: str
    outcome: Outcome
    record: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    pending: golden.Pending | None = None  # accepted, to be written
    proposal: golden.Pending | None = None  # not accepted: for a person to review
    validated: bool = False
    differences: list[compare.Difference] = field(default_factory=list)
    evidence: str = ""  # why to believe the golden's answer; '' where there is none


def run(
    transport: Transport,
    case: Case,
    host: Host,
    timeout_s: float | None = None,
    fresh: bool = False,
    compiler: str = EMBEDDED,
    seed: int = 0,
    fill: int | None = None,
    sass: bool = False,
    checks: str | None = None,
) -> Outcome:
    """Run the case on the host, once; skipped where the host's GPU is older than the repro's `arch`, or another than
    its `silicon`, where no GPU sees its outcome, and where the compiler does not take its language.

    `compiler` is embedded, nvidia or a release of it (`nvidia==4.6.3`). `seed` is that of random numbers and of the
    emulator's schedule. `fill` is the byte of new memory where a recording or a playback is run; a device is run twice
    where the repro has `poison`. `checks` is what the emulator looks for (None: findings.sought). `sass` asks for the
    machine code of its kernels, which a GPU's runs always have.
    """
    repro, name = case.repro, releases.split(compiler)[0]
    shortfall = releases.untaken(repro, compiler)
    shortfall = shortfall or host.shortfall(repro.arch) or host.other_silicon(repro.silicon)
    shortfall = shortfall or findings.unseen(repro.outcome, host.is_hardware)
    if shortfall:
        return Outcome("skipped", shortfall, compiler=name)
    plain = host.device in ("emulator", "cuda")  # and no recording of one run, or its playback

    def once(fill: int | None) -> Outcome:
        try:
            outcome = result.from_reply(*transport.run(dataclasses.replace(job, fill=fill)), job.preds)
        except LinkDown as error:
            outcome = result.infra(str(error))
        outcome.compiler = name
        return outcome

    job = Job(
        path=str(repro.path),
        source=repro.text,
        params=dict(case.params),
        device=host.device,
        timeout_s=timeout_s or repro.timeout_s,
        warm=repro.warm,
        fresh=fresh,
        sass=sass or bool(case.checks("SASS")) or host.is_hardware,
        needs=releases.needs_of(repro, compiler),
        requires_python=repro.requires_python,
        gpu=host.device_facts.get("uuid", "") if host.is_hardware else "",
        runs=repro.runs if plain else min(repro.runs, REPLAYED_RUNS),
        seed=seed,
        gpu_model="" if host.is_hardware else host.gpu_model,
        checks=findings.sought(checks, repro.outcome, repro.varies),
        preds={name: rule.name for name, rule in repro.compare.items() if rule.mode == "pred"},
        compiler=name,
    )
    return observed.settle(case, once) if plain else once(fill)


def judge(case: Case, host: Host, outcome: Outcome, root: Path, update: bool = False, strict: bool = False) -> Verdict:
    """Judge an outcome. With `update`, a missing or differing golden is accepted: the verdict carries its files.

    A case without a golden passes where expected() gives all of its outputs, unless `strict` or in CI.
    """
    verdict = _weigh(case, host, outcome, update, strict or in_ci())
    arch, gpu = golden.arch_of(outcome.device), _gpu(host, outcome)
    said = golden.answer(case, verdict.pending, arch, gpu)
    where = functools.partial(text_report.lane_of, outcome=outcome)
    own = golden.path_of(case, arch, gpu).name
    verdict.record = history.record(case, host, outcome, verdict.status, root, said) | {
        "golden": own if "@" in own else None,
        "reason": verdict.reason,
        "evidence": verdict.evidence or None,
        "differences": history.differences(verdict.differences, where),
    }
    return verdict


def _gpu(host: Host, outcome: Outcome) -> str | None:
    """The GPU's name, on hardware."""
    return (outcome.device.get("name") or host.device_facts.get("name")) if host.is_hardware else None


@dataclass(frozen=True)
class _Trial:
    """What is judged. `other`: what the repro says of the compiler that made this outcome."""

    case: Case
    host: Host
    outcome: Outcome
    update: bool
    strict: bool
    other: Otherwise

    def verdict(self, status: str, reason: str = "", text: str = "", **more: Any) -> Verdict:
        return Verdict(status, reason, text, self.outcome, {}, **more)

    @property
    def has_outputs(self) -> bool:
        return self.outcome.kind == "outputs"

    @property
    def is_expected(self) -> bool:
        """Whether expected() gives every output that a golden would hold."""
        rules = self.case.repro.compare
        held = {name for name in self.outcome.outputs if not (name in rules and rules[name].is_free)}
        return bool(held) and held <= self.outcome.expected.keys() and self.outcome.compiler == EMBEDDED

    @property
    def no_sass(self) -> dict | None:
        """Why there is no machine code to check, where there is something to check."""
        return self.outcome.detail.get("no_sass") if self.case.checks("SASS") else None

    @property
    def may_lack_sass(self) -> bool:
        return self.no_sass is not None and self.no_sass["missing"] and not in_ci()


def _weigh(case: Case, host: Host, outcome: Outcome, update: bool, strict: bool) -> Verdict:
    trial = _Trial(case, host, outcome, update, strict, _otherwise(case, outcome))
    for check in _CHECKS:
        verdict = check(trial)
        if verdict is not None:
            return verdict
    verdict = _against_golden(trial)
    if verdict.status == "pass" and trial.has_outputs:
        verdict.notes += observed.notes(case, outcome) + arithmetic.notes(case, outcome)
    if verdict.status == "pass" and trial.no_sass:
        verdict.status, verdict.reason, verdict.text = "skip", "no SASS", f"CHECK-SASS: {trial.no_sass['text']}"
    return verdict


# --- before the golden ------------------------------------------------------------------------------------------


def _could_not_run(trial: _Trial) -> Verdict | None:
    if trial.outcome.kind != "infra":
        return None
    text = f"the repro could not be run on {trial.host.name}: {trial.outcome.text}"
    return trial.verdict("infra", "could not be run", text)


def _was_skipped(trial: _Trial) -> Verdict | None:
    if trial.outcome.kind != "skipped":
        return None
    repro = trial.case.repro
    if releases.untaken(repro, trial.outcome.compiler):
        reason = "not its language"
    elif trial.host.other_silicon(repro.silicon) and not trial.host.shortfall(repro.arch):
        reason = "another GPU"
    else:
        reason = "older GPU" if trial.host.shortfall(repro.arch) else "no checker"
    return trial.verdict("skip", reason, trial.outcome.text)


def _is_rejected_by_nvidia(trial: _Trial) -> Verdict | None:
    if trial.other.rejected is None:
        return None
    text = _keeps_rejecting(trial.other.rejected, trial.outcome)
    return trial.verdict("fail", "not what `nvidia` says", text) if text else trial.verdict("pass")


def _ends_otherwise(trial: _Trial) -> Verdict | None:
    text = _wrong_end(trial.case, trial.outcome)
    if not text:
        return None
    reason = f"not {trial.case.repro.outcome}" if trial.has_outputs else text_report.brief(trial.outcome)
    return trial.verdict("fail", reason, text)


def _names_unknown_output(trial: _Trial) -> Verdict | None:
    outputs = trial.outcome.outputs
    unknown = sorted(set(trial.case.repro.compare) - set(outputs)) if trial.has_outputs else []
    if not unknown:
        return None
    text = f"compare names `{unknown[0]}`, which run() did not return: it returned {', '.join(outputs)}"
    return trial.verdict("fail", "unknown output", text)


def _is_observed_wrong(trial: _Trial) -> Verdict | None:
    seen = observed.wrong(trial.case, trial.outcome) if trial.has_outputs and not trial.other.outputs else None
    if not seen:
        return None
    reason, text, differences = seen
    text = text or text_report.differences(differences, trial.outcome)
    return trial.verdict("fail", reason, text, differences=differences)


def _has_other_values(trial: _Trial) -> Verdict | None:
    text = _other_values(trial.other, trial.outcome)
    return trial.verdict("fail", "not what `nvidia` says", text) if text else None


def _differs_from_expected(trial: _Trial) -> Verdict | None:
    case, outcome = trial.case, trial.outcome
    only_masks = set(case.repro.mask.values()) - set(outcome.outputs)
    left_out = only_masks | set(trial.other.outputs)
    expected = {name: array for name, array in outcome.expected.items() if name not in left_out}
    rules, masks = dict(case.repro.compare), _masks(case, outcome)
    differences = compare.differences(expected, outcome.outputs, rules, "expected()", partial=True, masks=masks)
    if not differences:
        return None
    text = text_report.differences(differences, outcome)
    return trial.verdict("fail", "differs from expected()", text, differences=differences)


def _fails_ptx_lines(trial: _Trial) -> Verdict | None:
    text = check_lines.failure(trial.case, trial.outcome.kernels, "PTX")
    return trial.verdict("fail", "CHECK-PTX", text) if text else None


def _fails_sass_lines(trial: _Trial) -> Verdict | None:
    if trial.may_lack_sass:
        return None
    no_sass = trial.no_sass
    text = no_sass["text"] if no_sass else check_lines.failure(trial.case, trial.outcome.kernels, "SASS")
    return trial.verdict("fail", "CHECK-SASS", text) if text else None


# The first that has something to say decides.
_CHECKS: tuple[Callable[[_Trial], Verdict | None], ...] = (
    _could_not_run,
    _was_skipped,
    _is_rejected_by_nvidia,
    _ends_otherwise,
    _names_unknown_output,
    _is_observed_wrong,
    _has_other_values,
    _differs_from_expected,
    _fails_ptx_lines,
    _fails_sass_lines,
)


def _masks(case: Case, outcome: Outcome) -> dict[str, Any]:
    return observed.masks(case, outcome) if outcome.kind == "outputs" else {}


def in_ci() -> bool:
    """Whether this runs in continuous integration, where nothing is accepted and no tool may be missing."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def _wrong_end(case: Case, outcome: Outcome) -> str:
    """What to say when a case did not end as its claim says, or ''."""
    declared = case.repro.outcome
    if findings.fits(declared, outcome.kind):
        return ""
    says = f'the claim says `outcome = "{declared}"`'
    if outcome.kind == "outputs":
        names = ", ".join(outcome.outputs)
        return f"{says}, but run() returned {names}\nfix: if that is right, remove `outcome` from [tool.repro]"
    if outcome.kind in ("error", "timeout", "crash"):
        return (
            outcome.text or f"{outcome.kind}, and not a word on why"
            if declared == "outputs"
            else f"{says}, but:\n{outcome.text}"
        )
    fix = f'if that is what the claim says, write `outcome = "{outcome.kind}"` in [tool.repro]'
    head = f"{outcome.kind}:" if declared == "outputs" else f"{says}, but it was {outcome.kind}:"
    return f"{head}\n{outcome.text}\n{fix}"


def _otherwise(case: Case, outcome: Outcome) -> Otherwise:
    """What the repro says of the compiler that made this outcome."""
    return (case.repro.nvidia if outcome.compiler == NVIDIA else None) or Otherwise()


def _keeps_rejecting(name: str, outcome: Outcome) -> str:
    """What to say where the compiler does not reject the program with this id, or words of its message; or ''."""
    code = outcome.detail.get("id")
    if outcome.kind == "rejected" and (code == name if code else name in outcome.text):
        return ""
    got = f"rejected it with {code or 'no id'}" if outcome.kind == "rejected" else f"gave {outcome.kind}"
    text = f'[tool.repro] says `nvidia = {{ rejected = "{name}" }}`, but it {got}\n{outcome.text}'.rstrip()
    return text + "\nfix: write what it does now, or remove `nvidia` where it does what the claim says"


def _other_values(other: Otherwise, outcome: Outcome) -> str:
    """What to say where an output has not the values that `nvidia` gives it, or ''."""
    for name, values in other.outputs.items():
        got = outcome.outputs[name].values().tolist() if name in outcome.outputs else None
        if got != values:
            return (
                f"[tool.repro] says that under NVIDIA's compiler `{name}` is {values}, but it is {got}\n"
                "fix: write what it is now, or remove `nvidia` where it is what the claim says"
            )
    return ""


# --- the golden ------------------------------------------------------------------------------------------


class _Comparison:
    """A declared case and its golden. `known`: the golden, None where there is none; `problem`: why it cannot be read;
    `differs`: how the outcome differs, or '', and `differences`, in which elements."""

    def __init__(self, trial: _Trial):
        case, outcome = trial.case, trial.outcome
        self.trial, self.arch = trial, golden.arch_of(outcome.device)
        self.path = golden.path_of(case, self.arch, _gpu(trial.host, outcome))
        self.known: Any = None  # the golden.Golden where there is one
        self.problem, self.differs = "", ""
        self.differences: list[compare.Difference] = []
        try:
            self.known = golden.read(self.path)
        except golden.CorruptGolden as error:
            self.problem = str(error)
        if self.known is not None:
            self.differs, self.differences = _differs(case, self.known, outcome)

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
        """The architecture that gave the golden, where it is another than this device's; or ''."""
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
        """The golden of the other model stays, and this outcome becomes the answer of this one beside it."""
        path = golden.own_path(self.path, self.arch)
        notes = [f"accepted {text_report.short(path)}: {self.elsewhere} has another answer"]
        return self.trial.verdict("pass", pending=self.accepted(path), notes=notes)

    def no_golden(self) -> Verdict:
        text = text_report.missing_golden(self.trial.case, self.path, self.trial.outcome)
        text = "\n".join([text, *arithmetic.notes(self.trial.case, self.trial.outcome)])
        proposal = self.accepted() if self.trial.outcome.compiler == EMBEDDED else None  # another's is no golden
        return self.trial.verdict("fail", "no golden", text, proposal=proposal)

    def own_answer(self) -> Verdict:
        note = f"{self.arch} has an answer of its own: {text_report.short(self.path)}"
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
        if outcome.compiler == EMBEDDED:
            proposal = self.accepted()
            if elsewhere:
                reason = f"differs from the golden of {elsewhere}"
                text = f"{text}\n{text_report.other_arch(case, elsewhere, self.arch)}"
        return self.trial.verdict("fail", reason, text, proposal=proposal, differences=self.differences)


# The policy: the first row that holds decides. Only hardware changes what hardware gave.
_POLICY: tuple[tuple[Callable[[_Comparison], Any], Callable[[_Comparison], Verdict]], ...] = (
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


def _against_golden(trial: _Trial) -> Verdict:
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


def _differs(case: Case, expected: golden.Golden, outcome: Outcome) -> tuple[str, list[compare.Difference]]:
    """How the outcome differs from the golden, or '', and which elements do."""
    if expected.outcome != outcome.kind:
        return f"the golden holds {expected.outcome}; this run gave {outcome.kind}\n{outcome.text}".rstrip(), []
    identity = golden.identity_of(case, outcome)
    if outcome.compiler != text_report.compiler_of(expected):
        identity = {key: identity[key] for key in identity if key in SHARED_IDENTITY}
    changed = [key for key in identity if identity[key] != expected.identity.get(key)]
    if changed:
        rows = [f"    {key}: expected {expected.identity.get(key)!r}, got {identity[key]!r}" for key in changed]
        return "\n".join([f"the program is {outcome.kind}, but not as the golden says", *rows, outcome.text]), []
    rules = dict(case.repro.compare)
    left_out = {name for name, rule in rules.items() if rule.is_free} | set(_otherwise(case, outcome).outputs)
    got = {name: array for name, array in outcome.outputs.items() if name not in left_out}
    golden_outputs = {name: array for name, array in expected.outputs.items() if name not in left_out}
    differences = compare.differences(golden_outputs, got, rules, "the golden", masks=_masks(case, outcome))
    return text_report.differences(differences, outcome), differences
