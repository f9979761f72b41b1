"""Seconds from a save to the end of the run that `repro run --watch` makes of it, beyond the program's own.

python benchmarks/watch.py [REPRO...]
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SAVES = 7
ROOT = Path(__file__).parents[1]
REPROS = ("repros/shuffle/shuffle_bfly_width.py", "repros/quadrants/quadrants_static_for_unrolls.py")
_END = re.compile(r"--- \d+ cases? in [\d.]+ s, ([\d.]+) s of them")


def measure(path: Path) -> list[tuple[float, float]]:
    """(seconds from the save to the last line, seconds of the program itself) of each save."""
    code = "import sys; from harness.cli import main; sys.exit(main())"
    argv = [sys.executable, "-c", code, "run", str(path), "--watch"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout
    text, rows, began = path.read_text(), [], 0.0
    try:
        for line in process.stdout:
            if not (end := _END.match(line)):
                continue
            if began:
                rows.append((time.monotonic() - began, float(end[1])))
            if len(rows) == SAVES:
                break
            time.sleep(0.3)
            path.with_suffix(".new").write_text(f"{text}# save {len(rows)}\n")
            began = time.monotonic()
            os.replace(path.with_suffix(".new"), path)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
    return rows


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or REPROS:
            source = ROOT / name
            path = Path(folder, "repros", source.name)
            path.parent.mkdir(exist_ok=True)
            shutil.copy(source, path)
            rows = measure(path)
            beyond = [whole - own for whole, own in rows]
            own = statistics.median(own for _, own in rows)
            beyond_s = f"{statistics.median(beyond):.2f} s (most {max(beyond):.2f} s)"
            print(f"{source.name}: {beyond_s} beyond the program's {own:.2f} s")


if __name__ == "__main__":
    main()
