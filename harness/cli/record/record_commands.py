"""The commands `repro record ...` except compare and report, which have their own modules."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from harness import compiler_name, store
from harness.claim import as_count
from harness.cli import document
from harness.cli.record import compare_command, report_command
from harness.errors import UsageError
from harness.terminal import say
from harness.verbosity import note

HOLDS, FAILS = 0, 1

_STATUS = """\
Show how many claims of the record are in each state, and each one that needs a look, with the reason.

  repro record status                          all claims
  repro record status shuffle_width            one claim: its path or its name without .py; a folder; FILE::CASE
  repro record status --json                   the same as data

validated     passed on hardware, and nothing that matters has changed since
stale         passed, but the repro, its golden, the PTX or the driver has changed since
regressed     passed once, fails now                contradicted  hardware and the emulator disagree
flaky         one question, both verdicts           failing       never passed
predicted     passed on the emulator alone          unknown       never judged (infra, skipped, no golden yet)

Records of a repro, a case or a value that no file declares any more are listed below the others, and are
not a verdict.

Exit status: 0 nothing is contradicted, regressed, flaky or failing, 1 something is.
"""

_FORGET = """\
Put records aside: of a repro that is gone, of a value that `params` lost, of a single run with -p, of a host that is no
more. A line about it is added to the record. Nothing is deleted: `repro record history` still lists the records.

  repro record forget --gone                   all that no repro declares any more (`repro record status` lists them)
  repro record forget shuffle_width::width=9   one case; also a path, a name without .py, a folder
  repro record forget shuffle_width --host p1  what ran there

Exit status: 0 done, 2 wrong usage.
"""

_HISTORY = """\
The records of one claim, newest first, and for each what changed since the one before on the same host and compiler.

  repro record history shuffle_width           also a path or FILE::CASE
  repro record history shuffle_width --host p1 --compiler nvidia
  repro record history shuffle_width -n 5 --json

The output of a script without a claim is found by the script, or by a text in the script or in the output:

  repro record history script.py               what it printed each time; with an ID, one run and its script
  repro record history --grep "shuffle width"  a regular expression

Exit status: 0 shown, 2 wrong usage.
"""

_DIFF = """\
Show what changed between two records, field by field: sources, compiler, driver, GPU, outputs; the PTX and the SASS as
text. If one passed and the other did not, name the possible causes, and if several things changed, the cheapest runs
that would tell them apart.

  repro record diff 1f2e3d4c-0017 99aa01fe-0003    two records, by their ids or beginnings of them
  repro record diff shuffle_width                  the last good and the first bad record of a claim that regressed
  repro record diff shuffle_width --host p1

Exit status: 0, also if they differ; with --exit-code 1 if they differ.
"""

_REGRESSIONS = """\
Claims that passed and do not any more, flaky ones, and those where hardware and the emulator disagree, newest first.

  repro record regressions                     all that are so now
  repro record regressions --since 7d          that began in the last 7 days (12h, 2w, or a date: 2026-11-20, in UTC)
  repro record regressions --since 2026-11-20 --json

Exit status: 0 there is none, 1 there is.
"""

_MATRIX = """\
One line a claim, one column for each arch, compiler and host; a letter for the state (`repro record status --help`).

  repro record matrix                          all claims
  repro record matrix repros/shuffles          those in a folder

Exit status: 0 shown, 2 wrong usage.
"""


def add(commands: Any) -> None:
    """Add the commands."""
    status = document.command(commands, "status", "the state of every claim in the record", _STATUS, _status)
    document.add_claims(status)
    status.add_argument("--all", action="store_true", help="show every line, however many")
    forget = document.command(commands, "forget", "put records aside that no repro claims any more", _FORGET, _forget)
    document.add_claims(forget)
    forget.add_argument("--gone", action="store_true", help="forget all that no repro declares any more")
    _places(forget)
    history = document.command(commands, "history", "the records of one claim", _HISTORY, _history)
    history.add_argument("claim", metavar="CLAIM", nargs="?", help="a path, a name without .py, FILE::CASE, or an id")
    history.add_argument("--grep", metavar="TEXT", help="find runs of scripts by what they print, or their own text")
    _places(history)
    history.add_argument(
        "-n", type=as_count, default=20, metavar="COUNT", help="show at most this many records (default 20)"
    )
    diff = document.command(commands, "diff", "what changed between two records", _DIFF, _diff)
    diff.add_argument("a", metavar="A", help="the id of a record, or a claim")
    diff.add_argument("b", metavar="B", nargs="?", help="the id of the other record")
    diff.add_argument(
        "--exit-code", action="store_true", help="exit with 1 if verdict, outcome, values, PTX or SASS differ"
    )
    _places(diff)
    compare_command.add(commands, _places)
    regressions = document.command(
        commands, "regressions", "claims that passed and do not any more", _REGRESSIONS, _regressions
    )
    document.add_claims(regressions)
    regressions.add_argument("--since", metavar="WHEN", help="list those that began then or later: 7d, 12h, 2026-11-20")
    matrix = document.command(commands, "matrix", "claims by arch, compiler and host", _MATRIX, _matrix)
    document.add_claims(matrix)
    report_command.add(commands)


def _places(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", metavar="HOST", help="choose what ran there")
    parser.add_argument("--compiler", type=compiler_name.typed, metavar="NAME", help="choose this compiler's")
    parser.add_argument("--arch", metavar="SM", help="choose this arch, as in sm_90")


def _status(arguments: argparse.Namespace) -> int:
    from harness.records import query, tables
    from harness.records.index import index

    with index.open_index(store.working_root()) as records:
        data = query.status(records, arguments.names)
    document.give(arguments, data, lambda: tables.status(data, 10**9 if arguments.all else 40))
    return FAILS if any(state in query.BAD for state in data["states"]) else HOLDS


def _forget(arguments: argparse.Namespace) -> int:
    from harness.records import query, tables
    from harness.records.index import index

    if not (arguments.names or arguments.gone):
        raise UsageError("repro record forget: name what you mean, or write --gone; `repro record status` lists them")
    root, run = store.working_root(), store.Run()
    with index.open_index(root) as records:
        place = (arguments.host, arguments.compiler, arguments.arch)
        wanted = query.forget(records, arguments.names, arguments.gone, *place)
    for cell, line in wanted:
        path = root / cell.claim
        while not path.parent.is_dir():  # the repro's folder is gone too
            path = path.parent
        run.append(store.folder(path, cell.hardware, root), line)
        where = f"on {cell.arch} {cell.compiler} {cell.host}"
        note(f"forgot {tables.name(cell.claim, cell.case)} {where}: {cell.reason}", sys.stdout)
    if not wanted:
        say("there is nothing to forget")
    document.give(arguments, {"forgotten": [index.as_table(cell) for cell, _ in wanted]})
    return HOLDS


def _history(arguments: argparse.Namespace) -> int:
    from harness.records import observations, observed_scripts, query, tables
    from harness.records.index import index

    if arguments.grep is None and arguments.claim is None:
        raise UsageError("repro record history: name a claim or a script, or give --grep TEXT")
    found = observations.named(arguments.claim) if arguments.grep is None else observations.with_text(arguments.grep)
    if arguments.grep is not None or found:
        data = observed_scripts.history(found, arguments.n, arguments.grep, arguments.host, arguments.compiler)
        document.give(arguments, {"claims": [], "cells": [], "records": []} | data, lambda: observed_scripts.text(data))
        return HOLDS if data["runs"] else FAILS
    with index.open_index(store.working_root()) as records:
        place = (arguments.host, arguments.compiler, arguments.arch)
        data = query.history(records, arguments.claim, *place, arguments.n)
    document.give(arguments, {"runs": []} | data, lambda: tables.history(data))
    return HOLDS


def _diff(arguments: argparse.Namespace) -> int:
    from harness.records import differ, query, tables
    from harness.records.index import index

    with index.open_index(store.working_root()) as records:
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
    return FAILS if arguments.exit_code and data["kinds"] else HOLDS


def _regressions(arguments: argparse.Namespace) -> int:
    from harness.records import query, tables
    from harness.records.index import index

    with index.open_index(store.working_root()) as records:
        data = query.regressions(records, arguments.since, arguments.names)
    document.give(arguments, {"regressions": data}, lambda: tables.regressions(data))
    return FAILS if data else HOLDS


def _matrix(arguments: argparse.Namespace) -> int:
    from harness.records import query, tables
    from harness.records.index import index

    with index.open_index(store.working_root()) as records:
        data = query.matrix(records, arguments.names)
    document.give(arguments, data, lambda: tables.matrix(data))
    return HOLDS
