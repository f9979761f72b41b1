"""The spots between two lines of CUDA C++; and edits of programs that nvcc compiles cure them."""

import linecache
import subprocess

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.diagnosis.edits import cuda_statements
from tests.edits import applied

TEXT = """\
#define PUT(x) { x;
namespace a { struct b { int c[2] = {1, 2}; }; }
template <class T> __global__ void __launch_bounds__(64) kernel(T* out) {
  auto f = [&](int i) { return i; };  // }
  if (out)
    out[0] = 1;
  else {
    out[1] = f("{")
        + 2;
    out[2] = R"(})"[0];
  }
  for (int i = 0; i < 4; ++i) {
    out[i] = 3; out[i] = 4;
    while (out[1]) out[2] = 5;
    do { out[3] = 6; } while (0);
  }
  if (out) return;
  out[4] = 7;
}
"""
SOURCE = cuda_statements.parse(TEXT)
PROGRAM = """\
#include <cuda_pipeline.h>
extern "C" {
__global__ void reversed(const int* in, int* out) {
  __shared__ int tile[64];
  int t = threadIdx.x;
  tile[t] = t;
  out[t] = tile[63 - t];
}
__global__ void halves(const int* in, int* out) {
  __shared__ int tile[64];
  int t = threadIdx.x;
  if (t < 32)
    tile[t] = 1;
  else
    tile[t] = 2;
  for (int i = 0; i < 2; ++i) {
    out[t] += tile[63 - t];
  }
}
__global__ void rounds(const int* in, int* out) {
  __shared__ int tile[64];
  int t = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < 4; ++i) {
    tile[t] = i;
    __syncthreads();
    out[t] += tile[63 - t];
  }
}
__global__ void warps(const int* in, int* out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = threadIdx.x;
  __syncwarp();
  out[threadIdx.x] = tile[63 - threadIdx.x];
}
__global__ void copies(const int* in, int* out) {
  __shared__ int tile[64];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&tile[t], &in[t], 4);
  __pipeline_commit();
  __syncthreads();
  out[t] = tile[63 - t];
}
__global__ void flag(const int* in, int* out) {
  volatile int* ready = out + 1;
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    out[0] = 7;
    *ready = 1;
  } else {
    while (*ready == 0) {
    }
    __threadfence();
    out[2] = out[0];
  }
}
}
"""
EDITS = {  # kernel: line, kind, text
    "reversed": (6, "insert_after", "  __syncthreads();"),
    "halves": None,  # nvcc makes one store of both lines, which has no line
    "rounds": (27, "insert_after", "    __syncthreads();"),
    "warps": (33, "replace", "  __syncthreads();"),
    "copies": (42, "insert_before", "  __pipeline_wait_prior(0);\n  __syncthreads();"),
    "flag": (49, "insert_before", "    __threadfence();"),
}


@pytest.mark.parametrize(
    ("first", "second", "spot"),
    [
        (4, 6, (4, False, 4, False)),
        (6, 10, None),
        (8, 10, (9, False, 8, True)),
        (9, 13, (11, False, 4, False)),
        (13, 14, (13, False, 13, False)),
        (14, 15, (14, False, 13, False)),
        (13, 13, None),
        (17, 18, (17, False, 4, False)),
    ],
)
def test_after_one_statement_and_before_the_other(first, second, spot):
    assert SOURCE.after(first, second) == spot


def test_other_spots():
    assert SOURCE.before(4, 14) == (12, True, 12, False)
    assert SOURCE.end_of_round(15, 13) == (15, False, 13, False)
    assert SOURCE.end_of_round(14, 14) == (15, False, 13, False), "the inner loop has no braces"
    assert SOURCE.end_of_function(13) == (18, False, 4, False)
    assert SOURCE.at_statement(6, True) is None, "a condition without braces takes no other statement"
    assert SOURCE.after(2, 4) is None


@pytest.mark.parametrize("text", ["void f() {", "void f() { g(]; }", "}", "if (a"])
def test_brackets_that_do_not_match(text):
    made = cuda_statements.parse(text)
    assert made is None or made.after(1, 1) is None


@pytest.fixture
def fault_of(needs, tmp_path):
    """A function that compiles a text and gives the fault of one of its kernels, with its edit."""
    nvcc = needs("nvcc", "nvidia-cuda-toolkit")

    def run(text: str, name: str) -> emulator.Fault | None:
        source, target = tmp_path / "wrong.cu", tmp_path / "wrong.ptx"
        source.write_text(text)
        linecache.clearcache()
        command = [nvcc, "-arch=sm_90a", "-std=c++17", "-lineinfo", "--ptx", "-o", target, source]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        arrays, memory = [np.zeros(64, np.int32) for _ in range(2)], emulator.Memory()
        for each in arrays:
            memory.register(each.ctypes.data, each.nbytes, "array")
        given = [each.ctypes.data.to_bytes(8, "little") for each in arrays]
        try:
            program = emulator.load(target.read_text())
            emulator.launch(
                program, name, (1 + (name == "flag"), 1, 1), (64, 1, 1), given, memory, checks=("race", "undefined")
            )
        except emulator.Fault as fault:
            return fault
        return None

    return run


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_cuda_cures(fault_of, name):
    fault = fault_of(PROGRAM, name)
    edit = fault.finding.get("edit")
    assert (edit and (edit["line"], edit["kind"], edit["text"])) == EDITS[name], str(fault)
    if edit:
        assert edit["file"].endswith("wrong.cu")
        assert fault_of(applied(PROGRAM, edit), name) is None
