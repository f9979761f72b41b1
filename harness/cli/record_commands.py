"""The commands of `repro` about goldens and the record: accept, review, reject, unused; status, history, diff, ..."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import store
from harness.claim.repro_file import short
from harness.cli import compare_command, document
from harness.errors import UsageError
from harness.terminal import say

HOLDS, FAILS = 0, 1

_REVIEW = """\
Show what the last runs gave that nobody accepted: new results and those that differ from their golden, lane by lane.
A run leaves them when it fails for that reason alone (never under CI); the golden itself stays as it was.

At a terminal it asks about each, a key an answer: a accept, f accept for its own arch alone, r reject, s skip,
l show the elements that differ lane by lane, q quit. Where the input is no terminal it shows all and asks nothing.

  repro review                          everything that waits
  repro review --list                   show it and ask nothing
  repro review shuffle_width            of one repro: its path, or its name without .py
  repro review shuffle_width::width=8   one case
  repro accept shuffle_width            take it as the golden            repro reject shuffle_width   forget it

Exit status: 0 nothing waits, 1 something does, 2 wrong usage.
"""

_ACCEPT = """\
Take results as goldens: those that wait (see `repro review`), or those that came back from a GPU as a replay.
A result is refused if its repro or its golden has changed since, and an emulator's never replaces hardware's.

  repro accept shuffle_width            what waits of one repro; also a path, a folder, FILE::CASE
  repro accept --all                    everything that waits
  repro accept --for-arch shuffle_width for the arch it ran on alone: the golden of the others stays
  repro accept --from-replay out/       judge a replayed capsule: each repro runs here once more, its kernels giving
                                        what they gave on that GPU; where that agrees with expected() and the golden,
                                        the golden becomes validated. Each verdict is a hardware record
  repro accept --from-replay out.zip    the same for the one file that `repro validate` gave; it writes validation/ too
  pytest repros --update-goldens        run and accept at once

Exit status: 0 all were accepted (of a replay: all agree), 1 some were not, 2 wrong usage (also under CI).
"""

_REJECT = """\
Forget results that wait (see `repro review`). Goldens and records stay as they are.

  repro reject shuffle_width            also a path, a folder, FILE::CASE
  repro reject --all

Exit status: 0 done, 2 wrong usage.
"""

_UNUSED = """\
Goldens that belong to no case of any repro: left over from a case or a file that was renamed or removed. A golden of a
file that cannot be read as a repro is not listed.

  repro unused                          below the working folder
  repro unused repros/shuffle_width.py  of one file
  repro unused --delete                 delete them (never under CI)

Exit status: 0 there are none (or they were deleted), 1 there are some, 2 wrong usage.
"""

_STATUS = """\
What the record says of every claim: how many are in each state, and each one that needs a look, with the reason.

  repro status                          all claims
  repro status shuffle_width            one claim: its path or its name without .py; a folder; FILE::CASE
  repro status --json                   the same as data

validated     passed on hardware, and nothing that matters has changed since
stale         passed, but the repro, its golden, the PTX or the driver is another by now
regressed     passed once, fails now                contradicted  hardware and the emulator disagree
flaky         one question, both verdicts           failing       never passed
predicted     passed on the emulator alone          unknown       never judged (infra, skipped, no golden yet)

Records of a repro, a case or a value that no file declares any more are listed below the others. They are no verdict.

Exit status: 0 nothing is contradicted, regressed, flaky or failing, 1 something is.
"""

_FORGET = """\
Put records aside: of a repro that is gone, of a value that `params` lost, of a single run with -p, of a host that is no
more. A line that says so is added to the record. Nothing is deleted: `repro history` lists the records as before.

  repro forget --gone                   all that no repro declares any more (`repro status` lists them)
  repro forget shuffle_width::width=9   one case; also a path, a name without .py, a folder
  repro forget shuffle_width --host p1  what ran there

Exit status: 0 done, 2 wrong usage.
"""

_HISTORY = """\
The records of one claim, newest first, and for each what changed since the one before on the same host and compiler.

  repro history shuffle_width           also a path or FILE::CASE
  repro history shuffle_width --host p1 --compiler nvidia
  repro history shuffle_width -n 5 --json

What scripts without a claim printed is found again by the script, or by a text in it or in what it printed:

  repro history script.py               what it printed each time; `repro history ID` shows one, and its script
  repro history --grep "shuffle width"  a regular expression
"""

_DIFF = """\
What changed between two records, field by field: sources, compiler, driver, GPU, outputs; the PTX and the SASS as text.
Where one passed and the other did not it names what may be the cause, and if several things changed, the cheapest runs
that would tell them apart.

  repro diff 1f2e3d4c-0017 99aa01fe-0003    two records (`repro history` lists them; a beginning of the id will do)
  repro diff shuffle_width                  the last good and the first bad record of a claim that regressed
  repro diff shuffle_width --host p1
"""

_REGRESSIONS = """\
Claims that passed and do not any more, flaky ones, and those where hardware and the emulator disagree, newest first.

  repro regressions                     all that stand now
  repro regressions --since 7d          that began in the last 7 days (12h, 2w, or a date: 2026-11-20, in UTC)
  repro regressions --since 2026-11-20 --json

Exit status: 0 there is none, 1 there is.
"""

_MATRIX = """\
One line a claim, one column for each arch, compiler and host; a letter for the state (`repro status --help`).

  repro matrix                          all claims
  repro matrix repros/shuffles          those in a folder
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the commands."""
    _add_goldens(commands)
    status = _add(commands, "status", "what the record says of every claim", _STATUS, _status)
    _names(status)
    status.add_argument("--all", action="store_true", help="show every line, however many")
    forget = _add(commands, "forget", "put records aside that no repro claims any more", _FORGET, _forget)
    _names(forget)
    forget.add_argument("--gone", action="store_true", help="forget all that no repro declares any more")
    _places(forget)
    history = _add(commands, "history", "the records of one claim", _HISTORY, _history)
    history.add_argument("claim", metavar="CLAIM", nargs="?", help="a path, a name without .py, FILE::CASE, or an id")
    history.add_argument("--grep", metavar="TEXT", help="find runs of scripts by what they print, or their own text")
    _places(history)
    history.add_argument("-n", type=int, default=20, metavar="COUNT", help="show at most so many records (default 20)")
    diff = _add(commands, "diff", "what changed between two records", _DIFF, _diff)
    diff.add_argument("a", metavar="A", help="the id of a record, or a claim")
    diff.add_argument("b", metavar="B", nargs="?", help="the id of the other record")
    _places(diff)
    compare_command.add(functools.partial(_add, commands), _places)
    regressions = _add(commands, "regressions", "claims that passed and do not any more", _REGRESSIONS, _regressions)
    _names(regressions)
    regressions.add_argument("--since", metavar="WHEN", help="list those that began then or later: 7d, 12h, 2026-11-20")
    matrix = _add(commands, "matrix", "claims by arch, compiler and host", _MATRIX, _matrix)
    _names(matrix)


def _add_goldens(commands: argparse._SubParsersAction) -> None:
    review = _add(commands, "review", "show results that nobody accepted yet", _REVIEW, _review)
    _names(review)
    review.add_argument("--list", action="store_true", help="show what waits and ask nothing, also at a terminal")
    accept = _add(commands, "accept", "take results as goldens", _ACCEPT, _accept)
    _names(accept)
    accept.add_argument("--all", action="store_true", help="accept everything that waits")
    accept.add_argument("--for-arch", action="store_true", help="keep it as the answer of its own arch alone")
    accept.add_argument("--from-replay", type=Path, metavar="FOLDER", help="judge what replay.py wrote")
    accept.add_argument(
        "--accept-differences",
        action="store_true",
        help="replace goldens that differ from a replay by what the GPU gave",
    )
    reject = _add(commands, "reject", "forget results that wait", _REJECT, _reject)
    _names(reject)
    reject.add_argument("--all", action="store_true", help="forget everything that waits")
    unused = _add(commands, "unused", "goldens that belong to no repro", _UNUSED, _unused)
    unused.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files and folders (default: here)")
    unused.add_argument("--delete", action="store_true", help="delete them")


def _add(
    commands: argparse._SubParsersAction, name: str, about: str, text: str, run: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = commands.add_parser(name, help=about, description=text, formatter_class=raw)
    parser.set_defaults(command=run)
    document.add(parser)
    return parser


def _names(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="CLAIM", help="a path, a name without .py, a folder, or FILE::CASE")


def _places(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", metavar="HOST", help="choose what ran there")
    parser.add_argument("--compiler", metavar="NAME", help="choose this compiler's")
    parser.add_argument("--arch", metavar="SM", help="choose this arch, as in sm_90")


def _root() -> Path:
    return store.root_of(Path.cwd() / "repros")


# --- goldens ---------------------------------------------------------------------------------------------------------


def _review(arguments: argparse.Namespace) -> int:
    from harness import pending
    from harness.cli import review

    waiting = pending.waiting(_root(), arguments.names)
    if arguments.json:
        document.give(arguments, {"waiting": [pending.as_table(one) for one in waiting]})
        return FAILS if waiting else HOLDS
    if waiting and review.is_possible() and not arguments.list:
        pending.refuse_in_ci("review")
        return FAILS if review.review(_root(), waiting, review.pressed_key) else HOLDS
    for one in waiting:
        say(pending.show(one) + "\n")
    if not waiting:
        say("nothing waits")
        return HOLDS
    stale = sum(bool(one.stale) for one in waiting)
    say(f"{len(waiting)} wait" + (f", {stale} of them stale" if stale else "") + ": repro accept, repro reject")
    return FAILS


def _accept(arguments: argparse.Namespace) -> int:
    if arguments.from_replay:
        if arguments.names or arguments.all:
            raise UsageError("repro accept: give --from-replay, or what to accept of that which waits; not both")
        return _accept_replay(arguments)
    from harness import pending

    pending.refuse_in_ci("accept")
    root, run = _root(), store.Run()
    accepted: list[str] = []
    refused: list[dict[str, str]] = []
    for one in _selected(root, arguments):
        try:
            accepted.append(short(pending.accept(root, one, run, arguments.for_arch)))
            say(f"accepted {accepted[-1]}")
        except (UsageError, OSError) as error:
            refused.append({"name": one.name, "reason": str(error)})
            say(f"not accepted: {error}", file=sys.stderr)
    document.give(arguments, {"accepted": accepted, "refused": refused, "replayed": None})
    return FAILS if refused else HOLDS


def _accept_replay(arguments: argparse.Namespace) -> int:
    from harness.capsules import capsule_file

    by_status = capsule_file.accept(arguments.from_replay, _root(), arguments.accept_differences, say)
    text = ", ".join(f"{len(names)} {status}" for status, names in by_status.items())
    document.give(arguments, {"accepted": [], "refused": [], "replayed": by_status}, text)
    return HOLDS if by_status.keys() <= {"validated", "accepted before", "agreement", "skipped"} else FAILS


def _selected(root: Path, arguments: argparse.Namespace) -> list[Any]:
    from harness import pending

    if bool(arguments.names) == arguments.all:
        raise UsageError("name what you mean, or write --all; `repro review` shows what waits")
    return pending.waiting(root, arguments.names)


def _reject(arguments: argparse.Namespace) -> int:
    from harness import pending

    root = _root()
    chosen = _selected(root, arguments)
    for one in chosen:
        pending.discard(root, one)
        say(f"rejected {one.name}")
    document.give(arguments, {"rejected": [one.name for one in chosen]})
    return HOLDS


def _unused(arguments: argparse.Namespace) -> int:
    from harness import pending

    if arguments.delete:
        pending.refuse_in_ci("unused --delete")
    unused = pending.unused(_root(), arguments.paths or [Path.cwd()])
    for path in unused:
        if arguments.delete:
            path.unlink()
        say(f"deleted {short(path)}" if arguments.delete else short(path))
    document.give(arguments, {"unused": [short(path) for path in unused], "deleted": arguments.delete})
    return FAILS if unused and not arguments.delete else HOLDS


# --- the record ------------------------------------------------------------------------------------------------------


def _status(arguments: argparse.Namespace) -> int:
    from harness.records import query, tables
    from harness.records.index import index

    with index.open_index(_root()) as records:
        data = query.status(records, arguments.names)
    document.give(arguments, data, lambda: tables.status(data, 10**9 if arguments.all else 40))
    return FAILS if any(state in query.BAD for state in data["states"]) else HOLDS


def _forget(arguments: argparse.Namespace) -> int:
    from harness.records import query, tables
    from harness.records.index import index

    if not (arguments.names or arguments.gone):
        raise UsageError("repro forget: name what you mean, or write --gone; `repro status` lists what is gone")
    root, run = _root(), store.Run()
    with index.open_index(root) as records:
        place = (arguments.host, arguments.compiler, arguments.arch)
        wanted = query.forget(records, arguments.names, arguments.gone, *place)
    for cell, line in wanted:
        path = root / cell.claim
        while not path.parent.is_dir():  # the repro's folder is gone too
            path = path.parent
        run.append(store.folder(path, cell.hardware, root), line)
        say(f"forgot {tables.name(cell.claim, cell.case)} on {cell.arch} {cell.compiler} {cell.host}: {cell.reason}")
    if not wanted:
        say("there is nothing to forget")
    document.give(arguments, {"forgotten": [index.as_table(cell) for cell, _ in wanted]})
    return HOLDS


def _history(arguments: argparse.Namespace) -> int:
    from harness.records import observations, observed_scripts, query, tables
    from harness.records.index import index

    if arguments.grep is None and arguments.claim is None:
        raise UsageError("repro history: name a claim or a script, or give --grep TEXT")
    found = observations.named(arguments.claim) if arguments.grep is None else observations.with_text(arguments.grep)
    if arguments.grep is not None or found:
        data = observed_scripts.history(found, arguments.n, arguments.grep, arguments.host, arguments.compiler)
        document.give(arguments, {"claims": [], "cells": [], "records": []} | data, lambda: observed_scripts.text(data))
        return HOLDS if data["runs"] else FAILS
    with index.open_index(_root()) as records:
        place = (arguments.host, arguments.compiler, arguments.arch)
        data = query.history(records, arguments.claim, *place, arguments.n)
    document.give(arguments, {"runs": []} | data, lambda: tables.history(data))
    return HOLDS


def _diff(arguments: argparse.Namespace) -> int:
    from harness.records import differ, query, tables
    from harness.records.index import index

    with index.open_index(_root()) as records:
        try:
            if arguments.b:
                a, b = records.record(arguments.a), records.record(arguments.b)
            else:
                place = (arguments.host, arguments.compiler, arguments.arch)
                a, b = query.good_and_bad(records, arguments.a, *place)
        except index.NoRecord as error:
            raise UsageError(str(error)) from None
        data = differ.compare(records, a, b)
    document.give(arguments, data, lambda: tables.diff(data))
    return HOLDS


def _regressions(arguments: argparse.Namespace) -> int:
    from harness.records import query, tables
    from harness.records.index import index

    with index.open_index(_root()) as records:
        data = query.regressions(records, arguments.since, arguments.names)
    document.give(arguments, {"regressions": data}, lambda: tables.regressions(data))
    return FAILS if data else HOLDS


def _matrix(arguments: argparse.Namespace) -> int:
    from harness.records import query, tables
    from harness.records.index import index

    with index.open_index(_root()) as records:
        data = query.matrix(records, arguments.names)
    document.give(arguments, data, lambda: tables.matrix(data))
    return HOLDS
