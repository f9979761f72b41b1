"""What `repro capture` costs a program of which nothing is captured: `uv run python benchmarks/capture_overhead.py`.

A program launches one small kernel many times and compiles another one. It runs alone and under capture in turns. Both
sides are the CPU time of the program's own process, with its imports, so that other work on the machine does not count.
Prints a row a pair, and the median ratio. Exit status 1 if this is above --most.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """
import sys
import time
import torch
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def scale(x: cute.Tensor, factor: cutlass.Float32):
    tid, _, _ = cute.arch.thread_idx()
    x[tid] = x[tid] * factor

@cute.jit
def scaled(x: cute.Tensor, factor: cutlass.Float32):
    scale(x, factor).launch(grid=[1, 1, 1], block=[32, 1, 1])

x = torch.ones(32)
compiled = cute.compile(scaled, from_dlpack(x), 1.0)
for _ in range(int(sys.argv[1])):
    y = from_dlpack(x)
    scaled(y, 1.0)
    compiled(y, 1.0)
print("seconds", time.process_time())
"""
CAPTURE = ["-c", "from harness.cli import main; raise SystemExit(main())", "capture", "--kernel", "no_such_kernel"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=4_000, help="pairs of launches (default 4000)")
    parser.add_argument("--pairs", type=int, default=5, help="runs of each side (default 5)")
    parser.add_argument("--most", type=float, default=1.05, help="the ratio that is allowed (default 1.05)")
    options = parser.parse_args()
    ratios = []
    with tempfile.TemporaryDirectory() as name:
        program = Path(name, "program.py")
        program.write_text(PROGRAM)
        words = [str(program), "--", str(options.launches)]
        alone = [sys.executable, "-m", "dsl", "--check", "none", *words]
        watched = [sys.executable, *CAPTURE, "-o", str(Path(name, "x.py")), "--", *alone]
        print("| alone | under capture | ratio |\n|---|---|---|")
        for _ in range(options.pairs):
            before, after = _seconds(alone), _seconds(watched)
            ratios.append(after / before)
            print(f"| {before:.2f} s | {after:.2f} s | {ratios[-1]:.3f} |", flush=True)
    median = statistics.median(ratios)
    print(f"median ratio {median:.3f}")
    return int(median > options.most)


def _seconds(command: list[str]) -> float:
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    line = next((line for line in run.stdout.splitlines() if line.startswith("seconds ")), None)
    if line is None:
        raise SystemExit(f"{' '.join(command)}\n{run.stdout}{run.stderr}")
    return float(line.split()[1])


if __name__ == "__main__":
    sys.exit(main())
