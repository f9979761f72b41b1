"""Memory of a kernel: registers and arrays of a thread, shared memory of a block, views over either."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dsl.core import trace
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import is_dynamic, numeric
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.core.phrase import shown
from dsl.span import here
from dsl.tile.memory.region import region_start
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.memory.buffer import Buffer
from dsl.tirx.syntax.signature import ALIGNMENT_BYTES, Handle, current, row_major
from dsl.tirx.values import dtypes

SHARED_ALIGNMENT_BYTES = 128
STATIC_SHARED_BYTES = 48 * 1024  # of a block, for `__shared__` arrays. CUDA C++ Programming Guide: Shared Memory
_SCOPES = {
    "shared": "shared",
    "shared.static": "shared",
    "shared.dyn": "shared.dyn",
    "local": "local",
    "global": "global",
}


def match_buffer(
    param: Any,
    shape: Any = None,
    dtype: Any = "float32",
    data: Any = None,
    strides: Sequence | None = None,
    elem_offset: Any = 0,
    scope: str = "global",
    align: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Any = None,
    layout: Any = "default",
) -> Buffer:
    """The tensor of a T.handle parameter. An extent may be a T.int32() symbol; each call reads it from the tensor."""
    if not isinstance(param, Handle):
        raise DSLUserCodeTypeError(
            f"match_buffer binds a parameter that is a T.handle, got {type_name(param)}",
            fix="def f(a: T.handle): A = T.match_buffer(a, ...)",
            id="MATCH_BUFFER",
        )
    if shape is None:
        raise DSLUserCodeTypeError(
            "match_buffer lacks the shape of the tensor",
            id="MATCH_BUFFER",
            fix='T.match_buffer(a, (64,), "float32"); an extent may be `n = T.int32()`',
        )
    signature = current("T.match_buffer")
    _refuse_layout(layout)
    dtype, shape = dtypes.find(dtype), _extents(shape)
    strides = row_major(shape) if not strides else list(strides)
    lanes = dtype.lanes
    stored = (*shape, lanes) if lanes > 1 else shape
    steps = [*(stride * lanes for stride in strides), 1] if lanes > 1 else strides
    pointer = signature.match(param, dtype.scalar, stored, steps, ALIGNMENT_BYTES if align in (-1, 0) else align)
    tensor = Buffer(pointer, dtype, shape, strides, name=param.name)
    tensor.handle = param
    return tensor if isinstance(elem_offset, int) and elem_offset == 0 else _moved(tensor, elem_offset)


def _extents(shape: Any) -> tuple:
    extents = []
    for extent in shape if isinstance(shape, (tuple, list)) else (shape,):
        number = numeric(extent)
        if number is None or not number.is_integer:
            raise DSLUserCodeTypeError(
                f"an extent must be an integer, got {type_name(extent)}",
                id="SHAPE",
                fix="a shape is a tuple of integers: (4, 8)",
            )
        if not is_dynamic(number) and number.value < 0:
            raise DSLUserCodeValueError(
                f"an extent must not be negative, got {number.value}",
                id="SHAPE",
                fix="a shape is a tuple of positive integers: (4, 8)",
            )
        extents.append(extent if is_dynamic(number) else int(number.value))
    return tuple(extents)


def _refuse_layout(layout: Any) -> None:
    if not (layout is None or layout == "default"):
        raise DSLUserCodeError(
            f"a layout of {type_name(layout)} is not compiled here",
            id="LAYOUT",
            fix="leave `layout` out for row-major, or pass `strides`",
        )


def _static_shape(shape: Any) -> tuple[int, ...]:
    shape = _extents(shape)
    for extent in shape:
        if is_dynamic(numeric(extent)):
            raise DSLUserCodeError(
                "extent of an allocation must be known while compiling, got a value known only at run time",
                fix="an extent known while compiling: a T.constexpr of a T.jit function",
                id="SHAPE",
            )
    return shape


def alloc_buffer(
    shape: Any,
    dtype: Any = "float32",
    scope: str = "global",
    *,
    align: int = 0,
    layout: Any = "default",
    **unsupported: Any,
) -> Buffer:
    """New memory: of the thread ("local") or of its block ("shared", "shared.dyn"), uninitialised."""
    if unsupported:
        raise DSLUserCodeError(
            f"alloc_buffer does not know {min(unsupported)} here",
            id="ALLOC",
            fix="alloc_buffer(shape, dtype, scope=, align=)",
        )
    _refuse_layout(layout)
    kind = _SCOPES.get(scope)
    if kind is None or kind == "global":
        raise DSLUserCodeError(
            f"memory of scope {shown(scope)} is not allocated in a kernel here",
            id="ALLOC",
            fix='scope="local", "shared" or "shared.dyn"',
        )
    dtype, shape = dtypes.find(dtype), _static_shape(shape)
    if kind == "local":
        return alloc_local(shape, dtype)
    count = max(math.prod(shape), 1)
    if kind == "shared.dyn":
        return Buffer(_dynamic_shared(dtype, count, align), dtype, shape, scope=kind)
    pointer, array = _static_shared(dtype, count, align)
    buffer = Buffer(pointer, dtype, shape, scope=kind)
    buffer.array = array
    return buffer


def alloc_shared(shape: Any, dtype: Any = "float32", **options: Any) -> Buffer:
    """Memory of the block, its size known while compiling: at most 48 KiB a kernel."""
    return alloc_buffer(shape, dtype, "shared", **options)


class Scalar:
    """The value of `T.local_scalar(dtype)`: assigning it declares a register without a value."""

    def __init__(self, dtype: dtypes.DType):
        self.dtype = dtype


class SharedScalar(Buffer):
    """One number in the memory of the block; the author reads and assigns its name like a register."""


def alloc_scalar(dtype: Any = "float32", scope: str = "global") -> Scalar | SharedScalar:
    """One number in the memory `scope`: "local" or "shared"."""
    return Scalar(dtypes.find(dtype)) if scope == "local" else _scalar_in(dtype, scope)


def _scalar_in(dtype: Any, scope: str) -> SharedScalar:
    buffer = alloc_buffer((1,), dtype, scope)
    scalar = SharedScalar(buffer.pointer, buffer.dtype, buffer.shape, buffer.strides, buffer.scope())
    scalar.array = buffer.array
    return scalar


def local_scalar(dtype: Any = "float32") -> Scalar:
    """A register of a dtype, without a value."""
    return Scalar(dtypes.find(dtype))


def shared_scalar(dtype: Any = "float32") -> SharedScalar:
    """A number in the memory of the block."""
    return _scalar_in(dtype, "shared")


def alloc_local(shape: Any, dtype: Any = "float32", **options: Any) -> Buffer:
    """Memory of the thread."""
    dtype, shape = dtypes.find(dtype), _static_shape(shape)
    trace.current()
    count = max(math.prod(shape), 1) * dtype.lanes
    address = trace.entry_alloca(dtype.scalar.storage_type(), count, ALIGNMENT_BYTES)
    if not trace.in_kernel():
        return Buffer(
            Pointer(dtype.scalar, address, AddressSpace.generic, ALIGNMENT_BYTES), dtype, shape, scope="local"
        )
    register = mlir.result("llvm.addrspacecast", mlir.ptr(AddressSpace.rmem), address)
    return Buffer(Pointer(dtype.scalar, register, AddressSpace.rmem, ALIGNMENT_BYTES), dtype, shape, scope="local")


def decl_buffer(
    shape: Any,
    dtype: Any = "float32",
    data: Any = None,
    strides: Sequence | None = None,
    elem_offset: Any = 0,
    byte_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    layout: Any = "default",
    **unsupported: Any,
) -> Buffer:
    """A view of memory at the pointer `data`, `elem_offset` elements further; without `data` new memory."""
    if data is None:
        return alloc_buffer(shape, dtype, scope, align=align)
    _refuse_layout(layout)
    if isinstance(data, Buffer):
        data = data.data
    if not isinstance(data, Pointer):
        raise DSLUserCodeTypeError(
            f"`data` must be an address, got {type_name(data)}", fix="data=A.data", id="DECL_BUFFER"
        )
    dtype = dtypes.find(dtype)
    if byte_offset is not None:
        data = data.recast(dtypes.find("int8").scalar) + byte_offset
    pointer = data.recast(dtype.scalar)
    names = {AddressSpace.gmem: "global", AddressSpace.smem: "shared", AddressSpace.rmem: "local"}
    buffer = Buffer(pointer, dtype, _extents(shape), strides, names.get(data.space, "global"))
    return buffer if isinstance(elem_offset, int) and elem_offset == 0 else _moved(buffer, elem_offset)


def _moved(buffer: Buffer, elem_offset: Any) -> Buffer:
    return Buffer(buffer.at(elem_offset), buffer.dtype, buffer.shape, buffer.strides, buffer.scope(), buffer.name)


# --- shared memory ---------------------------------------------------------------------------------------------------


def _dynamic_shared(dtype: dtypes.DType, count: int, align: int) -> Pointer:
    kernel, alignment_bytes = trace.kernel(), max(align, SHARED_ALIGNMENT_BYTES)
    start = -(-kernel.smem_bytes // alignment_bytes) * alignment_bytes
    kernel.allocated(start + count * dtype.bytes)
    return Pointer(dtype.scalar, mlir.gep(region_start(), mlir.i8, start), AddressSpace.smem, alignment_bytes)


class StaticArray:
    """A `__shared__` array: how many bytes, where it was asked for, and the op that takes its address."""

    op: mlir.Operation

    def __init__(self, type_text: str, n_bytes: int, alignment_bytes: int):
        self.type_text, self.n_bytes, self.alignment_bytes, self.place = type_text, n_bytes, alignment_bytes, here()
        self.symbol = ""


def _static_arrays() -> list[StaticArray]:
    return vars(trace.kernel()).setdefault("static_arrays", [])


def _static_shared(dtype: dtypes.DType, count: int, align: int) -> tuple[Pointer, StaticArray]:
    """A `__shared__` array. Raises DSLUserCodeError past 48 KiB a kernel."""
    arrays, alignment_bytes = _static_arrays(), max(align, SHARED_ALIGNMENT_BYTES)
    shared = StaticArray(
        f"!llvm.array<{count * dtype.lanes} x {dtype.scalar.storage_type()}>", count * dtype.bytes, alignment_bytes
    )
    arrays.append(shared)
    total = sum(array.n_bytes for array in arrays)
    if total > STATIC_SHARED_BYTES:
        raise DSLUserCodeError(
            f"static shared memory must be at most {STATIC_SHARED_BYTES} bytes, got {total}",
            id="SMEM_TOO_LARGE",
            fix='scope="shared.dyn", which the launch asks for',
            also=((arrays[0].place, f"this takes {arrays[0].n_bytes} bytes of it"),) * (len(arrays) > 1),
        )
    shared.op = mlir.op(
        "llvm.mlir.addressof", [mlir.ptr(AddressSpace.smem)], [], {"global_name": mlir.symbol_attr("shared")}
    )
    _call(shared, "shared")
    return Pointer(dtype.scalar, shared.op.results[0], AddressSpace.smem, alignment_bytes), shared


def _call(array: StaticArray, wanted: str) -> None:
    """Give an array a symbol that is unique in the module."""
    symbols = {other.symbol for other in _static_arrays() if other is not array} | trace.kernel().module.declared
    array.symbol = next(name for name in (wanted, *(f"{wanted}_{k}" for k in range(1, 10000))) if name not in symbols)
    array.op.attributes["global_name"] = mlir.symbol_attr(array.symbol)


def declare_static_arrays() -> None:
    """The `__shared__` arrays of the kernel being traced, in its module."""
    for array in _static_arrays():
        trace.kernel().module.declare(
            array.symbol,
            f"llvm.mlir.global internal @{array.symbol}() {{addr_space = 3 : i32, "
            f"alignment = {array.alignment_bytes} : i64}} : {array.type_text}",
        )


def name(buffer: Buffer, text: str) -> None:
    """Give a buffer the author's name, for errors and readable CUDA."""
    if buffer.array is not None and buffer.name == "the buffer" and trace.in_kernel():
        _call(buffer.array, text)
    if buffer.name == "the buffer" or (buffer.handle is not None and not buffer.handle.buffer_name):
        buffer.name = text
    if buffer.handle is not None:
        buffer.handle.buffer_name = buffer.handle.buffer_name or text
