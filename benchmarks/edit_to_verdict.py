"""Edit-to-verdict of one repro on the emulator, and the cost of `import torch` alone; least seconds.

    uv run python benchmarks/edit_to_verdict.py [--runs 5] [--json FILE] [REPRO]

Every sample is a fresh process with bytecode compiled and a warm file cache; the first of each kind is dropped. The
repro is edited (a comment) before every sample, so nothing can be remembered of it.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import readme_table

ROOT = Path(__file__).parents[1]
TARGET_S = 1.5


def seconds(command: list[str], folder: Path) -> tuple[float, float]:
    """Wall clock and CPU, with the processes that it starts."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{run.stdout}{run.stderr}")
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="samples of each kind, besides the one dropped")
    parser.add_argument(
        "repro", nargs="?", default="vote/vote_ballot_partial_mask", help="a file below repros/, without .py"
    )
    parser.add_argument("--json", metavar="FILE", help="write the numbers to FILE too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        subject, _, name = options.repro.partition("/")
        goldens = Path("repros", subject, "goldens", name)
        shutil.copytree(ROOT / goldens, folder / goldens)
        source = (ROOT / "repros" / subject / f"{name}.py").read_text()
        torch_s, verdict_s = [], []
        for sample in range(options.runs + 1):
            file = folder / "repros" / subject / f"{name}.py"
            file.write_text(f"{source}\n# edited {sample}\n")
            torch_s.append(seconds([sys.executable, "-c", "import torch"], folder))
            verdict_s.append(seconds([str(Path(sys.executable).with_name("repro")), "run", str(file)], folder))
    torch, verdict = ([min(times) for times in zip(*rows[1:])] for rows in (torch_s, verdict_s))
    print(f"import torch     {torch[0]:6.2f} s wall, {torch[1]:6.2f} s CPU")
    more = f"{verdict[0] - torch[0]:.2f} s of wall more (target: under {TARGET_S})"
    print(f"edit to verdict  {verdict[0]:6.2f} s wall, {verdict[1]:6.2f} s CPU, {more}")
    if options.json:
        rows = {"import torch": torch, "edit to verdict": verdict}
        readme_table.write(options.json, {name: {"wall_s": wall, "cpu_s": cpu} for name, (wall, cpu) in rows.items()})


if __name__ == "__main__":
    main()
