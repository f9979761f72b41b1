"""Reduce programs of NVIDIA/cutlass that one edit broke, and see whether the same edit, undone, cures what is left.

The repository is not part of this one: clone it and name its folder. A reduced program has the same cause as the broken
one if it fails as it is and does not where the edit is undone in it: the new words become the old ones again, or, where
the edit took a statement away, this statement is put in front of some line.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from broken_programs import HELD_OUT, PROGRAMS, Broken  # noqa: E402

REPRO = [sys.executable, "-c", "import sys; from harness.cli import main; sys.exit(main())"]
EXAMPLES = """\
examples:
  uv run python tests/upstream/reductions.py cutlass                 all but those that are held out
  uv run python tests/upstream/reductions.py cutlass shfl_sync       programs whose name has this in it
  uv run python tests/upstream/reductions.py cutlass --held-out      those alone
"""


def repro(command: str, path: Path, one: Broken, home: Path, limit_s: float, *more: str) -> int:
    """The exit status of `repro COMMAND` of a program whose modules lie in `home`; Ctrl-C comes after `limit_s`."""
    variables = {**os.environ, "PYTHONPATH": f"{HERE.parents[1]}:{home}"}
    process = subprocess.Popen(
        [*REPRO, command, str(path), *one.options, *more], cwd=path.parent, env=variables,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        process.send_signal(2)
        return process.wait()


def undone(text: str, one: Broken) -> Iterator[str]:
    """The program with the edit undone, in every way that this may be meant."""
    if one.new and one.new != "pass" and one.new in text:
        yield text.replace(one.new, one.old)
    if one.new == "pass":
        lines = text.splitlines(keepends=True)
        for at, line in enumerate(lines):
            margin = re.match(r" *", line)
            if margin and margin[0]:
                yield "".join([*lines[:at], f"{margin[0]}{one.old}\n", *lines[at:]])


def judge(path: Path, one: Broken, home: Path) -> str:
    """Whether the reduced program fails of the edit: `same`, `other`, `passes`."""
    if repro("run", path, one, home, 120) == 0:
        return "passes"
    cured = path.with_name("cured.py")
    for text in undone(path.read_text(), one):
        cured.write_text(text)
        if repro("run", cured, one, home, 120) == 0:
            return "same"
    return "other"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clone", type=Path, help="a checkout of NVIDIA/cutlass")
    parser.add_argument("names", nargs="*", help="programs whose name has one of these in it")
    parser.add_argument("--held-out", action="store_true", help="those that are held out")
    parser.add_argument("--minutes", type=float, default=20, help="of a reduction, after which the best counts")
    options = parser.parse_args()
    print("| program | lines | reduced | minutes | cause |\n|---|---|---|---|---|")
    for one in PROGRAMS:
        if (one.name in HELD_OUT) != options.held_out or not any(name in one.name for name in options.names or [""]):
            continue
        home = options.clone.resolve() / "examples/python/CuTeDSL" / Path(one.path).parent
        with tempfile.TemporaryDirectory() as folder:
            path, reduced = Path(folder, "broken.py"), Path(folder, "reduced.py")
            path.write_text(one.text(options.clone))
            began = time.monotonic()
            repro("reduce", path, one, home, 60 * options.minutes, "-o", str(reduced))
            minutes = (time.monotonic() - began) / 60
            size = len(path.read_text().splitlines())
            cause = judge(reduced, one, home) if reduced.exists() else "nothing to keep"
            left = len(reduced.read_text().splitlines()) if reduced.exists() else size
        print(f"| {one.name} | {size} | {left} | {minutes:.1f} | {cause} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
