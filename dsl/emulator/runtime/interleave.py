"""Boxes of interleaved tensors: NC/8HWC8 and its like. PTX ISA 5.5.6; CUDA driver API, cuTensorMapEncodeTiled.

Channels lie in slices of 16 or 32 bytes. Dimension 0 is the channels, then W, H, D as there are, and last N; the order
in memory, and of a box in shared memory, is N, slices, D, H, W, the bytes of one slice. No document says where the next
slice lies: here it is behind the last spatial dimension, at its stride times its extent, as the layout's name has it.
A box has whole slices and begins with one.
"""

from __future__ import annotations

from dsl.emulator import context
from dsl.emulator.builder import Builder
from dsl.emulator.runtime import box_copies
from dsl.emulator.runtime.box_copies import CHUNK_BYTES
from dsl.emulator.runtime.tensor_map import DIMENSIONS, FLAGS_AT

SIGNATURES = {"emu_slices": "i1 (ptr, i64, i64, ptr, i32, i32, i32, i32)"}
CHECK, LOAD = 0, 1  # and 2, to store; modes of emu_slices


def functions() -> list[str]:
    """The IR text; it belongs to the module of bulk_copies.py."""
    return [_slices()]


def _slices() -> str:
    """Walk over the slices of a box's pixels: check what they touch of the tensor, or copy them."""
    f = Builder()
    loads, checks = f.cmp("eq", "%mode", LOAD), f.cmp("eq", "%mode", CHECK)
    f.do(f"%loads = xor i1 {loads}, false")
    slice_bytes, mask = box_copies.slice_bytes(f), box_copies.swizzle_mask(f)
    whole_bytes = f.mul(f.add(box_copies.last_index(f, 0), 1, "i64"), box_copies.element_bytes(f), "i64")
    scratch = f.alloca(f"[{CHUNK_BYTES} x i8]", 16)
    box_copies.fill(f, scratch)
    is_tf32 = box_copies.rounds(f)
    box_bytes = f.cast("zext", f.op("call i32 @emu_box_bytes(i64 %map)"), "i32", "i64")
    count = f.cast("trunc", f.op(f"udiv i64 {box_bytes}, {slice_bytes}"), "i64", "i32")
    with f.for_range(count) as number:
        number = f.cast("zext", number, "i32", "i64")
        source, at, inside = _place(f, number, slice_bytes, whole_bytes)
        with f.if_(f.and_(checks, inside, "i1")):
            _check(f, source, f.sub(whole_bytes, at, "i64"), slice_bytes)
        with f.if_(f.xor(checks, "true", "i1")):
            smem = f.add("%smem", f.mul(number, slice_bytes, "i64"), "i64")
            with f.for_range(f.cast("trunc", f.lshr(slice_bytes, 4, "i64"), "i64", "i32")) as chunk:
                offset = f.shl(f.cast("zext", chunk, "i32", "i64"), 4, "i64")
                low, high = box_copies.chunk_bounds(f, f.add(at, offset, "i64"), whole_bytes, inside)
                place = box_copies.swizzled(f, f.add(smem, offset, "i64"), mask)
                box_copies.move_chunk(f, place, f.add(source, offset, "i64"), low, high, scratch, is_tf32)
    f.do("ret i1 true")
    arguments = "i64 %map, i64 %smem, ptr %coords, i32 %mode, i32 %reduction, i32 %site, i32 %tid"
    return f.function(f"define i1 @emu_slices(ptr %ctx, {arguments})")


def _place(f: Builder, number: str, slice_bytes: str, whole_bytes: str) -> tuple[str, str, str]:
    """Of the box's slice of that number: its address, its first byte among those of all channels, if it is inside."""
    rank = f.add(box_copies.map_field(f, FLAGS_AT, 4, 3), 1, "i64")
    at = f.mul(box_copies.coordinate(f, 0), box_copies.element_bytes(f), "i64")
    source, inside, rest = box_copies.tensor_address(f), "true", number
    for dimension in range(1, DIMENSIONS):
        is_last = f.cmp("eq", rank, dimension + 1, "i64")
        slices = f.select(is_last, box_copies.slices(f), 1, "i64")  # they come before N
        at = f.add(at, f.mul(f.op(f"urem i64 {rest}, {slices}"), slice_bytes, "i64"), "i64")
        rest = f.op(f"udiv i64 {rest}, {slices}")
        count, step = box_copies.box_count(f, dimension), box_copies.element_step(f, dimension)
        position = f.mul(f.op(f"urem i64 {rest}, {count}"), step, "i64")
        position = f.add(position, box_copies.coordinate(f, dimension), "i64")
        rest = f.op(f"udiv i64 {rest}, {count}")
        inside = f.and_(inside, f.cmp("ule", position, box_copies.last_index(f, dimension), "i64"), "i1")
        source = f.add(source, f.mul(position, box_copies.stride_bytes(f, dimension), "i64"), "i64")
    inside = f.and_(inside, f.cmp("ult", at, whole_bytes, "i64"), "i1")  # unsigned: below 0 is far outside
    index = f.op(f"udiv i64 {at}, {slice_bytes}")
    return f.add(source, f.mul(index, _slice_stride(f, rank), "i64"), "i64"), at, inside


def _slice_stride(f: Builder, rank: str) -> str:
    """Bytes from a slice of channels to the next: all of the last spatial dimension, the one before N."""
    stride = "0"
    for dimension in range(1, DIMENSIONS - 1):
        extent = f.add(box_copies.last_index(f, dimension), 1, "i64")
        whole = f.mul(box_copies.stride_bytes(f, dimension), extent, "i64")
        stride = f.select(f.cmp("eq", rank, dimension + 2, "i64"), whole, stride, "i64")
    return stride


def _check(f: Builder, source: str, left_bytes: str, slice_bytes: str) -> None:
    """A fault where channels that are inside the tensor lie outside its allocation."""
    size = box_copies.larger(f, left_bytes, slice_bytes, "slt")
    where = f"i64 1, i32 {context.GLOBAL}, i32 %site, i32 %tid"
    there = f.op(f"call i1 @emu_range(ptr %ctx, i64 {source}, i64 {size}, {where})")
    with f.if_(f.xor(there, "true", "i1")):
        f.do("ret i1 false")
        f.start(f.fresh("dead"))
