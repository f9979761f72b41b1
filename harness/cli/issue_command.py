"""The command `repro issue`: Markdown for another project's tracker."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from harness import compiler_name, store
from harness.cli import document
from harness.terminal import say
from harness.verbosity import note

ABOUT = """\
Write what is recorded of a claim or a script as Markdown that can be pasted into an issue: claim, expected and got,
versions, GPU and driver, the first bad release if `repro bisect` found one, the program, and commands that run it with
and without this project. Nothing is run or sent. Paths, user and host names and addresses are left out; read it
before you post it all the same.

  repro issue shuffle_width                     the newest record that failed; a path, a name, FILE::CASE
  repro issue shuffle_width::width=8 -o issue.md
  repro issue shuffle_width --compiler nvidia==4.8.1 --host p1
  repro issue 1f2e3d4c-0017                     a record (`repro record history` lists them)
  repro issue script.py                         the last run of a script

Exit status: 0 written, 2 wrong usage, or nothing of it is recorded.
"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = document.command(commands, "issue", "Markdown for another project's tracker", ABOUT, _issue)
    parser.add_argument("name", metavar="CLAIM", help="a claim, FILE::CASE, a script, or the id of a record or a run")
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="write it there (default: standard output)")
    parser.add_argument("--host", metavar="HOST", help="choose what ran there")
    parser.add_argument("--compiler", type=compiler_name.typed, metavar="NAME", help="choose this compiler's")
    parser.add_argument("--arch", metavar="SM", help="choose this arch, as in sm_90")


def _issue(arguments: argparse.Namespace) -> int:
    from harness.host import settings
    from harness.issue import anonymous, facts, issue

    root = store.working_root()
    about = facts.of(root, arguments.name, (arguments.host, arguments.compiler, arguments.arch))
    try:
        named = [*settings.load(root)]
    except settings.BadSettings:
        named = []
    written = issue.write(about, anonymous.of_this_machine(root, [*about.hosts, *named]))
    if arguments.out:
        store.write_atomically(arguments.out, written.text.encode())
    for one in written.shortened:
        note(f"shortened: {one}")
    for one in written.warnings:
        say(f"look at this before you post it: {one}", file=sys.stderr)
    result = {"written": arguments.out, "markdown": written.text, "shortened": written.shortened}
    text = f"wrote {arguments.out}: {len(written.text)} characters" if arguments.out else written.text.rstrip("\n")
    document.give(arguments, result | {"warnings": written.warnings}, text)
    return 0
