"""The CUDA device against a stand-in for the driver: what it calls, and what it makes of return codes."""

import ctypes

import pytest
from cuda.bindings import driver as real

from dsl.launch import cuda
from dsl.launch.device import DeviceError, DeviceMissing, Launch

OK = real.CUresult.CUDA_SUCCESS


class Driver:
    """Answers like a driver with one H100; `codes` makes functions fail."""

    answers = {
        "cuInit": (), "cuDeviceGet": (0,), "cuDevicePrimaryCtxRetain": ("context",), "cuCtxSetCurrent": (),
        "cuDeviceGetName": (b"NVIDIA H100\0\0\0",), "cuDriverGetVersion": (13010,), "cuModuleLoadDataEx": ("module",),
        "cuModuleGetFunction": ("function",), "cuFuncSetAttribute": (), "cuLaunchKernelEx": (), "cuCtxSynchronize": (),
        "cuMemAlloc": (4096,), "cuMemFree": (), "cuMemcpy": (),
    }

    def __init__(self, codes=None):
        self.codes, self.calls = codes or {}, []

    def cuGetErrorName(self, code):
        return OK, code.name.encode()

    def cuGetErrorString(self, code):
        return OK, f"text of {int(code)}".encode()

    def cuDeviceGetAttribute(self, attribute, device):
        return OK, 9 if attribute.name.endswith("MAJOR") else 0

    def __getattr__(self, name):
        if name not in self.answers:
            return getattr(real, name)

        def call(*arguments):
            self.calls.append((name, arguments))
            if name == "cuModuleLoadDataEx" and name in self.codes:
                arguments[3][0][:5] = b"line "
            if name == "cuLaunchKernelEx":
                cells = ctypes.cast(arguments[2], ctypes.POINTER(ctypes.c_void_p))
                self.params = ctypes.string_at(cells[0], 8), ctypes.string_at(cells[1], 4)
            return self.codes.get(name, OK), *self.answers[name]
        return call


@pytest.fixture
def make(monkeypatch):
    def make(**codes) -> cuda.Cuda:
        monkeypatch.setattr(cuda.ctypes, "CDLL", lambda name: None)
        monkeypatch.setattr(cuda, "_driver", lambda: Driver(codes))
        return cuda.Cuda()
    return make


def test_facts(make):
    assert make().facts() == {"kind": "cuda", "name": "NVIDIA H100", "driver": "13.1", "arch": "sm_90a"}


def test_launch_passes_extents_and_parameters(make):
    device = make()
    module = device.load("ptx text")
    launch = Launch((3, 2, 1), (64, 1, 1), (2, 1, 1), 100_000, 0)
    device.launch(module, "kernel", launch, [b"12345678", b"abcd"])
    device.sync()
    names = [name for name, _ in device.driver.calls]
    assert names[-5:] == ["cuCtxSetCurrent", "cuModuleGetFunction", "cuFuncSetAttribute", "cuLaunchKernelEx",
                          "cuCtxSynchronize"]
    config = dict(device.driver.calls)["cuLaunchKernelEx"][0]
    assert (config.gridDimX, config.gridDimY, config.blockDimX, config.sharedMemBytes) == (3, 2, 64, 100_000)
    assert config.attrs[0].value.clusterDim.x == 2
    assert device.driver.params == (b"12345678", b"abcd")


@pytest.mark.parametrize("code, outcome, kind", [
    ("CUDA_ERROR_ILLEGAL_ADDRESS", "fault", "out_of_bounds"), ("CUDA_ERROR_MISALIGNED_ADDRESS", "fault", "misaligned"),
    ("CUDA_ERROR_LAUNCH_FAILED", "trap", "trap"), ("CUDA_ERROR_LAUNCH_TIMEOUT", "deadlock", "deadlock")])
def test_failed_kernel_is_an_outcome(make, code, outcome, kind):
    device = make(cuCtxSynchronize=getattr(real.CUresult, code))
    with pytest.raises(DeviceError) as error:
        device.sync()
    assert str(error.value) == f"{code}: text of {int(getattr(real.CUresult, code))} (cuCtxSynchronize)"
    assert error.value.repro_outcome == {"outcome": outcome, "kind": kind, "file": None, "line": None,
                                         "text": str(error.value)}


def test_refused_call_is_an_error_with_its_name(make):
    device = make(cuLaunchKernelEx=real.CUresult.CUDA_ERROR_INVALID_VALUE)
    with pytest.raises(DeviceError, match=r"CUDA_ERROR_INVALID_VALUE: text of 1 \(cuLaunchKernelEx\)") as error:
        device.launch("module", "kernel", Launch((0, 1, 1), (1, 1, 1)), [b"12345678", b"abcd"])
    assert not hasattr(error.value, "repro_outcome")


def test_refused_ptx_carries_the_log_of_the_driver(make):
    device = make(cuModuleLoadDataEx=real.CUresult.CUDA_ERROR_INVALID_PTX)
    with pytest.raises(DeviceError, match="(?s)CUDA_ERROR_INVALID_PTX.*\nline "):
        device.load("nonsense")


def test_machine_without_a_gpu_says_so(make):
    with pytest.raises(DeviceMissing, match="no CUDA GPU on this machine: CUDA_ERROR_NO_DEVICE: .*\nfix: use"):
        make(cuInit=real.CUresult.CUDA_ERROR_NO_DEVICE)
