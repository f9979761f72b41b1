"""Reduce programs of other people that one edit broke, and see whether the same edit, undone, cures what is left.

The repositories are not part of this one: clone them and name their folders. The reduced program has the same cause as
the broken one if it fails as it is and does not where the new words become the old ones again. A statement that was taken
away leaves a mark, a string. Rows of --json are written one by one; programs that have a row there are left out, so that a
run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from broken_programs import HELD_OUT, PROGRAMS, Broken  # noqa: E402

REPRO = [sys.executable, "-c", "import sys; from harness.cli import main; sys.exit(main())"]
CHECK_S = 240
CANDIDATES = re.compile(r"(\d+) candidates in")
EXAMPLES = """\
examples:
  uv run python tests/upstream/reductions.py cutlass --check-only     does each fail as broken and pass unbroken?
  uv run python tests/upstream/reductions.py cutlass                  all but those that are held out
  uv run python tests/upstream/reductions.py cutlass shfl_sync        programs whose name has this in it
  uv run python tests/upstream/reductions.py cutlass --held-out       those alone
  uv run python tests/upstream/reductions.py cutlass --folder quack=DIR --folder liger=DIR --folder flash_attn=DIR --folder einops=DIR
  uv run python tests/upstream/reductions.py cutlass --json rows.jsonl --keep DIR
  uv run python tests/upstream/reductions.py --table rows.jsonl       the table of rows that were written
"""


def repro(
    command: str, path: Path, one: Broken, folders: Mapping[str, Path], limit_s: float, *more: str
) -> tuple[int, str]:
    """The exit status of `repro COMMAND` of a program, and the end of its output; Ctrl-C comes after `limit_s`."""
    homes = [str(HERE.parents[1]), str(one.home(folders)), *(str(folder) for folder in folders.values())]
    variables = {**os.environ, "QUACK_CACHE_ENABLED": "0"}  # a program compiled before an edit is not the edited one
    if one.miscompiled[0]:
        homes.insert(0, str(HERE / "miscompilation"))
        variables |= {"MISCOMPILED": json.dumps(one.miscompiled), "GPU_REPRO_CACHE": "0"}
    variables["PYTHONPATH"] = os.pathsep.join(homes)
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            [*REPRO, command, str(path), *one.options, *more], cwd=path.parent, env=variables,
            stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.send_signal(2)
            status = process.wait()
        said.seek(0)
        return status, said.read()[-2000:]


def fails(path: Path, one: Broken, folders: Mapping[str, Path]) -> bool:
    """Whether a program does something wrong; of two compilers, whether they disagree."""
    if not one.keep:
        return repro("run", path, one, folders, CHECK_S)[0] != 0
    statuses = [repro("run", path, one, folders, CHECK_S, "--compiler", side)[0] for side in one.keep.split()[1:]]
    return len({*statuses}) > 1


def judge(path: Path, one: Broken, folders: Mapping[str, Path]) -> str:
    """Whether the reduced program fails of the edit: `same`, `other`, `passes`."""
    if not fails(path, one, folders):
        return "passes"
    if one.miscompiled[0]:
        return "other" if fails(path, one._replace(miscompiled=("", "")), folders) else "same"
    text, cured = path.read_text(), path.with_name("cured.py")
    cured.write_text(text.replace(one.words, one.old))
    return "same" if one.words in text and not fails(cured, one, folders) else "other"


def check(one: Broken, folders: Mapping[str, Path], folder: Path) -> str:
    """Whether it fails as broken and passes unbroken: `good`, or what it does instead."""
    path = folder / "program.py"
    path.write_text(one.text(folders))
    if not fails(path, one, folders):
        return "passes as broken"
    path.write_text(one.text(folders, cured=True))
    return "fails unbroken" if fails(path, one._replace(miscompiled=("", "")), folders) else "good"


def reduced(one: Broken, folders: Mapping[str, Path], folder: Path, minutes: float, width: int) -> dict:
    """One row: lines that are not empty before and after, candidates, minutes, and whether the cause is the same."""
    path, out = folder / "broken.py", folder / "reduced.py"
    path.write_text(one.text(folders))
    began, worked = time.monotonic(), _worked()
    more = ["--keep", one.keep] if one.keep else []
    if one.words and not one.keep and path.read_text().count(one.words) == 1:
        more += ["--cured-by", f"{one.words} => {one.old}"]
    _, said = repro("reduce", path, one, folders, 60 * minutes, "-o", str(out), "-j", str(width), *more)
    spent = (time.monotonic() - began) / 60
    cores = (_worked() - worked) / 60
    ran = CANDIDATES.search(said)
    row = {
        "program": one.name,
        "lines": _lines(path),
        "minutes": round(spent, 1),
        "cores": round(cores, 1),
        "left": _lines(path),
    }
    row |= {"candidates": int(ran[1]) if ran else 0, "finished": "interrupted:" not in said}
    if not out.exists():
        return row | {"cause": "nothing to keep", "said": said[-400:]}
    return row | {"left": _lines(out), "cause": judge(out, one, folders), "text": out.read_text()}


def _worked() -> float:
    """Seconds that cores have worked for what has ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _lines(path: Path) -> int:
    return sum(bool(line.strip()) for line in path.read_text().splitlines())


def table(rows: list[dict]) -> str:
    """Rows as Markdown, with medians below."""
    said = ["| program | lines | reduced | candidates | minutes | of a core | cause |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        more = "" if row.get("finished", True) else " (stopped)"
        name = row["program"] + (" (held out)" if row["program"] in HELD_OUT else "")
        said.append(
            f"| {name} | {row['lines']} | {row['left']} | {row['candidates']} | {row['minutes']}{more} | {row['cores']} | {row['cause']} |"
        )
    if rows:
        median = {each: statistics.median(row[each] for row in rows) for each in ("left", "minutes", "cores")}
        same = sum(row["cause"] == "same" for row in rows)
        short = sum(row["left"] < 90 for row in rows)
        said.append(
            f"\n{len(rows)} programs: median {median['left']:g} lines, {short} below 90, median {median['minutes']:g} minutes "
            f"({median['cores']:g} of one core), "
            f"{same} of the same cause"
        )
    return "\n".join(said)


def rows_of(path: Path | None) -> list[dict]:
    """The rows that were written to a file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path and path.exists() else []


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has jobs in the background ignore it
    parser.add_argument("clone", type=Path, nargs="?", help="a checkout of NVIDIA/cutlass")
    parser.add_argument("names", nargs="*", help="programs whose name has one of these in it")
    parser.add_argument("--folder", action="append", default=[], metavar="PACKAGE=DIR", help="where a package is")
    parser.add_argument("--held-out", action="store_true", help="those that are held out")
    parser.add_argument("--check-only", action="store_true", help="do not reduce: see whether each fails and is cured")
    parser.add_argument("--minutes", type=float, default=10, help="of a reduction, after which the best counts (10)")
    parser.add_argument("-j", dest="width", type=int, default=1, metavar="N", help="candidates at once (1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="add a JSON line for each program")
    parser.add_argument("--table", type=Path, metavar="FILE", help="print the table of such a file, and end")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the reduced programs there")
    options = parser.parse_intermixed_args()
    if options.table:
        print(table(rows_of(options.table)))
        return 0
    if options.clone is None:
        parser.error("name a checkout of NVIDIA/cutlass")
    folders = {"cutlass": options.clone.resolve()}
    folders |= {name: Path(path).resolve() for name, path in (each.split("=", 1) for each in options.folder)}
    done, failed = {row["program"] for row in rows_of(options.json)}, False
    for one in PROGRAMS:
        is_named = any(name in one.name for name in options.names or [""])
        if one.package not in folders or not is_named or one.name in done:
            continue
        if not options.check_only and (one.name in HELD_OUT) != options.held_out:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            if options.check_only:
                said = check(one, folders, Path(scratch))
                failed |= said != "good"
                print(f"{one.name}: {said}", flush=True)
                continue
            row = reduced(one, folders, Path(scratch), options.minutes, options.width)
        text = row.pop("text", "")
        if options.keep and text:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{re.sub(r'[^a-z0-9]+', '_', one.name.lower())}.py").write_text(text)
        if options.json:
            with options.json.open("a") as file:
                file.write(json.dumps(row) + "\n")
        print(json.dumps(row), flush=True)
        failed |= row["cause"] != "same"
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
