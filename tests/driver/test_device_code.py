"""Kernels without a program, compiled by nvcc and by NVRTC, and `python -m dsl` on CUDA C++."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dsl.driver import device_code, nvcc
from dsl.launch import disk_cache

TEXT = """#include <cuda_fp16.h>
#include "size.h"
extern "C" __global__ void halve(__half *x) { x[threadIdx.x % SIZE] *= __half(0.5f); }
"""
NEEDS_NVCC = pytest.mark.skipif(not shutil.which("nvcc"), reason="needs nvcc")
HEADERS = {"size.h": ("/a/size.h", "#define SIZE 4\n")}
PROGRAM = """/* /// script
 * [tool.repro]
 * args = ["5"]
 * nvcc = ["-DWIDTH=8"]
 * ///
 */
#include <cstdio>
#include <cstdlib>
#include "kernel.cuh"

int main(int count, char **words) {
  int *x;
  cudaMallocManaged(&x, WIDTH * sizeof(int));
  fill<<<1, WIDTH>>>(x, atoi(words[1]));
  int status = cudaDeviceSynchronize();
  printf("%d %d\\n", status, x[WIDTH - 1]);
  return RETURNED;
}
"""
KERNEL = "#define RETURNED 0\n__global__ void fill(int *x, int n) { x[WHERE] = n; }\n"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_cache, "current", lambda: None)


def source(text: str = TEXT, **more) -> nvcc.Source:
    about = {
        "path": "/a/kernels.cu",
        "text": text,
        "headers": HEADERS,
        "options": [],
        "arch": "sm_90a",
        "for_gpu": False,
    }
    return nvcc.Source(**about | more)


def without_nvcc(monkeypatch) -> None:
    monkeypatch.setattr(device_code, "_nvcc", list)
    try:
        device_code._nvrtc()
    except nvcc.CompilerMissing as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("compiler", ["NVRTC", pytest.param("nvcc", marks=[pytest.mark.slow, NEEDS_NVCC])])
def test_kernels_become_ptx_with_the_authors_lines(compiler, monkeypatch):
    if compiler == "NVRTC":
        without_nvcc(monkeypatch)
    text = device_code.ptx(source())
    assert ".entry halve(" in text and ".target sm_90a" in text and '"/a/kernels.cu"' in text and "\0" not in text

    with pytest.raises(nvcc.CompileError) as error:
        device_code.ptx(source(wrong := TEXT.replace("SIZE]", "nothing]")))
    column = wrong.splitlines()[2].index("nothing") + 1
    assert str(error.value).splitlines()[0] == f"/a/kernels.cu:3:{column}: COMPILE_ERROR"
    assert str(error.value).endswith('^ identifier "nothing" is undefined')
    with pytest.raises(nvcc.CompileError, match=r"^/a/size.h:1:\d+: COMPILE_ERROR"):
        device_code.ptx(source(headers={"size.h": ("/a/size.h", "int x = nothing;\n#define SIZE 1\n")}))


def test_options_reach_the_compiler(monkeypatch):
    without_nvcc(monkeypatch)
    assert ".entry second(" in device_code.ptx(
        source('extern "C" __global__ void NAME() {}', options=["-DNAME=second"])
    )
    with pytest.raises(nvcc.CompileError, match="NVRTC refuses the program"):
        device_code.ptx(source(options=["--no-such-option"]))


def test_without_a_compiler_the_fix_names_a_package(monkeypatch):
    monkeypatch.setattr(device_code, "_nvcc", list)
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(nvcc.CompilerMissing, match="nvidia-cuda-nvrtc"):
        device_code.ptx(source())


def test_nvcc_counts_only_with_its_host_compiler(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "g++" else f"/usr/bin/{name}")
    assert device_code._nvcc() == []


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "dsl", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize(
    ("option", "said"),
    [("--notes", "--notes"), ("-i", "-i"), ("--compiler=nvidia", "--compiler nvidia"), ("--show=sass", "--show sass")],
)
def test_options_of_python_programs_are_refused(option, said, capsys, tmp_path, monkeypatch):
    from dsl.__main__ import main

    monkeypatch.chdir(tmp_path)
    Path("a.cu").write_text(PROGRAM)
    assert main([option, "a.cu"]) == 2
    why = f"dsl: {said} is for Python programs: a.cu runs in a separate process\nfix: leave out {said}\n"
    assert capsys.readouterr().err == why


@pytest.mark.slow
@NEEDS_NVCC
def test_a_program_of_cuda_runs(tmp_path):
    (tmp_path / "a.cu").write_text(PROGRAM)
    (tmp_path / "kernel.cuh").write_text(KERNEL.replace("WHERE", "threadIdx.x"))
    done = run(tmp_path, "a.cu", "7")
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 7\n", "")
    assert run(tmp_path, "--show", "ptx", "a.cu").stdout.startswith("0 5\n//\n")
    (tmp_path / "kernel.cuh").write_text(KERNEL.replace("WHERE] = n", "threadIdx.x / 2] = threadIdx.x"))
    done = run(tmp_path, "a.cu")
    assert done.returncode == 1 and "kernel.cuh:2:" in done.stderr and "RACE" in done.stderr
    assert run(tmp_path, "--check", "none", "a.cu").stdout.startswith("0 ")
    (tmp_path / "kernel.cuh").write_text("int f() { return nothing; }\n")
    done = run(tmp_path, "a.cu")
    assert done.returncode == 1 and done.stderr.splitlines()[0].endswith("kernel.cuh:1:18: COMPILE_ERROR")
    (tmp_path / "b.cu").write_text("int main() { for (;;); }\n")
    assert run(tmp_path, "--timeout", "0.5", "b.cu").returncode == 124
    (tmp_path / "b.cu").write_text("__global__ void f() {}\n")
    done = run(tmp_path, "b.cu")
    assert done.returncode == 1 and done.stderr.startswith("b.cu: NO_MAIN\n") and "run(ptx)" in done.stderr
