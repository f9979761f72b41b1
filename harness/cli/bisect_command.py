"""The command `repro bisect`: the first version that changes an answer."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import compiler_name, store
from harness.claim import CHECKS_HELP, GPU_MODEL_HELP, as_gpu_model, as_seconds, as_seed, case_id
from harness.cli import choice, document, hosts_command
from harness.compiler_name import OURS
from harness.verbosity import note

if TYPE_CHECKING:
    from harness.bisection.axes import Axis
    from harness.bisection.bisection import Result
    from harness.claim.repro_file import Case

ABOUT = """\
Find the first version that changes the answer of a claim or a script, with as few runs as possible. Both ends run
first. The answer is the verdict, the outcome, the values under the rules of the repro, and what a script printed.

  repro bisect shuffle_width.py --compiler nvidia==4.3.0..4.8.1     releases of NVIDIA's compiler
  repro bisect shuffle_width.py --compiler nvidia==4.3.5,4.6.3,4.8.1    these alone, in this order
  repro bisect train.py --package torch==2.8..2.11 -- --steps 3     releases of a package; a script with arguments
  repro bisect train.py --commit v1.2..HEAD                         commits of the repository that has the file
  repro bisect shuffle_width.py --commit v1.2..HEAD --repo DIR      commits of another one, such as this compiler's
  repro bisect shuffle_width.py --ptxas 13.0..13.2                  releases of ptxas; machine code counts too
  repro bisect shuffle_width.py --host p1,p2,p3                     hosts in this order, such as three drivers
  repro bisect shuffle_width.py -p width=8 --compiler nvidia==4.3.0..4.8.1     one case

Write the good end first. Versions that cannot run are skipped. Every run is recorded. Ctrl-C stops it; the same command
goes on from there.

Exit status: 0 found, 1 both ends give the same answer or several candidates are left, 2 wrong usage, 3 an end cannot
run, 130 after Ctrl-C.
"""
FOUND, NOT_FOUND, NOT_RUN = 0, 1, 3


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = document.command(commands, "bisect", "the first version that changes an answer", ABOUT, _bisect)
    parser.add_argument("file", metavar="CLAIM", help="a path, a name without .py, or FILE::CASE; or a script")
    parser.add_argument(
        "args", nargs="*", default=[], metavar="ARGS", help="arguments of a script; put its options after --"
    )
    parser.add_argument(
        "--compiler",
        type=compiler_name.typed,
        metavar="RANGE",
        help="nvidia==GOOD..BAD or a list; or one compiler to run with",
    )
    parser.add_argument("--package", metavar="RANGE", help="NAME==GOOD..BAD, releases of a package of the index")
    parser.add_argument("--ptxas", metavar="RANGE", help="GOOD..BAD, releases of NVIDIA's assembler on the index")
    parser.add_argument("--commit", metavar="GOOD..BAD", help="commits of the repository that has the file, or --repo")
    parser.add_argument("--repo", type=Path, metavar="DIR", help="the repository of --commit")
    parser.add_argument("--host", metavar="HOSTS", help="several hosts from good to bad; or one to run on")
    parser.add_argument(
        "-p", dest="params", action="append", default=[], metavar="NAME=VALUE", help="run only this value; repeatable"
    )
    parser.add_argument("--gpu-model", type=as_gpu_model, metavar="NAME", help=GPU_MODEL_HELP)
    parser.add_argument("--check", metavar="NAMES", help=CHECKS_HELP)
    parser.add_argument("--seed", type=as_seed, default=0, metavar="N", help="as of `repro run`")
    parser.add_argument("--timeout", type=as_seconds, metavar="SECONDS", help="stop a case after this many seconds")
    parser.add_argument(
        "--set", dest="settings", action="append", default=[], metavar="KEY=VALUE", help="change a setting of the host"
    )
    parser.add_argument("--anew", action="store_true", help="forget what an interrupted run of this command found")


def _bisect(arguments: argparse.Namespace) -> int:
    from harness.bisection import axes, bisection, difference
    from harness.bisection.journal import Journal
    from harness.bisection.preparation import Preparations
    from harness.bisection.runs import How, Runs

    cases = _cases(arguments)
    repro = cases[0].repro
    compiler, host = _alone(arguments.compiler, OURS), _alone(arguments.host, "embedded")
    root = store.root_of(repro.path)
    names = ("compiler", "package", "ptxas", "commit", "host")
    given = {name: getattr(arguments, name) for name in names}
    about = {
        "claim": store.relative(repro.path, root), "text": store.sha256(repro.text), "args": arguments.args,
        "cases": [case.name for case in cases], "repo": str(arguments.repo or ""), "gpu_model": arguments.gpu_model,
        "check": arguments.check, "seed": arguments.seed, "settings": arguments.settings, **given,
    }  # fmt: skip
    journal = Journal(root, about)
    axis = axes.read(given, repro, compiler, host, arguments.repo, journal.trees)
    how = How(
        tuple(hosts_command.for_every_host(arguments.settings)), arguments.seed, arguments.check, arguments.gpu_model,
        arguments.timeout, note,
    )  # fmt: skip
    preparations = Preparations(note)
    if arguments.anew:
        journal.forget()
    journal.open()
    try:
        result = bisection.Bisection(axis, Runs(root, cases, axis, how), journal, preparations, note).run()
    except KeyboardInterrupt:
        note(f"{len(journal.known)} versions are known: the same command goes on from there")
        raise
    finally:
        preparations.close()
    changes = difference.text(result, axis, root) if result.changes else ""
    data = _kept(result, axis, about, changes)
    for version in axis.versions:
        if version.tree:
            version.tree.remove()
    journal.finish(data)
    document.give(arguments, data, lambda: _text(result, changes))
    return {bisection.FOUND: FOUND, bisection.ABORTED: NOT_RUN}.get(result.kind, NOT_FOUND)


def _cases(arguments: argparse.Namespace) -> list[Case]:
    """The cases that are asked for. Raises UsageError, ReproError, OSError."""
    from harness.bisection import runs

    wanted = case_id.parse(arguments.file)
    params = [*arguments.params, *(wanted.case.split(",") if wanted.case else ())]
    path = choice.path_of(wanted.file).resolve()
    return runs.all_cases(path, params, tuple(arguments.args), choice.chosen)


def _alone(text: str | None, default: str) -> str:
    """The compiler or the host to run with; the default if the option names a range."""
    return text if text and ".." not in text and "," not in text else default


def _kept(result: Result, axis: Axis, about: dict[str, Any], changes: str) -> dict[str, Any]:
    return {
        "claim": about["claim"], "cases": about["cases"], "axis": axis.option, "range": axis.text,
        "versions": [version.label for version in axis.versions], **result.as_data(), "summary": result.why,
        "difference": changes, "date": store.now(),
    }  # fmt: skip


def _text(result: Result, changes: str) -> str:
    lines = [changes, ""] if changes else []
    lines += [f"{result.kind}: {result.why}"]
    if result.is_third:
        lines.append("its answer also differs from the answer of the bad end: a later version changes it again")
    if len(result.candidates) > 1:
        lines += [f"    {one}" for one in result.candidates]
    lines += [f"skipped {label}: {why.strip().splitlines()[0]}" for label, why in result.skipped.items() if why.strip()]
    return "\n".join([*lines, f"{result.runs} run{'s' * (result.runs != 1)}"])
