"""The project's repros, read once in a process."""

from pathlib import Path

from harness.claim import repro_file

ROOT = Path(__file__).parents[2]
REPROS = [repro_file.read(path) for path in sorted(ROOT.joinpath("repros").rglob("*.py"))]
