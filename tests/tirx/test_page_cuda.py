"""The constructs of TIRx's control-flow page as readable CUDA, in the page's form: the whole text.

Modules tested here: dsl/launch/call/compiling/readable_text.py.
"""

from __future__ import annotations

import numpy as np

import dsl.tirx as tvm
from dsl.launch import session
from dsl.tirx.script import tirx as T

BRANCH = """\
extern "C" __global__ void __launch_bounds__(256) branch_kernel(float* A_ptr, float* O_ptr) {
  int tx = threadIdx.x;
  if (tx < 128) {
    A_ptr[tx] = A_ptr[tx] * 2.0f;
  } else {
    A_ptr[tx] = A_ptr[tx] + 1.0f;
  }
  O_ptr[tx] = (A_ptr[tx] > 0.0f) ? A_ptr[tx] : 0.0f;
}
"""

LOOPS = """\
extern "C" __global__ void __launch_bounds__(1) loops_kernel(float* A_ptr, float* B_ptr) {
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) {
      B_ptr[i * 8 + j] = max(A_ptr[i * 8 + j], 0.0f);
    }
  }
  A_ptr[0] = A_ptr[0] * 2.0f;
  A_ptr[1] = A_ptr[1] * 2.0f;
  A_ptr[2] = A_ptr[2] * 2.0f;
  A_ptr[3] = A_ptr[3] * 2.0f;
  for (int i = 0; i < 64; ++i) {
    if (i == 2) { continue; }
    if (i == 7) { break; }
    A_ptr[i] = 1.0f;
  }
  int k = 0;
  while (1) {
    if (!(k < 64)) { break; }
    A_ptr[k] = A_ptr[k] + 1.0f;
    k = k + 1;
  }
}
"""

MEETINGS = """\
static __device__ __forceinline__ unsigned elect_sync() {
  unsigned r;
  asm volatile("{ .reg .pred p; elect.sync _|p, -1; selp.b32 %0, 1, 0, p; }" : "=r"(r) :  : "memory");
  return r;
}

extern "C" __global__ void __launch_bounds__(256) meetings_kernel(float* A_ptr) {
  __shared__ __align__(128) long long bar[1];
  __shared__ __align__(128) float s[256];
  int tx = threadIdx.x;
  if (tx == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: \
"r"((unsigned)__cvta_generic_to_shared(bar)), "r"(1) : "memory");
  }
  s[tx] = A_ptr[tx];
  __syncthreads();
  if ((int)threadIdx.x >> 7 == 0) {
    asm volatile("bar.sync 10, 128;" ::: "memory");
  }
  int v = (int)elect_sync();
  if (v != 0) {
    A_ptr[tx] = s[tx ^ 1];
  }
}
"""

VECTORS = """\
extern "C" __global__ void __launch_bounds__(16) vectors_kernel(float* A_ptr, float* B_ptr) {
  int tx = threadIdx.x;
  float4 v = *(float4*)(A_ptr + tx * 4);
  float4 v_1 = make_float4(v.x * 2.0f, v.y * 2.0f, v.z * 2.0f, v.w * 2.0f);
  *(float4*)(B_ptr + tx * 4) = v_1;
}
"""


def text_of(function) -> str:
    return tvm.compile(function, target="cuda").mod.imports[0].inspect_source()


def test_if_and_if_then_else():
    @T.prim_func
    def branch(A: T.Buffer((256,), "float32"), O: T.Buffer((256,), "float32")):
        T.device_entry()
        tx = T.thread_id([256])
        if tx < 128:
            A[tx] = A[tx] * T.float32(2.0)
        else:
            A[tx] = A[tx] + T.float32(1.0)
        O[tx] = T.if_then_else(A[tx] > T.float32(0), A[tx], T.float32(0))

    assert text_of(branch) == BRANCH


def test_grid_unroll_serial_and_while():
    @T.prim_func
    def loops(A: T.Buffer((64,), "float32"), B: T.Buffer((8, 8), "float32")):
        T.device_entry()
        tx = T.thread_id([1])
        for i, j in T.grid(8, 8):
            B[i, j] = T.max(A[i * 8 + j], T.float32(0.0))
        for i in T.unroll(4):
            A[i] = A[i] * 2.0
        for i in T.serial(64):
            if i == 2:
                continue
            if i == 7:
                break
            A[i] = 1.0
        k: T.int32 = 0
        while k < 64:
            A[k] = A[k] + T.float32(1.0)
            k += 1

    assert text_of(loops) == LOOPS


def test_vectorized_is_one_access():
    @T.prim_func
    def vectors(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.device_entry()
        tx = T.thread_id([16])
        for i in T.vectorized(4):
            B[tx * 4 + i] = A[tx * 4 + i] * 2.0

    assert text_of(vectors) == VECTORS


def test_an_elected_lane_and_barriers():
    @T.prim_func
    def meetings(A: T.Buffer((256,), "float32")):
        T.device_entry()
        tx = T.thread_id([256])
        wg = T.warpgroup_id([2])
        s = T.alloc_shared((256,), "float32")
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.data, 1)
        s[tx] = A[tx]
        T.cuda.cta_sync()
        if wg == 0:
            T.cuda.warpgroup_sync(10)
        if T.ptx.elect_sync():
            A[tx] = s[tx ^ 1]

    assert text_of(meetings) == MEETINGS
    session.start("emulator")
    a = np.arange(256, dtype=np.float32)
    try:
        tvm.compile(meetings, target="cuda")(a)
    finally:
        session.stop()
    changed = np.flatnonzero(a != np.arange(256))
    assert (changed // 32).tolist() == list(range(8)), "one lane of each warp"
    assert a[changed].tolist() == (changed ^ 1).tolist()
