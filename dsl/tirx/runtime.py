"""tvm.runtime: tensors on the device that programs run on, and device names."""

from __future__ import annotations

import ctypes
import math
import sys
from typing import Any

import numpy as np

from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.phrase import shown
from dsl.launch import session
from dsl.launch.argument import dlpack
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.errors.unsupported import module_getattr
from dsl.tirx.values import dtypes

ALIGNMENT_BYTES = 256  # as cudaMalloc gives


class Device:
    """`tvm.cuda(0)`, `tvm.cpu()`: a place for tensors. There is one device."""

    def __init__(self, kind: str, index: int = 0):
        self.kind, self.index = kind, index

    @property
    def exist(self) -> bool:
        return self.index == 0

    def refuse_absent(self) -> None:
        if not self.exist:
            raise DSLUserCodeValueError(
                f"there is one device of {self.kind}, got number {self.index}", id="DEVICE", fix=f"tvm.{self.kind}(0)"
            )

    @property
    def compute_version(self) -> str:
        """The compute capability, as "9.0"."""
        self.refuse_absent()
        digits = session.current().device.arch.removeprefix("sm_").rstrip("af")
        return f"{digits[:-1]}.{digits[-1]}"

    def sync(self, stream: object = None) -> None:
        """Wait for every launch."""
        self.refuse_absent()
        session.current().device.sync()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self.kind, self.index) == (other.kind, other.index)

    def __hash__(self) -> int:
        return hash((self.kind, self.index))

    def __repr__(self) -> str:
        return f"device(type={self.kind!r}, index={self.index})"


def cuda(index: int = 0) -> Device:
    return Device("cuda", index)


def cpu(index: int = 0) -> Device:
    return Device("cpu", index)


def device(kind: str, index: int = 0) -> Device:
    """A device by name: "cuda", "cpu", "cuda:0"."""
    kind, _, number = kind.partition(":")
    kinds = {"gpu": "cuda", "llvm": "cpu", "cuda": "cuda", "cpu": "cpu"}
    if kind not in kinds:
        raise DSLUserCodeValueError(f"no device is called {shown(kind)} here", fix='"cuda" or "cpu"', id="DEVICE")
    return Device(kinds[kind], int(number) if number else index)


class Tensor:
    """Memory with a shape and dtype. `numpy()` copies it to the host; kernels take it as it is."""

    def __init__(self, shape: tuple[int, ...], dtype: dtypes.DType, where: Device):
        where.refuse_absent()
        self.shape, self.dtype, self.device = shape, str(dtype), where
        self._dtype, self._numpy_dtype = dtype, _numpy_dtype(dtype)
        self.nbytes = math.prod(shape) * dtype.bytes
        self._on_device = where.kind == "cuda" and session.current().device.kind == "cuda"
        if self._on_device:
            self._gpu = session.current().device
            self._address = self._gpu.alloc(max(self.nbytes, 1), "tensor")
        else:
            self._bytes = np.zeros(self.nbytes + ALIGNMENT_BYTES, np.uint8)
            self._address = -(-self._bytes.ctypes.data // ALIGNMENT_BYTES) * ALIGNMENT_BYTES

    def __del__(self, is_ending=sys.is_finalizing) -> None:  # memory on the device goes with the process
        if getattr(self, "_on_device", False) and not is_ending():
            self._gpu.free(self._address)

    @property
    def view(self) -> dlpack.View:
        """The memory, shape and strides, as launches read them."""
        strides, step = [], 1
        for extent in reversed(self.shape):
            strides.append(step)
            step *= extent
        return dlpack.View(
            self._address, self.shape, tuple(reversed(strides)), self._dtype.scalar, (self._address, self.nbytes), self
        )

    def numpy(self) -> Any:
        """A copy as a numpy array."""
        array = np.empty(self.shape, self._numpy_dtype)
        self._copy(array.ctypes.data, self._address)
        return array

    asnumpy = numpy

    def copyfrom(self, source: object) -> Tensor:
        """Fill it from an array of its shape; returns self."""
        array = source.numpy() if isinstance(source, Tensor) else np.asarray(source)
        if array.shape != self.shape:
            raise ValueError(f"array shape {array.shape} do not match the shape of Tensor {self.shape}")
        array = np.ascontiguousarray(array.astype(self._numpy_dtype, copy=False))
        self._copy(self._address, array.ctypes.data)
        return self

    def copyto(self, target: Tensor | Device) -> Tensor:
        """A copy in `target`, a tensor or a device."""
        tensor = Tensor(self.shape, self._dtype, target) if isinstance(target, Device) else target
        return tensor.copyfrom(self)

    def _copy(self, destination: int, source: int) -> None:
        if self._on_device:
            self._gpu.copy(destination, source, self.nbytes)
        else:
            ctypes.memmove(destination, source, self.nbytes)

    def __dlpack__(self, **options: Any) -> object:
        if self._on_device:
            raise BufferError("a tensor in GPU memory has no DLPack capsule here: take `.numpy()`")
        start = self._address - self._bytes.ctypes.data
        array = self._bytes[start : start + self.nbytes].view(self._numpy_dtype).reshape(self.shape)
        return array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __repr__(self) -> str:
        return f"<tvm.runtime.Tensor shape={self.shape}, {self.device}>\n{self.numpy()!r}"


def _numpy_dtype(dtype: dtypes.DType) -> Any:
    """The numpy dtype; an unsigned integer of its width where numpy has none."""
    name = dtype.scalar.numpy_name
    return np.dtype(name if name is not None else f"uint{dtype.scalar.storage_width}")


def tensor(source: object, device: Device | None = None, mem_scope: str | None = None) -> Tensor:
    """A tensor with the content of an array."""
    where = device if device is not None else cpu()
    if isinstance(source, Tensor):
        return source.copyto(where)
    try:
        array = np.asarray(source)
    except ValueError:
        raise DSLUserCodeValueError(
            "the rows of a tensor must have one length", id="TENSOR_SHAPE", fix="give each row as many numbers"
        ) from None
    if array.dtype.kind not in "biuf":
        raise DSLUserCodeTypeError(
            f"a tensor holds numbers, got {type_name(source)} of {array.dtype}",
            id="TENSOR_TYPE",
            fix="an array of a numeric dtype",
        )
    return Tensor(array.shape, dtypes.find(str(array.dtype)), where).copyfrom(array)


def empty(
    shape: object, dtype: object = "float32", device: Device | None = None, mem_scope: str | None = None
) -> Tensor:
    """A tensor with undefined content (all 0 here)."""
    extents: tuple[Any, ...] = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if not all(isinstance(extent, (int, np.integer)) and extent >= 0 for extent in extents):
        raise DSLUserCodeTypeError(
            f"a shape is a tuple of integers, got {extents}",
            id="TENSOR_SHAPE",
            fix='tvm.runtime.empty((4, 8), "float32")',
        )
    return Tensor(tuple(map(int, extents)), dtypes.find(dtype), device if device is not None else cpu())


NDArray = Tensor

__getattr__ = module_getattr("tvm.runtime", globals(), frozenset("Module load_module Executable disco vm".split()))
