"""The command `repro outcomes`."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from harness.claim.repro_file import Case, read, short
from harness.cli import choice, document, script_command
from harness.errors import UsageError
from harness.terminal import say

if TYPE_CHECKING:
    from harness.run.result import Outcome

GOOD, FAILS, NOT_RUN = 0, 1, 3
BOUND = 16  # visits of one instruction by one thread
_COLUMN = 34  # characters of a thread's part of an execution

_ABOUT = """\
Find every outcome that the PTX memory model allows for the kernels of a program: stores that others see late, loads
that give an old value, every order of the threads. For kernels of few threads (16 at most) with loads, stores, atomic
operations, fences and barriers; another instruction is refused by name. Nothing is recorded.

  repro outcomes race_store_buffer            each answer of run(), with an execution that gives it
  repro outcomes race_store_buffer.py --bound 40    follow a loop further: a thread comes by an instruction 40 times
  repro outcomes script.py                    of a script: what memory holds after its launches

Exit status: 0 the outcomes were found, 1 a thread may wait for ever or a result is none that the repro allows, 2 wrong
usage, 3 the program could not be explored.
"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = document.command(commands, "outcomes", "all outcomes that the memory model allows", _ABOUT, _outcomes)
    parser.add_argument("file", metavar="FILE", help="a repro, by path or name, or a script")
    parser.add_argument(
        "-p", dest="params", action="append", default=[], metavar="NAME=VALUE", help="only this value; repeatable"
    )
    parser.add_argument(
        "--bound", type=int, default=BOUND, metavar="N", help=f"visits of an instruction by a thread (default: {BOUND})"
    )
    parser.add_argument("--compiler", metavar="NAME", help="as for `repro run`")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="stop after so many seconds")


def _outcomes(arguments: argparse.Namespace) -> int:
    from harness import judge
    from harness.records import history
    from harness.session import Session

    if arguments.bound < 1:
        raise UsageError("--bound counts visits of an instruction: give 1 or more")
    cases = _cases(arguments)
    path = cases[0].repro.path
    session = Session(history.root_of(path), ["embedded"], compiler=arguments.compiler or ())
    worst, tables = GOOD, []
    try:
        for host, case in itertools.product(session.hosts(), cases):
            outcome = judge.run(
                session.transport(host), case, host, arguments.timeout, compiler=host.compiler, bound=arguments.bound
            )
            table = _table(case, outcome)
            tables.append(table)
            if not arguments.json:
                say("\n".join(_lines(case, outcome, table)), file=sys.stderr if table["text"] else sys.stdout)
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
    """What was found, for `--json`: `text` is why nothing was."""
    found = outcome.detail.get("explored")
    allowed = {name: [str(value) for value in values] for name, values in case.repro.allowed.items()}
    results = [] if found is None else found["results"]
    for each in results:
        each["allowed"] = all(each["outputs"].get(name) in values for name, values in allowed.items() if each["ends"])
    seen = {name: {each["outputs"].get(name) for each in results} for name in allowed}
    unseen = {name: [v for v in values if v not in seen[name]] for name, values in allowed.items()} if results else {}
    about = {"claim": short(case.repro.path), "case": case.name, "text": "" if found else outcome.text or outcome.kind}
    empty = {"complete": False, "bound": 0, "launches": [], "results": []}
    return about | (found or empty) | {"never": {name: values for name, values in unseen.items() if values}}


def _status(table: dict[str, Any]) -> int:
    if table["text"]:
        return NOT_RUN
    waits = any(one["stuck"] for launch in table["launches"] for one in launch["outcomes"])
    wrong = any(not each["allowed"] for each in table["results"])
    return FAILS if waits or wrong else GOOD


def _lines(case: Case, outcome: Outcome, table: dict[str, Any]) -> Iterator[str]:
    name = f"{table['claim']}::{case.name}" if case.name else table["claim"]
    if table["text"]:
        yield f"{name}: its outcomes could not be found\n{table['text'].rstrip()}"
        return
    launches = {tuple(one["after"]): one for one in table["launches"]}
    results = table["results"]
    count = len(results) if results else sum(len(one["outcomes"]) for one in table["launches"])
    whole = "complete" if table["complete"] else f"bounded: an instruction is followed {table['bound']} times"
    yield f"{name}: the PTX memory model allows {count} outcome{'s' * (count != 1)} ({whole})"
    for number, each in enumerate(results, 1):
        values = ", ".join(f"{key} = {value}" for key, value in each["outputs"].items())
        chosen = _chosen(each, launches)
        notes = ["no order of the accesses gives it"] * any(not one["interleaving"] for _, one in chosen)
        notes += ["not allowed by the repro"] * (not each["allowed"])
        note = f"   ({', '.join(notes)})" if notes else ""
        yield f"\n{number}. {values if each['ends'] else 'it never ends'}{note}"
        for launch, one in chosen:
            yield from _execution(launch, one, len(chosen) > 1)
    if not results:
        for launch in table["launches"]:
            for number, one in enumerate(launch["outcomes"], 1):
                values = ", ".join(f"{place} = {bits}" for place, bits in one["final"]) or "nothing changes"
                yield f"\n{launch['entry']}, {number}. {values if not one['stuck'] else 'it never ends'}"
                yield from _execution(launch, one, False)
    for name, values in table["never"].items():
        yield f"\nallowed by the repro, but in no outcome: {name} = {', '.join(values)}"


def _chosen(each: dict[str, Any], launches: dict[tuple, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The launches of a result, each with the outcome that led to it."""
    rows = [(launches[tuple(each["choice"][:depth])], chosen) for depth, chosen in enumerate(each["choice"])]
    return [(launch, launch["outcomes"][chosen]) for launch, chosen in rows]


def _execution(launch: dict[str, Any], one: dict[str, Any], is_one_of_many: bool) -> Iterator[str]:
    """An execution: a column a thread, a row a step."""
    if is_one_of_many:
        yield f"   {launch['entry']}"
    threads = sorted({(step["block"], step["thread"]) for step in one["steps"]})
    if threads:
        yield "   " + "".join(f"block {b}, thread {t}".ljust(_COLUMN) for b, t in threads).rstrip()
    for number, step in enumerate(one["steps"]):
        column = threads.index((step["block"], step["thread"]))
        yield f"   {' ' * _COLUMN * column}{_step(number, step)}".rstrip()
    for each in one["stuck"]:
        yield f"   thread {each['thread']} of block {each['block']} waits for ever at line {each['line']}: {each['code']}"


def _step(number: int, step: dict[str, Any]) -> str:
    where = f"line {step['line']}"
    if step["does"] not in ("reads", "writes"):
        return f"{number}: {step['does']}, {where}"
    if step["does"] == "writes":
        return f"{number}: {step['place']} = {step['value']}, {where}"
    if step["read_from"] is None:
        source = "from before the kernel"
    else:
        source = f"from step {step['read_from']}" + (", which comes later" if step["early"] else "")
    if step["unseen"] is not None:
        source += f", not yet step {step['unseen']}"
    return f"{number}: {step['place']} gives {step['value']}, {where}, {source}"


