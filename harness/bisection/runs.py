"""Running the cases of a claim at one version; every run is recorded."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import judge
from harness.bisection import answer, commits
from harness.bisection.answer import Answer
from harness.bisection.axes import HERE, Axis, Version
from harness.claim import repro_file, script_file
from harness.claim.repro_file import Case, ReproError, is_repro
from harness.errors import UsageError
from harness.host.environment import releases
from harness.records import history, observations
from harness.run.transport import LinkDown
from harness.session import Session, as_data

if TYPE_CHECKING:
    from harness.host.hosts import Host
    from harness.run.result import Outcome


class CannotRun(Exception):
    """A version cannot run the claim; the text is the reason."""


@dataclass(frozen=True)
class How:
    """The options of `repro run` that apply to every run."""

    settings: tuple[str, ...] = ()
    seed: int = 0
    checks: str | None = None
    gpu_model: str | None = None
    timeout_s: float | None = None
    note: Callable[[str], None] | None = None


class Runs:
    """The cases of one claim at any version of an axis."""

    def __init__(self, root: Path, cases: Sequence[Case], axis: Axis, how: How) -> None:
        self._root, self._cases, self._axis, self._how = root, list(cases), axis, how

    @property
    def cases(self) -> list[Case]:
        return self._cases

    def preparation(self, version: Version) -> dict[str, Any] | None:
        """The preparation to do before the version runs, as preparation.py takes it; None if there is none."""
        if version.tree:
            return {"tree": dataclasses.asdict(version.tree)}
        if version.host in HERE and (version.pins or releases.split(version.compiler)[1]):
            needs = releases.needs_of(self._cases[0].repro, version.compiler)
            return {"compiler": version.compiler, "pins": list(version.pins), "needs": list(needs)}
        return None

    def run(self, version: Version) -> list[Answer]:
        """The answer of every case. Raises CannotRun, UsageError for a host that cannot be used at all."""
        how = self._how
        session = Session(
            self._root, [version.host], False, how.settings, how.note, version.compiler, how.seed, self._axis.sass,
            how.checks, how.gpu_model,
        )  # fmt: skip
        try:
            if version.tree:
                try:
                    version.tree.make()
                except (LinkDown, OSError) as error:
                    raise CannotRun(str(error)) from None
            cases = [self._at(version, case) for case in self._cases]
            (host,) = session.hosts()
            return [self._run(session, self._prepared(host, version), version, case) for case in cases]
        finally:
            session.close()

    def _at(self, version: Version, case: Case) -> Case:
        """The case at a version: its needs, and of an author's commit its text if the commit has the file."""
        if version.pins and version.host not in HERE:
            return dataclasses.replace(
                case, repro=dataclasses.replace(case.repro, needs=(*case.repro.needs, *version.pins))
            )
        path = self._moved(version)
        if path is None or not path.is_file():
            return case
        try:
            repro = _read(path, case)
        except ReproError as error:
            raise CannotRun(str(error)) from None
        if set(repro.params) != set(case.params):
            raise CannotRun(f"the claim has other parameters there: {', '.join(repro.params) or 'none'}")
        # It keeps its path, so it has the record and the golden of the claim.
        return Case(dataclasses.replace(repro, path=case.repro.path), case.params)

    def _moved(self, version: Version) -> Path | None:
        """The path of the claim's file in a worktree; None if it stays where it is."""
        tree = version.tree
        path = self._cases[0].repro.path.resolve()
        if tree is None or commits.is_compiler(Path(tree.repo)) or not path.is_relative_to(tree.repo):
            return None
        return tree.place / path.relative_to(tree.repo)

    def _prepared(self, host: Host, version: Version) -> Host:
        """The host with the way to this version's Python."""
        if version.tree:
            moved, tree = self._moved(version), version.tree
            pairs = [(str(self._cases[0].repro.path), str(moved))] if moved else []
            return dataclasses.replace(host, connect=lambda: commits.AtCommit(tree, self._how.note, pairs))
        if version.pins and version.host in HERE:
            about = version.compiler, self._how.note, version.pins
            return dataclasses.replace(host, connect=lambda: releases.Released(*about))
        return host

    def _run(self, session: Session, host: Host, version: Version, case: Case) -> Answer:
        where, outcome = session.run(case, host, self._how.timeout_s, False)
        if outcome.kind in ("infra", "skipped"):
            raise CannotRun(outcome.text)
        sass = {
            kernel["name"]: hashlib.sha256(history.normalised_sass(kernel["sass"]).encode()).hexdigest()
            for kernel in outcome.kernels
            if self._axis.sass and kernel.get("sass")
        }
        no_sass = (outcome.detail.get("no_sass") or {}) if self._axis.sass else {}
        if no_sass.get("missing"):
            raise CannotRun(str(no_sass.get("text")))
        refused = no_sass.get("text", "")
        if refused:
            sass = {"refused": hashlib.sha256(refused.encode()).hexdigest()}
        verdict, reason, record = self._record(case, where, outcome, session, version)
        one = answer.of(case, outcome, verdict, reason, record, sass)
        return dataclasses.replace(one, text=f"ptxas: {refused}") if refused else one

    def _record(
        self, case: Case, host: Host, outcome: Outcome, session: Session, version: Version
    ) -> tuple[str, str, str]:
        """The verdict, its reason, and the id of the line that was written."""
        asked = dataclasses.replace(host, compiler=version.asked)
        if case.repro.script and not case.repro.script.printed:
            line = observations.keep(case.repro, asked, outcome, session.record_run, session.checks or "", False)
            return "", "", line["id"]
        verdict = judge.judge(case, host, outcome, self._root)
        data = as_data(verdict, case.repro.path, host.is_hardware, host.compiler)
        record = data["record"]
        if version.commit:
            record["commit"] = version.commit.sha
            if commits.is_compiler(Path(version.tree.repo if version.tree else ".")):
                record["bundle_sha256"] = hashlib.sha256(version.commit.sha.encode()).hexdigest()
        if version.asked != host.compiler:  # another question than the same claim without the version
            record["asked"] = version.asked
            record["digest"] = hashlib.sha256(f"{record['digest']} {version.asked}".encode()).hexdigest()
        folder = history.folder(case.repro.path, host.is_hardware, self._root)
        line = history.append(folder, record, data["blobs"], session.record_run)
        return verdict.status, verdict.reason, line["id"]


def _read(path: Path, case: Case) -> repro_file.Repro:
    """The claim, or the script, that a commit has."""
    data = path.read_bytes()
    called = case.repro.script
    if called and not called.printed and not is_repro(data):
        return dataclasses.replace(script_file.read(path, data, called.args), timeout_s=case.repro.timeout_s)
    return repro_file.read(path)


def all_cases(
    path: Path, params: Sequence[str], args: tuple[str, ...], chosen: Callable[..., list[Case]]
) -> list[Case]:
    """The cases that `chosen(repro, params)` picks, or the one of a script. Raises UsageError, ReproError."""
    data = path.read_bytes()
    if not is_repro(data) and script_file.is_program(path, data):
        script = script_file.read(path, data, args)
        return [Case(dataclasses.replace(script, timeout_s=repro_file.DEFAULT_TIMEOUT_S), {})]
    if args:
        raise UsageError(f"{path.name} is a repro, which takes no arguments: {' '.join(args)}")
    return chosen(repro_file.read(path), list(params))
