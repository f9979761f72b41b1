"""The pytest plugin: hooks only. It collects repros from their text and hands each case to the judge.

Everything slow (numpy, the judge) is imported when the first repro runs, never for other people's tests.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import pytest

from harness.claim import (
    BUSY_HELP,
    BUSY_WAYS,
    CHECKS_HELP,
    GPU_MODEL_HELP,
    NOTES_HELP,
    PERTURB_HELP,
    SUFFIXES,
    as_gpu_model,
    as_seconds,
    as_seed,
)
from harness.errors import NoDevice, UsageError
from harness.terminal import printable, say

if TYPE_CHECKING:
    from harness.claim.case_id import CaseId
    from harness.claim.repro_file import Case, Repro
    from harness.host.hosts import Host
    from harness.run.progress import Live
    from harness.session import Session
    from harness.verdict import Verdict

_SESSION: pytest.StashKey[Session] = pytest.StashKey()
_NO_DEVICE: pytest.StashKey[str] = pytest.StashKey()
_NOT_READ: pytest.StashKey[int] = pytest.StashKey()
_DEFAULTS: dict[str, Any] = {}  # of each option of ours
_SHIPPED: pytest.StashKey[dict[str, Case]] = pytest.StashKey()  # by the id of an ordinary test: what runs it elsewhere


_FIRST = ("pytest_addoption", "pytest_configure", "pytest_collect_file")  # hooks; the others wait for a repro


def __dir__() -> Sequence[str]:
    """The hooks that pytest finds: it looks at every name of a plugin, in each run of other people's tests."""
    return _FIRST


class ClaimFailed(Exception):
    """The text of a verdict that is not pass or skip."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options; each with its `dest`, because pytest compares one that it derives with all there are."""
    group = parser.getgroup("gpu-repro", "gpu-repro: claims about GPU languages, run and judged")
    group.addoption(
        "--gpu-host",
        dest="gpu_host",
        action="append",
        metavar="HOST",
        help="run repros there: embedded (the emulator; default), local (this machine's GPU), a host of ssh_config, "
        "GPUs of one (p1:0-7), a pool of pyproject.toml (pool:NAME) or jobs of Slurm (slurm:PARTITION), over whose "
        "GPUs they are spread; repeatable: everything on each",
    )
    group.addoption(
        "--gpu-all",
        dest="gpu_all",
        action="store_true",
        help="run ordinary tests on the host of --gpu-host too, each in a process there",
    )
    group.addoption("--gpu-busy", dest="gpu_busy", choices=BUSY_WAYS, default="wait", help=BUSY_HELP)
    group.addoption(
        "--gpu-set",
        dest="gpu_set",
        action="append",
        default=[],
        metavar="HOST.KEY=VALUE",
        help="change a setting of a host over SSH; repeatable",
    )
    group.addoption(
        "--gpu-compiler",
        "--compiler",
        dest="compiler",
        type=_compiler_name,
        action="append",
        metavar="NAME",
        help="compile repros with ours (default), nvidia (the nvidia-cutlass-dsl installed where they "
        "run) or a release of it, nvidia==4.6.3, in an environment made for it; repeatable",
    )
    group.addoption(
        "--gpu-release-table",
        "--release-table",
        dest="release_table",
        type=Path,
        metavar="FILE",
        help="write which claims each compiler of this run keeps",
    )
    group.addoption(
        "--gpu-sarif", dest="gpu_sarif", type=Path, metavar="FILE", help="write the findings of repros as SARIF 2.1.0"
    )
    group.addoption(
        "--gpu-bootstrap", dest="gpu_bootstrap", action="store_true", help="bring uv to hosts that have none"
    )
    group.addoption(
        "--gpu-timeout",
        dest="gpu_timeout",
        type=as_seconds,
        metavar="SECONDS",
        help="stop a case after this many seconds; default: the repro's own timeout",
    )
    group.addoption(
        "--gpu-seed",
        dest="gpu_seed",
        type=as_seed,
        default=0,
        metavar="N",
        help="start random numbers and the emulator's order of threads here (default 0: the fastest order)",
    )
    group.addoption("--gpu-check", dest="gpu_check", metavar="NAMES", help=CHECKS_HELP)
    group.addoption("--gpu-notes", dest="gpu_notes", action="store_true", help=NOTES_HELP)
    group.addoption("--gpu-model", dest="gpu_model", type=as_gpu_model, metavar="NAME", help=GPU_MODEL_HELP)
    group.addoption("--gpu-perturb", dest="gpu_perturb", type=int, metavar="N", help=PERTURB_HELP)
    group.addoption(
        "--gpu-sass",
        dest="gpu_sass",
        action="store_true",
        help="record machine code on the emulator too (ptxas and nvdisasm: 0.4 s)",
    )
    group.addoption(
        "--gpu-update-goldens",
        "--update-goldens",
        dest="update_goldens",
        action="store_true",
        help="accept what the repros of this run give as their goldens",
    )
    group.addoption(
        "--gpu-full-traceback",
        "--full-traceback",
        dest="full_traceback",
        action="store_true",
        help="show frames inside the compiler in tracebacks; so does --full-trace",
    )
    group.addoption(
        "--gpu-strict",
        dest="gpu_strict",
        action="store_true",
        help="fail a case that has no golden although it agrees with its expected(); so it is where CI is set",
    )
    group.addoption(
        "--gpu-fresh",
        "--fresh",
        dest="fresh",
        action="store_true",
        help="start a new interpreter for each case; default: fork a warm one",
    )
    _DEFAULTS.update({one.dest: one.attrs().get("default") for one in group.options})


def _compiler_name(text: str) -> str:
    from harness import compiler_name  # noqa: PLC0415

    return compiler_name.typed(text)


def pytest_configure(config: pytest.Config) -> None:
    option = config.option
    if option.keyword:
        from harness.claim import case_id  # noqa: PLC0415

        option.keyword = case_id.keyword(option.keyword)
    ids = _ids(config)
    if not hasattr(option, "gpu_default_host"):  # a worker of xdist has it from the controller
        option.gpu_default_host = None if option.gpu_host else "embedded"  # of arguments that name no host
    if not option.gpu_host:
        named = dict.fromkeys((ids[text].host if text in ids else None) or "embedded" for text in config.args)
        option.gpu_host = [] if set(named) <= {"embedded"} else list(named)
    if not option.compiler:
        option.compiler = list(dict.fromkeys(one.compiler for one in ids.values() if one.compiler))
    if ids or getattr(option, "tx", None) or _is_asked(option):
        _name_hosts(config, ids, _session(config))


def _is_asked(option: Any) -> bool:
    """Whether the command line or the configuration has an option of ours."""
    return any((getattr(option, name) or None) != (given or None) for name, given in _DEFAULTS.items())


def _session(config: pytest.Config) -> Session:
    """The run of this process, and the hooks that serve it. Made when it is needed: its imports take longer than most
    small test suites."""
    if _SESSION not in config.stash:
        config.stash[_SESSION] = _made(config)
        later = ModuleType("gpu-repro-session")
        hooks = [name for name in globals() if name.startswith("pytest_") and name not in _FIRST]
        vars(later).update((name, globals()[name]) for name in hooks)
        config.pluginmanager.register(later, later.__name__)
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(_Controller(config), "gpu-repro-controller")
    return config.stash[_SESSION]


def _made(config: pytest.Config) -> Session:
    from harness.perturb_options import wanted  # noqa: PLC0415
    from harness.session import Session  # noqa: PLC0415
    from harness.store import root_of  # noqa: PLC0415

    option = config.option
    try:
        settings = [*option.gpu_set, *(["*.bootstrap=true"] if option.gpu_bootstrap else [])]
        update, note = option.update_goldens, _notes(config)
        root = root_of(config.rootpath / "_")  # pytest takes the folder that was named where nothing configures it
        compilers, seed, sass = option.compiler or (), option.gpu_seed, option.gpu_sass
        about = compilers, seed, sass, option.gpu_check, option.gpu_model
        door = getattr(config, "workerinput", {}).get("gpu_repro_door")
        width = lambda: len(getattr(option, "tx", None) or ()) or 1  # noqa: E731 - known only after this hook
        more = option.gpu_busy, width, (door[0], bytes.fromhex(door[1])) if door else None, wanted(option.gpu_perturb)
        more += (option.gpu_notes,)
        session = Session(root, option.gpu_host or (), update, settings, note, *about, *more)
    except UsageError as error:
        raise pytest.UsageError(printable(str(error))) from None
    if option.gpu_all and len(session.hosts()) != 1:
        raise pytest.UsageError("--gpu-all needs one --gpu-host, and one compiler: where ordinary tests are to run")
    return session


def _ids(config: pytest.Config) -> dict[str, CaseId]:
    """Which arguments are ids of cases of repros; what they leave out or name besides is asked for."""
    folder = config.invocation_params.dir
    texts = [text for text in config.args if "::" in text and _holds_repro(folder / text.partition("::")[0])]
    if not texts:
        return {}
    from harness.claim import case_id  # noqa: PLC0415

    return {text: case_id.parse(text) for text in texts}


def _name_hosts(config: pytest.Config, ids: dict[str, CaseId], session: Session) -> None:
    """Make each id what items are called in this run: on every host that it may mean."""
    args = []
    default = config.option.gpu_default_host
    for text in config.args:
        one = ids.get(text)
        if one and one.host:
            path = (config.invocation_params.dir / one.file).resolve()
            session.named_hosts.setdefault(path, {}).setdefault(one.host, set()).add(one.case)
        if one is None or not (one.host or one.case):
            args.append(text)
            continue
        host_name = one.host or default
        hosts = [h for h in session.hosts() if host_name in (None, h.name) and one.compiler in (None, h.compiler)]
        tail = [one.case] if one.case else []
        args += ["::".join([one.file, session.name_of(host), *tail]) for host in hosts] or [text]
    config.args = args


def _notes(config: pytest.Config) -> Callable[[str], None]:
    """Return a function that shows a host's notes while it works, around pytest's capturing."""

    def note(text: str) -> None:
        terminal = config.pluginmanager.get_plugin("terminalreporter")
        capture = config.pluginmanager.get_plugin("capturemanager")
        if terminal is not None and capture is not None:
            with capture.global_and_fixture_disabled():
                terminal.ensure_newline()
                terminal.write_line(printable(text))

    return note


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_SESSION].close()


class _Controller:
    """Takes the reports of every worker: records and goldens have one writer. Shows what runs."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.live: Live | None = None

    @property
    def session(self) -> Session | None:
        return self.config.stash.get(_SESSION, None)

    @pytest.hookimpl(tryfirst=True)  # before pytest names the file
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        session = self.session
        if session and session.is_case(nodeid):
            if self.live is None:
                from harness.run import progress

                self.live = session.live = progress.of_pytest(self.config, session.queues)
            if self.live and session.is_far(nodeid):
                self.live.watch()  # its slot is shown when it begins there
            elif self.live:
                self.live.start(nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if self.live:
            self.live.end(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        session = self.session
        if session is None:
            return
        if report.when == "setup" and not session.is_case(report.nodeid):
            session.ordinary += 1
        data = getattr(report, "gpu_repro", None)
        if data:
            session.take(data)
            cast(Any, report).gpu_repro = {key: data[key] for key in ("record", "expected")}  # pytest keeps reports


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Generator[None, Any, Any]:
    collected = yield
    if file_path.suffix not in SUFFIXES or file_path.name == "conftest.py":
        return collected
    if any(file_path.match(pattern) for pattern in parent.config.getini("python_files")) or not _holds_repro(file_path):
        return collected
    return [ReproFile.from_parent(parent, path=file_path)]  # and not also as a test module, which would import it


def _holds_repro(path: Path) -> bool:
    try:
        data = path.read_bytes()
    except OSError:
        return False
    if b"tool.repro" not in data:
        return False
    from harness.claim.repro_file import is_repro  # noqa: PLC0415

    return is_repro(data)


class ReproFile(pytest.File):
    """One repro: a collector for each host."""

    repro: Repro | None = None

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        from harness.claim.repro_file import read  # noqa: PLC0415

        session = _session(self.config)
        session.repros[self.path] = None
        self.repro = session.repros[self.path] = read(self.path)
        default = self.config.option.gpu_default_host
        mine = {default, *session.named_hosts.get(self.path.resolve(), ())}
        try:
            hosts = session.hosts()
        except NoDevice as error:
            self.config.stash[_NO_DEVICE] = str(error)
            return
        for host in hosts:
            if default and host.name not in mine:
                continue
            name = session.name_of(host)
            if self.repro.params:
                yield HostCollector.from_parent(self, name=name, host=host)
            else:
                yield ReproItem.from_parent(self, name=name, host=host, case=next(self.repro.cases()))

    def repr_failure(self, excinfo: pytest.ExceptionInfo) -> Any:
        from harness.claim.repro_file import ReproError  # noqa: PLC0415

        if isinstance(excinfo.value, ReproError):
            self.session.stash[_NOT_READ] = self.session.stash.get(_NOT_READ, 0) + 1
            return printable(str(excinfo.value))
        return super().repr_failure(excinfo)


class HostCollector(pytest.Collector):
    """One repro on one host: an item for each case."""

    def __init__(self, *, host: Host, **kw: Any) -> None:
        super().__init__(**kw)
        self.host = host

    def collect(self) -> Iterator[pytest.Item]:
        repro: Any = self.parent
        for case in repro.repro.cases():
            if not self._is_asked(case):
                continue
            yield ReproItem.from_parent(self, name=case.name, host=self.host, case=case)

    def _is_asked(self, case: Case) -> bool:
        """Whether the case is to run here: a host that only ids name runs the cases that they name. A folder that is
        given with the ids, and holds the file, means the default host."""
        default = self.config.option.gpu_default_host
        if default is None or self.host.name == default:
            return True
        named = self.config.stash[_SESSION].named_hosts.get(self.path.resolve(), {}).get(self.host.name, set())
        return None in named or case.name in named


class ReproItem(pytest.Item):
    """One case on one host."""

    verdict: Verdict | None = None

    def __init__(self, *, host: Host, case: Case, **kw: Any) -> None:
        super().__init__(**kw)
        from harness.claim import case_id  # noqa: PLC0415

        self.host, self.case = host, case
        short_id = case_id.name(self.nodeid.partition("::")[0], case.name)
        self.extra_keyword_matches |= {case_id.keyword(self.nodeid), case_id.keyword(short_id)}

    def runtest(self) -> None:
        from harness import judge, store  # noqa: PLC0415
        from harness.reporting import case_findings, text_report as report

        option, session = self.config.option, self.config.stash[_SESSION]
        _begin(self.session)
        self.host, outcome = session.run(self.case, self.host, option.gpu_timeout, option.fresh)
        root = store.root_of(self.path)
        verdict = judge.judge(self.case, self.host, outcome, root, option.update_goldens, option.gpu_strict)
        if option.gpu_notes:
            verdict.notes += case_findings.notes(outcome, self.case.repro, root)
        self.verdict = verdict
        self.user_properties += report.properties(self.host, verdict)
        if outcome.stdout:
            self.add_report_section("call", "stdout of the repro", printable(report.capped(outcome.stdout)))
        if outcome.stderr:
            self.add_report_section("call", "stderr of the repro", printable(report.capped(outcome.stderr)))
        if outcome.full_text and (option.full_traceback or option.fulltrace):
            self.add_report_section(
                "call", "traceback with the frames inside the compiler", printable(outcome.full_text)
            )
        if option.verbose > 0:
            self.add_report_section("call", "details", printable(report.details(self.case, self.host, outcome)))
        if verdict.status == "skip":
            pytest.skip(printable(verdict.text))
        if verdict.status != "pass":
            raise ClaimFailed(report.failure(self.case, self.host, session.said.shown(verdict, self.nodeid)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo, style: Any = None) -> Any:
        if isinstance(excinfo.value, ClaimFailed):
            return printable(str(excinfo.value))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"claim {self.nodeid}"


def _begin(session: pytest.Session) -> None:
    """Hand out what runs elsewhere, once, before the first outcome is asked for."""
    run, option, items = session.config.stash[_SESSION], session.config.option, session.items
    if run.has_begun:
        return
    cases = [(item.case, item.host) for item in items if isinstance(item, ReproItem)]
    if option.gpu_all:
        from harness import shipped_tests  # noqa: PLC0415

        ordinary = [item for item in items if not isinstance(item, ReproItem)]
        shipped = session.stash[_SHIPPED] = shipped_tests.cases(ordinary, run.root)
        cases += [(case, run.hosts()[0]) for case in shipped.values()]
    run.begin(cases, option.gpu_timeout, option.fresh)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """With --gpu-all an ordinary test runs on the host, and what it came to there is reported here."""
    option = item.config.option
    if not option.gpu_all or isinstance(item, ReproItem):
        return None
    from harness import shipped_tests  # noqa: PLC0415

    run = item.config.stash[_SESSION]
    _begin(item.session)
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    case = item.session.stash[_SHIPPED][item.nodeid]
    host, outcome = run.run(case, run.hosts()[0], option.gpu_timeout, option.fresh)
    for report in shipped_tests.reports(item, outcome, host.describe()):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Generator[None, Any, Any]:
    """Attach the verdict's record and golden to the report, as plain data that xdist can carry to the controller."""
    report = yield
    verdict = item.verdict if isinstance(item, ReproItem) and call.when == "call" else None
    if verdict is not None:
        from harness.reporting import case_table
        from harness.session import as_data  # noqa: PLC0415

        host, case = cast(Any, item).host, cast(Any, item).case
        table = case_table.of(case, host, verdict, item.config.stash[_SESSION].root)
        report.gpu_repro = as_data(verdict, item.path, host.is_hardware, host.compiler) | {"table": table}
        cast(Any, item).verdict = None  # pytest keeps items
        if verdict.expected:
            report.wasxfail = printable(verdict.expected)  # what `-rx` lists
    return report


def pytest_report_teststatus(report: Any) -> tuple[str, str, str] | None:
    """A case that could not be run is an error, not a failed claim; what the repro expects to fail is not a pass."""
    data = getattr(report, "gpu_repro", None)
    if data and report.failed and data["record"]["verdict"] == "infra":
        return "error", "E", "INFRA"
    if data and report.failed and data["record"]["reason"] == "unexpected pass":
        return "failed", "X", "XPASS"
    if data and report.passed and data["expected"]:
        return "xfailed", "x", "XFAIL"
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Run the rest if the only errors are files that are not repros: they are errors of the run all the same."""
    option = session.config.option
    if session.testsfailed == session.stash.get(_NOT_READ, 0) and not (session.shouldfail or option.collectonly):
        option.continue_on_collection_errors = True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the cases by compiler: a process of each takes 1 GB. Without the device of a repro nothing runs."""
    if _NO_DEVICE in config.stash:
        if getattr(config, "workerinput", {}).get("workerid") == "gw0":  # xdist does not pass the reason on
            say(config.stash[_NO_DEVICE], sys.stderr)
        pytest.exit(config.stash[_NO_DEVICE], returncode=3)
    run = config.stash.get(_SESSION, None)
    order = {name: place for place, name in enumerate(run.compilers if run else ())}
    if len(order) > 1:
        items.sort(key=lambda item: order[item.host.compiler] if isinstance(item, ReproItem) else -1)


def pytest_deselected(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, ReproItem):
            item.config.stash[_SESSION].narrowed.add(item.path)


def pytest_report_header(config: pytest.Config) -> str | None:
    option = config.option
    return printable(config.stash[_SESSION].describe_hosts()) if option.gpu_host or option.compiler else None


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> str | None:
    if pytest_report_header(config) or config.option.verbose < 0:
        return None
    if not any(isinstance(item, ReproItem) for item in items):
        return None
    return printable(config.stash[_SESSION].describe_hosts())


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    config, run = session.config, session.config.stash.get(_SESSION, None)
    if run is None:
        return
    if run.live:
        run.live.close()
    run.close()
    interrupted = exitstatus not in (0, 1, 5)
    unused = [] if interrupted or config.option.collectonly else run.find_unused(_whole(config))
    if hasattr(config, "workeroutput"):
        cast(Any, config).workeroutput["gpu_repro_unused"] = [str(path) for path in unused]
        return
    run.unused |= set(unused)
    run.finish(interrupted)
    if not config.option.collectonly:
        run.publish([data["table"] for data in run.reports], config.option.gpu_sarif)
    if config.option.release_table and not interrupted and not config.option.collectonly:
        run.write_table(config.option.release_table)
    if (run.unused or run.errors) and session.exitstatus in (0, 5):
        session.exitstatus = 1


def _whole(config: pytest.Config) -> list[Path]:
    """The files and folders that were asked for whole; these options leave files out without a word."""
    if any(config.getoption(name, default=None) for name in ("lf", "ignore", "ignore_glob")):
        return []
    return [path for path in (config.invocation_params.dir / arg for arg in config.args) if path.exists()]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """A worker of xdist asks this process, which holds the connections."""
    door = node.config.stash[_SESSION].open_door()
    if door:
        node.workerinput["gpu_repro_door"] = (door[0], door[1].hex())


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    output = getattr(node, "workeroutput", None) or {}
    node.config.stash[_SESSION].unused |= {Path(path) for path in output.get("gpu_repro_unused", ())}


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    run = config.stash.get(_SESSION, None)
    if run is None:
        return
    if run.ordinary and config.option.gpu_host and not config.option.gpu_all and (names := run.other_machines()):
        tests = "1 ordinary test" if run.ordinary == 1 else f"{run.ordinary} ordinary tests"
        text = f"gpu-repro: {tests} ran here, not on {names}: --gpu-all runs them there"
        terminalreporter.line(printable(text), yellow=True)
    for line in run.annotations:
        terminalreporter.write_line(line)
    for title, lines, is_bad in run.summary():
        terminalreporter.section(title, red=is_bad, yellow=not is_bad)
        for line in lines:
            terminalreporter.line(printable(line))
