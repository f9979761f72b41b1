# /// script
# requires-python = ">=3.11"
# dependencies = ["cuda-python", "numpy"]
# [tool.repro]
# arch = "sm_75"
# source = "float_to_int.cu"
# ///
"""On the device a float that no int can hold becomes the nearest int, and a NaN becomes 0; C++ leaves both open.
Source: PTX ISA, cvt.rzi.s32.f32: the result is clamped to the range of the type; NaN gives 0.
"""

# CHECK-PTX: cvt.rzi.s32.f32
import ctypes

import numpy as np
from cuda.bindings import driver

X = np.array([1.9, -1.9, 2147483520.0, 2147483648.0, -2147483648.0, -3e9, np.inf, -np.inf, np.nan], np.float32)


def call(name, *arguments):
    error, *answer = getattr(driver, name)(*arguments)
    assert not error, f"{name}: {error}"
    return answer[0] if answer else None


def run(ptx):
    call("cuInit", 0)
    call("cuCtxSetCurrent", call("cuDevicePrimaryCtxRetain", call("cuDeviceGet", 0)))
    kernel = call("cuModuleGetFunction", call("cuModuleLoadData", ptx.encode() + b"\0"), b"convert")
    out = np.zeros(X.size, np.int32)
    given, taken = call("cuMemAlloc", X.nbytes), call("cuMemAlloc", out.nbytes)
    call("cuMemcpyHtoD", given, X.ctypes.data, X.nbytes)
    arguments = (int(given), int(taken), X.size), (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    call("cuLaunchKernel", kernel, 1, 1, 1, 32, 1, 1, 0, 0, arguments, 0)
    call("cuMemcpyDtoH", out.ctypes.data, taken, out.nbytes)
    return {"out": out}


def expected():
    low, high = -(2**31), 2**31 - 1
    return {"out": np.clip(np.nan_to_num(np.trunc(X.astype(np.float64))), low, high).astype(np.int32)}
