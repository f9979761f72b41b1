"""The numbers in README.md and benchmarks/README.md, from the files in benchmarks/results.

    uv run python benchmarks/emulator.py --json benchmarks/results/emulator.json    # measure again
    uv run python benchmarks/readme_table.py                                        # write both tables

A file has what its benchmark printed, and the machine, the day and the commit.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks/results"
MEASURED = ("dsl", "harness")  # the commit of a file is the last one that changed these
PAGES = {"README.md": True, "benchmarks/README.md": False}  # the first has only some of the rows
MARK = re.compile(r"(<!-- generated: python benchmarks/readme_table.py -->\n).*?(<!-- end -->\n)", re.DOTALL)
UNITS = {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9, "GB": 1e9, "MB": 1e6}


def write(path: str, numbers: dict) -> None:
    """Write the file of a benchmark."""
    models = re.findall(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    commit = _git("log", "-1", "--format=%h", "--abbrev=12", "--", *MEASURED)
    facts = {
        "date": datetime.date.today().isoformat(),
        "commit": commit + ("-dirty" if _git("diff", "HEAD", "--", *MEASURED) else ""),
        "cpu": models[0],
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
    }
    Path(path).write_text(json.dumps(facts | {"numbers": numbers}, indent=1, ensure_ascii=False) + "\n")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def amount(number: float, unit: str = "s") -> str:
    """With two significant digits."""
    value = float(f"{number / UNITS[unit]:.2g}")
    return f"{value:.{max(0, 1 - math.floor(math.log10(value)))}f} {unit}"


def rows() -> list[tuple[str, str, str, str, bool]]:
    """The subject, our number, the number of a peer, the benchmark, and whether the README has it."""
    installed, compiled, verdict, emulated, recorded = (
        json.loads((RESULTS / f"{name}.json").read_text())["numbers"]
        for name in ("installation", "compile_time", "edit_to_verdict", "emulator", "record")
    )
    ours, theirs = compiled["ours"], compiled["nvidia"]
    nvidia = f"nvidia-cutlass-dsl {compiled['release']}: "
    first, loop = compiled["one kernel"], emulated["a loop of 4096 multiply-adds in 256 threads, each multiply-add"]
    peers = f"numba's CUDA simulator {amount(loop['numba CUDA simulator']['cpu_s'], 'ns')}, "
    peers += f"Triton's interpreter {amount(loop['Triton interpreter']['cpu_s'], 'ns')}"
    saxpy = emulated["saxpy of 2^24 floats"]
    barrier = emulated["a barrier of 1024 threads, threads as coroutines"]["emulator"]
    product = emulated["mma.m16n8k16 of f16 by a warp, 2048 multiply-adds; four warps"]["emulator"]
    launch = emulated["a launch, and the first launch of a program in a fresh process (import apart)"]["empty kernel"]
    return [
        ("environment of a clone, with torch", amount(installed["checkout_bytes"], "GB"),
         f"the wheel, without torch: {amount(installed['wheel_bytes'], 'MB')}", "installation.py", True),
        ("building the C++ while installing a clone", amount(installed["build_cpu_s"]), "", "installation.py", False),
        ("import of the compiler", amount(ours["import"]), nvidia + amount(theirs["import"]), "compile_time.py", False),
        ("first compile of an elementwise add", amount(ours["compile"]), nvidia + amount(theirs["compile"]),
         "compile_time.py", True),
        ("its first launch on the emulator, from the disk cache", amount(first["cached"]["cpu"][0]),
         f"compiled: {amount(first['compiled']['cpu'][0])}", "compile_time.py", False),
        ("an edited repro, which imports torch, to its verdict", amount(verdict["edit to verdict"]["cpu_s"]),
         f"`import torch` alone: {amount(verdict['import torch']['cpu_s'])}", "edit_to_verdict.py", False),
        ("a multiply-add in a loop of 4096, 256 threads", amount(loop["emulator"]["cpu_s"], "ns"), peers,
         "emulator.py", True),
        ("saxpy of 2^24 floats, one worker", amount(saxpy["emulator, one worker"]["cpu_s"], "ms"),
         f"numpy with one temporary: {amount(saxpy['numpy, one temporary']['cpu_s'], 'ms')}", "emulator.py", False),
        ("a barrier of 1024 threads that diverge", amount(barrier["cpu_s"], "µs"), "", "emulator.py", False),
        ("`mma.m16n8k16` of f16 by a warp", amount(product["cpu_s"], "µs"), "", "emulator.py", False),
        ("launch of an empty kernel", amount(launch["cpu_s"], "µs"), "", "emulator.py", False),
        ("`repro record status` over 100 000 records", amount(recorded["repro record status"]["cpu_s"]), "",
         "record.py", False),
    ]  # fmt: skip


def table(short: bool) -> str:
    """The rows, and below them where they were measured."""
    shown = [row for row in rows() if row[4] or not short]
    lines = ["| what | gpu-repro | compared with | `uv run python benchmarks/...` |", "|---|---|---|---|"]
    lines += [f"| {what} | {ours} | {peer} | `{name}` |".replace("|  |", "| |") for what, ours, peer, name, _ in shown]
    places: dict[str, list[str]] = {}
    for name in dict.fromkeys(row[3] for row in shown):
        facts = json.loads((RESULTS / name.replace(".py", ".json")).read_text())
        place = f"{facts['cores']} cores of {facts['cpu']}, Python {facts['python']}"
        place += f", {facts['date']}, commit {facts['commit']}"
        places.setdefault(place, []).append(f"`{name}`")
    units = "CPU seconds; each command prints both columns in one run. No GPU took part."
    lines += ["", units]
    lines += [f"Measured by {', '.join(names)}: {place}." for place, names in places.items()]
    return "\n".join(lines) + "\n"


def page(text: str, short: bool) -> str:
    """The page with its table written again."""
    return MARK.sub(lambda match: match[1] + table(short) + match[2], text)


if __name__ == "__main__":
    for name, short in PAGES.items():
        (ROOT / name).write_text(page((ROOT / name).read_text(), short))
