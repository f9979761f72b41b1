"""The command `repro completion`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from harness.terminal import say

SHELLS = "bash", "zsh", "fish"

_COMPLETION = """\
Print a script that completes commands, options and files of `repro` in your shell.

  repro completion bash > ~/.local/share/bash-completion/completions/repro
  repro completion zsh > ~/.zfunc/_repro           with `fpath+=~/.zfunc` before compinit in ~/.zshrc
  repro completion fish > ~/.config/fish/completions/repro.fish

Exit status: 0.
"""


def add(commands: Any, whole: Callable[[], argparse.ArgumentParser]) -> None:
    """Add the command. `whole` makes the parser of all commands."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = commands.add_parser(
        "completion", help="complete commands in your shell", description=_COMPLETION, formatter_class=raw
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads the script")
    parser.set_defaults(command=lambda arguments: _print(arguments.shell, whole()))


def _print(shell: str, parser: argparse.ArgumentParser) -> int:
    import shtab  # noqa: PLC0415

    _name_files(parser, shtab.FILE)
    say(shtab.complete(parser, shell))
    return 0


def _name_files(parser: argparse.ArgumentParser, files: Mapping[Any, Any]) -> None:
    """Mark the arguments that are files, for the shells that need this mark."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _name_files(command, files)
        elif action.type is Path or action.metavar in ("FILE", "CLAIM"):
            action.complete = files  # pyright: ignore[reportAttributeAccessIssue] - shtab's own attribute
