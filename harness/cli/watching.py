"""`repro run FILE --watch`, of a repro or a script."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.claim import repro_file
from harness.claim.repro_file import Case, Repro
from harness.cli import script_command
from harness.errors import UsageError
from harness.session import Session
from harness.terminal import say


def watch(
    arguments: argparse.Namespace, path: Path, cases: Callable[[], Sequence[Case]], begin: Callable[[], Session]
) -> int:
    """Run the file at every save until Ctrl-C, which is raised. Raises UsageError."""
    for option in ("update_goldens", "ptx", "sass", "perturb", "delays", "json", "sarif", "coverage"):
        if getattr(arguments, option):
            name = f"--{option.replace('_', '-')}"
            raise UsageError(f"--watch and {name} do not go together: run once with {name}")
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    from harness.watch.loop import Loop

    session = begin()
    try:
        Loop(path, cases, session, arguments.timeout, arguments.fresh, _say).run()
    finally:
        session.close()
    return 0


def watch_script(script: Repro, arguments: argparse.Namespace, begin: Callable[[], Session]) -> int:
    """Run the program at every save until Ctrl-C, which is raised. Its input is empty. Raises UsageError."""
    if arguments.file == "-":
        raise UsageError("--watch needs a file that can be saved, not -")
    script_command.refuse_options_of_claims(script, arguments)

    def now() -> list[Case]:
        found = script_command.given(arguments.file, tuple(arguments.args))
        if found is None:
            repro_file.read(script.path)  # it shows a mistake of syntax
            raise UsageError(f"{script.path.name} is a claim now: end this with Ctrl-C and run it again")
        return [Case(found, {})]

    return watch(arguments, script.path, now, begin)


def _say(text: str) -> None:
    say(text)
    sys.stdout.flush()
