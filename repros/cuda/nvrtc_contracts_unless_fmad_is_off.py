# /// script
# requires-python = ">=3.11"
# dependencies = ["cuda-core[cu13]", "cuda-python", "numpy"]
# [tool.repro]
# arch = "sm_75"
# params = { fmad = [true, false] }
# ///
"""NVRTC makes one fma of a * b + c as nvcc does, and with fmad=False it keeps a product and a sum, which round twice.
Source: NVRTC documentation, --fmad (default true).
"""

# CHECK-PTX(fmad=True): fma.rn.f32
# CHECK-PTX(fmad=False): mul.rn.f32
# CHECK-PTX(fmad=False)-NOT: fma.rn.f32
import numpy as np
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

CODE = 'extern "C" __global__ void kernel(float *out, float a, float b, float c) { *out = a * b + c; }'
A, C = np.float32(1 + 2**-12), np.float32(-1 - 2**-11)


def run(fmad):
    device = Device()
    device.set_current()
    stream = device.create_stream()
    options = ProgramOptions(arch=f"sm_{device.arch}", fma=fmad, lineinfo=True)
    kernel = Program(CODE, "c++", options).compile("ptx").get_kernel("kernel")
    out = np.zeros(1, np.float32)
    place = device.allocate(out.nbytes, stream=stream)
    launch(stream, LaunchConfig(grid=1, block=1), kernel, place, A, A, C)
    stream.sync()
    driver.cuMemcpyDtoH(out.ctypes.data, int(place.handle), out.nbytes)
    return {"out": out}


def expected(fmad):
    exact = np.float64(A) * np.float64(A) + np.float64(C)
    return {"out": np.array([exact if fmad else A * A + C], np.float32)}


if __name__ == "__main__":
    print(run(True))
