"""Tensors in host memory as NVIDIA's compiler gets them on the emulator: `from_dlpack` of an array is device memory.

On the emulator a device pointer is a host pointer, so under our compiler an array of numpy, or of torch's CPU, is
device memory (launch.arguments). NVIDIA's package reads from the DLPack capsule where memory is: here the capsule of
an array on the CPU names CUDA, and the array's storage is an allocation of the device for as long as the tensor made of
it lives.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from dsl.launch.argument import dlpack
from dsl.launch.devices.protocol import Device
from dsl.launch.devices.torch_mapping.torch_cuda import CAPSULE_DEVICE_AT, Memory

CPU, CUDA = 1, 2  # DLDeviceType
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer


class _OnCuda:
    """An array whose DLPack capsule claims that it is in CUDA memory."""

    def __init__(self, array: Any):
        self._array = array

    def __dlpack__(self, **_):
        capsule = self._array.__dlpack__()
        ctypes.c_int32.from_address(_pointer_of(capsule, b"dltensor") + CAPSULE_DEVICE_AT).value = CUDA
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._array, name)


def taking_arrays(original: Callable, device: Device) -> Callable:
    """NVIDIA's `from_dlpack`, `original`, for which an array on the CPU is memory of `device`."""

    @functools.wraps(original)
    def from_dlpack(tensor_dlpack, *args, **kwargs):
        if getattr(tensor_dlpack, "requires_grad", False) and not kwargs.get("enable_tvm_ffi"):
            tensor_dlpack.__dlpack__(stream=-1)  # as there: torch refuses
        where = getattr(tensor_dlpack, "__dlpack_device__", None)
        if where is None or where()[0] != CPU:
            return original(tensor_dlpack, *args, **kwargs)
        tensor = original(_OnCuda(tensor_dlpack), *args, **kwargs)
        view = dlpack.view(tensor_dlpack)
        lent = device.lend([(*view.storage, type(tensor_dlpack).__name__)])
        device.register(*view.storage, f"{type(tensor_dlpack).__module__} {view.dtype} tensor of shape {view.shape}")
        weakref.finalize(tensor, device.unregister, view.storage[0]).atexit = False
        weakref.finalize(tensor, device.take_back, lent).atexit = False
        return tensor

    return from_dlpack


@contextlib.contextmanager
def on_device(device: Memory) -> Iterator[None]:
    """Let `cutlass.cute.runtime.from_dlpack`, wherever the package has it, take arrays on the CPU as device memory."""
    original = importlib.import_module("cutlass.cute.runtime").from_dlpack
    stand_in = taking_arrays(original, device)
    owners = [
        module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] == "cutlass" and vars(module).get("from_dlpack") is original
    ]
    for module in owners:
        vars(module)["from_dlpack"] = stand_in
    try:
        yield
    finally:
        for module in owners:
            vars(module)["from_dlpack"] = original
