"""Edit-to-verdict of one repro on the embedded device, and the cost of `import torch` alone; wall seconds, one run.

    uv run python benchmarks/edit_to_verdict.py [--runs 5] [REPRO]

Every sample is a fresh process with bytecode compiled and a warm file cache; the first of each kind is dropped. The
repro is edited (a comment) before every sample, so nothing can be remembered of it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGET_S = 1.5


def wall_s(command: list[str], folder: Path) -> float:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{run.stdout}{run.stderr}")
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="samples of each kind, besides the one dropped")
    parser.add_argument(
        "repro", nargs="?", default="vote/vote_ballot_partial_mask", help="a file below repros/, without .py"
    )
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
            torch_s.append(wall_s([sys.executable, "-c", "import torch"], folder))
            verdict_s.append(wall_s([str(Path(sys.executable).with_name("repro")), "run", str(file)], folder))
    import_s, whole_s = statistics.median(torch_s[1:]), statistics.median(verdict_s[1:])
    print(f"import torch     {import_s:6.2f} s")
    print(f"edit to verdict  {whole_s:6.2f} s, {whole_s - import_s:.2f} s more (target: under {TARGET_S})")


if __name__ == "__main__":
    main()
