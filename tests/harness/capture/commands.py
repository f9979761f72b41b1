"""`repro capture` as a command, for tests."""

import subprocess
import sys
from pathlib import Path


def capture(folder: Path, *options: str, program: tuple[str, ...], text: str | None = None) -> tuple[int, str, str]:
    """Exit status, stdout and stderr; `text` is the program's standard input."""
    command = [sys.executable, "-c", "from harness.cli import main; raise SystemExit(main())", "capture", *options]
    run = subprocess.run(
        [*command, "--", *program], cwd=folder, capture_output=True, text=True, timeout=600, input=text
    )
    return run.returncode, run.stdout, run.stderr


def captured(folder: Path, program: Path, what: str, *options: str) -> str:
    """The captured file of a call that `program` makes for the argument `what`."""
    status, said, told = capture(folder, *options, "-o", "x.py", program=("python", str(program), what))
    assert status == 0, said + told
    return (folder / "x.py").read_text()
