"""The command `repro record compare`: what changed between two compilers, drivers, GPUs, hosts or commits."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import store
from harness.claim import case_id, languages
from harness.claim.repro_file import ReproError, is_repro, read
from harness.cli import document
from harness.errors import UsageError
from harness.terminal import say
from harness.verbosity import note

if TYPE_CHECKING:
    from harness.records.index.index import Index

HOLDS, FAILS, NOT_RUN = 0, 1, 3

ABOUT = """\
Which claims changed between two compilers, drivers, GPUs, hosts or commits: how (verdict, outcome, diagnostic, values,
SASS, PTX), where, and since when. The answer comes from the record. Cases that one side lacks are run, and recorded;
their number is printed first.

  repro record compare nvidia==4.6.3 nvidia==4.8.1              two releases of a compiler
  repro record compare nvidia==4.6.3 nvidia==4.8.1 --no-run     the same from the record alone
  repro record compare ours nvidia==4.8.1 repros/shuffle        two compilers; of the claims in a folder
  repro record compare driver=570 driver=580 --host p1          two drivers
  repro record compare gpu=a100 gpu=h100; repro record compare host=p1 host=p2
  repro record compare commit=v1.2 commit=HEAD --since 30d      two commits; what changed in the last 30 days

`since` is the day from which on B has given its answer. `repro record diff ID ID` shows all differences of two records.

Exit status: 0 no behaviour changed (PTX and SASS may have), 1 some did, 2 wrong usage, 3 a run could not be made.
"""


def add(commands: Any, places: Callable[[argparse.ArgumentParser], None]) -> None:
    """Add the command. `places` adds --host, --compiler and --arch."""
    about = "what changed between two compilers, drivers, GPUs or commits"
    parser = document.command(commands, "compare", about, ABOUT, _compare)
    parser.add_argument("a", metavar="A", help="one side: nvidia==4.6.3, driver=570, gpu=h100, host=p1, commit=v1.2")
    parser.add_argument("b", metavar="B", help="the other side, of the same kind")
    document.add_claims(parser)
    places(parser)
    parser.add_argument("--since", metavar="WHEN", help="list what changed then or later: 7d, 12h, 2026-11-20")
    parser.add_argument("--no-run", action="store_true", help="run nothing: compare what is in the record")
    parser.add_argument("--all", action="store_true", help="list changes of PTX and SASS alone too, and every line")


def _compare(arguments: argparse.Namespace) -> int:
    from harness.cli.record import missing_runs
    from harness.records import query, sides, tables

    root = store.working_root()
    pair = sides.pair(arguments.a, arguments.b, root)
    since = query.moment(arguments.since) if arguments.since else ""
    data = _answer(root, pair, arguments, since)
    errors: list[str] = []
    runs = missing_runs.runnable(data["missing"])
    if runs and not arguments.no_run:
        note(f"{len(runs)} {'run is' if len(runs) == 1 else 'runs are'} missing (--no-run leaves them out):")
        for side, count in _counted(runs).items():
            note(f"    {count} by {side}")
        errors = missing_runs.run(root, runs)
        data = _answer(root, pair, arguments, since)
    document.give(arguments, data | {"not_run": errors}, lambda: tables.comparison(data, arguments.all))
    for error in errors:
        say(f"not run: {error}", file=sys.stderr)
    if errors:
        return NOT_RUN
    return FAILS if any(row["kinds"][0] not in ("SASS", "PTX") for row in data["changes"]) else HOLDS


def _counted(runs: list[dict[str, Any]]) -> dict[str, int]:
    """How many runs there are by compiler and host."""
    counts: dict[str, int] = {}
    for one in runs:
        side = f"{one['compiler']} on {one['host']}"
        counts[side] = counts.get(side, 0) + 1
    return counts


def _answer(root: Path, pair: Any, arguments: argparse.Namespace, since: str) -> dict[str, Any]:
    from harness.records import changes
    from harness.records.index import index

    place = changes.Place(arguments.arch, arguments.compiler, arguments.host)
    with index.open_index(root) as records:
        return changes.compare(records, pair[0], pair[1], _cases(records, arguments.names), place, since)


def _cases(records: Index, names: list[str]) -> list[Any]:
    """The cases of these claims, also of those that were never run."""
    from harness.records import query

    cells = records.cells()
    if not names:
        return cells
    chosen: list[Any] = []
    for name in names:
        wanted = case_id.parse(name)
        path = Path(wanted.file).resolve()
        files = list(languages.files_below(path)) if path.is_dir() else [path] if path.is_file() else []
        declared = [
            case for file in files for case in _declared(file, records.root) if wanted.case in (None, case.case)
        ]
        chosen += declared or query.chosen(records, cells, [name])
    return chosen


def _declared(file: Path, root: Path) -> list[Any]:
    """The cases of a file, none if it is not a repro. Raises UsageError."""
    from harness.records.changes import Declared

    if not is_repro(file.read_bytes()):
        return []
    try:
        return [Declared(store.relative(file, root), case.name) for case in read(file).cases()]
    except ReproError as error:
        raise UsageError(str(error)) from None
