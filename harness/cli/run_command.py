"""The command `repro run`."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import compiler_name, coverage_file, perturb_options, verbosity
from harness.claim import (
    BUSY_HELP,
    BUSY_WAYS,
    CHECKS_HELP,
    GPU_MODEL_HELP,
    NOTES_HELP,
    PERTURB_HELP,
    PYTHON,
    SUFFIXES,
    as_exit_status,
    as_gpu_model,
    as_seconds,
    as_seed,
    case_id,
    selection,
)
from harness.claim.repro_file import Case, is_repro, read, short
from harness.cli import choice, document, hosts_command, script_command, watching
from harness.errors import UsageError
from harness.session import Session, as_data
from harness.terminal import COLOUR_WHEN, say, wants_colour

if TYPE_CHECKING:
    from harness.host.hosts import Host
    from harness.verdict import Verdict

HOLDS, FAILS, NOT_RUN = 0, 1, 3

_RUN = """\
Run repros and judge them: did each end as it claims, does it agree with its expected(), its CHECK lines and its golden.
Any other Python program is run as `python FILE ARGS` runs it: what it prints comes live, this command has its exit
status, and `repro record history FILE` has what it printed.

  repro run repros/shuffle_width.py                       every combination of its params
  repro run repros/shuffle_width.py -p width=8            one value of one parameter
  repro run repros -k "shuffle and width=8"               all repros of a folder, or several files; -k as in pytest
  repro run -q repros                                     one line for each case
  repro run repros/shuffle_width.py --watch               again at every save, with what changed
  repro run repros/shuffle_width.py::p1::width=8          a case by the id that pytest prints: here on the host p1
  repro run repros/shuffle_width.py --update-goldens      accept what it gives now as its golden
  repro run repros/shuffle_width.py --host local          on this machine's CUDA device
  repro run repros/shuffle_width.py --host p1             on a host of ssh_config
  repro run repros/shuffle_width.py --compiler nvidia     compiled by nvidia-cutlass-dsl, run on the emulator
  repro run repros/shuffle_width.py --compiler nvidia==4.6.3 --compiler nvidia==4.5.3      by releases of it
  repro run repros/shuffle_width.py --sarif out.sarif     and write what was found for editors and code scanning
  repro run repros/shuffle_width.py --coverage .coverage  and write which lines and branches of it ran
  repro run repros/shuffle_width.py --perturb 20          and 20 times with warps delayed: a race shows two answers

  repro run script.py in.txt --host p1 -- --width 8       a script on p1; what follows -- is for the script
  repro run - --host p1 <<'PY'                            a script from standard input
  repro run 1c9e02ab-0004                                 a script's run again, by the id in `repro record history`

Exit status: 0 the claim holds, 1 it does not, 2 wrong usage, 3 it could not be run. Of a script its own, 1
where that is 0 and a kernel failed (--finding-status changes it), 124 after --timeout, 130 after Ctrl-C.
"""


def add(commands: Any) -> None:
    """Add the command."""
    run = document.command(commands, "run", "run one repro and read its verdict", _RUN, _run)
    run.add_argument(
        "file",
        metavar="FILE",
        help="a path, a name without .py, a folder, the id of a case or of a script's run, or - for standard input",
    )
    run.add_argument(
        "args", nargs="*", default=[], metavar="ARG", help="more repros; or arguments of a script, options after --"
    )
    run.add_argument("-k", dest="keyword", default="", metavar="EXPRESSION", help="only cases that fit, as in pytest")
    run.add_argument(
        "-p", dest="params", action="append", default=[], metavar="NAME=VALUE", help="run only this value; repeatable"
    )
    run.add_argument(
        "--host",
        metavar="HOST",
        help="run there: embedded (the emulator, default), local (this machine's GPU), a host of ssh_config, GPUs of "
        "one (p1:0-7), a pool of pyproject.toml (pool:NAME), or jobs of Slurm (slurm:PARTITION)",
    )
    run.add_argument("--busy", choices=BUSY_WAYS, default="wait", help=BUSY_HELP)
    hosts_command.add_settings(run)
    run.add_argument(
        "--compiler",
        type=compiler_name.typed,
        action="append",
        metavar="NAME",
        help="compile with ours (default), nvidia (nvidia-cutlass-dsl) or a release of it, nvidia==4.6.3; repeatable",
    )
    run.add_argument("--ptx", action="store_true", help="print the PTX of every kernel")
    run.add_argument("--sass", action="store_true", help="print the machine code of every kernel, and record it")
    run.add_argument(
        "--fresh", action="store_true", help="start a new interpreter for each case; default: fork a warm one"
    )
    run.add_argument(
        "--timeout",
        type=as_seconds,
        metavar="SECONDS",
        help="stop a case after this many seconds; default: the repro's own timeout",
    )
    run.add_argument(
        "--seed",
        type=as_seed,
        default=0,
        metavar="N",
        help="start random numbers and the emulator's order of threads here",
    )
    run.add_argument("--perturb", type=int, metavar="N", help=PERTURB_HELP)
    run.add_argument("--delays", metavar="LIST", help=perturb_options.DELAYS_HELP)
    run.add_argument("--schedule", metavar="LIST", help=perturb_options.SCHEDULE_HELP)
    run.add_argument("--gpu-model", type=as_gpu_model, metavar="NAME", help=GPU_MODEL_HELP)
    run.add_argument("--check", metavar="NAMES", help=CHECKS_HELP)
    run.add_argument("--notes", action="store_true", help=NOTES_HELP)
    run.add_argument("--coverage", type=Path, metavar="FILE", help=coverage_file.HELP)
    run.add_argument("--update-goldens", action="store_true", help="accept what this run gives as its goldens")
    run.add_argument(
        "--watch", action="store_true", help="run again when the file is saved and show what changed; records nothing"
    )
    run.add_argument(
        "--color", choices=COLOUR_WHEN, default="auto", help="colour the verdicts (default: on a terminal)"
    )
    run.add_argument("--full-traceback", action="store_true", help="show frames inside the compiler in tracebacks")
    run.add_argument(
        "--finding-status",
        type=as_exit_status,
        metavar="N",
        help="exit with N, not 1, if a kernel of a script failed and the script itself did not choose a status",
    )
    run.add_argument("--sarif", type=Path, metavar="FILE", help="write what was found as SARIF 2.1.0")


def _run(arguments: argparse.Namespace) -> int:
    if _is_file(arguments.file):
        script = script_command.given(arguments.file, tuple(arguments.args))
    else:
        script = script_command.again(arguments)
    if script:
        arguments.host = arguments.host or "embedded"
        if arguments.watch:
            return watching.watch_script(script, arguments, lambda: _session(script.path, arguments))
        return script_command.run(script, _session(script.path, arguments), arguments)
    if arguments.finding_status is not None:
        raise UsageError("--finding-status is for scripts: a claim states its outcome in the file's block")
    names = [arguments.file, *arguments.args]
    if not all(names):
        raise UsageError(f"a name {document.EMPTY}")
    wanted = [case_id.parse(name) for name in names]
    arguments.host = arguments.host or _one_of("hosts", [one.host for one in wanted]) or "embedded"
    compiler = _one_of("compilers", [one.compiler for one in wanted])
    arguments.compiler = arguments.compiler or ([compiler] if compiler else None)
    if arguments.watch:
        if len(names) > 1 or Path(names[0]).is_dir():
            raise UsageError("--watch runs one file again at every save: name one repro")
        path = choice.path_of(wanted[0].file).resolve()
        return watching.watch(arguments, path, lambda: _cases(wanted, arguments), lambda: _session(path, arguments))
    cases = _cases(wanted, arguments)
    if not cases:
        raise UsageError(choice.nothing_fits(wanted[0].file, arguments.keyword))
    return _judge_all(cases, arguments)


def _one_of(what: str, names: Sequence[str | None]) -> str | None:
    """The host or compiler that ids of cases name. Raises UsageError for two."""
    named = list(dict.fromkeys(filter(None, names)))
    if len(named) > 1:
        raise UsageError(f"the ids name several {what}, {', '.join(named)}: run them one after another")
    return named[0] if named else None


def _cases(wanted: Sequence[case_id.CaseId], arguments: argparse.Namespace) -> list[Case]:
    """The cases of the files, folders and ids. Raises UsageError, ReproError."""
    fits, cases = selection.matcher(arguments.keyword), []
    for one in wanted:
        if Path(one.file).is_dir():
            paths = selection.repros_in(Path(one.file))
        else:
            paths = [choice.path_of(one.file)]
        for path in paths:
            if len(wanted) > 1 and not path.is_file():
                raise UsageError(f"there is no file {path}; a repro takes no arguments: -p NAME=VALUE chooses a value")
            if len(wanted) > 1 and not is_repro(path.read_bytes()):
                raise UsageError(f"{short(path)} is a script: run it alone, as `repro run {short(path)}`")
            options = list(dict.fromkeys([*arguments.params, *(one.case.split(",") if one.case else ())]))
            cases += choice.chosen(read(path.resolve()), options)
    return [case for case in cases if fits(case_id.name(short(case.repro.path), case.name))]


def _is_file(name: str) -> bool:
    return name == "-" or Path(name).is_file()


def _session(file: Path, arguments: argparse.Namespace) -> Session:
    from harness.records import history

    root, settings = history.root_of(file), hosts_command.settings_of(arguments)
    about = arguments.compiler or (), arguments.seed, arguments.sass, arguments.check, arguments.gpu_model
    more = {
        "busy": arguments.busy,
        "notes": arguments.notes,
        "coverage": _coverage(file, arguments),
        "perturb": perturb_options.wanted(arguments.perturb, arguments.delays, arguments.schedule),
    }
    return Session(root, [arguments.host], arguments.update_goldens, settings, verbosity.note, *about, **more)


def _coverage(file: Path, arguments: argparse.Namespace) -> coverage_file.CoverageFile | None:
    """The file for coverage, None if none is asked for. Raises UsageError."""
    if arguments.coverage is None:
        return None
    if file.suffix in SUFFIXES and file.suffix != PYTHON:
        raise UsageError(f"--coverage follows functions in Python, not {short(file)}: leave it out")
    return coverage_file.CoverageFile(arguments.coverage)


def _judge_all(cases: list[Case], arguments: argparse.Namespace) -> int:
    from harness import judge
    from harness.reporting import case_table

    session = _session(cases[0].repro.path, arguments)
    worst, tables = HOLDS, []
    try:
        every = list(itertools.product(session.hosts(), cases))
        session.begin([(case, host) for host, case in every], arguments.timeout, arguments.fresh)
        for host, case in every:
            host, outcome = session.run(case, host, arguments.timeout, arguments.fresh)
            verdict = judge.judge(case, host, outcome, session.root, arguments.update_goldens)
            session.take(as_data(verdict, case.repro.path, host.is_hardware, host.compiler))
            table = case_table.of(case, host, verdict, session.root)
            tables.append(case_table.with_output(table, outcome, arguments.ptx, arguments.sass))
            _print(case, host, session.said.shown(verdict, case_id.name(short(case.repro.path), case.name)), arguments)
            worst = max(worst, {"pass": HOLDS, "skip": HOLDS, "infra": NOT_RUN}.get(verdict.status, FAILS))
    finally:
        session.close()
    session.finish(interrupted=False)
    session.publish(tables, arguments.sarif)
    for line in session.annotations:
        say(line)
    for line in session.advice():
        verbosity.note(line, sys.stdout)
    for error in session.errors:
        say(error, file=sys.stderr)
    document.give(arguments, {"cases": tables, "scripts": [], "advice": session.advice(), "errors": session.errors})
    return max(worst, NOT_RUN) if session.errors else worst


def _print(case: Case, host: Host, verdict: Verdict, arguments: argparse.Namespace) -> None:
    from harness.reporting import text_report

    outcome, text = verdict.outcome, text_report.verdict(case, host, verdict)
    is_coloured = wants_colour(sys.stdout, arguments.color)
    if verbosity.is_quiet():
        name, line, *_ = text.split("\n")
        status, _, why = line.partition(": ")
        say(f"{status}: {name}: {why}", colour=is_coloured)
        return
    say(text, colour=is_coloured)
    for title, text in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
        if text:
            say(f"--- {title} of the repro\n{text_report.capped(text).rstrip()}")
    if arguments.full_traceback and outcome.full_text:
        say(f"--- with the frames inside the compiler\n{outcome.full_text.rstrip()}")
    for text in text_report.code(outcome, arguments.ptx, arguments.sass):
        say(text)
    sys.stdout.flush()
