"""Capsules: record cases on the emulator into one file, and judge what came back from a GPU that replayed it.

`repro replay capsule` writes it, replay.py replays it (its docstring describes the format), `repro replay accept`
runs each repro here once more, its kernels giving what they gave on that GPU, and judges it as a run on hardware.
"""

from __future__ import annotations

import dataclasses
import importlib.resources
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import judge, store
from harness.capsules import agreement, replay
from harness.capsules.results import Refused, Result, outside, read as read_results, unpack
from harness.claim import case_id, findings, selection
from harness.claim.repro_file import Case, Repro, ReproError, read, short
from harness.comparison import golden, observed
from harness.host import hosts
from harness.perturb_options import Wanted
from harness.records import history
from harness.records.index import index, moved
from harness.records.index.states import FORGOTTEN
from harness.reporting import text_report
from harness.run import hardware, result
from harness.run.result import Outcome

if TYPE_CHECKING:
    from harness.run.transport import Transport

DEFAULT_ARCH = "sm_80"
RECORDED = ("outputs", "trap", "deadlock", findings.FAULT, *findings.MEANINGS)
AGAIN = "--again"  # ends the name of a case's second recording, over other contents of new memory
_DATE = (1980, 1, 1, 0, 0, 0)  # zip members carry none: equal recordings are equal files


def find(paths: Iterable[Path], keyword: str = "") -> list[Case]:
    """The cases of these files and folders whose name fits a `-k` expression. Raises Refused, ReproError."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += selection.repros_in(path)
        elif path.exists():
            files.append(path)
        else:
            raise Refused(f"{short(path)} does not exist")
    fits = selection.matcher(keyword)
    repros: list[Repro] = [read(file.resolve()) for file in dict.fromkeys(files)]
    named = {path.resolve() for path in paths}
    for repro in repros:
        if repro.script and repro.path in named:
            why = "a capsule holds what kernels did, and this claims what the program prints"
            raise Refused(f"{short(repro.path)}: {why}\nfix: run it on the GPU's host, with --host")
    repros = [repro for repro in repros if not repro.script]
    return [
        case
        for repro in repros
        for case in repro.cases()
        if fits(f"{name_of(case)} {case_id.name(short(case.repro.path), case.name)}")
    ]


def name_of(case: Case) -> str:
    """`shuffle_width--width=8`: the case in a capsule and in a folder of results."""
    return case.repro.path.stem + (f"--{case.name}" if case.name else "")


def names_of(cases: list[Case]) -> list[str]:
    """The names of cases; where two are the same, with the folder before them: `shuffle.width--width=8`."""
    names = [name_of(case) for case in cases]
    return [
        f"{case.repro.path.parent.name}.{name}" if names.count(name) > 1 else name
        for name, case in zip(names, cases, strict=True)
    ]


# --- recording -------------------------------------------------------------------------------------------------------


class Writer:
    """A capsule being written: whole and in its place when `close` returns, or not there at all."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.part = path.with_name(f".{path.name}.{os.getpid()}.part")
        self.zip = zipfile.ZipFile(self.part, "w", zipfile.ZIP_DEFLATED)
        self.cases: list[dict[str, Any]] = []
        self._blobs: set[str] = set()

    def add(self, case: dict[str, Any], folder: Path) -> None:
        """A recorded case and the folder of its bytes."""
        self.cases.append(case)
        self.add_bytes(folder)

    def add_bytes(self, folder: Path) -> None:
        """The files of a folder that are named by their sha256."""
        for file in sorted(folder.iterdir()):
            if not file.suffix and file.name not in self._blobs:
                self._blobs.add(file.name)
                self._write(f"blobs/{file.name}", file.read_bytes())

    def close(self, about: dict[str, Any]) -> None:
        index = {"schema": replay.SCHEMA, **about, "cases": self.cases}
        self._write("capsule.json", json.dumps(index, indent=1).encode())
        self._write("__main__.py", script().encode())
        self.zip.close()
        with open(self.part, "rb") as file:
            os.fsync(file.fileno())
        os.replace(self.part, self.path)

    def abandon(self) -> None:
        self.zip.close()
        self.part.unlink(missing_ok=True)

    def _write(self, name: str, data: bytes) -> None:
        member = zipfile.ZipInfo(name, _DATE)
        member.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(member, data)


def script() -> str:
    """The text of replay.py."""
    return importlib.resources.files("harness.capsules").joinpath("replay.py").read_text()


def record(
    cases: list[Case],
    out: Path,
    arch: str | None,
    say: Callable[[str], None],
    add: Callable[[Writer], dict[str, Any]] = lambda writer: {},
    perturb: Wanted | None = None,
) -> int:
    """Record these cases into a capsule at `out`; how many. `say` takes a line a case. Raises Refused, OSError.

    With `perturb` each is recorded under its delays too, which the GPU's PTX gets. `add` may add cases after them, and
    gives more fields of the capsule's index.
    """
    names = names_of(cases)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Refused(f"two repros are called {twice[0]}: record their folders into two capsules")
    writer, host = Writer(out), hosts.resolve("embedded")
    transport = host.connect()
    about: dict[str, Any] = {"date": history.now()}
    try:
        for number, case in enumerate(cases, 1):
            count = 0
            name = names[number - 1]
            fills = observed.POISON if case.repro.poison else (None,)
            rounds: list[tuple[int | None, int | None]] = [(fill, 0 if perturb else None) for fill in fills]
            rounds += [(fills[0], seed) for seed, _ in (perturb.lists if perturb else ())]
            for fill, seed in rounds:
                with tempfile.TemporaryDirectory(prefix="capsule-") as folder:
                    chosen = arch or case.repro.arch or DEFAULT_ARCH
                    entry, why = _record(case, name, host, transport, chosen, Path(folder), fill, seed)
                    if entry is None:
                        break
                    writer.add(entry, Path(folder))
                    count += len(entry["launches"])
            said = f"recorded, {count} launch{'es' * (count != 1)}" if entry else why
            say(f"[{number}/{len(cases)}] {name}: {said}")
        about |= add(writer)
        if writer.cases:
            writer.close(about)
    finally:
        transport.close()
        if not out.exists() or writer.part.exists():
            writer.abandon()
    return len(writer.cases)


def _record(
    case: Case,
    name: str,
    host: hosts.Host,
    transport: Transport,
    arch: str,
    folder: Path,
    fill: int | None,
    seed: int | None,
) -> tuple[dict[str, Any] | None, str]:
    """The case as a capsule holds it, over new memory full of one byte where `fill` names one, under the delays of
    `seed`; or None and why not."""
    unseen = findings.unseen(case.repro.outcome, is_hardware=True)
    if unseen and (seed is None or case.repro.outcome != findings.RACE):
        return None, f"skipped: {unseen}"
    recording = dataclasses.replace(host, device=f"recording:{arch}:{folder}")
    perturb = None if seed is None else Wanted(delays=f"seed {seed}")
    outcome = judge.run(transport, case, recording, fill=fill, perturb=perturb)
    if outcome.kind == "rejected":
        return None, "skipped: the compiler rejects it, so there is nothing to replay"
    if outcome.kind not in RECORDED:
        return None, f"skipped: {text_report.brief(outcome)}"
    lines = folder / "launches.jsonl"
    launches = [json.loads(line) for line in lines.read_text().splitlines()] if lines.exists() else []
    if not launches:
        return None, "skipped: it launches no kernel"
    kernels = [{k: v for k, v in kernel.items() if k not in ("ptx", "sass")} for kernel in outcome.kernels]
    return {
        "name": name + (AGAIN if fill == observed.POISON[1] else "") + (f"--seed={seed}" if seed else ""),
        **({"seed": seed, "delays": outcome.delays} if seed else {}),
        "repro": history.relative(case.repro.path, history.root_of(case.repro.path)),
        "case": case.name,
        "claim": case.repro.claim,
        "repro_sha256": case.repro.sha256,
        "arch": arch,
        "predicted": outcome.kind,
        "outputs": [{"name": n, "dtype": a.dtype.name, "shape": list(a.shape)} for n, a in outcome.outputs.items()],
        "compiler": outcome.facts.get("compiler"),
        "kernels": kernels,
        "versions": outcome.versions,
        "launches": launches,
    }, ""


# --- results of a replay ---------------------------------------------------------------------------------------------


def accept(out: Path, root: Path, accept_differences: bool, say: Callable[[str], None]) -> dict[str, list[str]]:
    """Judge the results in `out` as runs on that GPU; equal ones validate their goldens. The names by what they were:

    validated, disagreement, failed, which are recorded; accepted before; or stale, diverged, skipped, which do not
    judge the claim.
    """
    if judge.in_ci():
        raise Refused("goldens are not accepted where CI is set: accept them by hand, and commit them")
    with tempfile.TemporaryDirectory(prefix="results-") as folder:
        capsule, replayed = read_results(out, Path(folder))
        forms = [one for one in replayed if "form" in one.case]
        try:
            sorted_by = agreement.accept(capsule, forms, root, say)
        except replay.BadCapsule as error:
            raise Refused(str(error)) from None
        rest = [one for one in replayed if "form" not in one.case]
        return _accept_repros(capsule, rest, sorted_by, root, accept_differences, say)


def _accept_repros(
    capsule: replay.Capsule,
    replayed: list[Result],
    sorted_by: dict[str, list[str]],
    root: Path,
    accept_differences: bool,
    say: Callable[[str], None],
) -> dict[str, list[str]]:
    transport = hosts.resolve("embedded").connect()
    try:
        again = {one.case["name"].removesuffix(AGAIN): one for one in replayed if one.case["name"].endswith(AGAIN)}
        delayed = [one for one in replayed if one.case.get("seed")]
        for one in replayed:
            if one.case["name"].endswith(AGAIN) or one.case.get("seed"):
                continue
            both = [one, again.get(one.case["name"])]
            mine = [each for each in delayed if each.case["name"] == f"{one.case['name']}--seed={each.case['seed']}"]
            status, text = _accept(capsule, both, mine, root, transport, accept_differences)
            sorted_by.setdefault(status, []).append(one.case["name"])
            say(f"{one.case['name']}: {text}")
    finally:
        transport.close()
    return sorted_by


def _now(root: Path, case: dict[str, Any]) -> Path | None:
    """The repro of a case of a capsule, even if it has moved since; None if it is gone."""
    path = store.inside(root, case["repro"])
    if path is None or path.is_file():
        return path
    followed = moved.follow({case["repro"]: [case["repro_sha256"]]}, root)
    return root / followed[case["repro"]] if case["repro"] in followed else None


def _accept(
    capsule: replay.Capsule,
    both: list[Result],
    delayed: list[Result],
    root: Path,
    transport: Transport,
    accept_differences: bool,
) -> tuple[str, str]:
    """`both`: a case's result, and that over other contents of new memory where it has one. `delayed`: under delays."""
    one = both[0]
    try:
        path = _now(root, one.case)
        if path is None:
            return "stale", f"stale: {one.case['repro']} is gone"
        repro = read(path.resolve())
        case = next((case for case in repro.cases() if case.name == one.case["case"]), None)
    except (ReproError, OSError) as error:
        return "stale", f"stale: {one.case['repro']} cannot be read: {error}"
    if repro.sha256 != one.case["repro_sha256"] or case is None:
        return "stale", f"stale: {one.case['repro']} has changed since it was recorded; record and replay it again"
    host = hosts.Host("replay", "cuda", device_facts=one.device)
    says_nothing = _says_nothing(both, repro, host, bool(delayed))
    if says_nothing:
        return "skipped", says_nothing
    try:
        outcome = _played(capsule, both, case, host, transport)
        if delayed:
            outcome = _under_delays(capsule, delayed, outcome, case, host, transport)
        silent = _not_of_the_claim(one, repro, outcome)
        return silent or _judged(case, host, outcome, one, root, accept_differences, _relabel(outcome, one, capsule))
    except (replay.BadCapsule, UnicodeDecodeError) as error:
        return "skipped", f"not judged: {one.case['name']}.json is not a result of a replay: {error}"


def _says_nothing(both: list[Result], repro: Repro, host: hosts.Host, is_delayed: bool) -> str:
    """The reason why these results cannot judge the claim, before they are played back; or ''."""
    unseen = findings.unseen(repro.outcome, is_hardware=True)
    if unseen and not (is_delayed and repro.outcome == findings.RACE):
        return f"not judged: {unseen}"
    for each in both[: 1 + repro.poison]:
        if each is None:
            return "not replayed: its second run, over other contents of new memory, is not there"
        ended = each.result["outcome"]
        is_slow = ended == "deadlock" and not findings.fits(repro.outcome, ended)  # than the limit, for all we know
        if is_slow or ended in ("skipped", "error", "crash"):
            return f"not replayed: {each.result.get('text', ended)}"
    lacks = hardware.missing(host.device_facts)
    return f"not accepted: its result {lacks}" if lacks else ""


def _played(capsule: replay.Capsule, both: list[Result], case: Case, host: hosts.Host, transport: Transport) -> Outcome:
    """The outcome of the repro whose kernels do what they did on the GPU. Raises replay.BadCapsule."""

    def once(fill: int | None) -> Outcome:
        with tempfile.TemporaryDirectory(prefix="playback-") as folder:
            unpack(capsule, both[fill == observed.POISON[1]], Path(folder))
            perturb = Wanted(delays="seed 0") if case.repro.outcome == findings.RACE else None
            playing = dataclasses.replace(host, device=f"playback:{folder}")
            return judge.run(transport, case, playing, fill=fill, perturb=perturb)

    return observed.settle(case, once)


def _under_delays(
    capsule: replay.Capsule, delayed: list[Result], first: Outcome, case: Case, host: hosts.Host, transport: Transport
) -> Outcome:
    """The outcome of the run without delays, with the answers of those under delays. Raises replay.BadCapsule."""
    by_seed = {one.case["seed"]: one for one in delayed}

    def run(delays: str) -> Outcome:
        one = by_seed.get(int(delays.removeprefix("seed ")))
        if one is None:
            first.sites = 1
            return dataclasses.replace(first)
        if one.result["outcome"] in ("skipped", "error", "crash", "deadlock"):
            return result.infra(f"not replayed: {one.result.get('text', one.result['outcome'])}")
        outcome = _played(capsule, [one, one], case, host, transport)
        outcome.sites, outcome.delays = 1, one.case.get("delays", "")
        return outcome

    return judge.under_delays(case, host, first, run, [(seed, f"seed {seed}") for seed in sorted(by_seed)])


def _not_of_the_claim(one: Result, repro: Repro, outcome: Outcome) -> tuple[str, str] | None:
    """The status and the message for an outcome that cannot judge the claim."""
    for name, status in (("REPLAY_DIVERGED", "diverged"), ("REPLAY_DAMAGED", "skipped")):
        why = outcome.text.partition(f"{name}: ")[2] if outcome.kind == "error" else ""
        if why:
            no_result = f"not judged: {one.case['name']}.json is not a result of a replay"
            said = "diverged" if status == "diverged" else no_result
            return status, f"{said}: {why.partition('(raised inside')[0].strip()}"
    around = outside(one)
    if around and outcome.kind == "outputs" and repro.outcome in (findings.FAULT, "out_of_bounds"):
        why = f"the GPU wrote outside of {around}, as claimed; it faults only outside of its pages"
        return "skipped", f"not judged: {why}"
    return None


def _judged(
    case: Case, host: hosts.Host, outcome: Outcome, one: Result, root: Path, accept_differences: bool, notes: list[str]
) -> tuple[str, str]:
    """Judge an outcome, record it where it is new, and write its golden."""
    verdict = judge.judge(case, host, outcome, root)
    may_differ = ("no golden", "differs from the golden") if accept_differences else ("no golden",)
    if verdict.status in ("pass", "skip") or verdict.reason in may_differ:
        verdict = judge.judge(case, host, outcome, root, update=True)
    verdict.record |= {"date": store.moment(), "replayed": one.date}
    before = _record_of(root, verdict)
    if before is not None:
        notes.append(f"this replay was accepted before: record {before} of {one.date}")
    elif verdict.status != "infra":
        history.append(history.folder(case.repro.path, True, root), verdict.record, history.blobs(outcome))
    if verdict.pending:
        golden.write(verdict.pending)
    if verdict.status not in ("pass", "skip"):
        what = "disagreement" if verdict.reason.startswith("differs") else "failed"
        return what, "\n".join([f"{what}: {verdict.reason}", *map("    {}".format, verdict.text.splitlines()), *notes])
    if before is not None:
        return "accepted before", "; ".join(notes)
    if not verdict.validated:
        return "skipped", "; ".join([f"not validated: {verdict.text or verdict.reason}", *notes])
    return "validated", "; ".join(["validated by " + host.describe(), *notes])


def _record_of(root: Path, verdict: judge.Verdict) -> str | None:
    """The id of an earlier record of this replay with the same status, unless it was forgotten since."""
    line = verdict.record
    with index.open_index(root) as records:
        earlier = records.records(line["repro"], line["case"], host="replay")
    about = (line["replayed"], line["device"].get("name"), line["key"]["repro_sha256"], verdict.status)
    for one in earlier:
        if one.verdict == FORGOTTEN:
            return None
        when = one.line.get("replayed") or one.date
        if (when, one.provenance.get("gpu"), one.provenance.get("repro_sha256"), one.verdict) == about:
            return one.id
    return None


def _relabel(outcome: Outcome, one: Result, capsule: replay.Capsule) -> list[str]:
    """Say of the outcome who made it: the compiler of the recording, the GPU of the replay. Notes worth telling."""
    notes = []
    now = {kernel["name"]: kernel["ptx_sha256"] for kernel in outcome.kernels}
    then = {kernel["name"]: kernel["ptx_sha256"] for kernel in one.case["kernels"]}
    if now != then:
        notes.append("the compiler makes other PTX by now; the golden names the PTX that was replayed")
    around = outside(one)
    if around:
        notes.append(f"the GPU wrote outside of {around}")
    ptx_hashes = {line["ptx"] for line in one.case["launches"]}
    kernels = [
        kernel
        | {"sass": None, "ptx": capsule.blob(sha).decode() if (sha := kernel["ptx_sha256"]) in ptx_hashes else ""}
        for kernel in one.case["kernels"]
    ]
    about = {"device": one.device, "compiler": one.case["compiler"], "date": one.date}
    outcome.facts = about | {"kernels": kernels if now != then else outcome.kernels}
    outcome.versions = dict(one.case["versions"])
    return notes
