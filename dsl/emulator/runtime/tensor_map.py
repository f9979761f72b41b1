"""Tensor maps, and the copies of boxes of a tensor that they describe.
PTX ISA 5.5 (tensors), 9.7.9.27 (cp.async.bulk.tensor).

A tensor map is 128 bytes whose form NVIDIA does not publish. It is here as host functions that NVIDIA's compiler makes
were seen to write it (sm_90a, release 4.8.1), in 32-bit words: 0, 1 the address; 2 flags (bits 4-6 dimensions less one,
7-10 type, 13-15 swizzle, 16 TF32, 21 128 KiB or more); 3-6 strides of dimensions 1 to 4, in 16 bytes, of which 7
has the high bits, 4 each, by our own choice; 8-12 extents less
one; the last byte of 13 and the bytes of 14 the box less one. Element strides and NaN filling are in none of those:
word 15 has them, by our own choice.

A box is copied row by row, in chunks of 16 bytes, which a swizzle permutes: the chunk's number in its line of 128
bytes, bits 4 to 6 of the address, is xored with bits 7 to 9, as many as the swizzle has. Elements outside the tensor
are read as zeros (or a NaN) and never written.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from dsl.emulator import context
from dsl.emulator.builder import Builder

BYTES = 128
ALIGNMENT_BYTES = 64
DIMENSIONS = 5
MOST_BOX, MOST_EXTENT, MOST_STRIDE = 256, 1 << 32, 1 << 40
CHUNK_BYTES = 16
# CUtensorMapDataType: the type's number in a map, and the bytes of an element.
TYPES = {0: (0, 1), 1: (1, 2), 2: (2, 4), 3: (3, 4), 4: (4, 8), 5: (5, 8), 6: (6, 2), 7: (7, 4), 8: (9, 8), 9: (10, 2),
         10: (8, 4), 11: (7, 4), 12: (8, 4)}  # fmt: skip
FLOATS = frozenset((6, 7, 8, 9, 10, 11, 12))
TF32 = frozenset((11, 12))
SWIZZLE_BYTES = {0: None, 1: 32, 2: 64, 3: 128}
PIXELS = 1 << 8  # beside a rank: an instruction in im2col mode
IM2COL = 3  # by our own choice, in the place of TILED
TILED, ALWAYS, LARGE = 2, 1 << 18, 1 << 21  # flags of every map seen, and of those of LARGE_BYTES
LARGE_BYTES = 1 << 17
UNKNOWN = 0b11 << 11 | 0b11 << 19  # flags whose meaning is not emulated
_FLAGS, _STRIDES, _STRIDES_HIGH, _EXTENTS, _BOX, _OWN = 8, 12, 28, 32, 55, 60
_CORNERS, _PIXELS = 64, 88  # of an im2col map: six i32, a u32
_LOG2_BYTES = sum((size.bit_length() - 1) << 2 * code for code, size in set(TYPES.values()))


class BadTensorMap(ValueError):
    """Arguments that cuTensorMapEncodeTiled refuses; the text says which and why."""


@dataclass(frozen=True)
class Tiled:
    """The arguments of cuTensorMapEncodeTiled. Dimension 0 is contiguous; strides are bytes, of dimensions 1 and up."""

    dtype: int
    address: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...]
    interleave: int = 0
    swizzle: int = 0
    fill: int = 0
    l2_promotion: int = 0  # of no effect here

    def check(self) -> None:
        """Raise BadTensorMap where the driver would refuse. CUDA driver API, cuTensorMapEncodeTiled."""
        rank = len(self.extents)
        for what, value, last, last_of_blackwell in (
            ("a tensor map of data type", self.dtype, max(TYPES), 15),
            ("a swizzle of mode", self.swizzle, max(SWIZZLE_BYTES), 6),
        ):
            _need(0 <= value <= last_of_blackwell, f"{what} {value} does not exist")
            _need(value <= last, f"{what} {value} needs compute capability 10.0; this device has 9.0")
        _need(0 <= self.interleave <= 2, f"interleave must be 0 to 2, got {self.interleave}")
        _need(0 <= self.l2_promotion <= 3, f"L2 promotion must be 0 to 3, got {self.l2_promotion}")
        _need(0 <= self.fill <= 1, f"the fill of elements outside must be 0 or 1, got {self.fill}")
        _need(1 <= rank <= DIMENSIONS, f"it has {rank} dimensions, but TMA supports 1 to {DIMENSIONS}")
        _need(not self.interleave or rank >= 3, f"an interleaved tensor has 3 to 5 dimensions, got {rank}")
        unit = 32 if self.interleave == 2 else 16
        _need(self.address % unit == 0, f"its address must be a multiple of {unit} bytes, got 0x{self.address:x}")
        size = TYPES[self.dtype][1]
        for i, extent in enumerate(self.extents):
            _need(1 <= extent <= MOST_EXTENT, f"extent {i} must be 1 to 2**32, got {extent}")
        for i, stride in enumerate(self.strides, 1):
            _need(
                stride % unit == 0 and stride < MOST_STRIDE,
                f"the stride of dimension {i} is {stride} bytes; it has to be a multiple of {unit} below 2**40",
            )
        for i, (extent, step) in enumerate(zip(self.box, self.steps)):
            _need(1 <= extent <= MOST_BOX, f"extent {i} of the box must be 1 to {MOST_BOX}, got {extent}")
            _need(1 <= step <= 8, f"element stride {i} must be 1 to 8, got {step}")
        row_bytes = self.box[0] * size
        _need(
            bool(self.interleave) or row_bytes % 16 == 0,
            f"a row of the box has {row_bytes} bytes; it has to be a multiple of 16",
        )
        span = SWIZZLE_BYTES[self.swizzle]
        _need(self.interleave != 2 or span == 32, "an interleave of 32 bytes needs a swizzle of 32 bytes")
        _need(
            span is None or bool(self.interleave) or row_bytes <= span,
            f"a row of the box has {row_bytes} bytes, but a swizzle of {span} bytes takes at most {span}",
        )
        _need(self.fill == 0 or self.dtype in FLOATS, "only elements of a floating-point type are filled with NaN")

    def encode(self) -> bytes:
        """The 128 bytes. Raises BadTensorMap."""
        self.check()

        def padded(values, count, fill=0):
            return [*values, *(fill,) * (count - len(values))]

        code, size = TYPES[self.dtype]
        large = max(e * s for e, s in zip(self.extents, (size, *self.strides))) >= LARGE_BYTES
        flags = (
            TILED | ALWAYS | len(self.extents) - 1 << 4 | code << 7 | self.swizzle << 13 | (self.dtype in TF32) << 16
        )
        box = padded([extent - 1 for extent in self.box], DIMENSIONS)
        own = self.fill | self.interleave << 1 | sum((step - 1) << 8 + 3 * i for i, step in enumerate(self.steps) if i)
        low = padded([stride >> 4 & 0xFFFFFFFF for stride in self.strides], 4)
        high = sum((stride >> 36) << 4 * i for i, stride in enumerate(self.strides))
        words = (self.address, flags | LARGE * large, *low, high,
                 *padded([extent - 1 for extent in self.extents], DIMENSIONS))  # fmt: skip
        form = struct.pack("<QI4II5I3xB4BI", *words, *box, own)
        return form.ljust(BYTES, b"\0")


_OFFSETS = {3: 1 << 15, 4: 1 << 7, 5: 1 << 4}  # corners of an im2col box are from -n to n - 1, by rank
MOST_PIXELS = 1024


@dataclass(frozen=True)
class Im2col:
    """The arguments of cuTensorMapEncodeIm2col; corners are of W, H and D, as many as there are."""

    dtype: int
    address: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    pixels: int
    steps: tuple[int, ...]
    interleave: int = 0
    swizzle: int = 0
    fill: int = 0
    l2_promotion: int = 0

    def check(self) -> None:
        """Raise BadTensorMap where the driver would refuse. CUDA driver API, cuTensorMapEncodeIm2col."""
        rank = len(self.extents)
        _need(rank in _OFFSETS, f"an im2col tensor has 3 to 5 dimensions, got {rank}")
        self._tiled().check()
        limit = _OFFSETS[rank]
        for what, corner in (("lower", self.lower), ("upper", self.upper)):
            for each in corner:
                holds = -limit <= each < limit
                _need(holds, f"the {what} corner of the box must be {-limit} to {limit - 1}, got {each}")
        for extent, low, high in zip(self.extents[1:], self.lower, self.upper):
            _need(extent - 1 + high >= low, f"the box from {low} to {extent - 1 + high} is empty")
        _need(1 <= self.pixels <= MOST_PIXELS, f"pixels of a column must be 1 to {MOST_PIXELS}, got {self.pixels}")

    def _tiled(self) -> Tiled:
        """What both kinds of map have; a box is one pixel."""
        box = self.channels, *(1,) * (len(self.extents) - 1)
        return Tiled(self.dtype, self.address, self.extents, self.strides, box, self.steps, self.interleave,
                     self.swizzle, self.fill, self.l2_promotion)  # fmt: skip

    def encode(self) -> bytes:
        """The 128 bytes. Raises BadTensorMap."""
        self.check()
        form = bytearray(self._tiled().encode())
        form[_FLAGS] += IM2COL - TILED
        corners = [*self.lower, *(0,) * (3 - len(self.lower)), *self.upper, *(0,) * (3 - len(self.upper))]
        struct.pack_into("<6iI", form, _CORNERS, *corners, self.pixels)
        return bytes(form)


def _need(holds: bool, text: str) -> None:
    if not holds:
        raise BadTensorMap(text)


# ** native code

SIGNATURES = {
    "emu_map_check": "i32 (ptr, i64, i32, i32, i32)",
    "emu_box_bytes": "i32 (i64)",
    "emu_box_room": "i32 (i64)",
    "emu_box_range": "i1 (ptr, i64, ptr, i32, i32)",
    "emu_map_type": "i32 (i64)",
    "emu_box_copy": "void (i64, i64, ptr, i1, i32)",
}


def functions() -> list[str]:
    """The IR text: a tensor map is judged, a box's bytes, what it touches of memory, and its copy."""
    return [_check(), _type(), _bytes(), _room(), _range(), _move(), _copy()]


def _word(f: Builder, at: int, kind: str = "i32") -> str:
    """What the map at %map holds at a byte, as i64."""
    base = f.cast("inttoptr", "%map", "i64", "ptr")
    value = f.op(f"load {kind}, ptr {f.op(f'getelementptr i8, ptr {base}, i64 {at}')}, align 1")
    return value if kind == "i64" else f.cast("zext", value, kind, "i64")


def _field(f: Builder, at: int, shift: int, bits: int) -> str:
    return f.and_(f.lshr(_word(f, at), shift, "i64"), (1 << bits) - 1, "i64")


def _base(f: Builder) -> str:
    return _word(f, 0, "i64")


def _element_bytes(f: Builder) -> str:
    code = _field(f, _FLAGS, 7, 4)
    return f.shl(1, f.and_(f.lshr(_LOG2_BYTES, f.shl(code, 1, "i64"), "i64"), 3, "i64"), "i64")


def _last(f: Builder, dimension: int) -> str:
    """The extent less one."""
    return _word(f, _EXTENTS + 4 * dimension)


def _stride(f: Builder, dimension: int) -> str:
    """In bytes; that of dimension 0 is an element's."""
    if not dimension:
        return _element_bytes(f)
    high = f.shl(_field(f, _STRIDES_HIGH, 4 * (dimension - 1), 4), 32, "i64")
    return f.shl(f.or_(_word(f, _STRIDES + 4 * (dimension - 1)), high, "i64"), 4, "i64")


def _box(f: Builder, dimension: int) -> str:
    return f.add(_word(f, _BOX + dimension, "i8"), 1, "i64")


def _step(f: Builder, dimension: int) -> str:
    return f.add(_field(f, _OWN, 8 + 3 * dimension, 3), 1, "i64") if dimension else "1"


def _mask(f: Builder) -> str:
    """Bits of an address that the bits three above them are xored into."""
    return f.shl(f.sub(f.shl(1, _field(f, _FLAGS, 13, 3), "i64"), 1, "i64"), 4, "i64")


def _count(f: Builder, dimension: int) -> str:
    """Elements of the box along a dimension: every `step`-th of its extent."""
    box, step = _box(f, dimension), _step(f, dimension)
    return f.op(f"udiv i64 {f.sub(f.add(box, step, 'i64'), 1, 'i64')}, {step}")


def _check() -> str:
    """Whether %map is the address of a tensor map of `rank` dimensions; a fault if not."""
    f = Builder()
    kinds = context.GENERIC
    arguments = f"i64 %map, i64 {BYTES}, i64 {ALIGNMENT_BYTES}, i32 {kinds}, i32 %site, i32 %tid"
    there = f.op(f"call i1 @emu_range(ptr %ctx, {arguments})")
    f.return_if(f.xor(there, "true", "i1"), "i32 0")
    flags, dimensions = _word(f, _FLAGS), f.add(_field(f, _FLAGS, 4, 3), 1, "i64")
    mode = f.select(f.cmp("uge", "%rank", PIXELS), IM2COL, TILED, "i64")
    is_map = f.cmp("eq", f.and_(flags, 0xF | UNKNOWN, "i64"), mode, "i64")
    for value, most in ((dimensions, DIMENSIONS), (_field(f, _FLAGS, 7, 4), 10), (_field(f, _FLAGS, 13, 3), 3)):
        is_map = f.and_(is_map, f.cmp("ule", value, most, "i64"), "i1")
    is_map = f.and_(is_map, f.cmp("eq", f.and_(_base(f), 15, "i64"), 0, "i64"), "i1")
    is_map = f.and_(is_map, f.cmp("eq", _field(f, _OWN, 1, 2), 0, "i64"), "i1")  # not interleaved
    rank = f.select(is_map, f.cast("trunc", dimensions, "i64", "i32"), 0)
    wrong = f.cmp("ne", rank, f.and_("%rank", PIXELS - 1))
    with f.if_(wrong):
        where = f"i32 {context.ILLEGAL}, i32 %site, i32 %tid"
        dimensions = f.cast("zext", rank, "i32", "i64")
        f.do(f"call void @emu_fault(ptr %ctx, {where}, i64 {dimensions}, i64 0, i64 {context.BAD_MAP})")
    f.do(f"ret i32 {f.select(wrong, 0, 1)}")
    return f.function("define i32 @emu_map_check(ptr %ctx, i64 %map, i32 %rank, i32 %site, i32 %tid)")


def _type() -> str:
    """The number that a map has for the type of its elements."""
    f = Builder()
    f.do(f"ret i32 {f.cast('trunc', _field(f, _FLAGS, 7, 4), 'i64', 'i32')}")
    return f.function("define i32 @emu_map_type(i64 %map)")


def pixels(f: Builder) -> str:
    return _word(f, _PIXELS)


def corner(f: Builder, dimension: int, is_upper: bool) -> str:
    """The offset of a corner of an im2col box along dimension 1 to 3."""
    place = _CORNERS + 4 * (dimension - 1 + 3 * is_upper)
    return f.cast("sext", f.cast("trunc", _word(f, place), "i64", "i32"), "i32", "i64")


def is_im2col(f: Builder) -> str:
    return f.cmp("eq", _field(f, _FLAGS, 0, 4), IM2COL, "i64")


def _bytes() -> str:
    f = Builder()
    total = _element_bytes(f)
    with f.if_(is_im2col(f)):
        total_pixels = f.mul(f.mul(total, _box(f, 0), "i64"), pixels(f), "i64")
        f.do(f"ret i32 {f.cast('trunc', total_pixels, 'i64', 'i32')}")
        f.start(f.fresh("dead"))
    for dimension in range(DIMENSIONS):
        total = f.mul(total, _count(f, dimension), "i64")
    f.do(f"ret i32 {f.cast('trunc', total, 'i64', 'i32')}")
    return f.function("define i32 @emu_box_bytes(i64 %map)")


def _room() -> str:
    """The bytes of shared memory a box takes: a swizzle of 32, 64 or 128 bytes permutes chunks of as many."""
    f = Builder()
    size = f.op("call i32 @emu_box_bytes(i64 %map)")
    less = f.or_(f.cast("trunc", _mask(f), "i64", "i32"), 15)
    f.do(f"ret i32 {f.and_(f.add(size, less), f.not_(less))}")
    return f.function("define i32 @emu_box_room(i64 %map)")


def _coordinate(f: Builder, dimension: int) -> str:
    place = f.op(f"getelementptr i32, ptr %coords, i32 {dimension}")
    return f.cast("sext", f.get(place), "i32", "i64")


def _larger(f: Builder, a: str, b: str, how: str = "sgt") -> str:
    return f.select(f.cmp(how, a, b, "i64"), a, b, "i64")


def _range() -> str:
    """Whether what the box touches of the tensor lies in one allocation; a fault if not."""
    f = Builder()
    with f.if_(is_im2col(f)):
        where = "i32 0, i32 0, i32 %site, i32 %tid"
        f.do(f"ret i1 {f.op(f'call i1 @emu_pixels(ptr %ctx, i64 %map, i64 0, ptr %coords, {where})')}")
        f.start(f.fresh("dead"))
    first, last = f.alloca("i64"), f.alloca("i64")
    for slot in (first, last):
        f.put(slot, _base(f), "i64")
    for dimension in range(DIMENSIONS):
        start = _coordinate(f, dimension)
        end = f.add(start, f.mul(f.sub(_count(f, dimension), 1, "i64"), _step(f, dimension), "i64"), "i64")
        low, high = _larger(f, start, "0"), _larger(f, end, _last(f, dimension), "slt")
        f.return_if(f.cmp("slt", high, low, "i64"), "i1 true")  # no element is inside
        stride = _stride(f, dimension)
        for slot, position in ((first, low), (last, high)):
            f.put(slot, f.add(f.get(slot, "i64"), f.mul(position, stride, "i64"), "i64"), "i64")
    size = f.add(f.sub(f.get(last, "i64"), f.get(first, "i64"), "i64"), _element_bytes(f), "i64")
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
    element = _element_bytes(f)
    row_bytes = f.mul(_box(f, 0), element, "i64")
    whole_bytes = f.mul(f.add(_last(f, 0), 1, "i64"), element, "i64")
    start_bytes = f.mul(_coordinate(f, 0), element, "i64")
    mask, base, outer = _mask(f), _base(f), range(1, DIMENSIONS)
    counts, starts, steps, extents, strides = ([read(f, i) for i in outer]
                                               for read in (_count, _coordinate, _step, _last, _stride))  # fmt: skip
    rows = f.mul(f.mul(counts[0], counts[1], "i64"), f.mul(counts[2], counts[3], "i64"), "i64")
    chunks = f.cast("trunc", f.lshr(row_bytes, 4, "i64"), "i64", "i32")
    scratch = f.alloca(f"[{CHUNK_BYTES} x i8]", 16)
    fill(f, scratch)
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
            move_chunk(f, linear, f.add(source, at, "i64"), low, high, scratch)
    f.do("ret void")
    return f.function("define void @emu_box_copy(i64 %map, i64 %smem, ptr %coords, i1 %loads, i32 %reduction)")


def chunk_bounds(f: Builder, at: str, row_bytes: str, inside: str) -> tuple[str, str]:
    """Which bytes of the chunk at byte `at` of a row of the tensor are inside it; none where the row is not."""
    low = _larger(f, _larger(f, f.sub(0, at, "i64"), "0"), str(CHUNK_BYTES), "slt")
    high = _larger(f, _larger(f, f.sub(row_bytes, at, "i64"), low), str(CHUNK_BYTES), "slt")
    return low, f.select(inside, high, low, "i64")


def swizzled(f: Builder, address: str, mask: str) -> str:
    return f.xor(address, f.and_(f.lshr(address, 3, "i64"), mask, "i64"), "i64")


def fill(f: Builder, scratch: str) -> None:
    """What elements outside the tensor are: zeros, or the NaN with all bits set (of 4 bytes, 2 or 8)."""
    fills = f.cmp("ne", _field(f, _OWN, 0, 1), 0, "i64")
    byte = f.select(fills, -1, 0, "i8")
    f.do(f"call void @llvm.memset.p0.i64(ptr {scratch}, i8 {byte}, i64 {CHUNK_BYTES}, i1 false)")


def move_chunk(f: Builder, smem: str, tensor: str, low: str, high: str, scratch: str) -> None:
    """Bytes `low` to `high` of one chunk; the others of shared memory are filled when loading."""
    places = f.cast("inttoptr", smem, "i64", "ptr"), f.cast("inttoptr", tensor, "i64", "ptr")
    size = f.sub(high, low, "i64")
    arguments = f"ptr {places[0]}, ptr {places[1]}, i64 {low}, i64 {size}, ptr {scratch}, i1 %loads, i32 %reduction"
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
    arguments = "ptr %smem, ptr %tensor, i64 %low, i64 %size, ptr %scratch, i1 %loads, i32 %reduction"
    return f.function(f"define internal void @move_chunk({arguments})")
