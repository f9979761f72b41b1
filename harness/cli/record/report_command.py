"""The command `repro record report`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from harness import store
from harness.cli import document
from harness.terminal import say
from harness.verbosity import note

_REPORT = """\
Write the record as one HTML file that needs no network: the matrix of claims by arch, host and compiler, and
a page for each cell: what changed since the last good run, PTX and SASS side by side, differing lanes, history. A
kernel that both compilers made is assembled by ptxas: its figures and its SASS from both are on the claim's page.

  repro record report                             all claims, to report.html
  repro record report repros/shuffles -o s.html   those in a folder
  repro record report --no-sass                   without SASS of both compilers, 0.3 s a kernel the first time

Exit status: 0 written, 2 wrong usage.
"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = document.command(commands, "report", "the record as one HTML file", _REPORT, _report)
    document.add_claims(parser)
    parser.add_argument(
        "-o", "--out", type=Path, default=Path("report.html"), metavar="FILE", help="where to (default report.html)"
    )
    parser.add_argument("--no-sass", action="store_true", help="leave out the SASS of both compilers (needs ptxas)")


def _report(arguments: argparse.Namespace) -> int:
    from harness.records.index import index
    from harness.reporting import page, page_records

    with index.open_index(store.working_root()) as records:
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
    shape = f"{page.counted(len(model.claims), 'case')} x {page.counted(len(model.columns), 'column')}"
    note(f"wrote {arguments.out}: {shape}, {size} bytes", sys.stdout)
    return 0
