"""The CUDA runtime inside cuda.bindings, replaced by ours."""

import os
import subprocess
import sys

import pytest

from tests.launch.driver.conftest import HEAD

RELEASES = (
    *("13.0.0", "13.0.1", "13.0.2", "13.0.3", "13.1.0", "13.1.1", "13.2.0", "13.3.0", "13.3.1"),
    *("13.4.1", "13.4.2", "13.4.3", "13.4.4", "13.5.0", "newest"),
)
PROGRAM = """
import numpy as np
import cuda.bindings
from cuda.bindings import driver, runtime

def good(result):
    code, *values = result
    assert int(code) == 0, code
    return values[0] if values else None

good(driver.cuInit(0))
address = good(runtime.cudaMalloc(16))
good(runtime.cudaMemset(address, 7, 16))
out = np.zeros(4, np.uint32)
good(runtime.cudaMemcpy(out.ctypes.data, address, 16, runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost))
good(runtime.cudaFree(address))
print(cuda.bindings.__version__, good(runtime.cudaGetDeviceCount()), *map(hex, out))
print(runtime.cudaIpcGetMemHandle(address)[0].name, runtime.cudaGetErrorName(runtime.cudaError_t.cudaErrorInvalidValue)[1])
"""


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_the_runtime_of_each_release_is_replaced(release, tmp_path):
    """Each release is in its own folder, before the folder of this environment on the path."""
    package = "cuda-bindings" if release == "newest" else f"cuda-bindings=={release}"
    install = "pip", "install", "--quiet", "--no-deps", "--python", sys.executable, "--target", tmp_path / "packages"
    subprocess.run([os.environ.get("UV") or "uv", *install, package], check=True)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "dsl", "--device", "emulator", program],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "packages")},
    )
    version, *answers = done.stdout.split()
    assert release in (version, "newest"), done.stderr
    assert answers == ["1", *["0x7070707"] * 4, "cudaErrorNotSupported", "b'cudaErrorInvalidValue'"], done.stderr


@pytest.mark.parametrize("first", ["", "import cuda.bindings.runtime, torch\n"])
def test_the_runtime_is_the_devices_whenever_it_is_imported(program, first):
    body = """
        print(good(r.cudaGetDeviceCount()), good(r.cudaGetDevice()), good(r.cudaRuntimeGetVersion()))
        properties = good(r.cudaGetDeviceProperties(0))
        print(properties.name, properties.multiProcessorCount, properties.clusterLaunch)
        a = good(r.cudaMalloc(64))
        good(r.cudaMemset(a, 1, 64))
        host = np.zeros(64, np.uint8)
        to_host = r.cudaMemcpyKind.cudaMemcpyDeviceToHost
        good(r.cudaMemcpy(host.ctypes.data, a, 64, to_host)); print(host.sum())
        print(code(r.cudaMemcpy(host.ctypes.data, a, 65, to_host)), code(r.cudaGetLastError()),
              code(r.cudaGetLastError()))
        start, end = good(r.cudaEventCreate()), good(r.cudaEventCreate())
        good(r.cudaEventRecord(start, 0)); good(r.cudaEventRecord(end, 0)); good(r.cudaDeviceSynchronize())
        print(0 <= good(r.cudaEventElapsedTime(start, end)) < 1000, good(r.cudaGetErrorName(r.cudaError_t(700))))
        good(r.cudaFree(a)); print(code(r.cudaFree(a)))
    """
    assert program(body, first + HEAD) == (
        "1 0 13000\nb'PTX emulator' 132 1\n64\nInvalidValue InvalidValue cudaSuccess\n"
        "True b'cudaErrorIllegalAddress'\nInvalidValue\n"
    )
