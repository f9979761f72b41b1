"""Columns of pixels: the im2col mode of tensor copies. PTX ISA 5.5.4, 9.7.9.27.

Dimension 0 is the channels; then W, H, D as there are, and last N. A column begins at the pixel of the coordinates and
goes on along W, then H, D and N, in steps of the element strides, within a box: from the lower corner to the last pixel
plus the upper corner. The offsets, of a filter's taps, are added to each pixel; what is then outside the tensor is
filled.
"""

from __future__ import annotations

from dsl.emulator import context
from dsl.emulator.builder import Builder
from dsl.emulator.runtime import box_copies
from dsl.emulator.runtime.box_copies import CHUNK_BYTES
from dsl.emulator.runtime.tensor_map import DIMENSIONS, FLAGS_AT

SIGNATURES = {"emu_pixels": "i1 (ptr, i64, i64, ptr, i32, i32, i32, i32)"}
CHECK, LOAD = 0, 1  # and 2, to store; modes of emu_pixels


def functions() -> list[str]:
    """The IR text; it belongs to the module of bulk_copies.py."""
    return [_pixels()]


def _pixels() -> str:
    """Walk over the pixels of a column: check what it touches of the tensor, or copy between it and shared memory."""
    f = Builder()
    loads, checks = f.cmp("eq", "%mode", LOAD), f.cmp("eq", "%mode", CHECK)
    f.do(f"%loads = xor i1 {loads}, false")
    element, base = box_copies.element_bytes(f), box_copies.tensor_address(f)
    row_bytes = f.mul(box_copies.box_extent(f, 0), element, "i64")
    whole_bytes = f.mul(f.add(box_copies.last_index(f, 0), 1, "i64"), element, "i64")
    start_bytes = f.mul(box_copies.coordinate(f, 0), element, "i64")
    rank = f.add(box_copies.map_field(f, FLAGS_AT, 4, 3), 1, "i64")
    mask, scratch = box_copies.swizzle_mask(f), f.alloca(f"[{CHUNK_BYTES} x i8]", 16)
    box_copies.fill(f, scratch)
    is_tf32 = box_copies.rounds(f)
    places = _starts(f)
    with f.for_range(f.cast("trunc", box_copies.pixels(f), "i64", "i32")) as pixel:
        inside, source = _pixel(f, places, rank, base)
        with f.if_(f.and_(checks, inside, "i1")):
            _check_row(f, source, start_bytes, row_bytes, whole_bytes)
        with f.if_(f.xor(checks, "true", "i1")):
            wide = f.mul(f.cast("zext", pixel, "i32", "i64"), row_bytes, "i64")
            with f.for_range(f.cast("trunc", f.lshr(row_bytes, 4, "i64"), "i64", "i32")) as chunk:
                offset = f.shl(f.cast("zext", chunk, "i32", "i64"), 4, "i64")
                at = f.add(start_bytes, offset, "i64")
                low, high = box_copies.chunk_bounds(f, at, whole_bytes, inside)
                linear = box_copies.swizzled(f, f.add(f.add("%smem", wide, "i64"), offset, "i64"), mask)
                box_copies.move_chunk(f, linear, f.add(source, at, "i64"), low, high, scratch, is_tf32)
        _step(f, places, rank)
    f.do("ret i1 true")
    arguments = "i64 %map, i64 %smem, ptr %coords, i32 %mode, i32 %reduction, i32 %site, i32 %tid"
    return f.function(f"define i1 @emu_pixels(ptr %ctx, {arguments})")


def _starts(f: Builder) -> list[str]:
    """Slots of the pixel's coordinates, dimension 1 first."""
    slots = []
    for dimension in range(1, DIMENSIONS):
        slots.append(f.alloca("i64"))
        f.put(slots[-1], box_copies.coordinate(f, dimension), "i64")
    return slots


def _is_batch(f: Builder, rank: str, dimension: int) -> str:
    return f.cmp("eq", rank, dimension + 1, "i64")


def _pixel(f: Builder, places: list[str], rank: str, base: str) -> tuple[str, str]:
    """Whether the pixel is inside the tensor, and the address of its row of channels."""
    inside, source = "true", base
    for dimension, slot in enumerate(places, 1):
        position = f.get(slot, "i64")
        if dimension < DIMENSIONS - 1:  # N has no offset
            place = f.op(f"getelementptr i32, ptr %coords, i32 {DIMENSIONS + dimension - 1}")
            offset = f.cast("zext", f.get(place), "i32", "i64")
            position = f.add(position, f.select(_is_batch(f, rank, dimension), 0, offset, "i64"), "i64")
        fits = f.cmp("ule", position, box_copies.last_index(f, dimension), "i64")
        inside = f.and_(inside, fits, "i1")
        source = f.add(source, f.mul(position, box_copies.stride_bytes(f, dimension), "i64"), "i64")
    return inside, source


def _check_row(f: Builder, source: str, start_bytes: str, row_bytes: str, whole_bytes: str) -> None:
    """A fault where channels that are inside the tensor lie outside its allocation."""
    low = box_copies.larger(f, start_bytes, "0")
    high = box_copies.larger(f, f.add(start_bytes, row_bytes, "i64"), whole_bytes, "slt")
    with f.if_(f.cmp("slt", low, high, "i64")):
        where = f"i64 1, i32 {context.GLOBAL}, i32 %site, i32 %tid"
        nbytes, first = f.sub(high, low, "i64"), f.add(source, low, "i64")
        there = f.op(f"call i1 @emu_range(ptr %ctx, i64 {first}, i64 {nbytes}, {where})")
        with f.if_(f.xor(there, "true", "i1")):
            f.do("ret i1 false")
            f.start(f.fresh("dead"))


def _step(f: Builder, places: list[str], rank: str) -> None:
    """On to the next pixel: along W, and where the box ends back to its corner and along the next dimension."""
    carries = f.alloca("i1", 1)
    f.put(carries, "true", "i1")
    for dimension, slot in enumerate(places, 1):
        with f.if_(f.get(carries, "i1")):
            further = f.add(f.get(slot, "i64"), box_copies.element_step(f, dimension), "i64")
            if dimension == DIMENSIONS - 1:
                f.put(slot, further, "i64")
                continue
            batch = _is_batch(f, rank, dimension)
            end = f.add(box_copies.last_index(f, dimension), box_copies.corner(f, dimension, True), "i64")
            ends = f.and_(f.cmp("sgt", further, end, "i64"), f.xor(batch, "true", "i1"), "i1")
            f.put(slot, f.select(ends, box_copies.corner(f, dimension, False), further, "i64"), "i64")
            f.put(carries, ends, "i1")
