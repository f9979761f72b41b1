"""Whole tensors to TensorSSA values and back: one access for every contiguous run of elements.

A run is a vector load or store, which LLVM splits where the alignment known of its address is too small. Other layouts
are accessed element by element. Offsets are computed once, while compiling, where the layout is static.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Boolean, Numeric
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace, Pointer, span_bytes
from dsl.layout import ComposedLayout
from dsl.layout.int_tuple import flatten_to_tuple, is_constant, text
from dsl.tile.tensor import packed
from dsl.tile.tensor.element_address import element_iterator, kept_together, static_size
from dsl.tile.vector.mlir_vector import extract, from_elements, shuffle, splat
from dsl.tile.vector.ssa import TensorSSA, from_memory, in_memory

_MAX_ACCESS_BYTES = 16  # of one instruction; LLVM would make a loop of a longer copy


def load(tensor: Any) -> TensorSSA:
    """The elements of a tensor in memory. Raises DSLUserCodeError where its shape is dynamic."""
    count = static_size(tensor, "load")
    run = _run(tensor)
    if tensor.element_type.is_packed:
        return _load_packed(tensor, count, run)
    stored = tensor.element_type.storage_type()
    type_ = stored if run == 1 else mlir.vector(stored, run)
    alignment_of = _alignment_bytes(tensor, run)
    parts = [mlir.load(start.address, type_, alignment_of(start)) for start in _starts(tensor, count, run)]
    if run == 1:
        return from_memory(from_elements(parts), tensor.shape, tensor.element_type)
    return from_memory(_joined(parts), tensor.shape, tensor.element_type)


def store(tensor: Any, data: TensorSSA) -> None:
    """Write a value's elements in order. Raises DSLUserCodeError where size or element type do not fit."""
    tensor.pointer()
    if not isinstance(data, TensorSSA):
        raise DSLUserCodeTypeError(
            f"a tensor stores a TensorSSA, got {type_name(data)}",
            fix="t.fill(number) stores a number in every element, t.store(other.load()) a tensor",
        )
    count = static_size(tensor, "store")
    if data.size != count:
        raise DSLUserCodeValueError(
            f"a tensor of {count} elements {text(tensor.shape)} stores as many, got {data.size} elements "
            f"{text(data.shape)}",
            fix="`x.broadcast_to(shape)` repeats elements",
        )
    data = _as_stored(data, tensor.element_type)
    vector = in_memory(data)
    run = _run(tensor)
    alignment_of = _alignment_bytes(tensor, run)
    if (dtype := tensor.element_type).is_packed:
        packed.check_run(dtype, count, run, tensor.memspace, "store")
        count, vector = span_bytes(dtype, count), data.packed_bytes()
        starts = [packed.check_start(start, "store") for start in _starts(tensor, data.size, run)]
        run = span_bytes(dtype, run)
    else:
        starts = _starts(tensor, count, run)
    for index, start in enumerate(starts):
        if run == 1:
            part = extract(vector, index)
        else:
            part = vector if run == count else shuffle(vector, list(range(index * run, (index + 1) * run)))
        mlir.store(part, start.address, alignment_of(start))


def fill(tensor: Any, element: Numeric) -> None:
    """Store one number in every element, a run at a time."""
    count, run = static_size(tensor, "fill"), _run(tensor)
    vector, alignment_of = element.ir() if run == 1 else splat(element, run), _alignment_bytes(tensor, run)
    for start in _starts(tensor, count, run):
        mlir.store(vector, start.address, alignment_of(start))


def _load_packed(tensor: Any, count: int, run: int) -> TensorSSA:
    dtype = tensor.element_type
    packed.check_run(dtype, count, run, tensor.memspace, "load")
    type_, alignment_of = mlir.vector(mlir.i8, span_bytes(dtype, run)), _alignment_bytes(tensor, run)
    starts = (packed.check_start(start, "load") for start in _starts(tensor, count, run))
    parts = [mlir.load(start.address, type_, alignment_of(start)) for start in starts]
    stored = _joined(parts)
    return TensorSSA(packed.unpack(stored, dtype, count), tensor.shape, dtype, stored)


def _as_stored(data: TensorSSA, dtype: Any) -> TensorSSA:
    same_bits = data.dtype.mlir_type == dtype.mlir_type and data.dtype.width == dtype.width and dtype is not Boolean
    if data.dtype is dtype or same_bits:
        return data
    if data.dtype is Boolean and dtype.is_integer:
        return data.to(dtype)
    raise DSLUserCodeValueError(f"a tensor of {dtype} does not store {data.dtype}", fix=f"x.to(cutlass.{dtype})")


def _starts(tensor: Any, count: int, run: int) -> Iterator[Pointer]:
    return (element_iterator(tensor, i) for i in range(0, count, run))


def _alignment_bytes(tensor: Any, run: int) -> Callable[[Pointer], int]:
    """The alignment to tell LLVM of the address of a run, at most one that divides the bytes of the whole tensor.

    LLVM reads 8 bytes for 6 if it knows that the address is a multiple of 8:
    without this bound it would read past the end.
    """
    most = span_bytes(tensor.element_type, run)
    if not isinstance(tensor.layout, ComposedLayout) and lay.is_static(tensor.layout):
        whole = span_bytes(tensor.element_type, lay.cosize(tensor.layout))
        most = max(most, whole & -whole)
    return lambda start: min(start.alignment_bytes, most)


def _run(tensor: Any) -> int:
    """How many elements, counted colexicographically, are contiguous wherever a run of this length starts.

    A power of two, except in registers' memory.
    """
    whole_layout = tensor.layout
    composed = isinstance(whole_layout, ComposedLayout)
    layout = whole_layout.outer if isinstance(whole_layout, ComposedLayout) else whole_layout
    longest = kept_together(whole_layout) if isinstance(whole_layout, ComposedLayout) else lay.size(layout)
    if not lay.is_static(layout):
        layout = layout if isinstance(layout.shape, tuple) else lay.Layout((layout.shape,), (layout.stride,))
        extent, stride = flatten_to_tuple(layout.shape)[0], flatten_to_tuple(layout.stride)[0]
    else:
        whole = lay.coalesce(layout)
        extent, stride = flatten_to_tuple(whole.shape)[0], flatten_to_tuple(whole.stride)[0]
    if not is_constant(stride, 1):
        return 1
    if tensor.memspace is AddressSpace.rmem and not composed:
        return extent
    most = max(_MAX_ACCESS_BYTES * 8 // tensor.element_type.storage_width, 1)
    longest = min(longest, 1 << most.bit_length() - 1)
    run = min(longest, extent & -extent)  # LLVM would read 4 elements for 3 where their address is aligned to it
    return run if not composed or _all_multiples(layout, run) else 1


def _all_multiples(layout: Any, divisor: int) -> bool:
    """Whether runs start at multiples of `divisor`, where a swizzle keeps as many elements together."""
    strides = flatten_to_tuple(layout.stride)
    return all(isinstance(stride, int) and (stride == 1 or stride % divisor == 0) for stride in strides)


def _joined(parts: list[mlir.Value]) -> mlir.Value:
    """Vectors of one length, concatenated."""
    while len(parts) > 1:
        pairs = [_concatenated(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
        parts = pairs
    return parts[0]


def _concatenated(a: mlir.Value, b: mlir.Value) -> mlir.Value:
    lengths = a.type.shape[0], b.type.shape[0]
    type_ = mlir.vector(a.type.element_type, sum(lengths))
    mask = mlir.ir.DenseI64ArrayAttr.get(list(range(sum(lengths))), mlir.context)
    return mlir.op("vector.shuffle", [type_], [a, b], {"mask": mask}).results[0]
