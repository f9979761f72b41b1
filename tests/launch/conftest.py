"""A machine with a GPU, for a separate Python process: libcuda is a stand-in that runs PTX on the emulator."""

import os
import subprocess
import sys
import textwrap

import pytest

from tests.launch.stand_in import stand_in_driver


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory, needs) -> dict[str, str]:
    """The environment in which a Python process finds the stand-in instead of a driver."""
    needs("cc", "build-essential")
    return stand_in_driver.build(tmp_path_factory.mktemp("stand_in"))


@pytest.fixture
def on_gpu(stand_in, tmp_path):
    """`on_gpu(program, **variables)` runs a program on the machine with the stand-in; its output, or its error."""

    def run(program: str, **variables: str) -> str:
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(program))
        done = subprocess.run(
            [sys.executable, str(path)],
            env=os.environ | stand_in | variables,
            text=True,
            capture_output=True,
            timeout=600,
        )
        return (done.stdout + done.stderr).strip()

    return run
