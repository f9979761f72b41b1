"""How many candidates of a reduction run in a second: `python benchmarks/reduce.py [SECONDS]`.

A candidate is the program with another comment, so each is compiled and run. It prints a row for a compile error, one
for a kernel that the checks of the emulator look at: candidates a second, and the processor time of one with all
processes that take part, which other work on the machine hardly changes.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[0] = str(ROOT)  # not this folder, in which a file hides the package `harness`

from harness.claim import repro_file  # noqa: E402
from harness.reduction import properties  # noqa: E402
from harness.reduction.candidates import Candidates  # noqa: E402
from harness.reduction.places import Place  # noqa: E402
from harness.store import root_of  # noqa: E402

PROGRAMS = {
    "compile error": "repros/control_flow/type_change_in_loop_is_rejected.py",
    "race": "repros/checks/race_tree_sum_without_barrier.py",
}


def rate(path: Path, seconds: float, width: int) -> tuple[float, float]:
    """Candidates a second of one program, and processor seconds of a candidate."""
    repro = repro_file.read(path)
    kept = properties.read(
        "", next(repro.cases()), path.name, lambda **about: Place(root_of(path), width=width, **about)
    )
    try:
        start = kept.see(repro.text)
        kept.hurry(start)
        trial = Candidates(kept, start, width, lambda text: "")
        for future in [trial.submit(f"{repro.text}# warm {number}\n") for number in range(2 * width)]:
            future.result()
        begun, numbers, running, used_s = time.monotonic(), itertools.count(), [], processor_s()
        while time.monotonic() - begun < seconds:
            running = [future for future in running if not future.done()]
            while len(running) < width:
                running.append(trial.submit(f"{repro.text}# {next(numbers)}\n"))
            time.sleep(0.005)
        for future in running:
            future.result()
        ran = trial.ran - 2 * width
        return ran / (time.monotonic() - begun), (processor_s() - used_s) / ran
    finally:
        trial.close()
        kept.close()


def processor_s() -> float:
    """Seconds of processor time that this process and those below it have used, with those that ended."""
    rows: dict[int, list[tuple[int, int]]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        rows.setdefault(int(fields[1]), []).append((int(path.parent.name), sum(map(int, fields[11:15]))))
    ticks, below = 0, [os.getpid()]
    while below:
        for pid, used in rows.get(below.pop(), []):
            ticks += used
            below.append(pid)
    return ticks / os.sysconf("SC_CLK_TCK") + time.process_time()


def main() -> None:
    seconds, width = float((sys.argv[1:] or ["10"])[0]), os.cpu_count() or 1
    print(f"{width} at once, {seconds:g} s each, load {os.getloadavg()[0]:.1f}")
    for name, path in PROGRAMS.items():
        a_second, processor = rate(ROOT / path, seconds, width)
        print(f"{name:14} {a_second:5.1f} candidates/s, {1000 * processor:4.0f} ms of processor time each", flush=True)


if __name__ == "__main__":
    main()
