"""The size of an installation, and seconds to build the C++ of the emulator and of its driver.

    uv run python benchmarks/installation.py [--runs 3] [--json FILE]

The environment of this checkout, as `uv sync` makes it, and a fresh one with the wheel alone, without torch. Files
count as `du -sL` counts them, without bytecode. The C++ is built in a copy, as the installation of a clone builds it:
for this machine's level of x86-64, and the driver. zig has nothing of an earlier build.
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

from dsl import native_library

ROOT = Path(__file__).parents[1]


def size_bytes(folder: Path) -> int:
    done = subprocess.run(["du", "-sLB1", "--exclude=__pycache__", folder], check=True, capture_output=True, text=True)
    return int(done.stdout.split()[0])


def fresh_bytes(folder: Path) -> int:
    """The size of a new environment with the wheel."""
    uv = os.environ.get("UV", "uv")
    subprocess.run([uv, "build", "-q", "--wheel", "-o", folder, ROOT], check=True)
    subprocess.run([uv, "venv", "-q", folder / "fresh"], check=True)
    python = folder / "fresh/bin/python"
    subprocess.run([uv, "pip", "install", "-q", "--python", python, *folder.glob("*.whl")], check=True)
    return size_bytes(folder / "fresh")


def build_s(folder: Path) -> tuple[float, float]:
    """Seconds of wall clock and of CPU."""
    shutil.copytree(ROOT / "dsl", folder / "dsl", ignore=shutil.ignore_patterns("built", "__pycache__"))
    wall, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    caches = dict.fromkeys(("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), str(folder / "dsl/zig"))
    for part in (native_library.level(), "driver"):
        command = [sys.executable, folder / "dsl/native_library.py", part]
        subprocess.run(command, check=True, capture_output=True, env=os.environ | caches)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    shutil.rmtree(folder / "dsl")
    return time.perf_counter() - wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="builds of the C++, of which the least counts")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to FILE too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        whole, wheel = size_bytes(Path(sys.prefix)), fresh_bytes(folder)
        print(f"environment of this checkout  {whole / 1e9:.1f} GB\nthe wheel, without torch      {wheel / 1e9:.2f} GB")
        wall, cpu = (min(times) for times in zip(*[build_s(folder) for _ in range(options.runs)]))
        print(f"building the C++              {wall:.1f} s wall, {cpu:.1f} s CPU")
    if options.json:
        numbers = {"checkout_bytes": whole, "wheel_bytes": wheel, "build_wall_s": wall, "build_cpu_s": cpu}
        readme_table.write(options.json, numbers)


if __name__ == "__main__":
    main()
