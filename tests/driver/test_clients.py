"""Unmodified packages on the driver: cuda-python of this environment, and others in environments that uv makes."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dsl import driver
from dsl.driver import clients
from tests.driver.conftest import environment

TIMEOUT_S = 500

CUDA_PYTHON = """
import ctypes, numpy as np
from cuda.bindings import driver as cu

def good(result):
    assert result[0].value == 0, result
    return result[1] if len(result) == 2 else result[1:]

PTX = b'''.version 8.0
.target sm_90
.address_size 64
.visible .entry axpy(.param .f32 a, .param .u64 x, .param .u64 y) {
.reg .f32 %f<4>; .reg .b32 %r; .reg .b64 %d<5>; ld.param.f32 %f1, [a]; ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y];
mov.u32 %r, %tid.x; mad.wide.u32 %d3, %r, 4, %d1; mad.wide.u32 %d4, %r, 4, %d2;
ld.global.f32 %f2, [%d3]; ld.global.f32 %f3, [%d4]; fma.rn.f32 %f3, %f1, %f2, %f3; st.global.f32 [%d4], %f3; ret; }
'''
good(cu.cuInit(0))
context = good(cu.cuDevicePrimaryCtxRetain(good(cu.cuDeviceGet(0))))
good(cu.cuCtxSetCurrent(context))
axpy = good(cu.cuModuleGetFunction(good(cu.cuModuleLoadData(PTX)), b"axpy"))
x, y, stream = np.arange(128, dtype=np.float32), np.ones(128, np.float32), good(cu.cuStreamCreate(0))
dx, dy = good(cu.cuMemAlloc(512)), good(cu.cuMemAllocAsync(512, stream))
good(cu.cuMemcpyHtoDAsync(dx, x.ctypes.data, 512, stream)), good(cu.cuMemcpyHtoDAsync(dy, y.ctypes.data, 512, stream))
arguments = (2.0, int(dx), int(dy)), (ctypes.c_float, ctypes.c_void_p, ctypes.c_void_p)
good(cu.cuLaunchKernel(axpy, 1, 1, 1, 128, 1, 1, 0, stream, arguments, 0))
good(cu.cuStreamBeginCapture(stream, cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL))
good(cu.cuLaunchKernel(axpy, 1, 1, 1, 128, 1, 1, 0, stream, arguments, 0))
graph = good(cu.cuGraphInstantiate(good(cu.cuStreamEndCapture(stream)), 0))
good(cu.cuGraphLaunch(graph, stream)), good(cu.cuGraphLaunch(graph, stream))
good(cu.cuMemcpyDtoH(y.ctypes.data, dy, 512))
assert (y == 1 + 6 * x).all(), y
print("right")
"""

CORE = """
import ctypes, numpy as np
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch
device = Device(); device.set_current(); stream = device.create_stream()
source = 'extern "C" __global__ void twice(float* a, int n) { int i = threadIdx.x; if (i < n) a[i] *= 2; }'
program = Program(source, code_type="c++", options=ProgramOptions(std="c++17", arch=f"sm_{device.arch}"))
kernel, buffer = program.compile("ptx").get_kernel("twice"), device.allocate(256, stream=stream)
values = (ctypes.c_float * 64).from_address(int(buffer.handle))
values[:] = range(64)
launch(stream, LaunchConfig(grid=1, block=64), kernel, buffer, np.int32(64)); stream.sync()
assert list(values) == [2 * i for i in range(64)]
print("right")
"""

NUMBA = """
import numpy as np
from numba import cuda, float32
@cuda.jit
def product(a, b, c):
    left, right = cuda.shared.array((16, 16), float32), cuda.shared.array((16, 16), float32)
    x, y = cuda.grid(2); tx, ty = cuda.threadIdx.x, cuda.threadIdx.y; total = float32(0)
    for i in range(a.shape[1] // 16):
        left[tx, ty] = a[x, ty + i * 16]; right[tx, ty] = b[tx + i * 16, y]; cuda.syncthreads()
        for k in range(16): total += left[tx, k] * right[k, ty]
        cuda.syncthreads()
    c[x, y] = total
a, b = np.random.rand(64, 64).astype(np.float32), np.random.rand(64, 64).astype(np.float32)
c = cuda.device_array((64, 64), np.float32)
product[(4, 4), (16, 16)](cuda.to_device(a), cuda.to_device(b), c)
assert np.allclose(c.copy_to_host(), a @ b, rtol=1e-4)
@cuda.reduce
def total(a, b): return a + b
assert total(np.arange(1000, dtype=np.float64)) == 499500
print("right")
"""

TRITON = """
import ctypes, triton, triton.language as tl
class Pointer:
    dtype = "fp32"
    def __init__(self, address): self.address = address
    def data_ptr(self): return self.address
@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK); mask = i < n
    tl.store(z + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)
from triton.runtime import driver
assert driver.active.get_current_target().arch == 90
driver.active.get_current_device()
cuda, buffers = ctypes.CDLL("libcuda.so.1"), [ctypes.c_uint64() for _ in range(3)]
for each in buffers: assert cuda.cuMemAlloc_v2(ctypes.byref(each), ctypes.c_size_t(4000)) == 0
views = [(ctypes.c_float * 1000).from_address(each.value) for each in buffers]
views[0][:] = views[1][:] = range(1000)
add[(4,)](*(Pointer(each.value) for each in buffers), 1000, BLOCK=256)
assert cuda.cuCtxSynchronize() == 0 and list(views[2]) == [2.0 * i for i in range(1000)]
print("right")
"""


def test_cuda_python_of_this_environment(tmp_path):
    (tmp_path / "program.py").write_text(CUDA_PYTHON)
    done = subprocess.run(
        [sys.executable, tmp_path / "program.py"], capture_output=True, text=True, timeout=TIMEOUT_S, env=environment()
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")


def stand_in_for_ptxas(folder: Path) -> Path:
    """A program that copies PTX, in place of an assembler."""
    path = folder / "ptxas"
    path.write_text(
        textwrap.dedent("""\
        #!/bin/sh
        case "$*" in *--version*) echo "Cuda compilation tools, release 13.0, V13.0.88"; exit 0;; esac
        while [ $# -gt 0 ]; do case $1 in -o) out=$2; shift;; *.ptx) in=$1;; esac; shift; done
        exec cp "$in" "$out"
        """)
    )
    path.chmod(0o755)
    return path


def test_the_helper_finds_a_package_that_only_pythonpath_has(tmp_path, monkeypatch):
    monkeypatch.setattr(clients.disk_cache, "folder", lambda: str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert clients._python() == sys.executable
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(driver.__file__).parents[2]}")
    program = "import os, sys; print(os.environ['PYTHONPATH'], sys.argv[1:])"
    done = subprocess.run([clients._python(), "-I", "-c", program, "a b"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{Path(driver.__file__).parents[2]} ['a b']\n"
    assert clients._python() == clients._python()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("uv") is None, reason="needs uv")
@pytest.mark.parametrize(
    "packages, program",
    [(["cuda-core[cu13]", "numpy"], CORE), (["numba-cuda[cu13]", "numpy<2.5"], NUMBA), (["triton", "numpy"], TRITON)],
    ids=["cuda.core", "numba", "triton"],
)
def test_unmodified_packages(packages, program, tmp_path):
    (tmp_path / "program.py").write_text(program)
    ptxas = str(stand_in_for_ptxas(tmp_path))
    triton = {
        "TRITON_PTXAS_PATH": ptxas,
        "TRITON_PTXAS_BLACKWELL_PATH": ptxas,
        "TRITON_CACHE_DIR": str(tmp_path / "cache"),
    }
    triton["TRITON_LIBCUDA_PATH"] = str(driver.library_folder())
    python = tmp_path / "venv/bin/python"
    subprocess.run(["uv", "venv", "-q", "--python", sys.executable, tmp_path / "venv"], check=True)
    subprocess.run(["uv", "pip", "install", "-q", "--python", python, *packages], check=True)
    done = subprocess.run(
        [python, tmp_path / "program.py"], capture_output=True, text=True, timeout=TIMEOUT_S,
        env=environment() | triton, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.endswith("right\n"), done.stdout + done.stderr


def test_the_libraries_come_first_and_the_rest_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("GPU_REPRO_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    made = clients.environment({"LD_LIBRARY_PATH": "/a:/b", "HOME": "/home/me"}, tmp_path / "lib")
    assert made["LD_LIBRARY_PATH"] == f"{tmp_path}/lib:/a:/b" and made["HOME"] == "/home/me"
    assert made["GPU_REPRO_HELPER_PYTHON"] == sys.executable
    assert made["TRITON_LIBCUDA_PATH"] == f"{tmp_path}/lib" and made["TRITON_CACHE_DIR"] == f"{tmp_path}/triton"
    assert clients.environment({}, tmp_path)["LD_LIBRARY_PATH"] == str(tmp_path)
