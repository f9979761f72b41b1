"""The judge: the verdict on a claim from an outcome.

The questions, in order: could it be run; did it end as claimed; does it agree with `expected()`, with its CHECK lines,
with its golden. Only an outcome that passes all but the last may become a golden.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.claim import check_lines, cuda_headers, findings, languages, output_rules, script_file
from harness.claim.expectation import Otherwise
from harness.claim.repro_file import Case
from harness.comparison import arithmetic, compare, golden, modelled, observed, orders, perturbed, printed
from harness.compiler_name import NVIDIA, OURS
from harness.golden_policy import against_golden
from harness.host.environment import releases
from harness.host.hosts import Host
from harness.perturb_options import Wanted
from harness.records import history
from harness.records.index.states import NO_GOLDEN
from harness.reporting import text_report
from harness.run import result
from harness.run.result import Outcome
from harness.run.transport import Job, LinkDown, Transport
from harness.verdict import Trial, Verdict, gpu_of, in_ci

if TYPE_CHECKING:
    from harness.run.console import Console

__all__ = ["Verdict", "in_ci", "judge", "run"]

REPLAYED_RUNS = 200  # of a case that is recorded, and then replayed, more often
EXPECTED, UNEXPECTED = "expected failure", "unexpected pass"  # reasons of verdicts if `nvidia` applies

_HERE = ("embedded", "local")  # hosts that are this machine


def run(
    transport: Transport,
    case: Case,
    host: Host,
    timeout_s: float | None = None,
    fresh: bool = False,
    compiler: str = OURS,
    seed: int = 0,
    fill: int | None = None,
    sass: bool = False,
    checks: str | None = None,
    perturb: Wanted | None = None,
    told: Callable[[str], None] = lambda text: None,
    console: Console | None = None,
    lines: bool = False,
    bound: int = 0,
    notes: bool = False,
    coverage: bool = False,
) -> Outcome:
    """Run the case on the host, once; skipped if the host's GPU is older than the repro's `arch`, or is not its
    `silicon`, if no GPU sees its outcome, if this machine lacks what compiles it, and if the compiler does not take its
    language.

    `compiler` is ours, nvidia or a release of it (`nvidia==4.6.3`). `seed` is for random numbers and for the
    emulator's schedule. `fill` is the byte of new memory if a recording or a playback is run; a device is run twice
    if the repro has `poison`. `checks` is what the emulator looks for (None: findings.sought). `sass` asks for the
    machine code of its kernels, which a GPU's runs always have. With `perturb` the case is also run under delays, and a
    GPU shows a race by two answers; `told` hears how far that is. `console` is where a script prints and reads.
    `lines`: also tell which lines of the program ran. `bound`: find all outcomes of its launches instead; see Job.
    `notes`: also find synchronisation that it does not need, for which it gets findings.NOTES_S more. `coverage`: also
    tell which lines and branches of device code ran.
    """
    repro, name = case.repro, releases.split(compiler)[0]
    shortfall = releases.untaken(repro, compiler)
    shortfall = shortfall or (languages.shortfall(repro.path, repro.needs) if host.name in _HERE else "")
    shortfall = shortfall or host.shortfall(repro.arch) or host.other_silicon(repro.silicon, repro.arch)
    unseen = findings.unseen(repro.outcome, host.is_hardware)
    shortfall = shortfall or (unseen if perturb is None or repro.outcome != findings.RACE else "")
    if shortfall:
        return Outcome("skipped", shortfall, compiler=name)
    schedule = perturb.schedule if perturb is not None else ""
    if schedule:
        perturb = None
    plain = host.device in ("emulator", "cuda")  # and no recording of one run, or its playback

    def once(fill: int | None, **more: Any) -> Outcome:
        try:
            answer = transport.run(dataclasses.replace(job, fill=fill, **more))
            outcome = printed.outcome_of(repro, result.from_reply(*answer, job.preds, job.script))
        except LinkDown as error:
            outcome = result.infra(str(error))
        outcome.compiler = name
        return outcome

    job = Job(
        path=str(repro.path),
        source=repro.text,
        params=dict(case.params),
        device=host.device,
        timeout_s=(timeout_s or repro.timeout_s) + findings.NOTES_S * notes,
        warm=repro.warm,
        fresh=fresh or repro.is_alone,
        sass=sass or bool(case.checks("SASS")) or host.is_hardware,
        needs=releases.needs_of(repro, compiler),
        requires_python=repro.requires_python,
        gpu=host.device_facts.get("uuid", "") if host.device == "cuda" else "",
        runs=repro.runs if plain else min(repro.runs, REPLAYED_RUNS),
        seed=seed,
        gpu_model="" if host.is_hardware else host.model_for(repro.arch),
        checks=findings.sought(checks, repro.outcome, repro.varies),
        schedule=schedule,
        orders_s=findings.orders_s(checks),
        notes=notes,
        preds={name: rule.name for name, rule in repro.compare.items() if rule.mode == "pred"},
        near=tuple(name for name, rule in repro.compare.items() if rule.is_near),
        compiler=name,
        lines=lines,
        coverage=coverage,
        script=repro.script is not None,
        args=repro.script.args if repro.script else (),
        options=repro.script.options if repro.script else (),
        modules=_modules(case, host),
        launch=repro.launch,
        kernels=repro.kernels.job() if repro.kernels else None,
        console=console,
        bound=bound or (output_rules.BOUND if modelled.is_explored(case, host.device) else 0),
        as_outputs=not bound,
    )
    if repro.script and perturb is not None:
        return result.infra("--perturb and --delays are for repros with run(), whose outputs they compare")
    if repro.script or bound:
        return once(fill)
    if perturb is not None and not plain:  # a recording notes the delays
        return once(fill, perturb=perturb.lists[0][1], checks="none", notes=False)
    outcome = observed.settle(case, once) if plain else once(fill)
    if perturb is None:
        return outcome
    fill = observed.POISON[0] if repro.poison else None
    delayed = functools.partial(once, fill, runs=1, checks="none", notes=False)
    return under_delays(case, host, outcome, lambda delays: delayed(perturb=delays), perturb.lists, told)


def _modules(case: Case, host: Host) -> Mapping[str, tuple[str, str]] | None:
    """The author's own files that go with a program: the headers of a .cu file, and modules for another machine."""
    if case.repro.script is None:
        return None
    if case.repro.path.suffix == languages.CUDA:
        return cuda_headers.of(case.repro.path, case.repro.text)
    return script_file.modules(case.repro) if host.name not in _HERE else None


def under_delays(
    case: Case,
    host: Host,
    outcome: Outcome,
    run: Callable[[str], Outcome],
    lists: Sequence[tuple[int | None, str]],
    told: Callable[[str], None] = lambda text: None,
) -> Outcome:
    """The outcome with its answers under each list of delays. On a GPU, two answers of a claim of a race are the race,
    and one leaves it skipped."""
    outcome = perturbed.settle(case, outcome, run, lists, told)
    unseen = findings.unseen(case.repro.outcome, host.is_hardware)
    if unseen and outcome.answers:
        text = perturbed.summary(outcome)
        if len(outcome.answers) == 1:
            return Outcome("skipped", f"{unseen}\n{text}", compiler=outcome.compiler)
        outcome.kind, outcome.text = findings.RACE, f"one program gave two answers\n{text}"
    return outcome


def judge(case: Case, host: Host, outcome: Outcome, root: Path, update: bool = False, strict: bool = False) -> Verdict:
    """Judge an outcome. With `update`, a missing or differing golden is accepted: the verdict carries its files.

    A case without a golden passes where expected() gives all of its outputs, unless `strict` or in CI.
    """
    arch, gpu = golden.arch_of(outcome.device), gpu_of(host, outcome)
    case = modelled.resolved(case, host.device, outcome, _known(case, arch, gpu))
    verdict = _weigh(case, host, outcome, update, strict or in_ci())
    verdict.notes += orders.notes(outcome)
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


def _known(case: Case, arch: str, gpu: str | None) -> golden.Golden | None:
    """The golden of a claim about the memory model; a broken one is reported later."""
    try:
        return golden.read(golden.path_of(case, arch, gpu)) if case.repro.is_modelled else None
    except golden.CorruptGolden:
        return None


def _weigh(case: Case, host: Host, outcome: Outcome, update: bool, strict: bool) -> Verdict:
    other = case.repro.nvidia.of(_release(host, outcome)) if outcome.compiler == NVIDIA else None
    trial = Trial(case, host, outcome, update, strict, other)
    if other is None or outcome.kind in ("infra", "skipped"):
        return _against_claim(trial)
    return _against_expectation(trial, other)


def _release(host: Host, outcome: Outcome) -> str | None:
    """The release of the compiler: as it reported, or as it was asked for."""
    return (outcome.facts.get("compiler") or {}).get("version") or releases.split(host.compiler)[1] or None


def _against_claim(trial: Trial) -> Verdict:
    """The verdict on the claim alone, except for outputs that the repro expects to differ."""
    for check in _CHECKS:
        verdict = check(trial)
        if verdict is not None:
            return verdict
    verdict = against_golden(trial)
    if trial.outcome.answers:
        said = perturbed.summary(trial.outcome)
        if len(trial.outcome.answers) > 1:
            said += f"\n{perturbed.repeating(trial.outcome)}"
        if verdict.status in ("pass", "skip"):
            verdict.notes.append(said)
        else:
            verdict.text += f"\n{said}"
    if verdict.status == "pass":
        name = trial.case.repro.path.name
        verdict.notes += [f"{name}:{line}: a race is allowed there: {why}" for line, why in trial.case.repro.silenced]
    if verdict.status == "pass" and trial.has_outputs:
        verdict.notes += observed.notes(trial.case, trial.outcome) + arithmetic.notes(trial.case, trial.outcome)
    if verdict.status == "pass" and trial.no_sass:
        verdict.status, verdict.reason, verdict.text = "skip", "no SASS", f"CHECK-SASS: {trial.no_sass['text']}"
    return verdict


# --- what the repro expects of another compiler ------------------------------------------------------------------


def _against_expectation(trial: Trial, other: Otherwise) -> Verdict:
    """The verdict if the repro states that the claim does not hold under this release.

    It ends as stated: pass, and an expected failure. It ends as claimed after all: an unexpected pass, which fails.
    """
    problem, verdict = "", trial.verdict("pass")
    if other.rejected is not None:
        problem = _keeps_rejecting(other, trial.outcome)
    elif other.outputs:
        problem = _other_values(other, trial.outcome)
        verdict = _against_claim(trial) if not problem else verdict
    claim = _against_claim(dataclasses.replace(trial, other=None)) if other.xfail or problem else verdict
    if other.xfail and (claim.status, claim.reason) == ("fail", NO_GOLDEN):
        return claim  # nobody judged it yet
    if claim.status == "pass" and (other.xfail or problem):
        return trial.verdict("fail", UNEXPECTED, _unexpected(trial, other))
    if problem:
        return trial.verdict("fail", "differs from `nvidia`", problem)
    if verdict.status == "pass":
        verdict.reason, verdict.expected = EXPECTED, str(other)
        verdict.notes.append(f"{trial.case.repro.path.name}: expected of NVIDIA's compiler: {other}")
    return verdict


def _unexpected(trial: Trial, other: Otherwise) -> str:
    release = _release(trial.host, trial.outcome)
    fix = f'leave release {release} out of "{other.releases}"' if other.releases else "remove `nvidia`"
    only = f', or write `nvidia = {{ "<{release}" = ... }}` where it is true of earlier releases' * (not other.releases)
    return f"the file's block states `{other}`, but release {release} does what the claim states\nfix: {fix}{only}"


# --- before the golden ------------------------------------------------------------------------------------------


def _could_not_run(trial: Trial) -> Verdict | None:
    if trial.outcome.kind != "infra":
        return None
    text = f"the repro could not be run on {trial.host.name}: {trial.outcome.text}"
    return trial.verdict("infra", "could not be run", text)


def _was_skipped(trial: Trial) -> Verdict | None:
    if trial.outcome.kind != "skipped":
        return None
    repro = trial.case.repro
    if releases.untaken(repro, trial.outcome.compiler):
        reason = "not its language"
    elif trial.outcome.text == languages.shortfall(repro.path, repro.needs):
        reason = "no compiler"
    elif trial.host.other_silicon(repro.silicon, repro.arch) and not trial.host.shortfall(repro.arch):
        reason = "another GPU"
    else:
        reason = "older GPU" if trial.host.shortfall(repro.arch) else "no checker"
    return trial.verdict("skip", reason, trial.outcome.text)


def _ends_otherwise(trial: Trial) -> Verdict | None:
    text = _wrong_end(trial.case, trial.outcome)
    if not text:
        return None
    reason = f"not {trial.case.repro.outcome}" if trial.has_outputs else text_report.brief(trial.outcome)
    return trial.verdict("fail", reason, text)


def _names_unknown_output(trial: Trial) -> Verdict | None:
    outputs = trial.outcome.outputs
    unknown = sorted(set(trial.case.repro.compare) - set(outputs)) if trial.has_outputs else []
    if not unknown:
        return None
    text = f"compare names `{unknown[0]}`, which run() did not return: it returned {', '.join(outputs)}"
    return trial.verdict("fail", "unknown output", text)


def _has_no_model(trial: Trial) -> Verdict | None:
    repro = trial.case.repro
    if not repro.is_modelled or not trial.has_outputs or repro.allowed:
        return None
    text = "no golden has the outcomes that the memory model allows, and only the emulator finds them\n"
    return trial.verdict(
        "fail", NO_GOLDEN, f"{text}fix: repro run {repro.path.name} --update-goldens, and then here again"
    )


def _is_observed_wrong(trial: Trial) -> Verdict | None:
    seen = observed.wrong(trial.case, trial.outcome) if trial.has_outputs and not trial.other_outputs else None
    if not seen:
        return None
    reason, text, differences = seen
    text = text or text_report.differences(differences, trial.outcome)
    return trial.verdict("fail", reason, text, differences=differences)


def _differs_under_delays(trial: Trial) -> Verdict | None:
    case, answers = trial.case, trial.outcome.answers
    if len(answers) < 2 or case.repro.outcome == findings.RACE or trial.other_outputs:
        return None
    first, second = answers[0].outcome, answers[1].outcome
    both = first.kind == second.kind == "outputs" and first.outputs.keys() == second.outputs.keys()
    differences = perturbed.differences(case, first, second) if both else []
    text = f"{perturbed.summary(trial.outcome)}\n{perturbed.repeating(trial.outcome)}"
    return trial.verdict("fail", "differs under delays", text, differences=differences)


def _differs_from_expected(trial: Trial) -> Verdict | None:
    case, outcome = trial.case, trial.outcome
    only_masks = set(case.repro.mask.values()) - set(outcome.outputs)
    left_out = only_masks | set(trial.other_outputs)
    expected = {name: array for name, array in outcome.expected.items() if name not in left_out}
    rules, masks = dict(case.repro.compare), observed.masks(case, outcome) if trial.has_outputs else {}
    differences = next(
        (
            differing
            for outputs in (outcome.outputs, *outcome.spread)
            if (differing := compare.differences(expected, outputs, rules, "expected()", partial=True, masks=masks))
        ),
        [],
    )
    if not differences:
        return None
    text = text_report.differences(differences, outcome)
    return trial.verdict("fail", "differs from expected()", text, differences=differences)


def _fails_ptx_lines(trial: Trial) -> Verdict | None:
    text = check_lines.failure(trial.case, trial.outcome.kernels, "PTX")
    return trial.verdict("fail", "CHECK-PTX", text) if text else None


def _fails_sass_lines(trial: Trial) -> Verdict | None:
    if trial.may_lack_sass:
        return None
    no_sass = trial.no_sass
    text = no_sass["text"] if no_sass else check_lines.failure(trial.case, trial.outcome.kernels, "SASS")
    return trial.verdict("fail", "CHECK-SASS", text) if text else None


# The first that returns a verdict decides.
_CHECKS: tuple[Callable[[Trial], Verdict | None], ...] = (
    _could_not_run,
    _was_skipped,
    _ends_otherwise,
    _names_unknown_output,
    _has_no_model,
    _is_observed_wrong,
    _differs_under_delays,
    _differs_from_expected,
    _fails_ptx_lines,
    _fails_sass_lines,
)


def _wrong_end(case: Case, outcome: Outcome) -> str:
    """The message if a case did not end as claimed, or ''."""
    declared = case.repro.outcome
    if findings.fits(declared, outcome.kind):
        return ""
    says = f'the claim states `outcome = "{declared}"`'
    if outcome.kind == "outputs":
        names = ", ".join(outcome.outputs)
        fix = "if that is right, remove `outcome` from the file's [tool.repro]"
        return f"{says}, but run() returned {names}\nfix: {fix}"
    if outcome.kind in ("error", "timeout", "crash"):
        return (
            outcome.text or f"{outcome.kind}, and not a word on why"
            if declared == "outputs"
            else f"{says}, but:\n{outcome.text}"
        )
    fix = f'if that is what the claim states, write `outcome = "{outcome.kind}"` in the file\'s [tool.repro]'
    head = f"{outcome.kind}:" if declared == "outputs" else f"{says}, but it was {outcome.kind}:"
    return f"{head}\n{outcome.text}\n{fix}"


def _keeps_rejecting(other: Otherwise, outcome: Outcome) -> str:
    """The message if the compiler does not reject the program with this id, or words of its message; or ''."""
    code, name = outcome.detail.get("id"), other.rejected or ""
    if outcome.kind == "rejected" and (code == name if code else name in outcome.text):
        return ""
    got = f"rejected it with {code or 'no id'}" if outcome.kind == "rejected" else f"gave {outcome.kind}"
    text = f"the file's block states `{other}`, but it {got}\n{outcome.text}".rstrip()
    return text + "\nfix: write what it does now, or remove `nvidia` if it does what the claim states"


def _other_values(other: Otherwise, outcome: Outcome) -> str:
    """The message if an output does not have the values that `nvidia` gives it, or ''."""
    for name, values in other.outputs.items():
        got = outcome.outputs[name].values().tolist() if name in outcome.outputs else None
        if got != values:
            return (
                f"the file's block states that under NVIDIA's compiler `{name}` is {values}, but it is {got}\n"
                "fix: write what it is now, or remove `nvidia` if it is what the claim states"
            )
    return ""
