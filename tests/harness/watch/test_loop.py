"""The command in its own process, while its files are saved."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.harness.conftest import repro_text, wait_until

BODY = "import numpy as np\nimport helper\ndef run(n):\n    return {'out': np.arange(n) * helper.FACTOR}"


class Watch:
    """`repro run FILE --watch`, and its output."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "GPU_REPRO_TEST": folder.name}
        argv = [sys.executable, "-c", "import sys; from harness.cli import main; sys.exit(main())"]
        self.process = subprocess.Popen(
            [*argv, "run", "repros/one.py", "--watch"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env=environment,
        )  # fmt: skip
        self.lines: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line.rstrip())

    def said_after(self, start: int, words: str) -> list[str]:
        """The lines from `start` on, once one of them has these words."""
        wait_until(lambda: any(words in line for line in self.lines[start:]) or self.process.poll() is not None)
        return self.lines[start:]


@pytest.fixture
def watch(tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "repros").mkdir()
    (tmp_path / "repros/one.py").write_text(repro_text(BODY, "params = { n = [2, 3] }"))
    (tmp_path / "repros/helper.py").write_text("FACTOR = 1\n")
    started = Watch(tmp_path)
    yield started
    started.process.kill()
    started.process.wait()


def saved(path: Path, text: str) -> None:
    path.with_suffix(".swp").write_text(text)
    os.replace(path.with_suffix(".swp"), path)


ENDS = "waiting for a save"


def test_saves_mistakes_and_ctrl_c(watch, tmp_path, processes_with):
    """One process throughout; nothing is recorded, nothing is left."""
    repro, helper = tmp_path / "repros/one.py", tmp_path / "repros/helper.py"
    first = watch.said_after(0, ENDS)
    assert "    out: int64 (3) 0 1 2" in first and first[-1].startswith("--- 2 cases in "), first
    place = len(watch.lines)
    saved(helper, "FACTOR = 2\n")
    lines = watch.said_after(place, ENDS)
    assert "`out` differs from the last run in 1 of 2 elements (bits)" in lines, lines
    place = len(watch.lines)
    good = repro.read_text()
    saved(repro, good + "x = (\n")
    assert "    x = (" in watch.said_after(place, "fix: ")
    place = len(watch.lines)
    saved(repro, good)
    assert "n=2: fail: no golden, as before" in watch.said_after(place, ENDS)
    place = len(watch.lines)
    repro.unlink()
    assert watch.said_after(place, "one.py is not there: waiting for it")
    place = len(watch.lines)
    saved(repro, good.replace("[2, 3]", "[2, 4]"))
    lines = watch.said_after(place, ENDS)
    assert "n=3: no case any more" in lines and "    out: int64 (4) 0 2 4 6" in lines
    for number in range(20):
        saved(helper, f"FACTOR = {number}\n")
    wait_until(lambda: any("19" in line and "[1]" in line for line in watch.lines))
    watch.process.send_signal(signal.SIGINT)
    assert watch.process.wait(timeout=600) == 130
    assert not (tmp_path / "repros/records").exists()
    wait_until(lambda: not processes_with(f"GPU_REPRO_TEST={tmp_path.name}\0"))
