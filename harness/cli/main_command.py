"""The command `repro`: run one repro and read its verdict, write a new one, or look at a host.

Exit status: 0 the claim holds, 1 it does not, 2 wrong usage (also a file that is not a repro), 3 it could not be run.
"""

from __future__ import annotations

import argparse
import importlib.resources
import itertools
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness import perturb_options
from harness.claim import case_id, findings
from harness.claim.repro_file import Case, read, short
from harness.cli import (
    adopt_command,
    bisect_command,
    capture_command,
    choice,
    document,
    hosts_command,
    issue_command,
    record_commands,
    reduce_command,
    script_command,
    watching,
)
from harness.errors import UsageError
from harness.fleet import BUSY_HELP, BUSY_WAYS
from harness.session import Session, as_data
from harness.terminal import say

if TYPE_CHECKING:
    from harness.host.hosts import Host
    from harness.verdict import Verdict

HOLDS, FAILS, NOT_RUN = 0, 1, 3

_ABOUT = """\
What does this GPU language feature really do? Write the question as one small file, a repro, and run it.

  repro new my_question                    write repros/my_question.py, a first repro that passes
  repro run repros/my_question.py          run it on the emulator: verdict, claim, differences lane by lane
  repro run repros/my_question.py --ptx    the same, and the PTX that the compiler made
  pytest repros                            all of them, judged against their goldens
  pytest repros --gpu-host p1              the same on the host p1 of ssh_config
  repro capture -o repros/x.py -- python train.py     one call of a program as a file that runs alone
  repro doctor p1                          what that host has and lacks
  repro hosts                              pools, GPUs, and who holds what
  repro capsule repros -o all.capsule      all of them as one file for a GPU without a connection
  repro validate -o validate.pyz           all of them and all instruction forms, for a person with any GPU
  repro review; repro accept my_question   results that nobody judged yet; take one as its golden
  repro report -o record.html              all of it as one page: matrix, histories, what changed
  repro status                             what the record says of every claim; also history, diff, regressions, matrix
  repro compare nvidia==4.6.3 nvidia==4.8.1   what changed between two compilers, drivers, GPUs or commits
  repro reduce kernel.py                   a smaller program that fails in the same way
  repro bisect shuffle_width.py --compiler nvidia==4.3.0..4.8.1   the first release that changes the answer
  repro issue kernel                       what is recorded of it as Markdown for a tracker
"""

_RUN = """\
Run one repro and judge it: did it end as it claims, does it agree with its expected(), its CHECK lines and its golden.
Any other Python program is run as `python FILE ARGS` runs it: what it prints comes live, this command has its exit
status, and `repro history FILE` has what it printed.

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
  repro run 1c9e02ab-0004                                 a script's run again, by the id that `repro history` shows

Exit status: 0 the claim holds, 1 it does not, 2 wrong usage, 3 it could not be run. Of a script its own, 1
where that is 0 and a kernel failed, 124 after --timeout, 130 after Ctrl-C.
"""

_CAPSULE = """\
Record repros on the emulator into one file that replays on any GPU machine; there it needs only Python, numpy and
cuda-bindings, no compiler and nothing of this project.

  repro capsule repros -o all.capsule                    every case that launches a kernel
  repro capsule repros -k "shuffle and width=8" -o one.capsule
  repro capsule repros -o all.capsule --perturb 20       each also 20 times with warps delayed, claims of races too
  python all.capsule -o out/                             there: replay it (the file runs itself)
  repro accept --from-replay out/                        here: make goldens validated by that GPU

Exit status: 0 recorded, 1 nothing could be recorded, 2 wrong usage.
"""

_VALIDATE = """\
Write one file below 50 MB for a person with any NVIDIA GPU and no clone: every repro, every instruction form that the
emulator runs, probes of tensor cores, and the program that runs them. It needs Python, numpy and cuda-bindings there.

  repro validate -o validate.pyz                         all of it
  repro validate -o validate.pyz -k "mma or shuffle"     repros and forms that fit, as in pytest
  python validate.pyz                                    there: run it; the same again goes on after a stop
  repro accept --from-replay out.zip                     here: validated goldens and a table of agreement

Exit status: 0 written, 2 wrong usage.
"""

_REPORT = """\
Write what the record says as one HTML file that needs no network: the matrix of claims by arch, host and compiler, and
a page for each cell: what changed since the last good run, PTX and SASS side by side, differing lanes, history. A
kernel that both compilers made is assembled by ptxas: its figures and its SASS from both stand on the claim's page.

  repro report                             all claims, to report.html
  repro report repros/shuffles -o s.html   those in a folder
  repro report --no-sass                   without SASS of both compilers, 0.3 s a kernel the first time

Exit status: 0 written, 2 wrong usage.
"""

_NEW = """\
Write repros/NAME.py, a first repro that passes, run it and accept its golden. Then change it into your question:
the docstring's first line is the claim, run() returns named arrays, expected() says in numpy what must come out.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser, words = _parser(), list(sys.argv[1:] if argv is None else argv)
    if not words:
        parser.print_help(sys.stderr)
        return document.USAGE
    try:
        _check_name(parser, words[0])
        arguments = _parsed(parser, words)
    except document.WrongUsage as wrong:
        return document.answer_wrong_usage(wrong, words, _names(parser))
    return document.answer(arguments, words[0])


def _names(parser: argparse.ArgumentParser) -> Sequence[str]:
    """The names of the commands."""
    return [name for action in parser._actions for name in action.choices or ()]


def _check_name(parser: argparse.ArgumentParser, word: str) -> None:
    """Raise WrongUsage for a command that is misspelt, or for a file in its place."""
    names = _names(parser)
    if word in names or word.startswith("-"):
        return
    import difflib

    if Path(word).is_file():
        parser.error(f"`{word}` is a file; `repro run {word}` runs it")
    if alike := difflib.get_close_matches(word, names, 1):
        parser.error(f"there is no command `{word}`; did you mean `repro {alike[0]}`?")


class _Version(argparse.Action):
    """Prints the version and ends; what it needs is imported then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from harness.reporting.publish import version

        say(f"gpu-repro {version()}, Python {sys.version.split()[0]}")
        parser.exit()


def _parsed(parser: argparse.ArgumentParser, given: list[str]) -> argparse.Namespace:
    """The arguments. Claims and a program's arguments may follow options; everything after `--` is the program's."""
    head = given[: given.index("--")] if given[:1] in (["run"], ["reduce"], ["bisect"]) and "--" in given else given
    arguments, left = parser.parse_known_args(head)
    more = next((getattr(arguments, name) for name in ("names", "args") if hasattr(arguments, name)), None)
    if left and (more is None or any(text.startswith("-") for text in left)):
        hint = " (put the program's own options after --)" if hasattr(arguments, "args") else ""
        parser.error(f"unrecognized arguments: {' '.join(left)}{hint}")
    if more is not None:
        more += left + given[len(head) + 1 :]
    return arguments


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = document.Parser("repro", description=_ABOUT, formatter_class=raw)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version of gpu-repro and of Python")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run one repro and read its verdict", description=_RUN, formatter_class=raw)
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
    document.add(run)
    run.set_defaults(command=_run)
    adopt_command.add(commands)
    hosts_command.add(commands)
    reduce_command.add(commands)
    bisect_command.add(commands)
    capture_command.add(commands)
    issue_command.add(commands)
    _add_capsules(commands)
    _add_validate(commands)
    record_commands.add(commands)
    _add_report(commands)
    new = commands.add_parser("new", help="write a first repro that passes", description=_NEW, formatter_class=raw)
    new.add_argument(
        "name", metavar="NAME", help="of the file, without .py: what it asks, as in shuffle_width or shuffle/width"
    )
    new.add_argument(
        "--folder", type=Path, default=Path("repros"), metavar="DIR", help="where to put it (default repros)"
    )
    document.add(new)
    new.set_defaults(command=_new)
    return parser


def _add_capsules(commands: argparse._SubParsersAction) -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = commands.add_parser(
        "capsule", help="record repros for a GPU elsewhere", description=_CAPSULE, formatter_class=raw
    )
    parser.add_argument("paths", type=Path, nargs="+", metavar="PATH", help="repros and folders of them")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="the capsule to write")
    parser.add_argument(
        "-k", dest="keyword", default="", metavar="EXPRESSION", help="only cases that fit, as in pytest"
    )
    parser.add_argument("--arch", metavar="SM", help="compile for this GPU and later (default: each repro's own arch)")
    parser.add_argument("--perturb", type=int, metavar="N", help=perturb_options.CAPSULE_HELP)
    document.add(parser)
    parser.set_defaults(command=_capsule)


def _add_validate(commands: argparse._SubParsersAction) -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = commands.add_parser(
        "validate", help="one file for a person with a GPU", description=_VALIDATE, formatter_class=raw
    )
    parser.add_argument(
        "paths",
        type=Path,
        nargs="*",
        default=[Path("repros")],
        metavar="PATH",
        help="repros and folders (default repros)",
    )
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="the file to write")
    parser.add_argument("-k", dest="keyword", default="", metavar="EXPRESSION", help="only repros and forms that fit")
    document.add(parser)
    parser.set_defaults(command=_validate)


def _validate(arguments: argparse.Namespace) -> int:
    from harness.capsules import capsule_file, validation

    cases = capsule_file.find(arguments.paths, arguments.keyword)
    recorded, forms = validation.write(cases, arguments.out, arguments.keyword, lambda line: say(line))
    if not recorded + forms:
        raise UsageError("no repro and no instruction form fits")
    size = arguments.out.stat().st_size
    written = {"written": arguments.out, "recorded": recorded, "cases": len(cases), "forms": forms, "bytes": size}
    document.give(arguments, written)
    say(f"wrote {arguments.out}: {recorded} of {len(cases)} cases of repros, {forms} instruction forms, {size} bytes")
    say("next, on a machine with a GPU:")
    say(f"    uv run --no-project --with numpy --with cuda-bindings python {arguments.out.name}")
    return HOLDS


def _add_report(commands: argparse._SubParsersAction) -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = commands.add_parser("report", help="the record as one HTML file", description=_REPORT, formatter_class=raw)
    parser.add_argument("names", nargs="*", metavar="CLAIM", help="a path, a name without .py, a folder, or FILE::CASE")
    parser.add_argument(
        "-o", "--out", type=Path, default=Path("report.html"), metavar="FILE", help="where to (default report.html)"
    )
    parser.add_argument("--no-sass", action="store_true", help="leave out the SASS of both compilers (needs ptxas)")
    document.add(parser)
    parser.set_defaults(command=_report)


def _report(arguments: argparse.Namespace) -> int:
    from harness import store
    from harness.records.index import index
    from harness.reporting import page, page_records

    with index.open_index(store.root_of(Path.cwd() / "repros")) as records:
        model = page_records.collect(records, arguments.names, machine_code=not arguments.no_sass)
        damaged = records.damaged()
    size = page.write(model, arguments.out)
    for line in damaged:
        say(f"not read: {line}", file=sys.stderr)
    problems = list(dict.fromkeys(code.problem for _, _, code in model.both_codes if code.problem))
    for problem in problems:
        say(f"no SASS of both compilers: {problem}", file=sys.stderr)
    counts = {"claims": len(model.claims), "columns": len(model.columns), "bytes": size}
    document.give(arguments, {"written": arguments.out, **counts, "damaged": damaged, "problems": problems})
    say(f"wrote {arguments.out}: {len(model.claims)} claims x {len(model.columns)} columns, {size} bytes")
    return HOLDS


def _capsule(arguments: argparse.Namespace) -> int:
    from harness.capsules import capsule_file

    cases = capsule_file.find(arguments.paths, arguments.keyword)
    if not cases:
        raise UsageError("no repro fits")
    perturb = perturb_options.wanted(arguments.perturb)
    count = capsule_file.record(cases, arguments.out, arguments.arch, lambda line: say(line), perturb=perturb)
    size = arguments.out.stat().st_size if count else 0
    written = {"written": arguments.out if count else None, "recorded": count, "cases": len(cases), "bytes": size}
    document.give(arguments, written)
    if not count:
        say("nothing was recorded, and nothing written", file=sys.stderr)
        return FAILS
    say(f"wrote {arguments.out}: {count} of {len(cases)} cases, {size} bytes")
    say("next, on a machine with a GPU:")
    say(f"    uv run --no-project --with numpy --with cuda-bindings python {arguments.out.name} -o out/")
    return HOLDS


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


def _new(arguments: argparse.Namespace) -> int:
    name = arguments.name.removesuffix(".py")
    if not re.fullmatch(r"([a-z][a-z0-9_]*/)*[a-z][a-z0-9_]*", name):
        raise UsageError(
            f"repro new {arguments.name}: write a name of small letters, digits and _, as in shuffle_width "
            "or shuffle/width"
        )
    path = arguments.folder / f"{name}.py"
    if path.exists():
        raise UsageError(f"{path} exists already; `repro run {path}` runs it")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(importlib.resources.files("harness").joinpath("first_repro.txt").read_text())
    say(f"wrote {path}\n")
    run = _parser().parse_args(["run", str(path), "--update-goldens", *(["--json"] if arguments.json else [])])
    status = _run(run)
    document.give(arguments, {"written": path, **getattr(run, "result", {})})
    say(f"\nnext: change {path} into your question, then `uv run repro run {path}`")
    return status
