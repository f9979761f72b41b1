"""Python files whose kernels are in a file of CUDA C++: what run() gets, and what changes with the kernels."""

from pathlib import Path

import pytest

from harness.claim.repro_file import ReproError, read
from harness.judge import judge, run
from harness.watch import files

KERNELS = """#include "step.h"
extern "C" __global__ void turned(int *x) {
  __shared__ int tile[64];
  int i = threadIdx.x;
  tile[i] = x[i];
  BARRIER;
  x[i] = tile[(i + STEP) % 64];
}
"""
REPRO = '''# /// script
# dependencies = ["cuda-python", "numpy"]
# [tool.repro]
# source = "turned.cu"
# nvcc = ["-DBARRIER=__syncthreads()"]
# params = { first = [0, 5] }
# ///
"""It is so."""
import ctypes
import numpy as np
from cuda.bindings import driver


def run(ptx, first):
    def call(name, *arguments):
        error, *answer = getattr(driver, name)(*arguments)
        assert not error, error
        return answer[0] if answer else None

    call("cuInit", 0)
    call("cuCtxSetCurrent", call("cuDevicePrimaryCtxRetain", call("cuDeviceGet", 0)))
    kernel = call("cuModuleGetFunction", call("cuModuleLoadData", ptx.encode() + b"\\0"), b"turned")
    x = np.arange(first, first + 64, dtype=np.int32)
    place = call("cuMemAlloc", x.nbytes)
    call("cuMemcpyHtoD", place, x.ctypes.data, x.nbytes)
    call("cuLaunchKernel", kernel, 1, 1, 1, 64, 1, 1, 0, 0, ((int(place),), (ctypes.c_void_p,)), 0)
    call("cuMemcpyDtoH", x.ctypes.data, place, x.nbytes)
    return {"x": x}


def expected(first):
    return {"x": np.roll(np.arange(first, first + 64, dtype=np.int32), -3)}
'''


@pytest.fixture
def repro(tmp_path):
    (tmp_path / "step.h").write_text("#define STEP 3\n")
    (tmp_path / "turned.cu").write_text(KERNELS)
    (tmp_path / "turned.py").write_text(REPRO)
    return tmp_path / "turned.py"


def complaint(path) -> str:
    with pytest.raises(ReproError) as error:
        read(path)
    return str(error.value)


def test_run_gets_the_ptx_of_its_kernels(repro, embedded, tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)  # a missing golden is made
    host, transport = embedded
    for case in read(repro).cases():
        outcome = run(transport, case, host)
        if outcome.kind == "infra" and "nvidia-cuda-nvrtc" in outcome.text:
            pytest.skip("needs nvcc or NVRTC")
        assert judge(case, host, outcome, tmp_path).status == "pass", outcome.text
    repro.write_text(REPRO.replace("=__syncthreads()", ""))
    racy = run(transport, next(read(repro).cases()), host)
    assert racy.kind == "race" and racy.detail["file"].endswith("turned.cu") and racy.detail["line"] == 5
    (tmp_path / "turned.cu").write_text(KERNELS.replace("BARRIER;", "nothing;"))
    refused = run(transport, next(read(repro).cases()), host)
    assert refused.kind == "rejected" and "turned.cu:6:3: COMPILE_ERROR" in refused.text


def test_the_kernels_are_part_of_the_repro(repro):
    before = read(repro)
    assert before.kernels.path == repro.with_name("turned.cu") and before.kernels.options == (
        "-DBARRIER=__syncthreads()",
    )
    assert list(before.kernels.job()["headers"]) == ["step.h"]
    repro.with_name("turned.cu").write_text(KERNELS.replace("+", "-"))
    assert read(repro).sha256 != before.sha256
    assert {file.name for file in files.of(repro)} >= {"turned.py", "turned.cu", "step.h"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("3", "BAD_SOURCE\n    # source = 3\n      ^^^^^^ is 3"),
        ('"turned.py"', "is 'turned.py'"),
        ('"../turned.cu"', "is '../turned.cu', which is not below the folder of this file"),
        ('"none.cu"', "is 'none.cu', which cannot be read: No such file or directory"),
    ],
)
def test_a_wrong_source_is_shown(repro, wrong, said, monkeypatch):
    monkeypatch.chdir(repro.parent)
    repro.write_text(REPRO.replace('"turned.cu"', wrong))
    shown = complaint(repro)
    assert shown.startswith("turned.py:4:3: BAD_SOURCE\n") and said in shown
    assert shown.endswith('fix: write the name of a CUDA C++ file in the folder of this file: source = "kernels.cu"')


def test_run_must_take_ptx(repro):
    repro.write_text(REPRO.replace("def run(ptx, first)", "def run(first)"))
    assert "does not take ptx" in complaint(repro) and "write `def run(ptx, first):`" in complaint(repro)
    repro.write_text(REPRO.replace("first = [0, 5]", "ptx = [0, 5]"))
    assert "ptx = [0, 5]" in complaint(repro) and "is what run() gets of `source`" in complaint(repro)
    repro.write_text(REPRO.replace('# source = "turned.cu"\n', ""))
    assert "UNKNOWN_KEY" in complaint(repro)


def test_two_blocks_are_refused(repro):
    repro.with_name("turned.cu").write_text("/* /// script\n [tool.repro]\n ///\n It is so. */\n" + KERNELS)
    assert "which has a block at line 1 too" in complaint(repro)


@pytest.mark.slow
def test_the_example_of_the_page(tmp_path, embedded):
    pytest.importorskip("cuda.core")
    page = (Path(__file__).parents[4] / "docs/languages.md").read_text()
    for name in ("scaled.cu", "scaled.py"):
        mark = "//" if name.endswith(".cu") else "#"
        (tmp_path / name).write_text(page.split(f"```text\n{mark} {name}\n")[1].split("```")[0])
    for case in read(tmp_path / "scaled.py").cases():
        outcome = run(embedded[1], case, embedded[0])
        assert judge(case, embedded[0], outcome, tmp_path).status == "pass", outcome.text
