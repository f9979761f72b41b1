"""A tensor of any library as DLPack describes it: address, extents, element type, and its storage."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from typing import Any

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number import dtypes


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


CODES = {  # (type code, bits) of DLDataType
    **{(0, width): getattr(dtypes, f"Int{width}") for width in (8, 16, 32, 64)},
    **{(1, width): getattr(dtypes, f"Uint{width}") for width in (8, 16, 32, 64)},
    **{(2, width): getattr(dtypes, f"Float{width}") for width in (16, 32, 64)},
    (4, 16): dtypes.BFloat16,
    (6, 8): dtypes.Boolean,
    (8, 8): dtypes.Float8E4M3,
    (9, 8): dtypes.Float8E4M3B11FNUZ,
    (10, 8): dtypes.Float8E4M3FN,
    (12, 8): dtypes.Float8E5M2,
    (14, 8): dtypes.Float8E8M0FNU,
    (17, 4): dtypes.Float4E2M1FN,  # of torch two in an element, the first in the low bits
}
_FLOAT4_PAIR = (17, 4, 2)
DTYPES = tuple(CODES.values())
_KINDS = {0: "int", 1: "uint", 2: "float", 3: "opaque", 4: "bfloat", 5: "complex", 6: "bool", 17: "float4_e2m1fn_"}
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype = ctypes.c_void_p
_get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


@dataclass(frozen=True)
class View:
    """A strided view; `shape` and `strides` count elements, the storage is (address, bytes) of all of it."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: type[dtypes.Numeric]
    storage: tuple[int, int]
    owner: Any  # what keeps the memory alive


def is_tensor(value: Any) -> bool:
    """Whether `value` offers DLPack."""
    return hasattr(type(value), "__dlpack__")


def view(tensor: Any) -> View:
    """Read `tensor.__dlpack__()`. Raises DSLUserCodeTypeError where the library does not give it, or of other types."""
    try:
        capsule = tensor.__dlpack__()
    except BufferError as error:
        fix = "pass `t.detach()`" if getattr(tensor, "requires_grad", False) else "pass a dense tensor of numbers"
        library = type(tensor).__module__.partition(".")[0]
        raise DSLUserCodeTypeError(f"a {library} tensor cannot be passed: {error}", fix=fix) from None
    return _view(_DLTensor.from_address(_get_pointer(capsule, b"dltensor")), tensor, (tensor, capsule))


def requires_gradient(value: Any) -> bool:
    """Whether `value`, a tensor or a tuple or list of values, has a tensor that requires a gradient."""
    if type(value) in (tuple, list):
        return any(map(requires_gradient, value))
    return is_tensor(value) and bool(getattr(value, "requires_grad", False))


def without_gradient(value: Any) -> Any:
    """`value`, a tensor or a tuple or list of values, with the tensors that require a gradient detached."""
    if type(value) in (tuple, list):
        return type(value)(map(without_gradient, value))
    return value.detach() if requires_gradient(value) else value


def moved(view: View, address: int) -> View:
    """The view with its first element at another address, of memory that somebody else keeps alive."""
    storage = _storage(None, address, view.shape, view.strides, view.dtype)
    return replace(view, address=address, storage=storage, owner=None)


def view_at(address: int, owner: Any) -> View:
    """The view that the DLTensor at `address` is. Raises DSLUserCodeTypeError for elements of other types."""
    return _view(_DLTensor.from_address(address), None, owner)


def _view(managed: _DLTensor, tensor: Any, owner: Any) -> View:
    dtype = CODES.get((managed.code, managed.bits))
    pairs = (managed.code, managed.bits, managed.lanes) == _FLOAT4_PAIR
    if dtype is None or (managed.lanes != 1 and not pairs):
        kind = f"{_KINDS.get(managed.code, managed.code)}{managed.bits}" + f"x{managed.lanes}" * (managed.lanes != 1)
        raise DSLUserCodeTypeError(
            f"a tensor of {kind} has no element type here",
            fix="view it as integers of the same width: `t.view(torch.uint8)`",
        )
    shape = tuple(managed.shape[: managed.ndim])
    strides = tuple(managed.strides[: managed.ndim]) if managed.strides else _row_major(shape)
    address = (managed.data or 0) + managed.byte_offset
    if pairs:
        shape, strides = _of_pairs(shape, strides)
    return View(address, shape, strides, dtype, _storage(tensor, address, shape, strides, dtype), owner)


def _of_pairs(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Extents and strides that count elements, of ones that count pairs: the contiguous mode is twice as long."""
    unit = [mode for mode, stride in enumerate(strides) if stride == 1]
    mode = next((mode for mode in unit if shape[mode] > 1), unit[-1] if unit else None)
    return (
        tuple(extent * (1 + (i == mode)) for i, extent in enumerate(shape)),
        tuple(stride if i == mode else 2 * stride for i, stride in enumerate(strides)),
    )


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def _storage(tensor: Any, address: int, shape: tuple, strides: tuple, dtype: type) -> tuple[int, int]:
    """The whole allocation where the library tells (torch, numpy), else the bytes this view reaches."""
    if hasattr(tensor, "untyped_storage"):
        storage = tensor.untyped_storage()
        return storage.data_ptr(), storage.nbytes()
    if hasattr(tensor, "__array_interface__"):
        root = tensor
        while hasattr(root.base, "__array_interface__"):
            root = root.base
        if root.flags.c_contiguous or root.flags.f_contiguous:
            return root.ctypes.data, root.nbytes
    if 0 in shape:
        return address, 0
    reach = [(extent - 1) * stride for extent, stride in zip(shape, strides)]
    low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
    return address + low * dtype.storage_width // 8, -(-(high - low + 1) * dtype.storage_width // 8)
