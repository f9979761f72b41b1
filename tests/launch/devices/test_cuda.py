"""The CUDA device against a stand-in for the driver: what it calls, and what it makes of return codes."""

import ctypes
from types import SimpleNamespace

import pytest
from cuda.bindings import driver as real

from dsl.launch.devices import cuda
from dsl.launch.devices.protocol import DeviceError, DeviceMissing, Launch
from dsl.perturbation import perturbation
from tests.small_ptx import PTX

OK = real.CUresult.CUDA_SUCCESS


class Driver:
    """Answers like a driver with one H100; `codes` makes functions fail."""

    answers = {
        "cuInit": (),
        "cuDeviceGet": (0,),
        "cuDevicePrimaryCtxRetain": ("context",),
        "cuCtxSetCurrent": (),
        "cuDeviceGetUuid": (SimpleNamespace(bytes=b"\0\xff" * 8),),
        "cuDeviceGetName": (b"NVIDIA H100\0\0\0",),
        "cuDriverGetVersion": (13010,),
        "cuModuleLoadDataEx": (77,),
        "cuModuleGetFunction": ("function",),
        "cuFuncSetAttribute": (),
        "cuLaunchKernelEx": (),
        "cuCtxSynchronize": (),
        "cuMemAlloc": (4096,),
        "cuMemFree": (),
        "cuMemcpy": (),
        "cuFuncGetAttribute": (16,),
    }

    def __init__(self, codes=None):
        self.codes, self.calls = codes or {}, []

    def cuGetErrorName(self, code):
        return OK, code.name.encode()

    def cuGetErrorString(self, code):
        return OK, f"text of {int(code)}".encode()

    def cuDeviceGetAttribute(self, attribute, device):
        return OK, 9 if attribute.name.endswith("MAJOR") else 232448 if attribute.name.endswith("OPTIN") else 0

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


def test_facts(make, monkeypatch):
    monkeypatch.setattr(cuda, "_DRIVER_VERSION_FILE", "/nowhere")
    assert make().facts() == {
        "kind": "cuda",
        "name": "NVIDIA H100",
        "driver": "CUDA 13.1",
        "arch": "sm_90a",
        "uuid": "00ff" * 8,
    }


def test_launch_passes_extents_and_parameters(make):
    device = make()
    module = device.load("ptx text")
    launch = Launch((3, 2, 1), (64, 1, 1), (2, 1, 1), 100_000, 0)
    device.launch(module, "kernel", launch, [b"12345678", b"abcd"])
    device.sync()
    names = [name for name, _ in device.driver.calls]
    assert names[-6:] == [
        "cuCtxSetCurrent",
        "cuModuleGetFunction",
        "cuFuncGetAttribute",
        "cuFuncSetAttribute",
        "cuLaunchKernelEx",
        "cuCtxSynchronize",
    ]
    config = dict(device.driver.calls)["cuLaunchKernelEx"][0]
    assert (config.gridDimX, config.gridDimY, config.blockDimX, config.sharedMemBytes) == (3, 2, 64, 100_000)
    assert config.attrs[0].value.clusterDim.x == 2
    assert device.driver.params == (b"12345678", b"abcd")


@pytest.mark.parametrize(
    "flags, names",
    [
        (1, ["COOPERATIVE"]),
        (2, ["PROGRAMMATIC_STREAM_SERIALIZATION"]),
        (3, ["COOPERATIVE", "PROGRAMMATIC_STREAM_SERIALIZATION"]),
    ],
)
def test_launch_attributes(make, flags, names):
    device = make()
    device.launch(77, "kernel", Launch((4, 1, 1), (32, 1, 1), flags=flags), [b"12345678", b"abcd"])
    config = dict(device.driver.calls)["cuLaunchKernelEx"][0]
    assert [attribute.id.name for attribute in config.attrs] == [f"CU_LAUNCH_ATTRIBUTE_{name}" for name in names]
    assert all(attribute.value.cooperative == 1 for attribute in config.attrs)  # a union: both are its first int


@pytest.mark.parametrize(
    "code, outcome, kind",
    [
        ("CUDA_ERROR_ILLEGAL_ADDRESS", "fault", "out_of_bounds"),
        ("CUDA_ERROR_MISALIGNED_ADDRESS", "fault", "misaligned"),
        ("CUDA_ERROR_LAUNCH_FAILED", "trap", "trap"),
        ("CUDA_ERROR_LAUNCH_TIMEOUT", "deadlock", "deadlock"),
    ],
)
def test_failed_kernel_is_an_outcome(make, code, outcome, kind):
    device = make(cuCtxSynchronize=getattr(real.CUresult, code))
    with pytest.raises(DeviceError) as error:
        device.sync()
    assert str(error.value) == f"{code}: text of {int(getattr(real.CUresult, code))} (cuCtxSynchronize)"
    assert error.value.repro_outcome == {
        "outcome": outcome,
        "kind": kind,
        "file": None,
        "line": None,
        "text": str(error.value),
    }


def test_refused_call_is_an_error_with_its_name(make):
    device = make(cuLaunchKernelEx=real.CUresult.CUDA_ERROR_INVALID_VALUE)
    with pytest.raises(
        DeviceError,
        match=r"CUDA_ERROR_INVALID_VALUE: text of 1 \(cuLaunchKernelEx\)\n"
        r"launching `kernel` grid=\(0, 1, 1\) block=\(1, 1, 1\)$",
    ) as error:
        device.launch(77, "kernel", Launch((0, 1, 1), (1, 1, 1)), [b"12345678", b"abcd"])
    assert error.value.repro_outcome["kind"] == "invalid_launch"


def test_refused_ptx_carries_the_log_of_the_driver(make):
    device = make(cuModuleLoadDataEx=real.CUresult.CUDA_ERROR_INVALID_PTX)
    with pytest.raises(DeviceError, match="(?s)CUDA_ERROR_INVALID_PTX.*\nline$"):
        device.load("nonsense")


def test_the_driver_gets_ptx_with_the_delays_of_the_run(make):
    device = make()
    device.perturb(perturbation.of("k 1 before 800 ns all"))
    device.load(PTX)
    (loaded,) = (arguments[0] for name, arguments in device.driver.calls if name == "cuModuleLoadDataEx")
    assert loaded == PTX.replace("st.global", " nanosleep.u32 800;st.global").encode() + b"\0"


def test_cuda_releases_of_ptx_versions():
    """PTX ISA, Release Notes: the rows where the numbering changes."""
    rows = {
        (7, 0): (11, 0),
        (7, 8): (11, 8),
        (8, 0): (12, 0),
        (8, 5): (12, 5),
        (8, 6): (12, 7),
        (8, 8): (12, 9),
        (9, 0): (13, 0),
    }
    assert {ptx: cuda.cuda_for_ptx(ptx) for ptx in rows} == rows
    assert {ptx: cuda.ptx_of_cuda(rows[ptx]) for ptx in rows} == {ptx: ptx for ptx in rows}
    assert cuda.ptx_of_cuda((12, 6)) == (8, 5)


def test_shared_memory_is_asked_for_once_and_only_past_48_kb(make):
    device = make()
    for smem_bytes in (1000, 48 * 1024 - 16, 48 * 1024 - 15, 50_000, 60_000):
        device.launch(77, "kernel", Launch((1, 1, 1), (1, 1, 1), smem_bytes=smem_bytes), [b"12345678", b"abcd"])
    asked = [arguments[2] for name, arguments in device.driver.calls if name == "cuFuncSetAttribute"]
    assert asked == [48 * 1024 - 15, 50_000, 60_000]
    with pytest.raises(
        DeviceError,
        match="`kernel` asks for 16 static and 232448 dynamic bytes of shared memory; a "
        "block on this GPU has at most 232448",
    ):
        device.launch(77, "kernel", Launch((1, 1, 1), (1, 1, 1), smem_bytes=232448), [b"12345678", b"abcd"])


def test_a_large_cluster_is_allowed_first(make):
    device = make()
    device.launch(77, "kernel", Launch((16, 1, 1), (1, 1, 1), cluster=(16, 1, 1)), [b"12345678", b"abcd"])
    assert device.driver.calls[-2][0] == "cuFuncSetAttribute" and device.driver.calls[-2][1][2] == 1


def test_a_machine_without_a_gpu_is_an_error(make):
    with pytest.raises(DeviceMissing, match="no CUDA GPU on this machine: CUDA_ERROR_NO_DEVICE: .*\nfix: use"):
        make(cuInit=real.CUresult.CUDA_ERROR_NO_DEVICE)


# --- below the driver's API: a library in place of libcuda, which runs PTX on the emulator ---------------------------

PROGRAM = """
import ctypes
from dsl import alias
session = alias.install("cuda")
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_ptr
from cuda.bindings import driver

@cute.kernel
def kernel(x: cute.Pointer, n: cutlass.Int32, by: cutlass.Float32):
    i, _, _ = cute.arch.thread_idx()
    if i < n:
        (x + i).store((x + i).load() * by)

@cute.jit
def host(x: cute.Pointer, n: cutlass.Int32, by: cutlass.Float32, stream: driver.CUstream):
    kernel(x, n, by).launch(grid=(1, 1, 1), block=(64, 1, 1), stream=stream)

device = session.device
values = (ctypes.c_float * 64)(*range(64))
memory = device.alloc(256, "x")
device.copy(memory, ctypes.addressof(values), 256)
x = make_ptr(cutlass.Float32, memory, cute.AddressSpace.gmem)
"""


def test_a_program_runs_through_the_driver(on_gpu):
    said = on_gpu(
        PROGRAM
        + """
_, stream = driver.cuStreamCreate(0)
host(x, 60, 2.0, stream)
host(x, 60, 2.0, driver.CUstream(0))
device.copy(ctypes.addressof(values), memory, 256)
device.free(memory)
assert list(values) == [4.0 * i if i < 60 else i for i in range(64)], list(values)
print(session.facts()["device"])
"""
    )
    assert (
        said
        == "{'kind': 'cuda', 'name': 'Stand-in GPU', 'driver': 'CUDA 13.0', 'arch': 'sm_90a', 'uuid': '"
        + "07" * 16
        + "'}"
    )


@pytest.mark.slow
def test_a_kernel_that_fails_is_reported_once_and_then_the_context_is_lost(on_gpu):
    said = on_gpu(
        PROGRAM
        + """
from dsl.launch.devices.protocol import DeviceError
for what in (lambda: host(make_ptr(cutlass.Float32, 4096, cute.AddressSpace.gmem), 60, 2.0, driver.CUstream(0)),
             lambda: host(x, 60, 2.0, driver.CUstream(0)), lambda: device.copy(0, 0, 1), lambda: device.free(memory)):
    try:
        what()
    except DeviceError as error:
        print(error, (error.repro_outcome or {}).get("kind"))
print(session.facts()["device"]["arch"])
"""
    )
    failure = (
        "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered (cuCtxSynchronize)\n"
        "in kernel `kernel_kernel_0` grid=(1, 1, 1) block=(64, 1, 1)"
    )
    lost = f"was not tried: an earlier kernel failed, so no kernel runs in this process any more\nthe failure was {failure}"
    assert said.splitlines() == [
        *(failure + " out_of_bounds").splitlines(),
        *f"CUDA_CONTEXT_LOST: cuCtxSetCurrent {lost} None".splitlines(),
        *f"CUDA_CONTEXT_LOST: cuMemcpy {lost} None".splitlines(),
        "sm_90a",
    ]


def test_host_memory_is_refused_by_name(on_gpu):
    said = on_gpu(
        PROGRAM
        + """
import numpy as np

@cute.jit
def of_tensor(a: cute.Tensor):
    kernel(a.iterator, 4, 2.0).launch(grid=(1, 1, 1), block=(64, 1, 1))

device.register(memory + 100, 4, "inside")
of_tensor(np.zeros(4, np.float32))
"""
    )
    assert said.endswith(
        "HOST_MEMORY: `a` is in the memory of the host, which this GPU cannot reach\n"
        'fix: make it with device="cuda", or use --device emulator'
    )


@pytest.mark.slow
def test_a_kernel_launched_again_is_launched_by_machine_code(on_gpu):
    """The second launch reaches the driver and the records, and no method of the device."""
    said = on_gpu(
        PROGRAM
        + """
@cute.jit
def often(x: cute.Pointer, times: cutlass.Int32, by: cutlass.Float32, stream: driver.CUstream):
    for i in range(times):
        kernel(x, 60, by).launch(grid=(1, 1, 1), block=(64, 1, 1), stream=stream)

compiled = cute.compile(often, x, cutlass.Int32(0), cutlass.Float32(0), driver.CUstream(0))
through = []
launch = type(device).launch
type(device).launch = lambda self, *arguments: (through.append(1), launch(self, *arguments))
_, stream = driver.cuStreamCreate(0)
compiled(x, cutlass.Int32(150), 1.0, stream)
compiled(x, cutlass.Int32(2), 2.0, stream)
device.copy(ctypes.addressof(values), memory, 256)
assert list(values) == [4.0 * i if i < 60 else i for i in range(64)], list(values)
record, = session.kernels
print(len(through), len(record.launches), record.launches[-1])
"""
    )
    assert said == "1 152 {'grid': [1, 1, 1], 'block': [64, 1, 1], 'smem_bytes': 0}"


@pytest.mark.parametrize(
    "code, text",
    [
        (
            1,
            "invalid argument (cuLaunchKernelEx)\nlaunching `kernel` grid=(1, 1, 1) block=(64, 1, 1)\nfix: print the "
            "extents and `smem` of the launch, and compare them with the device's limits",
        ),
        (719, "CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure (cuLaunchKernelEx)"),
    ],
)
@pytest.mark.slow
def test_a_launch_by_machine_code_that_is_refused(on_gpu, code, text):
    said = on_gpu(
        PROGRAM
        + f"""
compiled = cute.compile(host, x, cutlass.Int32(0), cutlass.Float32(0), driver.CUstream(0))
compiled(x, 60, 2.0, driver.CUstream(0))
ctypes.CDLL(None).setenv(b"STAND_IN_FAIL", b"cuLaunchKernelEx={code}", 1)
compiled(x, 60, 2.0, driver.CUstream(0))
"""
    )
    assert said.endswith(text)


def test_the_error_of_a_driver_too_old_for_the_ptx_names_both_versions(on_gpu):
    said = on_gpu(
        PROGRAM + "host(x, 60, 2.0, driver.CUstream(0))",
        STAND_IN_VERSION="11080",
        STAND_IN_FAIL="cuModuleLoadDataEx=222",
    )
    assert said.splitlines()[-3:] == [
        "dsl.launch.devices.protocol.DeviceError: CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the provided PTX was compiled with an "
        "unsupported toolchain. (cuModuleLoadDataEx)",
        "the PTX is version 8.0, which takes a driver for CUDA 12.0; this driver is for CUDA 11.8 and takes PTX up to "
        "7.8",
        "fix: update the NVIDIA driver, or compile for an older target: --gpu-arch",
    ]


@pytest.mark.slow
def test_refused_ptx_carries_the_log_of_the_jit(on_gpu):
    said = on_gpu(PROGRAM + 'device.load(".version 8.0\\n.target sm_100\\n.address_size 64\\nnonsense")')
    assert "CUDA_ERROR_INVALID_PTX: a PTX JIT compilation failed (cuModuleLoadDataEx)\nptxas application ptx" in said
    assert "the PTX is for sm_100 and later, but this GPU is sm_90\nfix: compile for it: --gpu-arch sm_90a" in said


@pytest.mark.parametrize(
    "variables, why",
    [
        ({"STAND_IN_FAIL": "cuInit=100"}, "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected (cuInit)"),
        ({"STAND_IN_DEVICES": "0"}, "CUDA_ERROR_INVALID_DEVICE: invalid device ordinal (cuDeviceGet)"),
    ],
)
def test_a_driver_without_a_gpu(on_gpu, variables, why):
    said = on_gpu("from dsl.launch.devices import cuda\nprint(cuda.present())\ncuda.Cuda()", **variables)
    assert said.startswith("False") and f"DeviceMissing: no CUDA GPU on this machine: {why}" in said
