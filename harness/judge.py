"""The judge: what an outcome says about a claim.

In this order: could it be run; did it end as the claim says; does it agree with `expected()`, with its CHECK lines,
with its golden. Only an outcome that passes all but the last may become a golden.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.claim import check_lines, findings
from harness.claim.repro_file import NVIDIA, Case, Otherwise
from harness.comparison import compare, golden, observed
from harness.host import releases
from harness.host.hosts import Host
from harness.records import history
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
    """Run the case on the host, once; skipped where the host's GPU is older than the repro's `arch`, where no GPU sees
    its outcome, and where the compiler does not take its language.

    `compiler` is embedded, nvidia or a release of it (`nvidia==4.6.3`). `seed` is that of random numbers and of the
    emulator's schedule. `fill` is the byte of new memory where a recording or a playback is run; a device is run twice
    where the repro has `poison`. `checks` is what the emulator looks for (None: findings.sought). `sass` asks for the
    machine code of its kernels, which a GPU's runs always have.
    """
    repro, name = case.repro, releases.split(compiler)[0]
    shortfall = releases.untaken(repro, compiler)
    shortfall = shortfall or host.shortfall(repro.arch) or findings.unseen(repro.outcome, host.is_hardware)
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
        checks=findings.sought(checks, repro.outcome, repro.varies),
        preds={name: rule.name for name, rule in repro.compare.items() if rule.mode == "pred"},
        compiler=name,
    )
    return observed.settle(case, once) if plain else once(fill)


def judge(case: Case, host: Host, outcome: Outcome, root: Path, update: bool = False) -> Verdict:
    """Judge an outcome. With `update`, a missing or differing golden is accepted: the verdict carries its files."""
    verdict = _weigh(case, host, outcome, update)
    arch = golden.arch_of(outcome.device)
    said = golden.answer(case, verdict.pending, arch)
    where = functools.partial(text_report.lane_of, outcome=outcome)
    own = golden.path_of(case, arch).name
    verdict.record = history.record(case, host, outcome, verdict.status, root, said) | {
        "golden": own if "@" in own else None,
        "reason": verdict.reason,
        "differences": history.differences(verdict.differences, where),
    }
    return verdict


def _weigh(case: Case, host: Host, outcome: Outcome, update: bool) -> Verdict:
    def said(status: str, reason: str, text: str) -> Verdict:
        return Verdict(status, reason, text, outcome, {})

    if outcome.kind == "infra":
        return said("infra", "could not be run", f"the repro could not be run on {host.name}: {outcome.text}")
    if outcome.kind == "skipped":
        if releases.untaken(case.repro, outcome.compiler):
            return said("skip", "not its language", outcome.text)
        reason = "older GPU" if host.shortfall(case.repro.arch) else "no checker"
        return said("skip", reason, outcome.text)
    other = _otherwise(case, outcome)
    if other.rejected is not None:
        kept = _keeps_rejecting(other.rejected, outcome)
        return said("fail", "not what `nvidia` says", kept) if kept else said("pass", "", "")
    wrong_end = _wrong_end(case, outcome)
    if wrong_end:
        return said(
            "fail", text_report.brief(outcome) if outcome.kind != "outputs" else f"not {case.repro.outcome}", wrong_end
        )
    unknown = sorted(set(case.repro.compare) - set(outcome.outputs)) if outcome.kind == "outputs" else []
    if unknown:
        known = ", ".join(outcome.outputs)
        return said(
            "fail", "unknown output", f"compare names `{unknown[0]}`, which run() did not return: it returned {known}"
        )
    seen = observed.wrong(case, outcome) if outcome.kind == "outputs" and not other.outputs else None
    if seen:
        verdict = said("fail", seen[0], seen[1] or text_report.differences(seen[2], outcome))
        verdict.differences = seen[2]
        return verdict
    changed = _other_values(other, outcome)
    if changed:
        return said("fail", "not what `nvidia` says", changed)
    expected = {name: array for name, array in outcome.expected.items() if name not in other.outputs}
    only_masks = set(case.repro.mask.values()) - set(outcome.outputs)
    expected = {name: array for name, array in expected.items() if name not in only_masks}
    rules, masks = dict(case.repro.compare), _masks(case, outcome)
    found = compare.differences(expected, outcome.outputs, rules, "expected()", partial=True, masks=masks)
    if found:
        verdict = said("fail", "differs from expected()", text_report.differences(found, outcome))
        verdict.differences = found
        return verdict
    lines = check_lines.failure(case, outcome.kernels, "PTX")
    if lines:
        return said("fail", "CHECK-PTX", lines)
    no_sass = outcome.detail.get("no_sass") if case.checks("SASS") else None
    lines = no_sass["text"] if no_sass else check_lines.failure(case, outcome.kernels, "SASS")
    if lines and not (no_sass and no_sass["missing"] and not in_ci()):
        return said("fail", "CHECK-SASS", lines)
    verdict = _against_golden(case, host, outcome, update)
    if verdict.status == "pass" and outcome.kind == "outputs":
        verdict.notes += observed.notes(case, outcome)
    if verdict.status == "pass" and no_sass:
        verdict.status, verdict.reason, verdict.text = "skip", "no SASS", f"CHECK-SASS: {no_sass['text']}"
    return verdict


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
        return outcome.text if declared == "outputs" else f"{says}, but:\n{outcome.text}"
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


def _against_golden(case: Case, host: Host, outcome: Outcome, update: bool) -> Verdict:
    def said(status: str, reason: str = "", text: str = "", **more: Any) -> Verdict:
        return Verdict(status, reason, text, outcome, {}, **more)

    arch = golden.arch_of(outcome.device)
    path = golden.path_of(case, arch)
    if not case.is_declared:
        if case.repro.has_expected and outcome.kind == "outputs":
            return said("pass", notes=[f"{case.name} is not declared in params: judged by expected() alone"])
        return said(
            "fail",
            "nothing to judge by",
            f"{case.name} is not declared in params, and there is no expected() to judge it by",
        )
    try:
        known = golden.read(path)
    except golden.CorruptGolden as error:
        return said("fail", "corrupt golden", str(error))
    accept = golden.make(case, outcome, history.provenance(case, host, outcome), host.is_hardware)
    if known is None:
        if update:
            return said(
                "pass", pending=accept, notes=[f"accepted {text_report.short(path)}"], validated=host.is_hardware
            )
        return said("fail", "no golden", text_report.missing_golden(case, path, outcome), proposal=accept)
    differs, found = _differs(case, known, outcome)
    elsewhere = golden.arch_of(known.provenance)
    elsewhere = elsewhere if arch and elsewhere != arch else ""
    if not differs and "@" in path.name:
        return said(
            "pass", notes=[f"{arch} has an answer of its own: {text_report.short(path)}"], validated=known.validated
        )
    if not differs:
        if host.is_hardware and not known.validated:
            if update:
                return said("pass", pending=accept, notes=[f"validated {text_report.short(path)}"], validated=True)
            return said("pass", notes=["hardware agrees with the prediction: --update-goldens makes it validated"])
        return said("pass", validated=known.validated)
    if known.validated and not host.is_hardware and not elsewhere:
        text = text_report.contradicted(differs, path, known)
        return said("contradicted", "hardware gave the golden", text, differences=found)
    if update and not (known.validated and not host.is_hardware):
        return said(
            "pass", pending=accept, notes=[f"accepted {text_report.short(path)} anew"], validated=host.is_hardware
        )
    text = text_report.differs_from_golden(case, differs, path, known, host.is_hardware, outcome.compiler)
    reason = "differs from the golden"
    if elsewhere and outcome.compiler == EMBEDDED:
        text, reason = (
            f"{text}\n{text_report.other_arch(case, elsewhere, arch)}",
            f"differs from the golden of {elsewhere}",
        )
    proposal = accept if outcome.compiler == EMBEDDED else None
    return said("fail", reason, text, proposal=proposal, differences=found)


def _differs(case: Case, known: golden.Golden, outcome: Outcome) -> tuple[str, list[compare.Difference]]:
    """How the outcome differs from the golden, or '', and which elements do."""
    if known.outcome != outcome.kind:
        return f"the golden holds {known.outcome}; this run gave {outcome.kind}\n{outcome.text}".rstrip(), []
    identity = golden.identity_of(case, outcome)
    if outcome.compiler != text_report.compiler_of(known):
        identity = {key: identity[key] for key in identity if key in SHARED_IDENTITY}
    changed = [key for key in identity if identity[key] != known.identity.get(key)]
    if changed:
        rows = [f"    {key}: expected {known.identity.get(key)!r}, got {identity[key]!r}" for key in changed]
        return "\n".join([f"the program is {outcome.kind}, but not as the golden says", *rows, outcome.text]), []
    rules = dict(case.repro.compare)
    left_out = {name for name, rule in rules.items() if rule.is_free} | set(_otherwise(case, outcome).outputs)
    got = {name: array for name, array in outcome.outputs.items() if name not in left_out}
    held = {name: array for name, array in known.outputs.items() if name not in left_out}
    found = compare.differences(held, got, rules, "the golden", masks=_masks(case, outcome))
    return text_report.differences(found, outcome), found
