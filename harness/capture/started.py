"""Start a program so that `program.begin` runs in it, and read what it left."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.capture.program import VARIABLE
from harness.errors import UsageError

OPTIONS_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")


@dataclass
class Ran:
    """How the program ended, and what it reported: {} where it wrote nothing."""

    status: int
    has_begun: bool
    report: dict[str, Any] = field(default_factory=dict)

    @property
    def is_captured(self) -> bool:
        return "name" in self.report


def command_of(words: list[str], compiler: str | None, device: str | None) -> list[str]:
    """The command that is run: a program whose compiler is not at hand runs by `python -m dsl`. Raises UsageError."""
    if not words:
        raise UsageError("name the program after `--`: repro capture -o repros/x.py -- python train.py")
    if words[0].endswith(".py"):
        words = [sys.executable, *words]
    if not re.fullmatch(r"python[\d.]*", Path(words[0]).name):
        if compiler or device:
            raise UsageError(f"--compiler and --device are for programs started by python, and not by {words[0]}")
        return words
    options, rest = _split(words[1:])
    if rest[:2] == ["-m", "dsl"] or (not compiler and not device and _has_gpu()):
        return words
    if rest[:1] == ["-c"]:
        raise UsageError("a program of `python -c` has no file: write it to one, and name that")
    if not rest:
        raise UsageError("name the program after python: repro capture -o repros/x.py -- python train.py")
    ours = ["-m", "dsl"]
    ours += ["--compiler", compiler] if compiler else []
    ours += ["--device", device] if device else []
    rest = rest if rest[0] == "-m" or len(rest) == 1 else [rest[0], "--", *rest[1:]]
    python = words[0] if os.sep in words[0] else sys.executable  # a bare `python` may lack this package
    return [python, *options, *ours, *rest]


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Options of the interpreter, and the program with its arguments."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-m", "-c", "-"):
        at += 2 if words[at] in OPTIONS_WITH_VALUE else 1
    return words[:at], words[at:]


def _has_gpu() -> bool:
    return shutil.which("nvidia-smi") is not None and os.path.exists("/dev/nvidia0")


def run(words: list[str], folder: Path, wanted: dict[str, Any]) -> Ran:
    """Run the program to its end, or to the captured call; Ctrl-C reaches it from the terminal.

    Raises UsageError where it cannot be started.
    """
    (folder / "wanted.json").write_text(json.dumps(wanted))
    startup = str(Path(__file__).parent / "startup")
    path = os.pathsep.join(filter(None, [startup, os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, VARIABLE: str(folder)}
    try:
        process = subprocess.Popen(words, env=environment)
    except OSError as error:
        raise UsageError(f"{words[0]} cannot be started: {error.strerror}") from None
    try:
        status = process.wait()
    except KeyboardInterrupt:
        status = _stopped(process)
    except BaseException:
        process.kill()
        process.wait()
        raise
    return Ran(status, (folder / "began").exists(), _report(folder))


def _stopped(process: subprocess.Popen) -> int:
    """The program had Ctrl-C too; it gets a while to end. Raises KeyboardInterrupt where that captured nothing."""
    try:
        return process.wait(timeout=20)
    except (KeyboardInterrupt, subprocess.TimeoutExpired):
        process.kill()
        process.wait()
        raise KeyboardInterrupt from None


def _report(folder: Path) -> dict[str, Any]:
    try:
        report = json.loads((folder / "captured.json").read_text())
    except (OSError, ValueError):
        return {}
    return report if isinstance(report, dict) else {}
