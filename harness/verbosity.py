"""How much a command prints next to its answer: `-q` and `-v` of every command of `repro`. Standard library only.

Answers, verdicts and errors are printed by `terminal.say`. `note` prints the rest: progress, what was written, what to
do next. `detail` prints what only -v shows, on standard error.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from harness.terminal import one_line, say

QUIET, USUAL, VERBOSE = -1, 0, 1
SHOWN_COMMAND = 500  # characters of a command line


class _Chosen:
    """The level of the command that runs, for all of its threads."""

    level = USUAL


def add(parser: argparse.ArgumentParser) -> None:
    """Add -q and -v to a command."""
    both = parser.add_mutually_exclusive_group()
    quiet = {"const": QUIET, "help": "print answers, verdicts and errors only: no progress, no hints"}
    verbose = {"const": VERBOSE, "help": "also print environments, devices, durations and the commands that ran"}
    both.add_argument("-q", "--quiet", dest="verbosity", action="store_const", default=USUAL, **quiet)
    both.add_argument("-v", "--verbose", dest="verbosity", action="store_const", default=USUAL, **verbose)


@contextlib.contextmanager
def at(level: int) -> Iterator[None]:
    """Inside, `note` and `detail` follow this level; VERBOSE also prints started programs and the time taken."""
    before, _Chosen.level = _Chosen.level, level
    begun = time.monotonic()
    if level == VERBOSE:
        _print_commands()
    try:
        yield
    finally:
        detail(f"this took {time.monotonic() - begun:.2f} s")
        _Chosen.level = before


def is_quiet() -> bool:
    """Whether -q was given."""
    return _Chosen.level == QUIET


def is_verbose() -> bool:
    """Whether -v was given."""
    return _Chosen.level == VERBOSE


def note(text: object, file: TextIO | None = None) -> None:
    """Print it, to standard error unless `file` is given; not with -q. Raises as `say`."""
    if not is_quiet():
        say(text, file or sys.stderr)


def detail(text: object) -> None:
    """Print it to standard error if -v was given. Raises as `say`."""
    if is_verbose():
        say(text, sys.stderr)


_hooked = threading.Event()


def _print_commands() -> None:
    """Print each program that this process starts from now on: Python has an audit event for it (PEP 578)."""
    if not _hooked.is_set():
        _hooked.set()
        sys.addaudithook(_audit)


def _audit(event: str, about: tuple[Any, ...]) -> None:
    if event == "subprocess.Popen" and is_verbose():
        detail(f"run: {_typed(about[1])}")


def _typed(argv: Any) -> str:
    """A command as one line, shortened."""
    words: Sequence[Any] = [argv] if isinstance(argv, str | bytes | os.PathLike) else list(argv)
    text = one_line(shlex.join(os.fsdecode(word) for word in words))
    return text if len(text) <= SHOWN_COMMAND else f"{text[:SHOWN_COMMAND]} ..."
