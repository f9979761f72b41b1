"""Run programs of NVIDIA/cutlass, unmodified, on this compiler and the emulator.

The repository is not part of this one: clone it and name its folder. Each program runs in a separate process with a
time limit. Notebooks are compared, line by line, with the output that NVIDIA saved in them. If that differs, or nothing
was saved, the output of NVIDIA's installed compiler counts, which runs them on the emulator too (python -m dsl
--compiler nvidia).
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NOW = "as 4.8.1 prints"  # another output than was saved, by an older release or of unseeded numbers
sys.path.insert(0, str(HERE))

from compare import RULES, compare  # noqa: E402
from own_words import failure_in  # noqa: E402
from programs import PROGRAMS, Program, at_its_size, chosen, is_clone, rows_of  # noqa: E402

EXAMPLES = """\
examples:
  git clone --depth 1 https://github.com/NVIDIA/cutlass
  uv run python tests/upstream/run.py cutlass                      everything in the table
  uv run python tests/upstream/run.py cutlass T2                   a set: T1, T2, T3, T4 or tests
  uv run python tests/upstream/run.py cutlass T2 --compiler nvidia the same under NVIDIA's compiler, on the same device
  uv run python tests/upstream/run.py cutlass notebooks/print      programs whose name has this in it
  uv run python tests/upstream/run.py cutlass test_math --verbose  and show what failed, whole
  uv run python tests/upstream/run.py --list                       the table
exit status: 0 all passed, 1 some did not, 2 wrong usage, 130 stopped by Ctrl-C
"""


@dataclass
class Outcome:
    """The outcome of one program. `verdict`: passed, failed, different, timed out or missing."""

    program: Program
    verdict: str
    seconds: float = 0.0
    note: str = ""  # one line
    detail: str = ""  # the full report
    counts: collections.Counter = field(default_factory=collections.Counter)


class _TimedOut(Exception):
    """A process ran past its limit; its output so far."""


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.list:
        for program in PROGRAMS:
            print(f"{program.set:6}{program.name:34}{program.kind:10}{' '.join((program.path, *program.arguments))}")
        return 0
    if options.folder is None:
        print("run.py: name the folder of a clone of https://github.com/NVIDIA/cutlass (see --help)", file=sys.stderr)
        return 2
    folder = Path(options.folder).resolve()
    if not is_clone(folder):
        print(
            f"run.py: {options.folder} is not a clone of NVIDIA/cutlass: it has no examples/python/CuTeDSL",
            file=sys.stderr,
        )
        return 2
    try:
        programs = chosen(options.names)
    except ValueError as error:
        print(f"run.py: {error}; --list shows the table", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return _run_all(folder, programs, options)
    except KeyboardInterrupt:
        print("\nrun.py: stopped", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run.py", description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", help="a clone of https://github.com/NVIDIA/cutlass")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a set, or what is in their name; default: all")
    parser.add_argument("--compiler", choices=("ours", "nvidia"), default="ours", help="default: ours")
    parser.add_argument("--list", action="store_true", help="show the programs and end")
    parser.add_argument("--verbose", action="store_true", help="show the whole output of what did not pass")
    parser.add_argument("--limit", type=int, metavar="SECONDS", help="time limit of each program; default: its own")
    parser.add_argument("--json", metavar="FILE", help="also write the outcomes as JSON")
    return parser


def _run_all(folder: Path, chosen: list[Program], options: argparse.Namespace) -> int:
    outcomes = []
    for number, program in enumerate(chosen, 1):
        print(f"[{number}/{len(chosen)}] {program.name:34}", end="", flush=True)
        outcome = run_program(folder, program, options.limit or program.limit_s, options.compiler)
        outcomes.append(outcome)
        print(f"{outcome.verdict:10}{outcome.seconds:6.1f} s  {outcome.note}", flush=True)
        if options.verbose and outcome.detail and outcome.verdict != "passed":
            print("    " + outcome.detail.replace("\n", "\n    "), flush=True)
    print(summary(outcomes))
    if options.json:
        rows = [
            {
                "name": o.program.name,
                "verdict": o.verdict,
                "seconds": round(o.seconds, 2),
                "note": o.note,
                "lines": dict(o.counts),
            }
            for o in outcomes
        ]
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    return int(any(outcome.verdict != "passed" for outcome in outcomes))


def summary(outcomes: list[Outcome]) -> str:
    """Verdicts in numbers, and for notebooks the lines under each rule."""
    verdicts = collections.Counter(outcome.verdict for outcome in outcomes)
    text = ["", ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())]
    compared = [outcome for outcome in outcomes if outcome.counts]
    if compared:
        columns = (*RULES, NOW, "different")
        text.append("")
        text.append(f"{'lines of output':34}" + "".join(f"{column:>17}" for column in columns))
        text += [f"{o.program.name:34}" + "".join(f"{o.counts[column]:17}" for column in columns) for o in compared]
    sets = collections.defaultdict(collections.Counter)
    for outcome in outcomes:
        sets[outcome.program.set][outcome.verdict] += 1
    text += [""] + [f"{name}: {each['passed']} of {each.total()} passed" for name, each in sorted(sets.items())]
    return "\n".join(text)


def run_program(folder: Path, program: Program, limit_s: float, compiler: str = "ours") -> Outcome:
    """Run one program and judge it."""
    path = folder / program.path
    if not path.is_file():
        return Outcome(program, "missing", note=f"this clone has no {program.path}")
    start = time.monotonic()
    try:
        if program.kind == "program":
            outcome = _program(path, program, limit_s, compiler, folder)
        else:
            outcome = {"test": _test, "notebook": _notebook}[program.kind](path, program, limit_s, compiler)
    except _TimedOut as late:
        outcome = Outcome(program, "timed out", note=f"after {limit_s:g} s", detail=str(late))
    outcome.seconds = time.monotonic() - start
    return outcome


def _command(arguments: list[str], limit_s: float, folder: Path) -> subprocess.CompletedProcess:
    """Run a command in a separate process group; nothing of it outlives this call."""
    environment = dict(os.environ, PYTHONPATH=str(ROOT), CUTE_DSL_DISABLE_FILE_CACHING="1")
    process = subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
        errors="replace",
    )
    try:
        output, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        _kill(process)
        output, _ = process.communicate()
        raise _TimedOut(output) from None
    except BaseException:
        _kill(process)
        raise
    return subprocess.CompletedProcess(arguments, process.returncode, output)


def _kill(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def _ours(*arguments: object, compiler: str = "ours") -> list[str]:
    return [
        sys.executable,
        "-m",
        "dsl",
        "--device",
        "emulator",
        "--check",
        "none",
        "--compiler",
        compiler,
        *map(str, arguments),
    ]


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:150] if lines else "no output"


def _said(output: str) -> str:
    """The line of an error report that names the error."""
    lines = output.splitlines()
    carets = [line for line in lines if re.match(r"\s+\^", line)]
    return (carets[-1].strip(" ^")[:150] or _last_line(output)) if carets else _last_line(output)


def _test(path: Path, program: Program, limit_s: float, compiler: str) -> Outcome:
    with tempfile.TemporaryDirectory() as scratch:
        run = _command(_ours(HERE / "drive_pytest.py", path, compiler=compiler), limit_s, Path(scratch))
    last = _last_line(run.stdout)
    return Outcome(program, "failed" if run.returncode else "passed", note=last, detail=run.stdout)


def _program(path: Path, program: Program, limit_s: float, compiler: str, folder: Path) -> Outcome:
    with tempfile.TemporaryDirectory() as scratch:
        if program.after:
            before = _command(_ours(folder / program.after, compiler=compiler), limit_s, Path(scratch))
            if before.returncode:
                note = f"{Path(program.after).name}: {_said(before.stdout)}"
                return Outcome(program, "failed", note=note, detail=before.stdout)
        run = _command(_ours(path, "--", *program.arguments, compiler=compiler), limit_s, Path(scratch))
    if run.returncode < 0:
        return Outcome(program, "failed", note=f"killed by {signal.Signals(-run.returncode).name}", detail=run.stdout)
    note = _said(run.stdout) if run.returncode else failure_in(run.stdout)[:150] or _last_line(run.stdout)
    verdict = "passed" if program.is_passed_by(run.returncode, run.stdout) else "failed"
    return Outcome(program, verdict, note=note, detail=run.stdout)


def _notebook(path: Path, program: Program, limit_s: float, compiler: str) -> Outcome:
    with tempfile.TemporaryDirectory() as scratch:
        return _judged_notebook(at_its_size(path, program, Path(scratch)), program, limit_s, compiler, scratch)


def _judged_notebook(path: Path, program: Program, limit_s: float, compiler: str, scratch: str) -> Outcome:
    results = Path(scratch) / "ours.jsonl"
    run = _command(_ours(HERE / "drive_notebook.py", path, results, compiler=compiler), limit_s, Path(scratch))
    ours = rows_of(results)
    theirs, whose = _expected(path, program, limit_s)
    error = next((row["error"] for row in ours if row["error"]), "")
    if run.returncode and not error:
        error = f"ended with status {run.returncode}\n{run.stdout}"
    if theirs is None:
        note = _said(error) if error else f"{len(ours)} cells, output not compared{whose}"
        return Outcome(program, "failed" if error else "passed", note=note, detail=error)
    counts: collections.Counter = collections.Counter()
    diff: list[str] = []
    now: list[str] | None = None
    for number, expected in enumerate(theirs):
        row = ours[number] if number < len(ours) else {"printed": "", "printf": ""}
        found, lines = compare(expected, row["printed"], row["printf"])
        if lines and program.expects == "saved":
            now = _printed_by_nvidia(path, limit_s) if now is None else now
            found, lines = _as_printed_now(found, lines, row, now[number : number + 1])
        counts.update(found)
        if lines:
            diff += [f"cell {number + 1}:", *lines]
    note = f"{sum(counts.values())} lines, {counts['different']} different from {whose}"
    if error:
        return Outcome(program, "failed", note=_said(error), detail="\n".join([error, *diff]), counts=counts)
    if len(theirs) < len(ours):
        diff.append(f"cell {len(theirs) + 1}: it runs here, and fails under NVIDIA's compiler")
        note += f", in {len(theirs)} of {len(ours)} cells"
    return Outcome(program, "different" if diff else "passed", note=note, detail="\n".join(diff), counts=counts)


def _expected(path: Path, program: Program, limit_s: float) -> tuple[list[str] | None, str]:
    """The expected output of each cell, and its source; None if there is no source."""
    if program.expects == "nothing":
        return None, ""
    if program.expects == "saved":
        return saved_outputs(path), "what NVIDIA saved"
    found = _printed_by_nvidia(path, limit_s)
    return (found, "what NVIDIA's compiler prints") if found else (None, ": NVIDIA's compiler does not run it here")


def _printed_by_nvidia(path: Path, limit_s: float) -> list[str]:
    """The output of each cell under NVIDIA's compiler and on the emulator; fewer cells if one fails."""
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch) / "theirs.jsonl"
        command = _ours(HERE / "drive_notebook.py", path, results, compiler="nvidia")
        try:
            _command(command, limit_s, Path(scratch))
        except _TimedOut:
            pass
        return [row["printed"] + row["printf"] for row in rows_of(results) if not row["error"]]


def _as_printed_now(
    found: collections.Counter, lines: list[str], row: dict, now: list[str]
) -> tuple[collections.Counter, list[str]]:
    """A cell that differs from what was saved: lines that NVIDIA's compiler prints so today are not a difference."""
    if not now:
        return found, lines
    today, differing = compare(now[0], row["printed"], row["printf"])
    moved = max(0, found["different"] - today["different"])
    kept = collections.Counter(found)
    kept["different"] -= moved
    kept[NOW] += moved
    return kept, differing


def saved_outputs(notebook: Path) -> list[str]:
    """The text that each code cell of a notebook printed when it was saved."""
    found = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [
        "".join("".join(output.get("text", ())) for output in cell["outputs"] if output.get("name") == "stdout")
        for cell in found
        if cell["cell_type"] == "code"
    ]


if __name__ == "__main__":
    sys.exit(main())
