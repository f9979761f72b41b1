"""The command `repro adopt`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import store
from harness.claim import as_seconds
from harness.cli import document
from harness.errors import UsageError
from harness.session import Session
from harness.terminal import say
from harness.verbosity import note

ADOPTED, REFUSED, NOT_RUN = 0, 1, 3

_ADOPT = """\
Make a repro of a script that prints its answer. The tensors that it prints become the outputs of run(), under the names
of its variables; its docstring or first comment becomes the claim. Imports, kernels, functions and constants stay as
they are, comments included. The script and the repro are both run, and every value is compared: if one differs,
nothing is written and the reason is printed.

  repro adopt scratch.py -o repros/shuffle/width.py
  repro adopt scratch.py -o repros/shuffle/width.py --param WIDTH=8,16,32     the constant WIDTH becomes a parameter
  repro adopt scratch.py -o repros/copy.py --claim "cp.async fills what it does not copy with zeros."
  repro adopt bench.py -o repros/sum.py -- --n 64                             arguments of a script with argparse

Exit status: 0 written, 1 refused with the reason, 2 wrong usage, 3 could not be run.
"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = document.command(commands, "adopt", "make a repro of a script", _ADOPT, _adopt)
    parser.add_argument("script", type=Path, metavar="SCRIPT", help="a Python file that prints tensors")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="the repro to write")
    parser.add_argument("--claim", default="", help="the claim, instead of the docstring or first comment")
    parser.add_argument(
        "--param", action="append", default=[], metavar="NAME=A,B", help="make a constant a parameter with these values"
    )
    parser.add_argument("--host", default="embedded", help="where both are run (default embedded)")
    parser.add_argument("--timeout", type=as_seconds, metavar="S", help="seconds for each run (default 60)")
    parser.add_argument("arguments", nargs="*", metavar="ARG", help="arguments of the script, after --")


def _adopt(arguments: argparse.Namespace) -> int:
    from harness.adopt import adoption
    from harness.adopt.refusal import NotAdopted
    from harness.reporting.text_report import preview

    if not arguments.script.is_file():
        raise UsageError(f"{arguments.script}: there is no such file")
    if arguments.out.exists():
        raise UsageError(f"{arguments.out} exists already: name another file, or remove it")
    if arguments.out.suffix != ".py":
        raise UsageError(f"-o {arguments.out}: a repro is a Python file: name it *.py")
    wanted = _wanted(arguments.param)
    session = Session(store.root_of(arguments.out.absolute()), [arguments.host], note=note)
    try:
        [host] = session.hosts()[:1]
        adopted = adoption.adopt(
            arguments.script, arguments.out, lambda case: session.run(case, host, arguments.timeout, False)[1],
            arguments.claim, wanted, arguments.arguments, note,
        )  # fmt: skip
    except NotAdopted as refused:
        say(f"not adopted: {refused}", file=sys.stderr)
        document.give(arguments, {"written": None, "outputs": {}, "refused": str(refused)})
        return REFUSED
    finally:
        session.close()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    store.write_atomically(arguments.out, adopted.text.encode())
    note(f"wrote {arguments.out}: it gives what the script prints", sys.stdout)
    outputs = {name: preview(array) for name, array in adopted.outputs.items()}
    for name, shown in outputs.items():
        note(f"    {name}: {shown}", sys.stdout)
    note(f"next: read its claim, then `repro run {arguments.out} --update-goldens`", sys.stdout)
    document.give(arguments, {"written": arguments.out, "outputs": outputs, "refused": None})
    return ADOPTED


def _wanted(options: Sequence[str]) -> dict[str, list[bool | int | float | str]]:
    """`WIDTH=8,16` as values by name."""
    wanted = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not equals or not name.isidentifier() or not text:
            raise UsageError(f"--param {option}: write --param NAME=VALUE,VALUE, as in --param WIDTH=8,16")
        wanted[name] = [_value(one.strip()) for one in text.split(",")]
    return wanted


def _value(text: str) -> bool | int | float | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
