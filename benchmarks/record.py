"""How long the record's answers take: many records, many repros. It uses a temporary folder.

    uv run python benchmarks/record.py                       100 000 records of 1 000 claims, 1 000 repros collected
    uv run python benchmarks/record.py --records 10000 --claims 300

Prints the least seconds of wall time and of CPU of several runs, each a new process where a command is named; the
median of the wall time next to them shows how busy the machine is.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import readme_table

sys.path.remove(str(Path(__file__).parent))  # where harness.py is another benchmark
from harness import store
from harness.records.index.index import open_index

REPRO = """\
# /// script
# dependencies = ["numpy"]
# [tool.repro]
# params = {{ width = [8, 16] }}
# ///
\"\"\"Claim {n}: a numpy array doubles.  Source: numpy.\"\"\"
import numpy as np


def run(width):
    return {{"out": np.arange(width, dtype=np.int32) * 2}}


def expected(width):
    return {{"out": np.arange(width, dtype=np.int32) * 2}}
"""
COLUMNS = (("embedded", "sm_90a", "ours"), ("embedded", "sm_90a", "nvidia"), ("p1", "sm_90", "ours"),
           ("p2", "sm_100", "ours"))  # fmt: skip
RUN_RECORDS = 2000  # in the file of one run
NUMBERS: dict[str, dict[str, float]] = {}  # what was printed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--claims", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", help="write the numbers to FILE too")
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="record-benchmark-"))
    try:
        shas = write_repros(root, options.claims)
        write_records(root, options.records, shas)
        measure(root, options.runs)
        if options.json:
            readme_table.write(options.json, NUMBERS)
    finally:
        shutil.rmtree(root)


def write_repros(root: Path, count: int) -> list[str]:
    """The repros of a project; the sha256 of each."""
    (root / "pyproject.toml").write_text("")
    found = []
    for n in range(count):
        path = root / f"repros/group_{n // 100}/claim_{n:04}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(REPRO.format(n=n))
        found.append(hashlib.sha256(path.read_bytes()).hexdigest())
    return found


def write_records(root: Path, count: int, shas: list[str]) -> None:
    """Records over all claims and columns, one file for every few thousand, on the emulator and on hardware."""
    lines: dict[str, list[str]] = {}
    for n in range(count):
        host, arch, compiler = COLUMNS[n // len(shas) % len(COLUMNS)]
        claim = n % len(shas)
        line = record(n, claim, shas[claim], host, arch, compiler)
        kind = f"repros/group_{claim // 100}/records" if line["hardware"] else ".repro/records"
        lines.setdefault(f"{kind}/2026-01-01-{n // RUN_RECORDS:08x}.jsonl", []).append(json.dumps(line, sort_keys=True))
    for name, rows in lines.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("\n".join(rows) + "\n")


def record(n: int, claim: int, sha256: str, host: str, arch: str, compiler: str) -> dict:
    hardware = host != "embedded"
    bad = n % 997 == 0
    name, driver = ("NVIDIA H100", "570.86") if hardware else ("PTX emulator", None)
    device = {"kind": "cuda" if hardware else "emulator", "arch": arch, "name": name, "driver": driver}
    return {
        "schema": 2, "id": f"{n // RUN_RECORDS:08x}-{n % RUN_RECORDS:04}", "run": f"{n // RUN_RECORDS:08x}",
        "key": {"repro_sha256": sha256, "platform": arch, "toolchain": compiler}, "digest": f"{n:064x}",
        "repro": f"repros/group_{claim // 100}/claim_{claim:04}.py", "case": "width=8", "title": f"Claim {claim}.",
        "host": host, "hardware": hardware, "device": device, "asked": compiler,
        "compiler": {"name": compiler, "version": "0.1.0", "llvm": "22", "mlir": "20261001", "ptxas": "13.0"},
        "versions": {"numpy": "2.4.6", "torch": "2.15.0", "python": "3.11.7"}, "bundle_sha256": f"{1:064x}",
        "lock_sha256": f"{2:064x}", "golden_sha256": None, "seed": 0, "verdict": "fail" if bad else "pass",
        "reason": "differs from the golden" if bad else "", "outcome": "outputs", "detail": {},
        "outputs": {"out": f"{3:064x}"}, "shapes": {"out": ["int32", [8]]}, "kernels": {"kernel_0": f"{4:064x}"},
        "sass": {}, "differences": [], "histogram": None, "durations": {"load_s": 0.1, "call_s": 0.2, "run_s": 0.4},
        "date": (datetime.datetime(2026, 1, 1) + datetime.timedelta(seconds=97 * n)).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }  # fmt: skip


def measure(root: Path, runs: int) -> None:
    repro = [str(Path(sys.executable).with_name("repro"))]
    collect = [sys.executable, "-m", "pytest", "repros", "--collect-only", "-q", "-p", "no:cacheprovider"]
    python = [sys.executable, "-c", "pass"]
    show("an interpreter that does nothing", runs, lambda: command(root, python))
    show("index made from nothing", 1, lambda: rebuilt(root))
    (root / ".repro/index.sqlite").stat()
    size = sum(path.stat().st_size for path in root.rglob("*.jsonl")) / 1e6
    print(f"    {size:.0f} MB of records, index {(root / '.repro/index.sqlite').stat().st_size / 1e6:.0f} MB")
    compare = "compare host=p1 host=p2 --no-run"
    for name in ("status", "matrix", "regressions", "history claim_0001", compare):
        show(f"repro record {name}", runs, lambda name=name: command(root, [*repro, "record", *name.split()]))
    show("repro record status after one more record", runs, lambda: after_one_more(root, repro))
    none = root / "none"
    none.mkdir()
    show("pytest --collect-only of nothing", runs, lambda: command(root, [*collect[:3], "none", *collect[4:]]))
    show("pytest --collect-only of the repros", runs, lambda: command(root, collect))
    show("append and sync a record", runs, lambda: append(root))


def show(name: str, runs: int, function: Callable[[], float | None]) -> None:
    times, spent = [], []
    for _ in range(runs):
        started, before = time.perf_counter(), cpu_s()
        taken = function()
        times.append(time.perf_counter() - started if taken is None else taken)
        spent.append(cpu_s() - before)
    NUMBERS[name] = {"wall_s": min(times), "cpu_s": min(spent)}
    least = f"{min(times):8.3f} s  {min(spent):8.3f} s of CPU"
    print(f"{name:40} {least}  (median {statistics.median(times):.3f} s)", flush=True)


def cpu_s() -> float:
    """Seconds of CPU of this process and of those it started."""
    both = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(one.ru_utime + one.ru_stime for one in both)


def command(root: Path, argv: list[str]) -> None:
    done = subprocess.run(argv, cwd=root, capture_output=True, text=True)
    if done.returncode not in (0, 1, 5):
        raise SystemExit(done.stdout + done.stderr)


def rebuilt(root: Path) -> None:
    (root / ".repro/index.sqlite").unlink(missing_ok=True)
    open_index(root).close()


def after_one_more(root: Path, repro: list[str]) -> float:
    append(root)
    started = time.perf_counter()
    command(root, [*repro, "record", "status"])
    return time.perf_counter() - started


def append(root: Path) -> None:
    sha256 = hashlib.sha256((root / "repros/group_0/claim_0001.py").read_bytes()).hexdigest()
    line = record(1, 1, sha256, *COLUMNS[0]) | {"date": store.moment()}
    store.Run().append(root / ".repro/records", line)


if __name__ == "__main__":
    main()
