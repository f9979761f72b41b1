"""The commands `repro replay capsule` and `repro replay validate`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from harness import perturb_options
from harness.cli import choice, document
from harness.errors import UsageError
from harness.terminal import say
from harness.verbosity import note

WRITTEN, NOTHING = 0, 1

_CAPSULE = """\
Record repros on the emulator into one file that replays on any GPU machine; there it needs only Python, numpy and
cuda-bindings, no compiler and nothing of this project.

  repro replay capsule repros -o all.capsule                    every case that launches a kernel
  repro replay capsule repros -k "shuffle and width=8" -o one.capsule
  repro replay capsule repros -o all.capsule --perturb 20       20 times more with warps delayed, also claims of races
  python all.capsule -o out/                             there: replay it (the file runs itself)
  repro replay accept out/                        here: make goldens validated by that GPU

Exit status: 0 recorded, 1 nothing could be recorded, 2 wrong usage.
"""

_VALIDATE = """\
Write one file below 50 MB for a person with any NVIDIA GPU and no clone: every repro, every instruction form that the
emulator runs, probes of tensor cores, and the program that runs them. It needs Python, numpy and cuda-bindings there.

  repro replay validate -o validate.pyz                         all of it
  repro replay validate -o validate.pyz -k "mma or shuffle"     repros and forms that fit, as in pytest
  python validate.pyz                                    there: run it; the same again goes on after a stop
  repro replay accept out.zip                     here: validated goldens and a table of agreement

Exit status: 0 written, 2 wrong usage.
"""


def add(commands: Any) -> None:
    """Add the commands."""
    _add_validate(commands)
    parser = document.command(commands, "capsule", "record repros for a GPU elsewhere", _CAPSULE, _capsule)
    parser.add_argument("paths", type=Path, nargs="+", metavar="PATH", help="repros and folders of them")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="the capsule to write")
    parser.add_argument(
        "-k", dest="keyword", default="", metavar="EXPRESSION", help="only cases that fit, as in pytest"
    )
    parser.add_argument("--arch", metavar="SM", help="compile for this GPU and later (default: each repro's own arch)")
    parser.add_argument("--perturb", type=int, metavar="N", help=perturb_options.CAPSULE_HELP)


def _add_validate(commands: Any) -> None:
    parser = document.command(commands, "validate", "one file for a person with a GPU", _VALIDATE, _validate)
    parser.add_argument(
        "paths",
        type=Path,
        nargs="*",
        default=[Path("repros")],
        metavar="PATH",
        help="repros and folders (default repros)",
    )
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE", help="the file to write")
    parser.add_argument("-k", dest="keyword", default="", metavar="EXPRESSION", help="only repros and forms that fit")


def _capsule(arguments: argparse.Namespace) -> int:
    from harness.capsules import capsule_file

    cases = capsule_file.find(arguments.paths, arguments.keyword)
    if not cases:
        raise UsageError(choice.nothing_fits(" ".join(map(str, arguments.paths)), arguments.keyword))
    perturb = perturb_options.wanted(arguments.perturb)
    count = capsule_file.record(cases, arguments.out, arguments.arch, _progress, perturb=perturb)
    size = arguments.out.stat().st_size if count else 0
    written = {"written": arguments.out if count else None, "recorded": count, "cases": len(cases), "bytes": size}
    document.give(arguments, written)
    if not count:
        say("nothing was recorded, and nothing written", file=sys.stderr)
        return NOTHING
    note(f"wrote {arguments.out}: {count} of {len(cases)} cases, {size} bytes", sys.stdout)
    note("next, on a machine with a GPU:", sys.stdout)
    note(f"    uv run --no-project --with numpy --with cuda-bindings python {arguments.out.name} -o out/", sys.stdout)
    return WRITTEN


def _validate(arguments: argparse.Namespace) -> int:
    from harness.capsules import capsule_file, validation

    cases = capsule_file.find(arguments.paths, arguments.keyword)
    recorded, forms = validation.write(cases, arguments.out, arguments.keyword, _progress)
    if not recorded + forms:
        raise UsageError("no repro and no instruction form fits")
    size = arguments.out.stat().st_size
    written = {"written": arguments.out, "recorded": recorded, "cases": len(cases), "forms": forms, "bytes": size}
    document.give(arguments, written)
    note(
        f"wrote {arguments.out}: {recorded} of {len(cases)} cases of repros, {forms} instruction forms, {size} bytes",
        sys.stdout,
    )
    note("next, on a machine with a GPU:", sys.stdout)
    note(f"    uv run --no-project --with numpy --with cuda-bindings python {arguments.out.name}", sys.stdout)
    return WRITTEN


def _progress(line: str) -> None:
    note(line, sys.stdout)
