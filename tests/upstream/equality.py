"""Run programs of NVIDIA/cutlass under this compiler and NVIDIA's compiler, on the same device, and compare in bits.

The repository is not part of this one: clone it and name its folder. The emulator runs the kernels of both. The
values that each launch leaves in device memory must have the same bits. If nothing is left there, the text that is
printed must be the same by the rules of compare.py; lines that hold a time or a rate are left out. A program that
chooses a kernel by its time is not compared.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT)]

from compare import compare as compare_lines, rule_of  # noqa: E402
from programs import Program, at_its_size, chosen, is_clone, rows_of  # noqa: E402

from tests import fork_server  # noqa: E402

EXAMPLES = """\
examples:
  git clone --depth 1 https://github.com/NVIDIA/cutlass
  uv run python tests/upstream/equality.py cutlass T2            a set, or what is in a program's name
  uv run python tests/upstream/equality.py cutlass --json FILE   everything; a FILE that is there is gone on with
exit status: 0 all that are compared are equal, 1 some are not, 2 wrong usage
"""
COMPILERS = ("ours", "nvidia")
_TIME = re.compile(
    r"(?i)\d\s*(?:[mun\u00b5]?s|seconds|[GT]B/s|[GT]FLOPS?(?:/s)?)\b|\btime\b|throughput|bandwidth|speedup"
)
_SCRATCH = re.compile(rf"{re.escape(tempfile.gettempdir())}/tmp[a-z0-9_]{{8}}\b")
_MOST_LINES = 1000  # compared


@dataclass
class Run:
    """A program under one compiler. `verdict`: passed, failed, timed out or not run; `launches`: the recorded lines."""

    verdict: str
    note: str
    launches: list[dict]
    printed: list[str]


@dataclass
class Row:
    """A program under both. `outcome`: equal, different, not compared, or whose run did not pass. `unlike`: printed lines
    that differ."""

    name: str
    set: str
    ours: str
    nvidia: str
    outcome: str
    launches: int
    buffers: int
    lines: int
    unlike: int
    note: str
    seconds: float


def run(folder: Path, program: Program, compiler: str, limit_s: float) -> Run:
    """Run one program and keep what its launches left."""
    path = folder / program.path
    with tempfile.TemporaryDirectory() as scratch:
        result = Path(scratch) / "launches.jsonl"
        try:
            if program.after:
                _execute(compiler, [folder / program.after], scratch, limit_s)
            done = _execute(compiler, [HERE / "record_outputs.py", result, *_target(path, program, scratch)],
                            scratch, limit_s)  # fmt: skip
            output = done.stdout + done.stderr
            verdict = "passed" if program.is_passed_by(done.returncode, output) else "failed"
        except subprocess.TimeoutExpired:
            output, verdict = f"after {limit_s:g} s", "timed out"
        launches = rows_of(result)
        cells = rows_of(Path(scratch) / "cells.jsonl")
    lines = [line for line in output.splitlines() if line.strip()]
    if program.kind == "notebook":
        printed = "".join(cell["printed"] + cell["printf"] for cell in cells)
    else:
        printed = done.stdout if program.kind == "program" and verdict == "passed" else ""
    note = next((cell["error"] for cell in cells if cell["error"]), lines[-1] if lines else "")
    return Run(verdict, " ".join(note.split())[-200:], launches, comparable_lines(printed))


def comparable_lines(printed: str) -> list[str]:
    lines = _SCRATCH.sub("a scratch folder", printed).splitlines()
    return [line for line in lines if line.strip() and not _TIME.search(line)]


def _execute(compiler: str, argv: list, scratch: str, limit_s: float) -> subprocess.CompletedProcess:
    command = [
        "-W",
        "ignore",
        "-m",
        "dsl",
        "--device",
        "emulator",
        "--check",
        "none",
        "--compiler",
        compiler,
        argv[0],
        "--",
        *argv[1:],
    ]
    return fork_server.run(command, cwd=scratch, timeout=limit_s)


def _target(path: Path, program: Program, scratch: str) -> list:
    if program.kind == "program":
        return [path, *program.arguments]
    if program.kind == "notebook":
        return [HERE / "drive_notebook.py", at_its_size(path, program, Path(scratch)), Path(scratch) / "cells.jsonl"]
    return [HERE / "drive_pytest.py", path]


def compare(ours: list[dict], theirs: list[dict]) -> str:
    """Empty where each launch here has its like there, in order and with the same bits; or the first difference in words.

    There may be more launches there: NVIDIA's package converts tensors with kernels, where this one does it on the host.
    """
    rest = iter(theirs)
    for number, mine in enumerate(ours, 1):
        shape = mine["grid"], mine["block"]
        other = next((each for each in rest if (each["grid"], each["block"]) == shape), None)
        if other is None:
            return f"launch {number}: no launch of grid {shape[0]} and block {shape[1]} under NVIDIA's compiler"
        if mine["changed"] != other["changed"]:
            sizes = [sorted(size for size, _ in row["changed"]) for row in (mine, other)]
            if sizes[0] != sizes[1]:
                return f"launch {number} changed buffers of {sizes[0]} bytes here, {sizes[1]} under NVIDIA's compiler"
            unequal = [size for (size, a), (_, b) in zip(mine["changed"], other["changed"], strict=True) if a != b]
            return f"launch {number}: other bits in buffers of {unequal} bytes"
    return "" if ours or not theirs else f"no launch here, {len(theirs)} under NVIDIA's compiler"


def judge(program: Program, ours: Run, theirs: Run, seconds: float) -> Row:
    difference = compare(ours.launches, theirs.launches)
    buffers = sum(len(row["changed"]) for row in ours.launches)
    lines, unlike = compare_printed(ours.printed, theirs.printed)
    if unlike and not difference and not buffers:
        difference = f"{len(unlike)} of {lines} printed lines differ: {unlike[0][:120]}"
    if ours.verdict == theirs.verdict == "passed":
        outcome, note = ("different", difference) if difference else ("equal", "")
    elif ours.verdict == theirs.verdict:
        outcome, note = "neither passes", f"{ours.note} | {theirs.note}"
    else:
        outcome = "only here" if ours.verdict == "passed" else "only there"
        note = theirs.note if ours.verdict == "passed" else ours.note
    return Row(program.name, program.set, ours.verdict, theirs.verdict, outcome, len(ours.launches), buffers, lines,
               len(unlike), note, round(seconds, 1))  # fmt: skip


def compare_printed(ours: list[str], theirs: list[str]) -> tuple[int, list[str]]:
    """The number of lines printed here, and the lines of either that the other does not print."""
    if len(ours) == len(theirs) and all(map(rule_of, theirs, ours)):
        return len(ours), []
    ours, theirs = ours[:_MOST_LINES], theirs[:_MOST_LINES]
    return len(ours), compare_lines("\n".join(theirs), "\n".join(ours))[1]


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    folder = options.folder.resolve()
    if not is_clone(folder):
        print(f"equality.py: {options.folder} has no examples/python/CuTeDSL", file=sys.stderr)
        return 2
    try:
        programs = chosen(options.names)
    except ValueError as error:
        print(f"equality.py: {error}; run.py --list shows the table", file=sys.stderr)
        return 2
    try:
        return _compare_all(folder, programs, options)
    except KeyboardInterrupt:
        print("\nequality.py: stopped; with --json FILE it goes on with what FILE has", file=sys.stderr)
        return 130


def _compare_all(folder: Path, programs: list[Program], options: argparse.Namespace) -> int:
    done = json.loads(options.json.read_text()) if options.json and options.json.exists() else []
    rows = [Row(**row) for row in done]
    for program in programs:
        if any(row.name == program.name for row in rows):
            continue
        row = _row(folder, program, options.limit)
        rows.append(row)
        print(f"{row.name:36}{row.outcome:15}{row.launches:4} launches {row.buffers:4} buffers {row.lines:4} lines {row.seconds:7.1f} s "
              f"{row.note}", flush=True)  # fmt: skip
        if options.json:
            options.json.write_text(json.dumps(list(map(asdict, rows)), indent=1) + "\n")
    print(summary(rows))
    return int(any(row.outcome not in ("equal", "not compared") for row in rows))


def _row(folder: Path, program: Program, limit_s: float) -> Row:
    if program.is_by_time:
        note = "chooses a kernel by its time"
        return Row(program.name, program.set, "not run", "not run", "not compared", 0, 0, 0, 0, note, 0.0)
    start = time.monotonic()
    ours, theirs = (run(folder, program, compiler, limit_s) for compiler in COMPILERS)
    return judge(program, ours, theirs, time.monotonic() - start)


def summary(rows: list[Row]) -> str:
    """For each set: how many pass here, under NVIDIA's compiler, under both, and of these with equal bits."""
    text = [f"{'set':6}{'programs':>10}{'here':>6}{'NVIDIA':>8}{'both':>6}{'equal':>7}"]
    sets = collections.defaultdict(list)
    for row in rows:
        sets[row.set].append(row)
    for name, each in sorted(sets.items()):
        here, there = ({r.name for r in each if getattr(r, c) == "passed"} for c in COMPILERS)
        equal = sum(row.outcome == "equal" for row in each)
        text.append(f"{name:6}{len(each):10}{len(here):6}{len(there):8}{len(here & there):6}{equal:7}")
    return "\n".join(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="equality.py", description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="a clone of https://github.com/NVIDIA/cutlass")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a set, or what is in their name; default: all")
    parser.add_argument("--limit", type=float, default=900, metavar="SECONDS", help="of one run; default: 900")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the rows there, and leave out what it has")
    return parser


if __name__ == "__main__":
    sys.exit(main())
