"""`repro run FILE --watch`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.claim.repro_file import Case
from harness.errors import UsageError
from harness.session import Session
from harness.terminal import say
from harness.watch.loop import Loop


def watch(
    arguments: argparse.Namespace, path: Path, cases: Callable[[], Sequence[Case]], begin: Callable[[], Session]
) -> int:
    """Run the file at every save until Ctrl-C, which is raised. Raises UsageError."""
    for option in ("update_goldens", "ptx", "sass", "perturb", "delays"):
        if getattr(arguments, option):
            name = f"--{option.replace('_', '-')}"
            raise UsageError(f"--watch and {name} do not go together: run once with {name}")
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    session = begin()
    try:
        Loop(path, cases, session, arguments.timeout, arguments.fresh, _say).run()
    finally:
        session.close()
    return 0


def _say(text: str) -> None:
    say(text)
    sys.stdout.flush()
