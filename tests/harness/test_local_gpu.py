"""`--host local` from end to end, on a machine whose libcuda is a stand-in that runs PTX on the emulator."""

import os
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

STAND_IN = Path(__file__).parents[1] / "launch" / "stand_in" / "stand_in_driver.py"

REPRO = '''
# /// script
# [tool.repro]
# params = { address = ["own", "wild"] }
# ///
"""A kernel writes the memory it was given."""
import cutlass
import cutlass.cute as cute
import numpy as np
from cuda.bindings import driver
from cutlass.cute.runtime import make_ptr


@cute.kernel
def kernel(x: cute.Pointer):
    i, _, _ = cute.arch.thread_idx()
    (x + i).store(cutlass.Float32(i))


@cute.jit
def host(x: cute.Pointer):
    kernel(x).launch(grid=(1, 1, 1), block=(64, 1, 1))


def run(address):
    driver.cuInit(0)
    _, memory = driver.cuMemAlloc(256)
    host(make_ptr(cutlass.Float32, int(memory) if address == "own" else 4096, cute.AddressSpace.gmem))
    out = np.zeros(64, np.float32)
    driver.cuMemcpyDtoH(out.ctypes.data, memory, 256)
    return {"out": out}
'''


@pytest.mark.slow
def test_a_gpu_validates_and_a_fault_is_an_outcome(tmp_path, needs):
    needs("cc", "build-essential")
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "repros").mkdir()
    (tmp_path / "repros" / "writes.py").write_text(textwrap.dedent(REPRO).lstrip())
    (tmp_path / "libraries").mkdir()
    environment = os.environ | runpy.run_path(str(STAND_IN))["build"](tmp_path / "libraries")
    environment["STAND_IN_NAME"] = "NVIDIA H100"
    environment.pop("CI", None)
    argv = [sys.executable, "-c", "import sys; from harness.cli import main; sys.exit(main())", "run"]
    done = subprocess.run(
        [*argv, "repros/writes.py", "--host", "local", "--update-goldens"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    own, wild = done.stdout.split("repros/writes.py::address=wild\n")
    assert own.splitlines()[1:] == [
        "pass: validated by hardware",
        "claim: A kernel writes the memory it was given.",
        "host:  local (NVIDIA H100, sm_90, driver 580.65.06)",
        "    out: float32 (64) 0.0 1.0 2.0 3.0 4.0 5.0 6.0 7.0 ...",
        "accepted repros/goldens/writes/address=own.json",
    ]
    failure = "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered (cuCtxSynchronize)"
    assert (
        wild.startswith("fail: out_of_bounds: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access")
        and done.returncode == 1
    )
    assert f"out_of_bounds:\n{failure}\nin kernel `kernel_kernel_0` grid=(1, 1, 1) block=(64, 1, 1)\n" in wild
    assert len(list((tmp_path / "repros" / "records").glob("*.jsonl"))) == 1
