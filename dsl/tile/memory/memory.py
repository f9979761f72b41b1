"""Shared memory of a kernel: one dynamic region, handed out front to back while tracing."""

from __future__ import annotations

import enum
from typing import Any

from dsl import layout as lay
from dsl.core import trace
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Int8, Numeric
from dsl.core.number.pointer import AddressSpace, Pointer, natural_alignment, span_bytes
from dsl.core.phrase import shown
from dsl.layout import ComposedLayout, Layout, Swizzle
from dsl.layout.int_tuple import round_up
from dsl.tile.memory.region import REGION_ALIGNMENT_BYTES, region_start
from dsl.tile.memory.struct import Storage, struct
from dsl.tile.memory.swizzled import swizzled_layout
from dsl.tile.tensor.tensor import Tensor, as_layout

# The most a block may have, by compute capability. CUDA C++ Programming Guide, Technical Specifications.
CAPACITY_BYTES = {
    "sm_80": 166912,
    "sm_86": 101376,
    "sm_87": 166912,
    "sm_89": 101376,
    "sm_90": 232448,
    "sm_100": 232448,
    "sm_103": 232448,
    "sm_120": 101376,
    "sm_121": 101376,
}


class SmemPartition(enum.IntEnum):
    """The user of shared memory: the kernel's author, or a library."""

    RESERVED = 0
    USER = 1


class SmemAllocator:
    """Hands out the kernel's shared memory; the launch asks for as many bytes as were handed out.

    All allocators of a kernel share the one region, so two of them never hand out the same bytes.
    """

    def __init__(self) -> None:
        trace.kernel()

    @staticmethod
    def capacity_in_bytes(compute_capability: str | None = None) -> int:
        """The bytes a block may have on a GPU, `sm_90` without one."""
        name = (compute_capability or "sm_90").rstrip("af")
        if name not in CAPACITY_BYTES:
            raise DSLUserCodeError(
                f"the shared memory of {compute_capability} is not known", fix=f"one of {', '.join(CAPACITY_BYTES)}"
            )
        return CAPACITY_BYTES[name]

    def allocate(
        self, size_or_type: Any, byte_alignment: int = 1, *, partition: SmemPartition = SmemPartition.USER
    ) -> Pointer | Storage:
        """A struct or union in shared memory; or a pointer to one element of a numeric type, or to bytes (of Int8)."""
        if isinstance(size_or_type, struct):
            if size_or_type.size_in_bytes() == 0:
                raise DSLUserCodeValueError(f"`{size_or_type.__name__}` takes no bytes", fix="give its ranges elements")
            return size_or_type(
                self._take(Int8, size_or_type.size_in_bytes(), byte_alignment, partition, size_or_type.__alignof__())
            )
        if isinstance(size_or_type, type) and issubclass(size_or_type, Numeric):
            return self.allocate_array(size_or_type, 1, byte_alignment=byte_alignment, partition=partition)
        if isinstance(size_or_type, bool) or not isinstance(size_or_type, (int, Numeric)):
            raise DSLUserCodeTypeError(
                f"allocate takes a number of bytes, a struct or a numeric type, got {shown(size_or_type)}",
                fix="allocate(64), or allocate(cutlass.Float32)",
            )
        return self.allocate_array(Int8, size_or_type, byte_alignment=byte_alignment, partition=partition)

    def allocate_array(
        self,
        element_type: type[Numeric],
        num_elems: int = 1,
        *,
        byte_alignment: int = 1,
        partition: SmemPartition = SmemPartition.USER,
    ) -> Pointer:
        """A pointer to `num_elems` elements."""
        _require_type(element_type)
        if not isinstance(num_elems, int) or num_elems < 1:
            raise DSLUserCodeError(
                f"size of shared memory must be static, got {shown(num_elems)}",
                fix="pass the count as cutlass.Constexpr; it must be 1 or more",
            )
        return self._take(element_type, num_elems, byte_alignment, partition)

    def allocate_tensor(
        self,
        element_type: type[Numeric],
        layout: Any,
        byte_alignment: int = 1,
        swizzle: Swizzle | None = None,
        *,
        partition: SmemPartition = SmemPartition.USER,
    ) -> Tensor:
        """A tensor of a static layout; `swizzle` permutes its byte addresses, a composed layout its elements."""
        _require_type(element_type)
        layout = as_layout(layout)
        if not lay.is_static(layout.outer if isinstance(layout, ComposedLayout) else layout):
            raise DSLUserCodeError(
                f"layout of shared memory must be static, got {layout}", fix="make its shape and strides static"
            )
        if swizzle is None:
            return Tensor(self._take(element_type, lay.storage_elements(layout), byte_alignment, partition), layout)
        count = lay.storage_elements(swizzled_layout(layout, element_type, swizzle))
        return Tensor(self._take(element_type, count, byte_alignment, partition).swizzled(swizzle), layout)

    def _take(
        self,
        dtype: type[Numeric],
        count: int,
        alignment_bytes: int,
        partition: SmemPartition,
        least_alignment_bytes: int = 1,
    ) -> Pointer:
        asked = alignment_bytes
        if isinstance(asked, bool) or not isinstance(asked, int) or asked < 1 or asked & (asked - 1):
            raise DSLUserCodeError(
                f"alignment of shared memory must be a power of two up to {REGION_ALIGNMENT_BYTES} bytes, got "
                f"{shown(asked)}",
                fix="byte_alignment=16, for example",
            )
        alignment_bytes = max(asked, least_alignment_bytes, natural_alignment(dtype))
        if alignment_bytes > REGION_ALIGNMENT_BYTES:
            raise DSLUserCodeError(
                f"alignment of shared memory must be a power of two up to {REGION_ALIGNMENT_BYTES} bytes, got "
                f"{alignment_bytes}",
                fix="byte_alignment=16, for example",
            )
        start_bytes = _place(trace.kernel(), span_bytes(dtype, count), alignment_bytes, SmemPartition(partition))
        address = mlir.gep(region_start(), mlir.i8, start_bytes)
        return Pointer(dtype, address, AddressSpace.smem, alignment_bytes)


def _place(kernel: trace.KernelTrace, size_bytes: int, alignment_bytes: int, partition: SmemPartition) -> int:
    """The place of `size_bytes`: after all others, or, reserved ones, in a gap that an alignment has left before."""
    if partition == SmemPartition.RESERVED:
        for i, (start_bytes, end_bytes) in enumerate(kernel.smem_gaps):
            aligned = round_up(start_bytes, alignment_bytes)
            if aligned + size_bytes <= end_bytes:
                kernel.smem_gaps[i] = (aligned + size_bytes, end_bytes)
                return aligned
    aligned = round_up(kernel.smem_bytes, alignment_bytes)
    if aligned > kernel.smem_bytes:
        kernel.smem_gaps.append((kernel.smem_bytes, aligned))
    kernel.allocated(aligned + size_bytes)
    return aligned


def get_dyn_smem(element_type: type[Numeric], alignment: int | None = None) -> Pointer:
    """A pointer to the start of the kernel's dynamic shared memory."""
    _require_type(element_type)
    return Pointer(element_type, region_start(), AddressSpace.smem, alignment or REGION_ALIGNMENT_BYTES)


def alloc_smem(element_type: type[Numeric], size_in_elems: int, alignment: int | None = None) -> Pointer:
    """A pointer to `size_in_elems` elements of the kernel's shared memory, for it alone."""
    return SmemAllocator().allocate_array(element_type, size_in_elems, byte_alignment=alignment or 1)


def size_in_bytes(dtype: type[Numeric], layout: Layout | ComposedLayout) -> int:
    """The bytes of memory that elements of `dtype` in a static layout take."""
    _require_type(dtype)
    return span_bytes(dtype, lay.storage_elements(layout))


def _require_type(dtype: Any) -> None:
    if not (isinstance(dtype, type) and issubclass(dtype, Numeric)):
        raise DSLUserCodeTypeError(
            f"shared memory needs a numeric type, got {shown(dtype)}", fix="cutlass.Float32, for example"
        )
