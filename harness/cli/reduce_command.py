"""The command `repro reduce`: a smaller program that does the same."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import compiler_name, perturb_options, store
from harness.claim import (
    CHECKS_HELP,
    GPU_MODEL_HELP,
    as_count,
    as_gpu_model,
    as_minutes,
    as_seconds,
    as_seed,
    repro_file,
)
from harness.claim.repro_file import DEFAULT_TIMEOUT_S, Case
from harness.cli import choice, document, script_command
from harness.errors import UsageError
from harness.terminal import say
from harness.verbosity import is_quiet, note

if TYPE_CHECKING:
    from harness.claim.repro_file import Case
    from harness.reduction.places import Place
    from harness.reduction.properties import UnderDelays
    from harness.reduction.reduction import Report

HOLDS, USAGE, INTERRUPTED = 0, 2, 130
LANGUAGES = {".ptx": "ptx", ".schedule": "schedule"}  # by suffix; else Python

ABOUT = """\
Make a program smaller while it keeps doing what it does: the same finding at the same accesses, the same rejection,
exception or hang, the same wrong values. Writes FILE_reduced.py, or -o; the best program is there at any time.

  repro reduce kernel.py                                    what it does on the emulator
  repro reduce script.py in.txt -- --size 8                 a program that is run with these arguments
  repro reduce kernel.py -p width=8 -o small.py             of a case; the file to write
  repro reduce kernel.py --host pool:h100                   what it does there, on all of its GPUs
  repro reduce kernel.py --keep "finding RACE"              refuse to begin where it does something else
  repro reduce kernel.py --keep "differs nvidia==4.6.3 nvidia==4.8.1"     two compilers disagree
  repro reduce kernel.py --cured-by "tid % 16 => tid % 32"   the same cause: this edit cures each smaller program too
  repro reduce kernel.py --keep "ptx contains ld.local"     a kernel's PTX has this text
  repro reduce x.ptx --keep "command: ./check.sh {}"        a command exits as it does now; {} is the file
  repro reduce x.schedule --keep "command: ./check.sh {}"   decisions of a seed
  repro reduce kernel.py --delays "seed 3"                  not the program: the fewest delays that change its answer

A candidate that fails in another way is rejected and counted by reason. Ctrl-C keeps the best program, and so does the
end of --minutes N; the same command again goes on from there.

Exit status: 0 reduced, 2 wrong usage or the program does nothing to keep, 130 after Ctrl-C.
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = document.command(commands, "reduce", "a smaller program that does the same", ABOUT, _reduce)
    parser.add_argument(
        "file", metavar="FILE", help='a repro or a script; or x.ptx or x.schedule with --keep "command: ..."'
    )
    parser.add_argument(
        "args", nargs="*", default=[], metavar="ARGS", help="arguments of a script; put its options after --"
    )
    parser.add_argument("--keep", default="", metavar="PROPERTY", help="what must stay true (see above; default: all)")
    parser.add_argument(
        "--cured-by",
        default="",
        metavar="EDIT",
        help='"OLD => NEW": with this edit a smaller program must do nothing wrong',
    )
    parser.add_argument("-o", "--out", type=Path, metavar="OUT", help="the file to write (default FILE_reduced.py)")
    parser.add_argument(
        "-p", dest="params", action="append", default=[], metavar="NAME=VALUE", help="reduce this case; repeatable"
    )
    parser.add_argument("--host", default="embedded", metavar="HOST", help="where candidates run, as of `repro run`")
    parser.add_argument(
        "--compiler", type=compiler_name.typed, default="ours", metavar="NAME", help="as of `repro run`"
    )
    parser.add_argument("--gpu-model", type=as_gpu_model, metavar="NAME", help=GPU_MODEL_HELP)
    parser.add_argument("--check", metavar="NAMES", help=CHECKS_HELP)
    parser.add_argument("--seed", type=as_seed, default=0, metavar="N", help="as of `repro run`")
    parser.add_argument(
        "--delays", metavar="LIST", help="reduce these delays (`seed 3`, a list, or @FILE) in place of the program"
    )
    parser.add_argument(
        "--minutes", type=as_minutes, metavar="N", help="end after this many minutes with the best program so far"
    )
    parser.add_argument("--timeout", type=as_seconds, metavar="SECONDS", help="stop the start after this many seconds")
    parser.add_argument(
        "-j", dest="width", type=as_count, default=0, metavar="N", help="candidates at once (default: cores)"
    )
    parser.add_argument("--anew", action="store_true", help="forget what an earlier run of this command found")


def _reduce(arguments: argparse.Namespace) -> int:
    from harness.reduction import properties
    from harness.reduction.candidates import python_problem, python_shape
    from harness.reduction.cure import Cured
    from harness.reduction.journal import Journal
    from harness.reduction.passes_process import PassesProcess
    from harness.reduction.reduction import reduce

    path = Path(arguments.file).resolve()
    if path.suffix == ".cu":
        fix = "capture the launch, or reduce the PTX of nvcc -ptx with --keep"
        raise UsageError(
            f"{arguments.file}: CUDA C++ cannot be reduced: only Python, PTX and schedules can\nfix: {fix}"
        )
    language = LANGUAGES.get(path.suffix, "python")
    case = _case(path, arguments) if language == "python" else None
    if case and case.repro.kernels:
        name = case.repro.kernels.path.name
        raise UsageError(
            f"{arguments.file}: its kernels are in {name}, and CUDA C++ cannot be reduced: only Python, PTX and "
            "schedules can\nfix: write its PTX (repro run --ptx), and reduce that with --keep"
        )
    start = text = case.repro.text if case else path.read_text()
    out = arguments.out or path.with_name(f"{path.stem}_reduced{path.suffix}")
    if out.resolve() == path:
        raise UsageError(f"-o {arguments.out} is the program itself\nfix: name another file")
    width, root = arguments.width or os.cpu_count() or 1, store.root_of(path)

    def place(**about: str) -> Place:
        from harness.reduction.places import Place

        chosen: Any = {"host": arguments.host, "compiler": arguments.compiler, "gpu_model": arguments.gpu_model} | about
        return Place(root, checks=arguments.check, seed=arguments.seed, width=width, note=note, **chosen)

    if arguments.delays is None:
        kept = properties.read(arguments.keep, case, path.name, place)
        if arguments.cured_by:
            kept = Cured(kept, arguments.cured_by)
    else:
        kept, start = _of_delays(arguments, case, place)
        language, out, case = "delays", arguments.out or path.with_name(f"{path.stem}_reduced.delays"), None
    if arguments.timeout:
        kept.timeout_s = arguments.timeout
    about = {
        "keep": arguments.keep, "params": arguments.params, "args": arguments.args,
        "host": arguments.host,
        "compiler": arguments.compiler, "gpu_model": arguments.gpu_model, "check": arguments.check,
        "seed": arguments.seed, "cured_by": arguments.cured_by, "program": text if arguments.delays else None,
    }  # fmt: skip
    journal, passes = Journal(root, start, about), PassesProcess(language)
    try:
        journal.open(arguments.anew)
        valid = (lambda text: "") if case is None else lambda text: python_problem(text, bool(case.repro.script))
        shape = kept.shape if isinstance(kept, Cured) else python_shape
        if case is None or isinstance(kept, properties.Command):
            shape = None
        is_live = sys.stderr.isatty() and not is_quiet()
        limit_s = None if arguments.minutes is None else 60 * arguments.minutes
        report = reduce(start, kept, passes, out, journal, width, valid, note, is_live, shape, limit_s)
    finally:
        journal.close()
        passes.close()
        kept.close()
    if report.is_finished:
        journal.forget()
    _tell(report, start, out, arguments)
    return HOLDS if report.is_finished or report.is_over else INTERRUPTED


def _of_delays(arguments: argparse.Namespace, case: Case | None, place: Callable[[], Place]) -> tuple[UnderDelays, str]:
    """The property of a list of delays, and the list. Raises UsageError."""
    from harness.reduction.properties import UnderDelays

    other = "--keep" if arguments.keep else "--cured-by" if arguments.cured_by else ""
    if other or case is None or case.repro.script:
        what = other or f"{arguments.file}, which has no run(),"
        raise UsageError(f"--delays reduces delays of a repro with run(); {what} does not go with it")
    wanted = perturb_options.wanted(None, arguments.delays)
    assert wanted is not None
    kept = UnderDelays(case, place())
    try:
        return kept, kept.listed(wanted.delays)
    except BaseException:
        kept.close()
        raise


def _case(path: Path, arguments: argparse.Namespace) -> Case:
    """The one case that is reduced, of a script the script itself. Raises UsageError, ReproError."""
    script = script_command.given(str(path), tuple(arguments.args))
    if script:
        return Case(dataclasses.replace(script, timeout_s=DEFAULT_TIMEOUT_S), {})
    if arguments.args:
        raise UsageError(f"{arguments.file} is a repro, which takes no arguments: {' '.join(arguments.args)}")
    repro = repro_file.read(path)
    cases = choice.chosen(repro, arguments.params)
    if len(cases) > 1:
        names = "\n".join(f"    {case.name}" for case in cases)
        raise UsageError(f"{arguments.file} has {len(cases)} cases:\n{names}\nfix: choose one by -p NAME=VALUE")
    return cases[0]


def _tell(report: Report, start: str, out: Path, arguments: argparse.Namespace) -> None:
    from harness.reduction.progress import reasons_of
    from harness.reduction.reduction import lines

    rate = report.ran / max(report.seconds, 1e-3)
    if report.seen.text:
        say(report.seen.text.rstrip() + "\n")
    say(
        f"{lines(start)} lines -> {lines(report.text)}, "
        f"{report.ran} candidates in {report.seconds:.0f} s ({rate:.1f}/s)"
    )
    if report.rejected:
        say(f"rejected: {reasons_of(report.rejected, most=8)}")
    if not report.is_finished:
        end = f"ended after {arguments.minutes:g} minutes" if report.is_over else "interrupted"
        say(f"{end}: the best so far is kept; the same command goes on from there")
    name = repro_file.short(out)
    document.give(
        arguments,
        {
            "written": name,
            "lines_before": lines(start),
            "lines_after": lines(report.text),
            "candidates": report.ran,
            "seconds": round(report.seconds, 2),
            "rejected": dict(report.rejected),
            "finished": report.is_finished,
        },
    )
    note(f"wrote {name}", sys.stdout)
    if arguments.delays is not None:
        note(f"next: repro run {arguments.file} --check none --delays @{name}", sys.stdout)
    if out.suffix == ".py":
        note(f"next: repro run {name}{''.join(f' -p {one}' for one in arguments.params)}", sys.stdout)
