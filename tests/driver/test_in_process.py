"""The C++ driver in a Python process, and Numba on it.

Modules tested here: harness/run/languages/numba_program.py.
"""

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dsl.driver.in_process import ReportedFault
from harness.run.languages import numba_program
from harness.run.languages.cuda_program import NotForPrograms

ROOT = Path(__file__).parents[2]
PROGRAM = """
import ctypes
from dsl.driver import in_process
helper = in_process.use("race", 0)
from dsl import alias
session = alias.install("emulator")
session.elsewhere = helper.failure
from cuda.bindings import driver as cu

def good(result):
    assert result[0].value == 0, result
    return result[1] if len(result) == 2 else result[1:]

PTX = b'''.version 8.0
.target sm_80
.address_size 64
.visible .entry racy(.param .u64 x) {
.reg .b32 %r; .reg .b64 %d; ld.param.u64 %d, [x]; mov.u32 %r, %tid.x; st.global.u32 [%d], %r; ret; }
'''
good(cu.cuInit(0))
good(cu.cuCtxSetCurrent(good(cu.cuDevicePrimaryCtxRetain(good(cu.cuDeviceGet(0))))))
kernel = good(cu.cuModuleGetFunction(good(cu.cuModuleLoadData(PTX)), b"racy"))
x = good(cu.cuMemAlloc(4))
session.check()
cu.cuLaunchKernel(kernel, 1, 1, 1, 2, 1, 1, 0, 0, ((int(x),), (ctypes.c_void_p,)), 0)
try:
    session.check()
except Exception as error:
    print(error.kind, error.repro_outcome["outcome"], str(error).splitlines()[0])
"""
NUMBA = '''
# /// script
# dependencies = ["numba-cuda[cu13]", "numpy<2.5"]
# [tool.repro]
# outcome = "race"
# ///
"""It is so."""
import numpy as np
from numba import cuda, int32


@cuda.jit(lineinfo=True)
def kernel(x):
    tile = cuda.shared.array(64, int32)
    i = cuda.threadIdx.x
    tile[i] = x[i]
    x[i] = tile[63 - i]


def run():
    x = cuda.to_device(np.arange(64, dtype=np.int32))
    kernel[1, 64](x)
    return {"x": x.copy_to_host()}
'''
JOB = {"warm": ["numba"], "device": "emulator", "fill": None} | dict.fromkeys(numba_program._IN_PROCESS)


def test_a_failure_in_the_helper_is_the_outcome_of_the_session(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, timeout=600)
    assert done.stdout.startswith("race fault RACE"), done.stdout + done.stderr


def test_a_reported_fault_is_named_by_its_kind():
    fault = ReportedFault({"outcome": "trap", "text": "it stopped", "finding": None})
    assert (fault.kind, str(fault), fault.repro_outcome["outcome"]) == ("trap", "it stopped", "trap")


def test_only_numba_on_the_emulator_needs_the_library():
    assert numba_program.uses(JOB)
    assert not numba_program.uses(JOB | {"device": "cuda"}) and not numba_program.uses(JOB | {"warm": ["cuda"]})


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"notes": True}, "--notes"),
        ({"fill": 255}, "poison"),
        ({"perturb": "seed 1"}, "--perturb"),
        ({"device": "x"}, "capsules"),
    ],
)
def test_options_of_one_process_are_refused(asked, said):
    with pytest.raises(NotForPrograms, match=said):
        numba_program.begin(JOB | asked)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("uv") is None, reason="needs uv")
def test_a_race_of_numba_has_the_authors_line(tmp_path):
    (tmp_path / "racy.py").write_text(textwrap.dedent(NUMBA).lstrip())
    python = tmp_path / "venv/bin/python"
    subprocess.run(["uv", "venv", "-q", "-p", sys.executable, tmp_path / "venv"], check=True)
    packages = ["numba-cuda[cu13]", "-e", ROOT]
    subprocess.run(["uv", "pip", "install", "-q", "-p", python, *packages], check=True, timeout=600)
    command = [python, "-c", "from harness.cli import main; import sys; sys.exit(main())", "run", "racy.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert "race: racy.py:15:1: RACE\n" in done.stdout and "tile[i] = x[i]" in done.stdout, done.stdout + done.stderr
