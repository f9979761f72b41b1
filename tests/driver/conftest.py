"""C programs of the driver API that run on the library of dsl/driver."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dsl import driver

HERE = Path(__file__).parent
TIMEOUT_S = 120


@functools.cache
def environment() -> dict[str, str]:
    """The variables by which a program finds the library. The tests themselves must not have them."""
    return {**os.environ, "LD_LIBRARY_PATH": str(driver.library_folder())}


def compiled(folder: Path, body: str, before: str = "") -> Path:
    """The program with this `main`, after driver_api.h."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    source, made = folder / "program.c", folder / "program"
    source.write_text(f'#include "driver_api.h"\n{before}\nint main(void) {{\n{body}\nreturn 0;\n}}\n')
    command = ["gcc", "-w", "-o", str(made), str(source), f"-I{HERE}", f"-L{driver.library_folder()}", "-lcuda"]
    subprocess.run([*command, "-lpthread"], check=True)
    return made


@pytest.fixture
def build(tmp_path):
    """`build(body)`: see `compiled`."""
    return functools.partial(compiled, tmp_path)


@pytest.fixture
def run(build):
    """`run(body)`: what a program prints, its standard error after it; `more`: variables of its environment."""

    def ran(body: str, before: str = "", **more: str) -> str:
        done = subprocess.run(
            [build(body, before)], capture_output=True, text=True, timeout=TIMEOUT_S, env=environment() | more
        )
        return done.stdout + done.stderr

    return ran


@pytest.fixture
def nvcc_calls(tmp_path, monkeypatch):
    """`nvcc_calls()`: the calls of a stand-in for nvcc, which is on PATH."""
    folder = tmp_path / "toolkit"
    folder.mkdir()
    text = (HERE / "stand_in_nvcc.py").read_text()
    (folder / "nvcc").write_text(f"#!{sys.executable} -IS\n{text}")
    (folder / "nvcc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("GPU_REPRO_CACHE", "1")
    monkeypatch.setenv("GPU_REPRO_CACHE_DIR", str(tmp_path / "cache"))
    calls = folder / "calls"
    return lambda: [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []
