"""A program that launches kernels by cuda.core; an argument chooses what it does. Run by repro capture."""

import sys

import numpy as np
import torch
from cuda.bindings import driver
from cuda.core import Device, LaunchConfig, ObjectCode, Program, ProgramOptions, launch

from tests.harness.capture.launches.program_of_the_driver import PTX

SOURCE = """
extern "C" __global__ void scaled(float* x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}
template <typename T> __global__ void filled(T* x, T value) { x[threadIdx.x] = value; }
"""

device = Device()
device.set_current()
stream = device.create_stream()


def buffer(data):
    made = device.allocate(data.nbytes, stream=stream)
    (code,) = driver.cuMemcpyHtoD(int(made.handle), data.ctypes.data, data.nbytes)
    assert int(code) == 0
    return made


def ranks():
    """PTX, a cluster."""
    code = ObjectCode.from_ptx(PTX.encode())
    assert isinstance(code, ObjectCode)
    out = buffer(np.full(4, 9, np.uint32))
    launch(stream, LaunchConfig(grid=2, cluster=2, block=1), code.get_kernel("ranks"), out)


def scaled(beyond=0):
    """C++ compiled to PTX: a buffer and numbers of Python and numpy, twice."""
    kernel = Program(SOURCE, "c++", ProgramOptions(arch="sm_90")).compile("ptx").get_kernel("scaled")
    values = buffer(np.arange(100, dtype=np.float32))
    for factor in (2.0, 0.5):
        launch(stream, LaunchConfig(grid=2, block=64), kernel, values, np.float32(factor), 100 + beyond)


def beyond():
    scaled(1 << 20)


def filled():
    """A template, by an expression; the memory is a tensor of torch."""
    program = Program(SOURCE, code_type="c++", options=ProgramOptions(arch="sm_90"))
    kernel = program.compile("ptx", name_expressions=("filled<double>",)).get_kernel("filled<double>")
    tensor = torch.zeros(8, dtype=torch.float64, device="cuda")
    launch(stream, LaunchConfig(grid=1, block=8), kernel, tensor.data_ptr(), np.float64(2.5))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    stream.sync()
