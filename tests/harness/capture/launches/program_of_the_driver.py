"""A program that launches PTX by cuda.bindings; an argument chooses what it does. Run by repro capture."""

import ctypes
import sys

import numpy as np
from cuda.bindings import driver as cuda

PTX = """
.version 8.0
.target sm_90
.address_size 64

.visible .const .align 4 .b8 scale[16];
.global .align 4 .u32 unused = 7;

.func (.param .f32 result) twice(.param .f32 value) // of no other kernel
{
    .reg .f32 %f<3>;
    ld.param.f32 %f1, [value];
    add.f32 %f2, %f1, %f1;
    st.param.f32 [result], %f2;
    ret;
}

.visible .entry add_scaled(
    .param .u64 out,
    .param .u64 .ptr .global .align 4 x,
    .param .align 8 .b8 pair[16],
    .param .f32 factor
)
{
    .reg .b32 %r<4>;
    .reg .f32 %f<9>;
    .reg .b64 %rd<12>;
    .loc 1 3 4
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [x];
    ld.param.u64 %rd3, [pair];
    ld.param.u64 %rd4, [pair+8];
    ld.param.f32 %f1, [factor];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd5, %r1, 4;
    add.s64 %rd6, %rd2, %rd5;
    ld.global.f32 %f2, [%rd6];
    add.s64 %rd7, %rd3, %rd5;
    ld.global.f32 %f3, [%rd7];
    mov.u64 %rd8, scale;
    ld.const.f32 %f4, [%rd8+4];
    fma.rn.f32 %f5, %f2, %f1, %f3;
    mul.f32 %f6, %f5, %f4;
    add.s64 %rd9, %rd1, %rd5;
    add.s64 %rd10, %rd9, %rd4;
    st.global.f32 [%rd10], %f6;
    ret;
}

.visible .entry through_table(.param .u64 table)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [table];
    ld.global.u64 %rd2, [%rd1+8];
    mov.u32 %r1, 5;
    st.global.u32 [%rd2], %r1;
    ret;
}

.visible .entry ranks(.param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %cluster_ctarank;
    mov.u32 %r2, %ctaid.x;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
    ret;
}
"""


class Pair(ctypes.Structure):
    _fields_ = [("first", ctypes.c_void_p), ("past", ctypes.c_uint64)]


def good(result):
    assert int(result[0]) == 0, result
    return result[1] if len(result) == 2 else result[1:]


def memory(data):
    address = good(cuda.cuMemAlloc(data.nbytes))
    good(cuda.cuMemcpyHtoD(address, data.ctypes.data, data.nbytes))
    return address


def add_scaled(module, grid=1, beyond=0):
    kernel = good(cuda.cuModuleGetFunction(module, b"add_scaled"))
    place, nbytes = good(cuda.cuModuleGetGlobal(module, b"scale"))
    good(cuda.cuMemcpyHtoD(place, np.array([1, 2, 3, 4], np.float32).ctypes.data, nbytes))
    both, out = memory(np.arange(96, dtype=np.float32)), memory(np.zeros(64, np.float32))
    for factor in (1.0, 2.5):
        words = out, int(both) + 128, Pair(int(both), 128 + beyond), factor
        kinds = None, ctypes.c_void_p, None, ctypes.c_float
        cuda.cuLaunchKernel(kernel, grid, 1, 1, 32, 1, 1, 0, 0, (words, kinds), 0)


def through_table(module):
    """The launch passes an array of pointers and a table of addresses."""
    kernel = good(cuda.cuModuleGetFunction(module, b"through_table"))
    first, second = memory(np.zeros(4, np.uint32)), memory(np.ones(4, np.uint32))
    table = memory(np.array([int(first), int(second) + 8], np.uint64))
    number = np.array([int(table)], np.uint64)
    arguments = np.array([number.ctypes.data], np.uint64)
    good(cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, arguments.ctypes.data, 0))


def ranks(module):
    kernel = good(cuda.cuModuleGetFunction(module, b"ranks"))
    out = memory(np.full(4, 9, np.uint32))
    config, attribute = cuda.CUlaunchConfig(), cuda.CUlaunchAttribute()
    config.gridDimX, config.gridDimY, config.gridDimZ = 4, 1, 1
    config.blockDimX = config.blockDimY = config.blockDimZ = 1
    attribute.id = cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z = 2, 1, 1
    config.attrs, config.numAttrs = [attribute], 1
    good(cuda.cuLaunchKernelEx(config, kernel, ((out,), (None,)), 0))


def main(what):
    good(cuda.cuInit(0))
    good(cuda.cuCtxSetCurrent(good(cuda.cuDevicePrimaryCtxRetain(0))))
    module = good(cuda.cuModuleLoadData(PTX.encode()))
    if what == "beyond":
        add_scaled(module, beyond=1 << 16)
    else:
        globals()[what](module)


if __name__ == "__main__":
    main(sys.argv[1])
