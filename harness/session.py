"""One run of many cases: its hosts and their supervisors, and, in the one process that writes, what it writes."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import pending, verbosity
from harness.claim import findings
from harness.claim.languages import SUFFIXES
from harness.claim.repro_file import Repro, short
from harness.compiler_name import NVIDIA, OURS
from harness.errors import NoDevice, UsageError
from harness.fleet.shelf import Kept, Shelf
from harness.run.transport import LinkDown, Progress
from harness.said_once import SaidOnce
from harness.store import Run, root_of

if TYPE_CHECKING:
    from harness.claim.repro_file import Case
    from harness.coverage_file import CoverageFile
    from harness.fleet.door import Door, Visitor
    from harness.fleet.fleet import Fleet, Request
    from harness.fleet.targets import Target
    from harness.host.hosts import Host
    from harness.perturb_options import Wanted
    from harness.run.result import Outcome
    from harness.run.transport import Transport
    from harness.verdict import Verdict

SHOWN_NOTES = 20


class Session:
    """Hosts are resolved when they are named, and supervisors start when a case first needs them."""

    def __init__(
        self,
        root: Path,
        host_names: Sequence[str] = (),
        update: bool = False,
        host_settings: Sequence[str] = (),
        note: Callable[[str], None] | None = None,
        compiler: str | Sequence[str] = OURS,
        seed: int = 0,
        sass: bool = False,
        checks: str | None = None,
        gpu_model: str | None = None,
        busy: str = "wait",
        width: Callable[[], int] = lambda: 1,
        door: tuple[str, bytes] | None = None,
        perturb: Wanted | None = None,
        notes: bool = False,
        coverage: CoverageFile | None = None,
    ) -> None:
        """`busy`: what to do about a GPU that another run holds. `width`: cases at once on a host without a GPU.

        `door`: where the fleet of another process is to be had.
        """
        self.root, self.update, self.note, self.seed, self.sass = root, update, note, seed, sass
        self.checks, self.gpu_model, self.perturb, self.notes = checks, gpu_model, perturb, notes
        self.coverage = coverage
        if checks is not None:
            self._refuse_unknown_checks()
        self.compilers = tuple(dict.fromkeys([compiler] if isinstance(compiler, str) else compiler)) or (OURS,)
        self._host_settings = host_settings  # HOST.KEY=VALUE; `*` stands for every host that was named
        self.repros: dict[Path, Repro | None] = {}  # None where the file cannot be a repro
        self.named_hosts: dict[
            Path, dict[str, set[str | None]]
        ] = {}  # by repro file: host -> cases that ids name, None: all
        self.narrowed: set[Path] = set()  # repro files some of whose cases were deselected
        self.unused: set[Path] = set()
        self.errors: list[str] = []
        self.said = SaidOnce()
        self.reports: list[dict[str, Any]] = []
        self.annotations: list[str] = []  # workflow commands, where this runs on GitHub
        self.record_run = Run()
        self._shelf = Shelf()
        self._accepted: list[Kept] = []  # goldens to be written at the end
        self.ordinary = 0  # tests that are not cases of repros
        self.waiting = 0  # results for `repro golden review`
        self.not_accepted: set[Path] = set()  # repros that agree with expected() and have no golden
        self.outside: set[Path] = set()  # repros of no project, whose results nothing keeps
        self.live: Any = None  # progress.Live, where there is one to tell
        self.console: Any = None  # console.Console, where scripts print and read
        self._host_names = tuple(dict.fromkeys(host_names)) or ("embedded",)
        self._hosts: list[Host] | None = None
        self._transports: dict[tuple[str, str], Transport] = {}  # by the names of host and compiler
        self._busy, self._width, self._door_of_another = busy, width, door
        self._targets: list[Target] | None = None
        self._members: dict[str, Host] = {}  # hosts over SSH, by name
        self._fleet: Fleet | Visitor | None = None
        self._door: Door | None = None
        self.has_begun = False
        self._awaited: Request | None = None
        if update:
            self._refuse_in_ci()
        if self.compilers != (OURS,):
            self._refuse_without_compiler()
        if coverage:
            self._refuse_without_notes()
        if host_names:
            self.hosts()

    def _refuse_unknown_checks(self) -> None:
        try:
            findings.checks(str(self.checks))
        except findings.BadChecks as error:
            raise UsageError(str(error)) from None

    def _refuse_in_ci(self) -> None:
        from harness.verdict import in_ci

        if in_ci():
            raise UsageError("--update-goldens is refused where CI is set: accept goldens by hand, and commit them")

    def _refuse_without_compiler(self) -> None:
        """Refuse new goldens from NVIDIA's compiler; refuse it if it is not here, unless every host is elsewhere."""
        import importlib.metadata

        from harness.host.environment import releases

        try:
            for compiler in self.compilers:
                releases.split(compiler)
        except releases.BadCompiler as error:
            raise UsageError(str(error)) from None
        if self.update:
            raise UsageError(
                "--update-goldens is refused with --compiler nvidia: a golden is what this project's compiler gives, "
                "and the result of NVIDIA's compiler is compared with it"
            )
        if NVIDIA not in self.compilers or not {"embedded", "local"} & set(self._host_names):
            return
        try:
            importlib.metadata.version("nvidia-cutlass-dsl")
        except importlib.metadata.PackageNotFoundError:
            raise UsageError(
                "--compiler nvidia needs the package nvidia-cutlass-dsl, which is not installed\n"
                "fix: uv sync --group nvidia    (elsewhere: uv add --dev nvidia-cutlass-dsl, or pip install it)"
            ) from None

    def _refuse_without_notes(self) -> None:
        """Refuse coverage of code that has no notes: of another compiler, or on a GPU."""
        if self.compilers != (OURS,):
            raise UsageError(
                f"--coverage follows code of this project's compiler, not of {self.compilers[0]}: leave out --compiler"
            )
        if self._host_names != ("embedded",):
            raise UsageError(f"--coverage follows code on the emulator, not on {self._host_names[0]}: leave out --host")

    def hosts(self) -> list[Host]:
        """Each host under each compiler. Raises UsageError for an unknown host, NoDevice for one without its device."""
        if self._hosts is None:
            from harness.host import hosts, settings

            targets = self.targets()
            names = dict.fromkeys(member.host for target in targets for member in target.members)
            options = [
                text.replace("*", name, 1) if text.startswith("*.") else text
                for text in self._host_settings
                for name in (names if text.startswith("*.") else ("",))
            ]
            try:
                settings_by_host = settings.load(self.root, options)
                resolved = {name: hosts.resolve(name, settings_by_host, self.notify) for name in names}
                if self.gpu_model:
                    resolved = {name: replace(host, gpu_model=self.gpu_model) for name, host in resolved.items()}
                self._members = resolved
                self._hosts = [self._under(target, compiler) for compiler in self.compilers for target in targets]
            except settings.BadSettings as error:
                raise UsageError(str(error)) from None
            except hosts.NoDevice as error:
                raise NoDevice(str(error)) from None
            except hosts.HostError as error:
                raise UsageError(str(error)) from None
        return self._hosts

    def targets(self) -> list[Target]:
        """The targets that the names of hosts stand for. Raises UsageError."""
        if self._targets is None:
            from harness.fleet import targets
            from harness.host import settings

            try:
                has_pool = any(name.startswith(targets.PREFIX_POOL) for name in self._host_names)
                pools = settings.pools(self.root) if has_pool else {}
                found = list(dict.fromkeys(targets.parse(name, pools) for name in self._host_names))
                targets.refuse_twins(found)
            except (settings.BadSettings, targets.BadTarget) as error:
                raise UsageError(str(error)) from None
            self._targets = found
        return self._targets

    def _under(self, target: Target, compiler: str) -> Host:
        """The host that stands for the target in this run, with this compiler. Raises HostError."""
        from harness.host import hosts

        under = [hosts.under(self._members[member.host], compiler, self.notify) for member in target.members]
        return replace(under[0], name=target.name, settings=hosts.Settings()) if target.is_pool else under[0]

    def machines(self) -> list[Host]:
        """The hosts themselves, also the hosts of a pool, each once. Raises as `hosts`."""
        self.hosts()
        return list(self._members.values())

    def _far(self) -> dict[str, Target]:
        """The targets that are not this machine, by name."""
        return {target.name: target for target in self.targets() if not target.is_here}

    def other_machines(self) -> str:
        """The names of the targets that are not the emulator here; '' where there is none."""
        return ", ".join(target.name for target in self.targets() if target.name != "embedded")

    def describe_hosts(self) -> str:
        far = self._far()
        shown = (far[host.name].describe() if host.name in far else host.describe() for host in self.hosts())
        hosts = ", ".join(dict.fromkeys(shown))
        named = "compilers" if len(self.compilers) > 1 else "compiler"
        return f"gpu-repro: {hosts}" + (f"; {named} {', '.join(self.compilers)}" if self.compilers != (OURS,) else "")

    def name_of(self, host: Host) -> str:
        """The name of a host in the id of a case: with its compiler if there are several."""
        return host.name if len(self.compilers) == 1 else f"{host.name} {host.compiler}"

    def is_case(self, nodeid: str) -> bool:
        """Whether pytest calls a case so: `repros/one.py::p1`, `repros/one.py::p1 nvidia==4.6.3::width=8`."""
        return self._target_of(nodeid) in {target.name for target in self.targets()}

    def is_far(self, nodeid: str) -> bool:
        """Whether the case runs in a slot of a host over SSH, which is then shown."""
        return self._target_of(nodeid) in self._far()

    @staticmethod
    def _target_of(nodeid: str) -> str:
        return nodeid.partition("::")[2].partition("::")[0].partition(" ")[0]

    def transport(self, host: Host) -> Transport:
        place = (host.name, host.compiler)
        if place not in self._transports:
            for name, compiler in [key for key in self._transports if key[1] != host.compiler]:
                self._transports.pop((name, compiler)).close()  # one compiler at a time: each takes 1 GB
            self._transports[place] = host.connect()
        return self._transports[place]

    def run(
        self, case: Case, host: Host, timeout_s: float | None, fresh: bool, lines: bool = False
    ) -> tuple[Host, Outcome]:
        """Run a case on the host; return the host as it was found, too. `lines`: note which ran, if it is here."""
        if host.name in self._far():
            host, outcome = self._run_far(case, host, timeout_s, fresh)
        else:
            outcome = self._run_here(case, host, timeout_s, fresh, lines)
        if self.coverage:
            self.coverage.add(outcome.coverage)
        if verbosity.is_verbose():
            from harness.reporting import text_report

            verbosity.detail(text_report.details(case, host, outcome))
        return host, outcome

    def _run_here(self, case: Case, host: Host, timeout_s: float | None, fresh: bool, lines: bool) -> Outcome:
        from harness import judge

        return judge.run(
            self.transport(host), case, host, timeout_s, fresh, host.compiler, self.seed, sass=self.sass,
            checks=self.checks, perturb=self.perturb, told=lambda text: self.notify(Progress(text)),
            console=self.console, lines=lines, notes=self.notes,
            coverage=self.coverage is not None,
        )  # fmt: skip

    def begin(self, cases: Iterable[tuple[Case, Host]], timeout_s: float | None, fresh: bool) -> None:
        """Hand out the cases that run elsewhere, before the first outcome is asked for."""
        self.has_begun, far = True, self._far()
        requests = [self._request(case, host, timeout_s, fresh) for case, host in cases if host.name in far]
        if requests:
            self._get_fleet().submit(requests)

    def _request(self, case: Case, host: Host, timeout_s: float | None, fresh: bool) -> Request:
        from harness.fleet.fleet import Request

        key = f"{host.name} {host.compiler} {case.repro.path}::{case.name}"
        return Request(key, host.name, case, host.compiler, self.compilers.index(host.compiler), timeout_s, fresh)

    def _run_far(self, case: Case, host: Host, timeout_s: float | None, fresh: bool) -> tuple[Host, Outcome]:
        from harness.run import result

        self._awaited = self._request(case, host, timeout_s, fresh)
        try:
            ran = self._get_fleet().run(self._awaited)
        except LinkDown as error:
            return host, result.infra(str(error))
        finally:
            self._awaited = None
        if ran.host:
            host = replace(host, name=ran.host, device=ran.device, device_facts=dict(ran.device_facts or {}))
        return host, ran.outcome

    def _get_fleet(self) -> Fleet | Visitor:
        if self._fleet is None:
            from harness.fleet import door, events, fleet

            self.hosts()
            if self._door_of_another:
                self._fleet = door.Visitor(*self._door_of_another)
            else:
                plan = fleet.Plan(
                    *(self.root, self.seed, self.sass, self.checks, self.gpu_model, self._busy),
                    *(self.perturb, self.console, self.notes),
                )
                targets = list(self._far().values())
                self._fleet = fleet.Fleet(plan, targets, self._members, events.Shown(self), self._width)
        return self._fleet

    def open_door(self) -> tuple[str, bytes] | None:
        """The address at which processes of this run find its fleet; None if every case runs here."""
        if not self._far():
            return None
        if self._door is None:
            from harness.fleet.door import Door

            fleet: Any = self._get_fleet()
            self._door = Door(fleet)
        return self._door.address, self._door.key

    def queues(self) -> list[str]:
        """`pool:h100: 12 of 200 done, 8 running, 180 waiting`, of each target with more than one case."""
        lines = []
        for name, engine in getattr(self._fleet, "engines", dict)().items():
            counts, awaited = engine.counts(), self._awaited
            total = counts["done"] + counts["running"] + counts["waiting"]
            if total > 1:
                slots = "1 slot" if counts["slots"] == 1 else f"{counts['slots']} slots"
                line = f"{name}: {counts['done']} of {total} done, {counts['running']} running in {slots}, "
                line += f"{counts['waiting']} waiting"
                ahead = engine.ahead(awaited.key) if awaited and awaited.target == name else None
                lines.append(line + (f", {ahead} of them before the next result" if ahead else ""))
        return lines

    def notify(self, text: str) -> None:
        if self.live:
            self.live.phase(text)
        if self.note and not (self.live and isinstance(text, Progress)):
            self.note(text)

    def close(self) -> None:
        """End every supervisor, here and on every host."""
        if self._door:
            self._door.close()
        fleet, self._fleet, self._door = self._fleet, None, None
        if fleet:
            fleet.close()
        while self._transports:
            self._transports.popitem()[1].close()

    def take(self, data: dict[str, Any]) -> None:
        """Append the record of one verdict; its golden waits for the end of the run.

        Its large parts go to files: a run may have many such verdicts.
        """
        from harness.records import history

        large = ("blobs", "golden", "proposal", "launches")
        self.reports.append({key: data[key] for key in data if key not in large} | {"waits": bool(data["proposal"])})
        if data["golden"]:
            self._accepted.append(self._shelf.put(data["golden"]))
        repro = Path(data["repro"])
        directory = history.folder(repro, data["is_hardware"], root_of(repro))
        try:
            line = history.append(directory, data["record"], data["blobs"], self.record_run)
            self.wait(data, line["id"])
        except OSError as error:
            self.errors.append(f"a record could not be written: {error}")

    def wait(self, data: dict[str, Any], record: str) -> None:
        """Keep what nobody judged yet for `repro golden review`; what passed waits no longer. Raises OSError."""
        from harness.verdict import in_ci

        if in_ci():
            return
        root = root_of(Path(data["repro"]))
        if data["proposal"]:
            if not pending.propose(root, data, record):
                self.outside.add(Path(data["repro"]))
            elif data["record"]["verdict"] == "pass":
                self.not_accepted.add(Path(data["repro"]))
            else:
                self.waiting += 1
        elif data["record"]["verdict"] == "pass" and data["record"]["asked"] == OURS:
            pending.withdraw(root, data)

    def find_unused(self, whole: Iterable[Path]) -> list[Path]:
        """Goldens of no case, of the repro files that were collected whole: these files, or all in these folders.

        Goldens of a file that is gone are found where a whole folder was collected.
        """
        paths = [path.resolve() for path in whole]
        if not self.repros or not paths:
            return []
        from harness.comparison import golden, unused_goldens

        inside = {p: r for p, r in self.repros.items() if any(p.resolve().is_relative_to(path) for path in paths)}
        complete = {p: r for p, r in inside.items() if r and p not in self.narrowed}
        left_out = _may_be_repros({p.parent for p in inside}) - complete.keys()
        folders = [path for path in paths if path.is_dir()]
        unused = unused_goldens.unused(complete.values(), left_out, folders)
        mine = {golden.folder(path) for path in complete}
        return [
            path for path in unused
            if path.parent in mine or any(path.resolve().is_relative_to(folder) for folder in folders)
        ]  # fmt: skip

    def finish(self, interrupted: bool) -> None:
        """Write the accepted goldens, all of them or, after an interruption, none."""
        accepted, self._accepted = self._accepted, []
        if interrupted or not accepted:
            if accepted:
                self.errors.append(f"the run was interrupted: none of {len(accepted)} accepted goldens was written")
            return self._shelf.close()
        from harness.comparison import golden, unused_goldens

        goldens = (
            golden.Pending(path, text, {name: base64.b64decode(data) for name, data in sidecars.items()})
            for path, text, sidecars in (one.take() for one in accepted)
        )
        for path, error in golden.write_all(goldens).items():
            self.errors.append(f"the golden {short(path)} could not be written: {error}")
        self._shelf.close()
        self.unused = {path for path in self.unused if path.exists() and not unused_goldens.is_referenced(path)}

    def advice(self) -> list[str]:
        """Advice on results that nobody accepted: of repros that agree with expected(), or are in no project."""
        accept = "agrees with expected(), not accepted yet: `repro golden accept"
        lines = [f"{one} {accept} {shlex.quote(one)}`" for one in map(short, sorted(self.not_accepted))]
        return lines + [
            f"{short(path)} is in no project, so its result is not kept for `repro golden accept`\n"
            "fix: put a pyproject.toml into its folder or above it, or accept it with --update-goldens"
            for path in sorted(self.outside)
        ]

    def publish(self, tables: Sequence[dict[str, Any]], sarif: Path | None) -> None:
        """Write findings as SARIF, the coverage, and on GitHub the summary; `annotations` are to be printed then."""
        from harness.reporting import publish

        self.annotations, errors = publish.publish(tables, self.root, sarif)
        self.errors += errors
        if self.coverage and (why := self.coverage.write()):
            self.errors.append(f"--coverage: {why}")

    def write_table(self, path: Path) -> None:
        """Write what each compiler of this run makes of each claim, as Markdown."""
        from harness.reporting import release_table

        try:
            release_table.write(path, self.compilers, self.reports)
        except OSError as error:
            self.errors.append(f"the table {path} could not be written: {error}")

    def summary(self) -> list[tuple[str, list[str], bool]]:
        """Sections for the end of the run: title, lines, whether it is bad news."""
        if not (self.reports or self.unused or self.errors):
            return []
        from harness.reporting import text_report

        sections = []
        if self.errors:
            sections.append(("gpu-repro: not written", text_report.notes(self.errors, SHOWN_NOTES), True))
        if self.unused:
            sections.append(("gpu-repro: unused goldens", text_report.unused_goldens(sorted(self.unused)), True))
        lines = text_report.notes([note for data in self.reports for note in data["notes"]], SHOWN_NOTES)
        lines += self.advice()
        passed = [d for d in self.reports if d["record"]["verdict"] == "pass" and not d["waits"]]
        predicted = sum(not d["validated"] for d in passed)
        if predicted:
            claims = "claim" if predicted == 1 else "claims"
            lines.append(f"{predicted} {claims} on emulator only: predicted, not validated")
        if self.waiting:
            waits = "result waits" if self.waiting == 1 else "results wait"
            then = "then `repro golden accept` or `repro golden reject`"
            lines.append(f"{self.waiting} {waits} for you: `repro golden review`, {then}")
        if lines:
            sections.append(("gpu-repro", lines, False))
        return sections


def as_data(verdict: Verdict, repro: Path, is_hardware: bool, compiler: str = OURS) -> dict[str, Any]:
    """A verdict's record and golden as plain data, which xdist can carry to the process that writes."""
    from harness.records import history
    from harness.reporting import text_report

    return {
        "record": verdict.record,
        "blobs": history.blobs(verdict.outcome),
        "repro": str(repro),
        "is_hardware": is_hardware,
        "compiler": compiler,
        "brief": text_report.brief(verdict.outcome),
        "validated": verdict.validated,
        "expected": verdict.expected,
        "notes": verdict.notes,
        "golden": _files(verdict.pending),
        "proposal": _files(verdict.proposal),
        "launches": [launch for kernel in verdict.outcome.kernels for launch in kernel.get("launches", [])],
    }


def _files(files: Any) -> list[Any] | None:
    if files is None:
        return None
    sidecars = {name: base64.b64encode(data).decode() for name, data in files.sidecars.items()}
    return [files.path, files.text, sidecars]


def _may_be_repros(folders: Iterable[Path]) -> set[Path]:
    return {file for folder in folders for file in folder.iterdir() if file.suffix in SUFFIXES}
