"""The command `repro outcomes`."""

from __future__ import annotations

import argparse
import ast
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.claim import as_count, as_seconds
from harness.claim.output_rules import BOUND
from harness.claim.repro_file import Case, read, short
from harness.cli import choice, document, script_command
from harness.cli.outcomes import outcome_text
from harness.session import Session
from harness.terminal import say

if TYPE_CHECKING:
    from harness.run.result import Outcome

GOOD, FAILS, NOT_RUN = 0, 1, 3

_ABOUT = """\
Find every outcome that the PTX memory model allows for the kernels of a program: stores that other threads see late,
loads that give an old value, every order of the threads. The kernels have at most 16 threads, and loads, stores, atomic
operations, fences and barriers; other instructions are refused by name. Nothing is recorded.

  repro outcomes race_store_buffer                  each answer of run(), with an execution that gives it
  repro outcomes race_store_buffer.py --bound 40    follow loops further: 40 executions of an instruction by a thread
  repro outcomes script.py                          the contents of memory after each launch of a script

Exit status: 0 the outcomes were found, 1 a thread may wait for ever, or the repro does not allow a result, 2 wrong
usage, 3 the outcomes could not be found.
"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = document.command(commands, "outcomes", "all outcomes that the memory model allows", _ABOUT, _outcomes)
    parser.add_argument("file", metavar="FILE", help="a repro, by path or name, or a script")
    parser.add_argument(
        "-p", dest="params", action="append", default=[], metavar="NAME=VALUE", help="only this value; repeatable"
    )
    parser.add_argument(
        "--bound",
        type=as_count,
        default=BOUND,
        metavar="N",
        help=f"end a thread after this many executions of an instruction (default: {BOUND})",
    )
    parser.add_argument("--compiler", metavar="NAME", help="as of `repro run`")
    parser.add_argument("--timeout", type=as_seconds, metavar="SECONDS", help="stop after this many seconds")


def _outcomes(arguments: argparse.Namespace) -> int:
    from harness import judge
    from harness.host.connection.call_progress import telling
    from harness.records import history

    cases = _cases(arguments)
    path = cases[0].repro.path
    session = Session(history.root_of(path), ["embedded"], compiler=arguments.compiler or ())
    worst, tables = GOOD, []
    try:
        for host, case in itertools.product(session.hosts(), cases):
            with telling(short(path), "looking for all outcomes"):
                outcome = judge.run(
                    session.transport(host), case, host, arguments.timeout,
                    compiler=host.compiler, bound=arguments.bound,
                )  # fmt: skip
            table = _table(case, outcome)
            tables.append(table)
            if not arguments.json:
                name = f"{table['claim']}::{case.name}" if case.name else table["claim"]
                text = "\n".join(outcome_text.lines(name, table))
                say(text, file=sys.stderr if table["text"] else sys.stdout)
            worst = max(worst, _status(table))
    finally:
        session.close()
    document.give(arguments, {"cases": tables})
    return worst


def _cases(arguments: argparse.Namespace) -> list[Case]:
    """The cases of the file. Raises UsageError, ReproError."""
    path = choice.path_of(arguments.file)
    script = script_command.given(str(path), ()) if path.is_file() else None
    if script is not None:
        return [Case(script, {})]
    return choice.chosen(read(path.resolve()), arguments.params)


def _table(case: Case, outcome: Outcome) -> dict[str, Any]:
    """One case of the document; `text` is why its outcomes could not be found."""
    nothing = {"complete": False, "bound": 0, "launches": [], "results": []}
    found: dict[str, Any] = outcome.detail.get("explored", nothing)
    allowed, results = case.repro.allowed, found["results"]
    for each in results:
        each["allowed"] = not each["ends"] or all(
            _is_one_of(each["outputs"].get(name, ""), values) for name, values in allowed.items()
        )
    never = {}
    for name, values in allowed.items() if results else ():
        given = [each["outputs"].get(name, "") for each in results]
        never[name] = [str(value) for value in values if not any(_is_one_of(text, [value]) for text in given)]
    text = "" if "explored" in outcome.detail else outcome.text or outcome.kind
    if not text and not found["launches"]:
        text = "it launches no kernel"
    for one in (one for launch in found["launches"] for one in launch["outcomes"]):
        for row in (*one["steps"], *one["stuck"]):
            row["file"] = row["file"] and short(Path(row["file"]))
    about = {"claim": short(case.repro.path), "case": case.name, "text": text}
    return about | found | {"never": {name: values for name, values in never.items() if values}}


def _is_one_of(text: str, values: Sequence[Any]) -> bool:
    """Whether an output, as text, is one of the values that a repro allows."""
    try:
        return ast.literal_eval(text) in values
    except (ValueError, SyntaxError):  # inf, nan, or a long output
        return text in map(str, values)


def _status(table: dict[str, Any]) -> int:
    if table["text"]:
        return NOT_RUN
    waits = any(one["stuck"] for launch in table["launches"] for one in launch["outcomes"])
    wrong = any(not each["allowed"] for each in table["results"])
    return FAILS if waits or wrong else GOOD
