"""Programs that use the emulator through the real cuda.bindings."""

import textwrap

import pytest

from tests import fork_server

HEAD = """
import ctypes
import numpy as np
from cuda.bindings import driver as d, runtime as r

OK, ROK = d.CUresult.CUDA_SUCCESS, r.cudaError_t.cudaSuccess

def good(result):
    code, *values = result
    assert code in (OK, ROK), code
    return values[0] if len(values) == 1 else values

def code(result):
    return result[0].name.removeprefix("CUDA_ERROR_").removeprefix("cudaError")
"""


@pytest.fixture
def program(tmp_path):
    """`program(body)`: what a program with this body prints, its errors after it; of the default device, or of `gpu_model`."""

    def run(body: str, head: str = HEAD, gpu_model: str = "") -> str:
        path = tmp_path / "program.py"
        path.write_text(head + textwrap.dedent(body))
        model = ["--gpu-model", gpu_model] if gpu_model else []
        done = fork_server.run(["-m", "dsl", "--device", "emulator", *model, str(path)], warm="dsl")
        return done.stdout + done.stderr

    return run
