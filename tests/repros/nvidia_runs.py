"""Run beside test_nvidia.py: runs cases of repros under nvidia-cutlass-dsl, their kernels on the emulator.

    python nvidia_runs.py RUNTIME_SO

One line of JSON on stdin asks for a case, {"path", "params"}; one line on stdout answers, while standard error has what
the repro printed:

    outcome   outputs | rejected | trap | deadlock | fault | error | crash
    text      how the outputs differ from expected(), or the error
    id        the diagnostic of a rejection
    kernels   name, ptx and launches of each, as in the facts of a run

Each case runs in a fork of this process, which imported torch and the compiler once. torch's cuda device is host memory
that the emulator knows; tensors cross into the compiler as CUDA memory (generic addresses have no cp.async).
"""

import ctypes
import importlib.util
import json
import os
import re
import signal
import sys
import tempfile
import traceback
from pathlib import Path

SETTINGS = {
    "CUTE_DSL_LIBS": sys.argv[1],
    "CUTE_DSL_ARCH": "sm_90a",
    "CUTE_DSL_KEEP": "ptx",
    "CUTE_DSL_DUMP_DIR": ".",                   # of the fork, whose working folder is its own
    "CUTE_DSL_NO_CACHE": "1",
    "TVM_FFI_SKIP_DLPACK_C_EXCHANGE_API": "1",  # tensors pass through torch.utils.dlpack, which is mapped
    "TVM_FFI_DISABLE_TORCH_C_DLPACK": "1",
}
os.environ.update(SETTINGS)

import torch
from cuda.bindings import runtime

runtime.cudaGetDeviceCount = lambda: (runtime.cudaError_t.cudaSuccess, 1)

import cutlass.cute  # noqa: F401
import tvm_ffi  # noqa: F401

from dsl import emulator
from dsl.launch.emulated import Emulated
from harness import compare, report, repro
from harness.result import DTYPES, RAW, Array, Outcome

DLPACK_CUDA = 2
DLPACK_DEVICE_TYPE_OFFSET = 8                   # bytes into DLManagedTensor, after the data pointer
CASE_LIMIT_S = 60


class LaunchAttribute(ctypes.Structure):
    """cudaLaunchAttribute, its value as words."""

    _fields_ = [("id", ctypes.c_uint32), ("padding", ctypes.c_uint32), ("value", ctypes.c_uint32 * 16)]


class LaunchConfig(ctypes.Structure):
    """cudaLaunchConfig_t."""

    _fields_ = [("grid", ctypes.c_uint32 * 3), ("block", ctypes.c_uint32 * 3), ("smem_bytes", ctypes.c_size_t),
                ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(LaunchAttribute)),
                ("attribute_count", ctypes.c_uint32)]

    def cluster(self) -> tuple[int, int, int]:
        """The extents in blocks. Raises ValueError for any other attribute that is not off."""
        cluster = 1, 1, 1
        for attribute in self.attributes[:self.attribute_count]:
            name = runtime.cudaLaunchAttributeID(attribute.id).name
            if name == "cudaLaunchAttributeClusterDimension":
                cluster = tuple(attribute.value[:3])
            elif attribute.value[0]:
                raise ValueError(f"a launch has the attribute {name}, which the emulator does not know")
        return cluster


LAUNCH = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.POINTER(LaunchConfig), ctypes.POINTER(ctypes.c_void_p))


def map_dlpack() -> None:
    """Give the tensors of the mapped cuda device capsules that say CUDA."""
    to_host = torch.Tensor.__dlpack__
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]

    def to_dlpack(self, **_):
        capsule = to_host(self)
        if self.is_cuda:
            place = pointer(capsule, b"dltensor") + DLPACK_DEVICE_TYPE_OFFSET
            ctypes.c_int32.from_address(place).value = DLPACK_CUDA
        return capsule

    torch.Tensor.__dlpack__ = torch.utils.dlpack.to_dlpack = to_dlpack
    torch.Tensor.__dlpack_device__ = lambda self: (DLPACK_CUDA if self.is_cuda else 1, 0)
    torch._C._cuda_getCurrentRawStream = lambda index: 0


class Kernels:
    """The launches of this process, executed on the emulator as they come."""

    def __init__(self, device: Emulated):
        self.device, self.failure = device, None
        self.kernels: dict[str, dict] = {}

    def launch(self, name: bytes, config, arguments) -> None:
        """Called from compiled code, which knows no exceptions: the first one is kept."""
        try:
            self._launch(name.decode(), config.contents, arguments)
        except Exception as error:
            self.failure = self.failure or error

    def _launch(self, name: str, config: LaunchConfig, arguments) -> None:
        ptx = ptx_of(name)
        shape = {"grid": list(config.grid), "block": list(config.block), "smem_bytes": config.smem_bytes}
        kernel = self.kernels.setdefault(name, {"name": name, "ptx": ptx, "launches": []})
        kernel["launches"].append(shape)
        program = emulator.load(ptx)
        params = [ctypes.string_at(arguments[i], p.size_bytes) for i, p in enumerate(program.entries[name].params)]
        emulator.launch(program, name, tuple(config.grid), tuple(config.block), params, self.device.memory,
                        smem_bytes=config.smem_bytes, cluster=config.cluster())


def ptx_of(name: str) -> str:
    """The PTX text with that entry among what the compiler kept. Raises LookupError unless there is exactly one."""
    texts = {path.read_text() for path in Path().rglob("*.ptx")}
    found = [text for text in texts if re.search(rf"\.entry\s+{re.escape(name)}\b", text)]
    if len(found) != 1:
        raise LookupError(f"{len(found)} different PTX texts have the entry `{name}`")
    return found[0].rstrip("\0")


def array(value) -> Array:
    tensor = (value if isinstance(value, torch.Tensor) else torch.tensor(value)).cpu().contiguous()
    dtype = DTYPES[str(tensor.dtype).removeprefix("torch.")]
    raw = tensor.reshape(-1).view(torch.uint8).numpy().view(RAW[dtype.bits])
    return Array(dtype, raw.reshape(tuple(tensor.shape)))


def run(path: Path, params: dict, runtime_so: ctypes.CDLL) -> dict:
    """Run one case in this process, which has not run any."""
    device = Emulated()
    kernels = Kernels(device)
    callback = LAUNCH(kernels.launch)
    runtime_so.on_launch(callback)
    device.install()
    try:
        spec = importlib.util.spec_from_file_location(f"repro_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        returned = module.run(**params)
        if kernels.failure:
            raise kernels.failure
        answer = {"outcome": "outputs", "text": ""}
        if hasattr(module, "expected"):
            answer["text"] = differences(path, returned, module.expected(**params), kernels)
    except cutlass.base_dsl.common.DSLBaseError as error:
        answer = {"outcome": "rejected", "text": str(error), "id": getattr(error, "code", None)}
    except BaseException as error:
        answer = getattr(error, "repro_outcome", None) or {"outcome": "error", "text": traceback.format_exc()}
    return answer | {"kernels": list(kernels.kernels.values())}


def differences(path: Path, returned: dict, expected: dict, kernels: Kernels) -> str:
    got, want = ({name: array(value) for name, value in arrays.items()} for arrays in (returned, expected))
    found = compare.differences(want, got, dict(repro.read(path).compare), "expected()", partial=True)
    return report.differences(found, Outcome("outputs", facts={"kernels": list(kernels.kernels.values())}))


def run_forked(ask: dict, runtime_so: ctypes.CDLL) -> dict:
    """Run one case in a fork and a folder of its own."""
    read_fd, write_fd = os.pipe()
    with tempfile.TemporaryDirectory(prefix="nvidia-runs-") as folder:
        child = os.fork()
        if child == 0:
            signal.alarm(CASE_LIMIT_S)
            os.chdir(folder)
            with os.fdopen(write_fd, "w") as pipe:
                json.dump(run(Path(ask["path"]), ask["params"], runtime_so), pipe)
            sys.stdout.flush()
            os._exit(0)
        os.close(write_fd)
        with os.fdopen(read_fd) as pipe:
            answer = pipe.read()
        _, status = os.waitpid(child, 0)
    if status:
        code = os.waitstatus_to_exitcode(status)
        ended = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        return {"outcome": "crash", "text": f"the process ended with {ended}", "kernels": []}
    return json.loads(answer)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    map_dlpack()
    runtime_so = ctypes.CDLL(sys.argv[1])
    for line in sys.stdin:
        print(json.dumps(run_forked(json.loads(line), runtime_so)), file=answers, flush=True)


if __name__ == "__main__":
    main()
