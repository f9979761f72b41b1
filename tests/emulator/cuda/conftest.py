"""CUDA C++ compiled by nvcc: the tests of test_NAME.py run the kernels of NAME.cu."""

import subprocess

import pytest

from dsl import emulator


@pytest.fixture(scope="module")
def ptx(request, needs, tmp_path_factory) -> str:
    """The PTX that nvcc makes of the CUDA file next to the tests."""
    source = request.path.with_name(request.path.name.removeprefix("test_")).with_suffix(".cu")
    nvcc, target = needs("nvcc", "nvidia-cuda-toolkit"), tmp_path_factory.mktemp("nvcc") / "kernels.ptx"
    command = [nvcc, "-arch=sm_90a", "-std=c++17", "-lineinfo", "--ptx", "-o", target, source]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return target.read_text()


@pytest.fixture(scope="module")
def program(ptx) -> emulator.Program:
    return emulator.load(ptx)
