"""The command `repro run`."""

from __future__ import annotations

import argparse
import itertools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import perturb_options
from harness.claim import case_id, findings
from harness.claim.repro_file import Case, read, short
from harness.cli import choice, document, hosts_command, script_command, watching
from harness.errors import UsageError
from harness.fleet import BUSY_HELP, BUSY_WAYS
from harness.session import Session, as_data
from harness.terminal import say

if TYPE_CHECKING:
    from harness.host.hosts import Host
    from harness.verdict import Verdict

HOLDS, FAILS, NOT_RUN = 0, 1, 3

_RUN = """\
Run one repro and judge it: did it end as it claims, does it agree with its expected(), its CHECK lines and its golden.
Any other Python program is run as `python FILE ARGS` runs it: what it prints comes live, this command has its exit
status, and `repro record history FILE` has what it printed.

  repro run repros/shuffle_width.py                       every combination of its params
  repro run repros/shuffle_width.py -p width=8            one value of one parameter
  repro run repros/shuffle_width.py --watch               again at every save, with what changed
  repro run repros/shuffle_width.py::p1::width=8          a case by the id that pytest prints: here on the host p1
  repro run repros/shuffle_width.py --update-goldens      accept what it gives now as its golden
  repro run repros/shuffle_width.py --host local          on this machine's CUDA device
  repro run repros/shuffle_width.py --host p1             on a host of ssh_config
  repro run repros/shuffle_width.py --compiler nvidia     compiled by nvidia-cutlass-dsl, run on the emulator
  repro run repros/shuffle_width.py --compiler nvidia==4.6.3 --compiler nvidia==4.5.3      by releases of it
  repro run repros/shuffle_width.py --sarif out.sarif     and write what was found for editors and code scanning
  repro run repros/shuffle_width.py --perturb 20          and 20 times with warps delayed: a race shows two answers

  repro run script.py in.txt --host p1 -- --width 8       a script on p1; what follows -- is for the script
  repro run - --host p1 <<'PY'                            a script from standard input
  repro run 1c9e02ab-0004                                 a script's run again, by the id in `repro record history`

Exit status: 0 the claim holds, 1 it does not, 2 wrong usage, 3 it could not be run. Of a script its own, 1
where that is 0 and a kernel failed, 124 after --timeout, 130 after Ctrl-C.
"""


def add(commands: Any) -> None:
    """Add the command."""
    run = document.command(commands, "run", "run one repro and read its verdict", _RUN, _run)
    run.add_argument(
        "file",
        metavar="FILE",
        help="a path, a name without .py, the id of a case or of a script's run, or - for a program on standard input",
    )
    run.add_argument("args", nargs="*", metavar="ARGS", help="arguments of a script; put its options after --")
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
        action="append",
        metavar="NAME",
        help="compile with embedded (ours, default), nvidia or a release of it, nvidia==4.6.3; repeatable",
    )
    run.add_argument("--ptx", action="store_true", help="print the PTX of every kernel")
    run.add_argument("--sass", action="store_true", help="print the machine code of every kernel, and record it")
    run.add_argument(
        "--fresh", action="store_true", help="start a new interpreter for each case; default: fork a warm one"
    )
    run.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="stop a case after so long; default: the repro's own timeout"
    )
    run.add_argument(
        "--seed", type=int, default=0, metavar="N", help="start random numbers and the emulator's order of threads here"
    )
    run.add_argument("--perturb", type=int, metavar="N", help=perturb_options.PERTURB_HELP)
    run.add_argument("--delays", metavar="LIST", help=perturb_options.DELAYS_HELP)
    run.add_argument("--gpu-model", metavar="NAME", help=findings.GPU_MODEL_HELP)
    run.add_argument("--check", metavar="NAMES", help=findings.CHECKS_HELP)
    run.add_argument("--update-goldens", action="store_true", help="accept what this run gives as its goldens")
    run.add_argument(
        "--watch", action="store_true", help="run again when the file is saved and show what changed; records nothing"
    )
    run.add_argument("--full-trace", action="store_true", help="show frames inside the compiler in tracebacks")
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
    if arguments.args:
        raise UsageError(
            f"{arguments.file} is a repro, which takes no arguments: {' '.join(arguments.args)}\n"
            "fix: -p NAME=VALUE chooses a value of its params"
        )
    wanted = case_id.parse(arguments.file)
    path = choice.path_of(wanted.file).resolve()
    options = [*arguments.params, *(wanted.case.split(",") if wanted.case else ())]
    arguments.host = arguments.host or wanted.host or "embedded"
    arguments.compiler = arguments.compiler or ([wanted.compiler] if wanted.compiler else None)
    if arguments.watch:
        return watching.watch(
            arguments, path, lambda: choice.chosen(read(path), options), lambda: _session(path, arguments)
        )
    return _judge_all(choice.chosen(read(path), options), arguments)


def _is_file(name: str) -> bool:
    return name == "-" or Path(name).is_file()


def _session(file: Path, arguments: argparse.Namespace) -> Session:
    from harness.records import history

    root, settings = history.root_of(file), hosts_command.settings_of(arguments)
    about = arguments.compiler or (), arguments.seed, arguments.sass, arguments.check, arguments.gpu_model
    more = {"busy": arguments.busy, "perturb": perturb_options.wanted(arguments.perturb, arguments.delays)}
    return Session(root, [arguments.host], arguments.update_goldens, settings, hosts_command.note, *about, **more)


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
    for line in [*session.annotations, *session.advice()]:
        say(line)
    for error in session.errors:
        say(error, file=sys.stderr)
    document.give(arguments, {"cases": tables, "scripts": [], "advice": session.advice(), "errors": session.errors})
    return max(worst, NOT_RUN) if session.errors else worst


def _print(case: Case, host: Host, verdict: Verdict, arguments: argparse.Namespace) -> None:
    from harness.reporting import text_report

    outcome = verdict.outcome
    say(text_report.verdict(case, host, verdict))
    for title, text in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
        if text:
            say(f"--- {title} of the repro\n{text_report.capped(text).rstrip()}")
    if arguments.full_trace and outcome.full_text:
        say(f"--- with the frames inside the compiler\n{outcome.full_text.rstrip()}")
    for text in text_report.code(outcome, arguments.ptx, arguments.sass):
        say(text)
    sys.stdout.flush()
