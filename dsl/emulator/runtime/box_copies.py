"""Copies of boxes of a tensor that a tensor map describes. PTX ISA 5.5 (tensors), 9.7.9.27 (cp.async.bulk.tensor).

A box is copied row by row, in chunks of 16 bytes, which a swizzle permutes: the chunk's number in its line of 128
bytes, bits 4 to 6 of the address, is xored with bits 7 to 9, as many as the swizzle has. Elements outside the tensor
are read as zeros (or a NaN) and never written. Floats are rounded to TF32 where the map says that type.

No document says that a box must begin at a multiple of 16 bytes of its row, but an H100 stops at others with an illegal
instruction (triton-lang/triton issue 7385, tile-ai/tilelang issue 2527). The NaN is the one seen on an H100.
"""

from __future__ import annotations

from dsl.emulator import context
from dsl.emulator.builder import Builder, fault_if
from dsl.emulator.runtime.tensor_map import (
    ALIGNMENT_BYTES,
    BOX_AT,
    BYTES,
    CORNERS_AT,
    DIMENSIONS,
    EXTENTS_AT,
    FILL_SHIFT,
    FLAGS_AT,
    IM2COL,
    INTERLEAVE_SHIFT,
    LOG2_BYTES,
    OWN_AT,
    PIXELS,
    PIXELS_AT,
    STEPS_AT,
    STRIDES_AT,
    TILED,
    UNKNOWN,
)

CHUNK_BYTES = 16
SIGNATURES = {
    "emu_map_check": "i32 (ptr, i64, i32, i32, i32)",
    "emu_box_start": "i32 (ptr, i64, ptr, i32, i32)",
    "emu_box_bytes": "i32 (i64)",
    "emu_box_room": "i32 (i64)",
    "emu_box_range": "i1 (ptr, i64, ptr, i32, i32)",
    "emu_map_type": "i32 (i64)",
    "emu_box_copy": "void (i64, i64, ptr, i1, i32)",
}


def functions() -> list[str]:
    """The IR text: a tensor map is judged, a box's bytes, what it touches of memory, and its copy."""
    return [_check(), _start(), _type(), _bytes(), _room(), _range(), _move(), _copy()]


def map_word(f: Builder, at: int, kind: str = "i32") -> str:
    """What the map at %map holds at a byte, as i64."""
    base = f.cast("inttoptr", "%map", "i64", "ptr")
    value = f.op(f"load {kind}, ptr {f.op(f'getelementptr i8, ptr {base}, i64 {at}')}, align 1")
    return value if kind == "i64" else f.cast("zext", value, kind, "i64")


def map_field(f: Builder, at: int, shift: int, bits: int) -> str:
    return f.and_(f.lshr(map_word(f, at), shift, "i64"), (1 << bits) - 1, "i64")


def tensor_address(f: Builder) -> str:
    return map_word(f, 0, "i64")


def element_bytes(f: Builder) -> str:
    code = map_field(f, FLAGS_AT, 7, 4)
    return f.shl(1, f.and_(f.lshr(LOG2_BYTES, f.shl(code, 1, "i64"), "i64"), 3, "i64"), "i64")


def last_index(f: Builder, dimension: int) -> str:
    """The extent less one."""
    return map_word(f, EXTENTS_AT + 4 * dimension)


def stride_bytes(f: Builder, dimension: int) -> str:
    """In bytes; that of dimension 0 is an element's."""
    if not dimension:
        return element_bytes(f)
    high = f.shl(map_field(f, OWN_AT, 4 * (dimension - 1), 4), 32, "i64")
    return f.shl(f.or_(map_word(f, STRIDES_AT + 4 * (dimension - 1)), high, "i64"), 4, "i64")


def box_extent(f: Builder, dimension: int) -> str:
    return f.add(map_word(f, BOX_AT + dimension, "i8"), 1, "i64")


def element_step(f: Builder, dimension: int) -> str:
    return f.add(map_field(f, STEPS_AT, 3 * dimension, 3), 1, "i64") if dimension else "1"


def interleave(f: Builder) -> str:
    """0, or 1 and 2 for slices of 16 and 32 bytes."""
    return map_field(f, OWN_AT, INTERLEAVE_SHIFT, 2)


def slice_bytes(f: Builder) -> str:
    """Of an interleaved tensor; of others the 16 bytes that a box begins at a multiple of."""
    return f.shl(16, f.lshr(interleave(f), 1, "i64"), "i64")


def swizzle_mask(f: Builder) -> str:
    """Bits of an address that the bits three above them are xored into."""
    return f.shl(f.sub(f.shl(1, map_field(f, FLAGS_AT, 13, 3), "i64"), 1, "i64"), 4, "i64")


def box_count(f: Builder, dimension: int) -> str:
    """Elements of the box along a dimension: every `step`-th of its extent."""
    box, step = box_extent(f, dimension), element_step(f, dimension)
    return f.op(f"udiv i64 {f.sub(f.add(box, step, 'i64'), 1, 'i64')}, {step}")


def _check() -> str:
    """Whether %map is the address of a tensor map of `rank` dimensions in global, constant or parameter memory; a fault
    if not."""
    f = Builder()
    arguments = f"i64 %map, i64 {BYTES}, i64 1, i32 {context.GENERIC}, i32 %site, i32 %tid"
    there = f.op(f"call i1 @emu_range(ptr %ctx, {arguments})")
    f.return_if(f.xor(there, "true", "i1"), "i32 0")
    fault_if(f, f.cmp("ne", f.and_("%map", ALIGNMENT_BYTES - 1, "i64"), 0, "i64"), context.MAP_MISALIGNED, "%map")
    threads = f.cast("zext", f.load("threads"), "i32", "i64")
    for name, size in (("smem", f.load("smem_bytes")), ("local", f.mul(f.load("local_bytes"), threads, "i64"))):
        inside = f.cmp("ult", f.sub("%map", f.load(name), "i64"), size, "i64")
        fault_if(f, inside, context.MAP_PLACE, str(int(name == "smem")))
    flags, dimensions = map_word(f, FLAGS_AT), f.add(map_field(f, FLAGS_AT, 4, 3), 1, "i64")
    mode = f.select(f.cmp("uge", "%rank", PIXELS), IM2COL, TILED, "i64")
    is_map = f.cmp("eq", f.and_(flags, 0xF | UNKNOWN, "i64"), mode, "i64")
    for value, most in (
        (dimensions, DIMENSIONS),
        (map_field(f, FLAGS_AT, 7, 4), 10),
        (map_field(f, FLAGS_AT, 13, 3), 3),
    ):
        is_map = f.and_(is_map, f.cmp("ule", value, most, "i64"), "i1")
    is_map = f.and_(is_map, f.cmp("eq", f.and_(tensor_address(f), 15, "i64"), 0, "i64"), "i1")
    rank = f.select(is_map, f.cast("trunc", dimensions, "i64", "i32"), 0)
    wrong = f.cmp("ne", rank, f.and_("%rank", PIXELS - 1))
    with f.if_(wrong):
        where = f"i32 {context.ILLEGAL}, i32 %site, i32 %tid"
        value = f.cast("zext", rank, "i32", "i64")
        f.do(f"call void @emu_fault(ptr %ctx, {where}, i64 {value}, i64 0, i64 {context.BAD_MAP})")
    f.return_if(wrong, "i32 0")
    fault_if(f, f.xor(_is_plain_or_tiled(f, dimensions, mode), "true", "i1"), context.BAD_INTERLEAVE)
    f.do("ret i32 1")
    return f.function("define i32 @emu_map_check(ptr %ctx, i64 %map, i32 %rank, i32 %site, i32 %tid)")


def _is_plain_or_tiled(f: Builder, dimensions: str, mode: str) -> str:
    """Whether the map is not interleaved, or as interleave.py has it: tiles, in steps of one slice."""
    runs = f.cmp("uge", dimensions, 3, "i64")
    for value, expected in ((mode, TILED), (map_field(f, STEPS_AT, 0, 3), 0)):
        runs = f.and_(runs, f.cmp("eq", value, expected, "i64"), "i1")
    runs = f.and_(runs, f.cmp("ule", interleave(f), 2, "i64"), "i1")
    return f.or_(runs, f.cmp("eq", interleave(f), 0, "i64"), "i1")


def _start() -> str:
    """Whether the box begins at a multiple of 16 bytes, or with a slice; a fault if not."""
    f = Builder()
    start, unit = f.mul(coordinate(f, 0), element_bytes(f), "i64"), slice_bytes(f)
    wrong = f.cmp("ne", f.and_(start, f.sub(unit, 1, "i64"), "i64"), 0, "i64")
    with f.if_(wrong):
        where = f"i32 {context.ILLEGAL}, i32 %site, i32 %tid"
        f.do(f"call void @emu_fault(ptr %ctx, {where}, i64 {start}, i64 {unit}, i64 {context.BAD_START})")
    f.do(f"ret i32 {f.select(wrong, 0, 1)}")
    return f.function("define i32 @emu_box_start(ptr %ctx, i64 %map, ptr %coords, i32 %site, i32 %tid)")


def _type() -> str:
    """The number that a map has for the type of its elements."""
    f = Builder()
    f.do(f"ret i32 {f.cast('trunc', map_field(f, FLAGS_AT, 7, 4), 'i64', 'i32')}")
    return f.function("define i32 @emu_map_type(i64 %map)")


def pixels(f: Builder) -> str:
    return f.add(map_word(f, PIXELS_AT), 1, "i64")


def corner(f: Builder, dimension: int, is_upper: bool) -> str:
    """The offset of a corner of an im2col box along dimension 1 to 3: 16, 8 or 5 bits, by the map's rank."""
    last = map_field(f, FLAGS_AT, 4, 3)
    bits = f.select(f.cmp("eq", last, 2, "i64"), 16, f.select(f.cmp("eq", last, 3, "i64"), 8, 5, "i64"), "i64")
    shift = f.add(f.mul(bits, dimension - 1, "i64"), 16 * is_upper, "i64")
    above = f.sub(64, bits, "i64")
    return f.op(f"ashr i64 {f.shl(f.lshr(map_word(f, CORNERS_AT), shift, 'i64'), above, 'i64')}, {above}")


def is_im2col(f: Builder) -> str:
    return f.cmp("eq", map_field(f, FLAGS_AT, 0, 4), IM2COL, "i64")


def _bytes() -> str:
    f = Builder()
    total = element_bytes(f)
    with f.if_(is_im2col(f)):
        total_pixels = f.mul(f.mul(total, box_extent(f, 0), "i64"), pixels(f), "i64")
        f.do(f"ret i32 {f.cast('trunc', total_pixels, 'i64', 'i32')}")
        f.start(f.fresh("dead"))
    total = f.mul(
        slices(f),
        f.select(f.cmp("eq", interleave(f), 0, "i64"), f.mul(total, box_extent(f, 0), "i64"), slice_bytes(f), "i64"),
        "i64",
    )
    for dimension in range(1, DIMENSIONS):
        total = f.mul(total, box_count(f, dimension), "i64")
    f.do(f"ret i32 {f.cast('trunc', total, 'i64', 'i32')}")
    return f.function("define i32 @emu_box_bytes(i64 %map)")


def slices(f: Builder) -> str:
    """Slices of channels in a box; 1 where the tensor is not interleaved."""
    row_bytes, unit = f.mul(box_extent(f, 0), element_bytes(f), "i64"), slice_bytes(f)
    count = f.op(f"udiv i64 {f.sub(f.add(row_bytes, unit, 'i64'), 1, 'i64')}, {unit}")
    return f.select(f.cmp("eq", interleave(f), 0, "i64"), 1, count, "i64")


def _room() -> str:
    """The bytes of shared memory a box takes: a swizzle of 32, 64 or 128 bytes permutes chunks of as many."""
    f = Builder()
    size = f.op("call i32 @emu_box_bytes(i64 %map)")
    less = f.or_(f.cast("trunc", swizzle_mask(f), "i64", "i32"), 15)
    f.do(f"ret i32 {f.and_(f.add(size, less), f.not_(less))}")
    return f.function("define i32 @emu_box_room(i64 %map)")


def coordinate(f: Builder, dimension: int) -> str:
    place = f.op(f"getelementptr i32, ptr %coords, i32 {dimension}")
    return f.cast("sext", f.get(place), "i32", "i64")


def larger(f: Builder, a: str, b: str, how: str = "sgt") -> str:
    return f.select(f.cmp(how, a, b, "i64"), a, b, "i64")


def _inside(f: Builder, dimension: int) -> tuple[str, str]:
    """The first and the last index along a dimension that the box touches and the tensor has; none if last < first."""
    start, step, last = coordinate(f, dimension), element_step(f, dimension), last_index(f, dimension)
    below = f.op(f"udiv i64 {f.add(larger(f, f.sub(0, start, 'i64'), '0'), f.sub(step, 1, 'i64'), 'i64')}, {step}")
    reach = larger(f, f.sub(last, start, "i64"), "-1")
    within = f.select(f.cmp("slt", reach, 0, "i64"), -1, f.op(f"udiv i64 {reach}, {step}"), "i64")
    above = larger(f, within, f.sub(box_count(f, dimension), 1, "i64"), "slt")
    low, high = (f.add(start, f.mul(index, step, "i64"), "i64") for index in (below, above))
    return low, high


def _range() -> str:
    """Whether what the box touches of the tensor lies in one allocation; a fault if not."""
    f = Builder()
    with f.if_(is_im2col(f)):
        where = "i32 0, i32 0, i32 %site, i32 %tid"
        f.do(f"ret i1 {f.op(f'call i1 @emu_pixels(ptr %ctx, i64 %map, i64 0, ptr %coords, {where})')}")
        f.start(f.fresh("dead"))
    with f.if_(f.cmp("ne", interleave(f), 0, "i64")):
        where = "i32 0, i32 0, i32 %site, i32 %tid"
        f.do(f"ret i1 {f.op(f'call i1 @emu_slices(ptr %ctx, i64 %map, i64 0, ptr %coords, {where})')}")
        f.start(f.fresh("dead"))
    first, last = f.alloca("i64"), f.alloca("i64")
    for slot in (first, last):
        f.put(slot, tensor_address(f), "i64")
    for dimension in range(DIMENSIONS):
        low, high = _inside(f, dimension)
        f.return_if(f.cmp("slt", high, low, "i64"), "i1 true")  # no element is inside
        stride = stride_bytes(f, dimension)
        for slot, position in ((first, low), (last, high)):
            f.put(slot, f.add(f.get(slot, "i64"), f.mul(position, stride, "i64"), "i64"), "i64")
    size = f.add(f.sub(f.get(last, "i64"), f.get(first, "i64"), "i64"), element_bytes(f), "i64")
    arguments = f"i64 {f.get(first, 'i64')}, i64 {size}, i64 1, i32 {context.GLOBAL}, i32 %site, i32 %tid"
    f.do(f"ret i1 {f.op(f'call i1 @emu_range(ptr %ctx, {arguments})')}")
    return f.function("define i1 @emu_box_range(ptr %ctx, i64 %map, ptr %coords, i32 %site, i32 %tid)")


def _copy() -> str:
    """Copy the box between the tensor and shared memory (an address): `loads` reads the tensor; or reduce into it."""
    f = Builder()
    with f.if_(is_im2col(f)):
        mode = f"i32 {f.select('%loads', 1, 2)}, i32 %reduction, i32 0, i32 0"
        f.op(f"call i1 @emu_pixels(ptr null, i64 %map, i64 %smem, ptr %coords, {mode})")
        f.do("ret void")
        f.start(f.fresh("dead"))
    with f.if_(f.cmp("ne", interleave(f), 0, "i64")):
        mode = f"i32 {f.select('%loads', 1, 2)}, i32 %reduction, i32 0, i32 0"
        f.op(f"call i1 @emu_slices(ptr null, i64 %map, i64 %smem, ptr %coords, {mode})")
        f.do("ret void")
        f.start(f.fresh("dead"))
    element = element_bytes(f)
    row_bytes = f.mul(box_extent(f, 0), element, "i64")
    whole_bytes = f.mul(f.add(last_index(f, 0), 1, "i64"), element, "i64")
    start_bytes = f.mul(coordinate(f, 0), element, "i64")
    mask, base, outer = swizzle_mask(f), tensor_address(f), range(1, DIMENSIONS)
    readers = box_count, coordinate, element_step, last_index, stride_bytes
    counts, starts, steps, extents, strides = ([read(f, i) for i in outer] for read in readers)
    rows = f.mul(f.mul(counts[0], counts[1], "i64"), f.mul(counts[2], counts[3], "i64"), "i64")
    chunks = f.cast("trunc", f.lshr(row_bytes, 4, "i64"), "i64", "i32")
    scratch = f.alloca(f"[{CHUNK_BYTES} x i8]", 16)
    fill(f, scratch)
    is_tf32 = rounds(f)
    with f.for_range(f.cast("trunc", rows, "i64", "i32")) as row:
        rest = wide = f.cast("zext", row, "i32", "i64")
        source, inside = base, "true"
        for count, start, step, extent, stride in zip(counts, starts, steps, extents, strides):
            position = f.add(start, f.mul(f.op(f"urem i64 {rest}, {count}"), step, "i64"), "i64")
            rest = f.op(f"udiv i64 {rest}, {count}")
            inside = f.and_(inside, f.cmp("ule", position, extent, "i64"), "i1")  # unsigned: below 0 is far outside
            source = f.add(source, f.mul(position, stride, "i64"), "i64")
        with f.for_range(chunks) as chunk:
            offset = f.shl(f.cast("zext", chunk, "i32", "i64"), 4, "i64")
            at = f.add(start_bytes, offset, "i64")
            low, high = chunk_bounds(f, at, whole_bytes, inside)
            linear = swizzled(f, f.add(f.add("%smem", f.mul(wide, row_bytes, "i64"), "i64"), offset, "i64"), mask)
            move_chunk(f, linear, f.add(source, at, "i64"), low, high, scratch, is_tf32)
    f.do("ret void")
    return f.function("define void @emu_box_copy(i64 %map, i64 %smem, ptr %coords, i1 %loads, i32 %reduction)")


def chunk_bounds(f: Builder, at: str, row_bytes: str, inside: str) -> tuple[str, str]:
    """Which bytes of the chunk at byte `at` of a row of the tensor are inside it; none where the row is not."""
    low = larger(f, larger(f, f.sub(0, at, "i64"), "0"), str(CHUNK_BYTES), "slt")
    high = larger(f, larger(f, f.sub(row_bytes, at, "i64"), low), str(CHUNK_BYTES), "slt")
    return low, f.select(inside, high, low, "i64")


def swizzled(f: Builder, address: str, mask: str) -> str:
    return f.xor(address, f.and_(f.lshr(address, 3, "i64"), mask, "i64"), "i64")


def fill(f: Builder, scratch: str) -> None:
    """What elements outside the tensor are: zeros, or 0x7ff7 repeated, a NaN of each type."""
    fills = f.cmp("ne", map_field(f, OWN_AT, FILL_SHIFT, 1), 0, "i64")
    half = f.select(fills, 0x7FF77FF77FF77FF7, 0, "i64")
    for offset in (0, 8):
        f.put(f.op(f"getelementptr i8, ptr {scratch}, i64 {offset}"), half, "i64")


def rounds(f: Builder) -> str:
    """Whether what is loaded is rounded to TF32."""
    return f.cmp("ne", map_field(f, FLAGS_AT, 16, 1), 0, "i64")


def move_chunk(f: Builder, smem: str, tensor: str, low: str, high: str, scratch: str, is_tf32: str) -> None:
    """Bytes `low` to `high` of one chunk; the others of shared memory are filled when loading."""
    places = f.cast("inttoptr", smem, "i64", "ptr"), f.cast("inttoptr", tensor, "i64", "ptr")
    size = f.sub(high, low, "i64")
    mode = f"i1 %loads, i1 {is_tf32}, i32 %reduction"
    arguments = f"ptr {places[0]}, ptr {places[1]}, i64 {low}, i64 {size}, ptr {scratch}, {mode}"
    f.do(f"call void @move_chunk({arguments})")


def _move() -> str:
    """One chunk, of which %size bytes from %low on are inside the tensor."""
    f = Builder()

    def copy(target: str, source: str, nbytes: str) -> None:
        f.do(f"call void @llvm.memmove.p0.p0.i64(ptr {target}, ptr {source}, i64 {nbytes}, i1 false)")

    inner, inside = (f.op(f"getelementptr i8, ptr {each}, i64 %low") for each in ("%smem", "%tensor"))
    none = f.cmp("eq", "%size", 0, "i64")
    with f.if_("%loads"):
        with f.if_(f.cmp("ne", "%size", CHUNK_BYTES, "i64")):
            copy("%smem", "%scratch", str(CHUNK_BYTES))
        with f.if_(f.xor(none, "true", "i1")):
            copy(inner, inside, "%size")
            with f.if_("%tf32"):
                _round(f)
        f.do("ret void")
        f.start(f.fresh("dead"))
    with f.if_(none):
        f.do("ret void")
        f.start(f.fresh("dead"))
    with f.if_(f.cmp("ne", "%reduction", 0)):
        size = f.cast("trunc", "%size", "i64", "i32")
        f.do(f"call void @bulk_reduce(ptr {inside}, ptr {inner}, i32 {size}, i32 %reduction)")
        f.do("ret void")
        f.start(f.fresh("dead"))
    copy(inside, inner, "%size")
    f.do("ret void")
    arguments = "ptr %smem, ptr %tensor, i64 %low, i64 %size, ptr %scratch, i1 %loads, i1 %tf32, i32 %reduction"
    return f.function(f"define internal void @move_chunk({arguments})")


def _round(f: Builder) -> None:
    """Floats of the chunk that are inside the tensor, rounded to the nearest TF32, ties away from zero."""

    def four(*values: int) -> str:
        return "<" + ", ".join(f"i32 {each}" for each in (values if len(values) == 4 else values * 4)) + ">"

    kind, largest = "<4 x i32>", 0x7F800000
    bits = f.op(f"load {kind}, ptr %smem, align 16")
    is_finite = f.cmp("ne", f.and_(bits, four(largest), kind), four(largest), kind)
    is_nan = f.cmp("ugt", f.and_(bits, four(0x7FFFFFFF), kind), four(largest), kind)
    rounded = f.and_(f.add(bits, four(1 << 12), kind), four(-1 << 13), kind)
    rounded = f.op(f"select <4 x i1> {is_finite}, {kind} {rounded}, {kind} {bits}")
    rounded = f.op(f"select <4 x i1> {is_nan}, {kind} {four(0x7FFFE000)}, {kind} {rounded}")
    for how, bound in (("uge", "%low"), ("ult", f.add("%low", "%size", "i64"))):
        one = f.op(f"insertelement {kind} poison, i32 {f.cast('trunc', bound, 'i64', 'i32')}, i32 0")
        each = f.op(f"shufflevector {kind} {one}, {kind} poison, {kind} zeroinitializer")
        is_inside = f.cmp(how, four(0, 4, 8, 12), each, kind)
        rounded = f.op(f"select <4 x i1> {is_inside}, {kind} {rounded}, {kind} {bits}")
    f.do(f"store {kind} {rounded}, ptr %smem, align 16")
