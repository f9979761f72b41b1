"""The option `--json`: one document on standard output, also after an error. docs/json.md describes it.

A command adds the option with `add` and gives its result with `give`. `answer` runs the command: everything else that
it prints goes to standard error, then it prints the document. Standard library only.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib.resources
import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from harness import verbosity
from harness.claim.repro_file import ReproError
from harness.errors import NoDevice, UsageError
from harness.terminal import OutputFailed, printable, put, say

NAME, VERSION = "gpu-repro", 1
USAGE, NOT_RUN, INTERRUPTED = 2, 3, 130
_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE}
_FIXES: dict[type[OSError], str] = {
    FileNotFoundError: "name a file that is there; `repro new NAME` writes a first repro",
    IsADirectoryError: "name a file in it",
}
EMPTY = "must not be empty: is a variable of the shell unset?"
_OF_A_PROGRAM = ("args", "arguments", "program")  # words that are not ours
CLOSED = 141  # the reader of the output is gone: what a shell reports of a program that SIGPIPE ended
HELP = "print one JSON document (docs/json.md) instead of text; the rest goes to standard error"


class WrongUsage(Exception):
    """A command line that the parser does not take: `usage` and what is wrong."""

    def __init__(self, usage: str, text: str) -> None:
        super().__init__(text)
        self.usage = usage


class Parser(argparse.ArgumentParser):
    """Raises WrongUsage for a wrong command line, so that it can become a document."""

    def error(self, message: str) -> NoReturn:
        raise WrongUsage(self.format_usage(), f"{self.prog}: error: {message}")

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """A value of a word. argparse hides that it takes each word through here."""
        others = isinstance(action, argparse._SubParsersAction) or action.dest in _OF_A_PROGRAM
        if not arg_string and (action.type is Path or not (action.option_strings or others)):
            raise argparse.ArgumentError(action, EMPTY)
        return super()._get_value(action, arg_string)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help. argparse hides that nothing takes it. Raises OutputFailed, BrokenPipeError."""
        if message:
            put(message, file or sys.stderr)


def add(parser: argparse.ArgumentParser) -> None:
    """Add `--json` to a command."""
    parser.add_argument("--json", action="store_true", help=HELP)


def command(commands: Any, name: str, about: str, text: str, run: Callable[[argparse.Namespace], int]) -> Parser:
    """Add a command with `--json`, `-q` and `-v`."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = commands.add_parser(name, help=about, description=text, formatter_class=raw)
    parser.set_defaults(command=run)
    add(parser)
    verbosity.add(parser)
    return parser


def add_claims(parser: argparse.ArgumentParser) -> None:
    """Add the claims that a command is about."""
    parser.add_argument("names", nargs="*", metavar="CLAIM", help="a path, a name without .py, a folder, or FILE::CASE")


def give(arguments: argparse.Namespace, result: Mapping[str, Any], text: str | Callable[[], str] = "") -> None:
    """Print the text (or what `text` returns), or with --json keep the result for the document.

    The fields of the result are described in document.schema.json.
    """
    if arguments.json:
        arguments.result = result
    elif text:
        _show(text if isinstance(text, str) else text())


def _show(text: str) -> None:
    """Print it; on a terminal that is shorter, through the user's pager (PAGER, else less), as git does."""
    is_long = text.count("\n") + 2 > shutil.get_terminal_size().lines
    if is_long and sys.stdin and sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("PAGER") != "cat":
        import pydoc  # noqa: PLC0415

        os.environ.setdefault("LESS", "FRX")
        pydoc.pager(printable(text) + "\n")
    else:
        say(text)


def schema() -> dict[str, Any]:
    """The JSON Schema of every document."""
    return json.loads(importlib.resources.files("harness").joinpath("document.schema.json").read_text())


def is_asked(words: list[str]) -> bool:
    """Whether a command line has --json; what follows `--` is for a program."""
    return "--json" in (words[: words.index("--")] if "--" in words else words)


def answer(arguments: argparse.Namespace, name: str) -> int:
    """Run the command, report a failure, print the document if it was asked for, and return the exit status."""
    if not getattr(arguments, "json", False):
        status, error = _outcome(arguments)
        if error:
            complain(error["message"])
        return status
    arguments.result = None
    with _stdout_to_stderr():
        status, error = _outcome(arguments)
        if error:
            complain(error["message"])
    return _print(status, name, arguments.result, error)


def answer_wrong_usage(wrong: WrongUsage, words: list[str], commands: Sequence[str]) -> int:
    """Say what is wrong with the command line; the exit status."""
    complain(wrong.usage + str(wrong))
    if not is_asked(words):
        raise SystemExit(USAGE)
    return _print(USAGE, commands[-1] if commands else None, None, {"kind": "usage", "message": str(wrong)})


def complain(text: str) -> None:
    """Print an error. If standard error takes nothing, the exit status alone tells of it, and Python's end, which would
    try again and change that status, writes to nothing."""
    try:
        say(text, file=sys.stderr)
    except (BrokenPipeError, OutputFailed):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _folder_is_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _outcome(arguments: argparse.Namespace) -> tuple[int, dict[str, str] | None]:
    """The exit status of the command, and the error that ended it."""
    try:
        with verbosity.at(getattr(arguments, "verbosity", verbosity.USUAL)):
            status = arguments.command(arguments)
        sys.stdout.flush()
        return status, None
    except (ReproError, UsageError) as error:
        kind, status = ("not_run", NOT_RUN) if isinstance(error, NoDevice) else ("usage", USAGE)
        return status, {"kind": kind, "message": str(error)}
    except (BrokenPipeError, OutputFailed) as error:
        _drop_output()
        if isinstance(error, BrokenPipeError):  # whoever read the output has read enough
            return CLOSED, None
        return NOT_RUN, {"kind": "system", "message": f"repro: {error}"}
    except OSError as error:
        status = NOT_RUN if error.errno in _MACHINE else USAGE
        if _folder_is_gone():
            return NOT_RUN, {
                "kind": "system",
                "message": "repro: the working directory is gone\nfix: `cd` to one that is there",
            }
        about = [str(error.filename)] if error.filename else []
        fix = f"\nfix: {_FIXES[type(error)]}" if type(error) in _FIXES else ""
        return status, {"kind": "system", "message": ": ".join(["repro", *about, str(error.strerror or error)]) + fix}
    except KeyboardInterrupt:
        return INTERRUPTED, {
            "kind": "interrupted", "message": "interrupted: nothing is left running, no golden was written"
        }  # fmt: skip


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """Inside, what this process and its children print to standard output goes to standard error."""
    before = sys.stdout
    before.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        yield
    finally:
        sys.stderr.flush()
        sys.stdout = before
        os.dup2(kept, 1)
        os.close(kept)


def _print(status: int, name: str | None, result: Any, error: dict[str, str] | None) -> int:
    from harness.reporting.publish import version

    table = {"schema": NAME, "version": VERSION, "tool_version": version(), "command": name, "exit_status": status}
    text = json.dumps(plain(table | {"error": error, "result": result}), indent=1, allow_nan=False)
    try:
        say(text)
    except (BrokenPipeError, OutputFailed) as failed:
        return output_failed(failed)
    return status


def output_failed(error: BrokenPipeError | OutputFailed) -> int:
    """Name a full disk, keep silent about a closed pipe, and print no more; the exit status."""
    _drop_output()
    if isinstance(error, BrokenPipeError):
        return CLOSED
    complain(f"repro: {error}")
    return NOT_RUN


def plain(value: Any) -> Any:
    """The value as JSON can have it: paths as text, tuples as lists, and null for a float that is not finite."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, Path):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
