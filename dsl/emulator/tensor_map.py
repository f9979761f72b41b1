"""Tensor maps, and the copies of boxes of a tensor that they describe. PTX ISA 5.5 (tensors), 9.7.9.27 (cp.async.bulk.tensor).

A tensor map is 128 opaque bytes that a driver makes. Ours hold what they were made of, so that native code can read them:
`encode`. A box is copied row by row, in chunks of 16 bytes, which a swizzle permutes within 128 to 1024 bytes of shared memory:
the chunk's number in its row, bits 4 to 6 of the address, is xored with bits 7 to 9. Elements outside the tensor are read
as zeros (or a NaN) and never written.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from . import context
from .builder import Builder

MAGIC = 0x31_50_41_4D_52_53_4E_54  # "TNSRMAP1"
BYTES = 128
ALIGNMENT_BYTES = 64
DIMENSIONS = 5
MOST_BOX, MOST_EXTENT, MOST_STRIDE = 256, 1 << 32, 1 << 40
CHUNK_BYTES = 16
# CUtensorMapDataType: bytes of an element, and the NaN that it is filled with.
ELEMENT_BYTES = {0: 1, 1: 2, 2: 4, 3: 4, 4: 8, 5: 8, 6: 2, 7: 4, 8: 8, 9: 2, 10: 4, 11: 4, 12: 4}
FLOATS = frozenset((6, 7, 8, 9, 10, 11, 12))
SWIZZLE_BYTES = {0: None, 1: 32, 2: 64, 3: 128}
# magic, base; strides of dimensions 1 to 4; extents less one; box; element strides; rank, element bytes, mask, fill.
_FORM = struct.Struct("<QQ4Q5I5H5BBBBB")
_AT = {"magic": 0, "base": 8, "strides": 16, "extents": 48, "box": 68, "steps": 78, "rank": 83, "element": 84, "mask": 85,
       "fill": 86}  # fmt: skip


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

    def check(self) -> None:
        """Raise BadTensorMap where the driver would refuse. CUDA driver API, cuTensorMapEncodeTiled."""
        rank = len(self.extents)
        if self.dtype not in ELEMENT_BYTES:
            raise BadTensorMap(f"a tensor map of data type {self.dtype} is not emulated")
        if self.interleave:
            raise BadTensorMap("interleaved tensor maps are not emulated")
        _need(1 <= rank <= DIMENSIONS, f"it has {rank} dimensions, and TMA knows 1 to {DIMENSIONS}")
        _need(self.address % 16 == 0, f"its address 0x{self.address:x} is no multiple of 16 bytes")
        size = ELEMENT_BYTES[self.dtype]
        for i, extent in enumerate(self.extents):
            _need(1 <= extent <= MOST_EXTENT, f"extent {i} is {extent}, and TMA knows 1 to 2**32")
        for i, stride in enumerate(self.strides, 1):
            _need(stride % 16 == 0 and stride < MOST_STRIDE,
                  f"the stride of dimension {i} is {stride} bytes; it has to be a multiple of 16 below 2**40")
        for i, (extent, step) in enumerate(zip(self.box, self.steps)):
            _need(1 <= extent <= MOST_BOX, f"the box has {extent} elements along dimension {i}, and TMA moves 1 to {MOST_BOX}")
            _need(1 <= step <= 8, f"the element stride of dimension {i} is {step}, and TMA knows 1 to 8")
        row_bytes = self.box[0] * size
        _need(row_bytes % 16 == 0, f"a row of the box has {row_bytes} bytes; it has to be a multiple of 16")
        span = SWIZZLE_BYTES.get(self.swizzle, 0)
        _need(span != 0, f"a swizzle of mode {self.swizzle} is not emulated")
        _need(span is None or row_bytes <= span, f"a row of the box has {row_bytes} bytes, and a swizzle of {span} bytes takes "
                                                 f"{span} at most")
        _need(self.fill == 0 or self.dtype in FLOATS, "only elements of a floating-point type are filled with NaN")

    def encode(self) -> bytes:
        """The 128 bytes. Raises BadTensorMap."""
        self.check()

        def padded(values, fill):
            return [*values, *(fill,) * (DIMENSIONS - len(values))]
        mask = {0: 0, 1: 0x10, 2: 0x30, 3: 0x70}[self.swizzle]
        form = _FORM.pack(MAGIC, self.address, *padded(self.strides, 0)[:4], *padded([e - 1 for e in self.extents], 0),
                          *padded(self.box, 1), *padded((1, *self.steps[1:]), 1), len(self.extents),
                          ELEMENT_BYTES[self.dtype], mask, self.fill)  # fmt: skip
        return form.ljust(BYTES, b"\0")


def _need(holds: bool, text: str) -> None:
    if not holds:
        raise BadTensorMap(text)


# ** native code

SIGNATURES = {
    "emu_map_check": "i32 (ptr, i64, i32, i32, i32)",
    "emu_box_bytes": "i32 (i64)",
    "emu_box_room": "i32 (i64)",
    "emu_box_range": "i1 (ptr, i64, ptr, i32, i32)",
    "emu_box_copy": "void (i64, i64, ptr, i1)",
}


def functions() -> list[str]:
    """The IR text: a tensor map is judged, a box's bytes, what it touches of memory, and its copy."""
    return [_check(), _bytes(), _room(), _range(), _copy()]


def _read(f: Builder, name: str, index: str = "0", kind: str = "i64") -> str:
    """A member of the map at %map, or element `index` (i32) of one, as i64."""
    base = f.cast("inttoptr", "%map", "i64", "ptr")
    start = f.op(f"getelementptr i8, ptr {base}, i64 {_AT[name]}")
    place = f.op(f"getelementptr {kind}, ptr {start}, i32 {index}")
    value = f.op(f"load {kind}, ptr {place}, align 1")
    return value if kind == "i64" else f.cast("zext", value, kind, "i64")


def _count(f: Builder, index: str) -> str:
    """Elements of the box along a dimension: every `step`-th of its extent."""
    box, step = _read(f, "box", index, "i16"), _read(f, "steps", index, "i8")
    return f.op(f"udiv i64 {f.sub(f.add(box, step, 'i64'), 1, 'i64')}, {step}")


def _check() -> str:
    """Whether %map is the address of a tensor map of `rank` dimensions; a fault if not."""
    f = Builder()
    kinds = context.GENERIC
    arguments = f"i64 %map, i64 {BYTES}, i64 {ALIGNMENT_BYTES}, i32 {kinds}, i32 %site, i32 %tid"
    there = f.op(f"call i1 @emu_range(ptr %ctx, {arguments})")
    f.return_if(f.xor(there, "true", "i1"), "i32 0")
    is_map = f.cmp("eq", _read(f, "magic"), MAGIC, "i64")
    rank = f.select(is_map, f.cast("trunc", _read(f, "rank", kind="i8"), "i64", "i32"), 0)
    wrong = f.cmp("ne", rank, "%rank")
    with f.if_(wrong):
        where = f"i32 {context.ILLEGAL}, i32 %site, i32 %tid"
        found = f.cast("zext", rank, "i32", "i64")
        f.do(f"call void @emu_fault(ptr %ctx, {where}, i64 {found}, i64 0, i64 {context.BAD_MAP})")
    f.do(f"ret i32 {f.select(wrong, 0, 1)}")
    return f.function("define i32 @emu_map_check(ptr %ctx, i64 %map, i32 %rank, i32 %site, i32 %tid)")


def _bytes() -> str:
    f = Builder()
    total = f.mul(_read(f, "box", kind="i16"), _read(f, "element", kind="i8"), "i64")
    for index in range(1, DIMENSIONS):
        total = f.mul(total, _count(f, str(index)), "i64")
    f.do(f"ret i32 {f.cast('trunc', total, 'i64', 'i32')}")
    return f.function("define i32 @emu_box_bytes(i64 %map)")


def _room() -> str:
    """The bytes of shared memory a box takes: a swizzle permutes chunks of whole lines of 128 bytes."""
    f = Builder()
    size = f.op("call i32 @emu_box_bytes(i64 %map)")
    plain = f.cmp("eq", _read(f, "mask", kind="i8"), 0, "i64")
    f.do(f"ret i32 {f.select(plain, size, f.and_(f.add(size, 127), -128))}")
    return f.function("define i32 @emu_box_room(i64 %map)")


def _coordinate(f: Builder, index: str) -> str:
    place = f.op(f"getelementptr i32, ptr %coords, i32 {index}")
    return f.cast("sext", f.get(place), "i32", "i64")


def _larger(f: Builder, a: str, b: str, how: str = "sgt") -> str:
    return f.select(f.cmp(how, a, b, "i64"), a, b, "i64")


def _range() -> str:
    """Whether what the box touches of the tensor lies in one allocation; a fault if not."""
    f = Builder()
    first, last = f.alloca("i64"), f.alloca("i64")
    element = _read(f, "element", kind="i8")
    for slot in (first, last):
        f.put(slot, _read(f, "base"), "i64")
    for index in map(str, range(DIMENSIONS)):
        start, step = _coordinate(f, index), _read(f, "steps", index, "i8")
        count = _read(f, "box", index, "i16") if index == "0" else _count(f, index)
        end = f.add(start, f.mul(f.sub(count, 1, "i64"), step, "i64"), "i64")
        low = _larger(f, start, "0")
        high = _larger(f, end, _read(f, "extents", index, "i32"), "slt")
        f.return_if(f.cmp("slt", high, low, "i64"), "i1 true")  # no element is inside
        stride = element if index == "0" else _read(f, "strides", str(int(index) - 1))
        for slot, position in ((first, low), (last, high)):
            f.put(slot, f.add(f.get(slot, "i64"), f.mul(position, stride, "i64"), "i64"), "i64")
    size = f.add(f.sub(f.get(last, "i64"), f.get(first, "i64"), "i64"), element, "i64")
    arguments = f"i64 {f.get(first, 'i64')}, i64 {size}, i64 1, i32 {context.GLOBAL}, i32 %site, i32 %tid"
    f.do(f"ret i1 {f.op(f'call i1 @emu_range(ptr %ctx, {arguments})')}")
    return f.function("define i1 @emu_box_range(ptr %ctx, i64 %map, ptr %coords, i32 %site, i32 %tid)")


def _copy() -> str:
    """Copy the box between the tensor and shared memory (an address): `loads` reads the tensor."""
    f = Builder()
    element = _read(f, "element", kind="i8")
    row_bytes = f.mul(_read(f, "box", kind="i16"), element, "i64")
    whole_bytes = f.mul(f.add(_read(f, "extents", kind="i32"), 1, "i64"), element, "i64")
    start_bytes = f.mul(_coordinate(f, "0"), element, "i64")
    mask = _read(f, "mask", kind="i8")
    counts = [_count(f, str(i)) for i in range(1, DIMENSIONS)]
    starts = [_coordinate(f, str(i)) for i in range(1, DIMENSIONS)]
    steps = [_read(f, "steps", str(i), "i8") for i in range(1, DIMENSIONS)]
    extents = [_read(f, "extents", str(i), "i32") for i in range(1, DIMENSIONS)]
    strides = [_read(f, "strides", str(i)) for i in range(DIMENSIONS - 1)]
    base = _read(f, "base")
    rows = f.mul(f.mul(counts[0], counts[1], "i64"), f.mul(counts[2], counts[3], "i64"), "i64")
    chunks = f.cast("trunc", f.lshr(row_bytes, 4, "i64"), "i64", "i32")
    scratch = f.alloca(f"[{CHUNK_BYTES} x i8]", 16)
    _fill(f, scratch)
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
            low = _larger(f, _larger(f, f.sub(0, at, "i64"), "0"), str(CHUNK_BYTES), "slt")
            high = _larger(f, _larger(f, f.sub(whole_bytes, at, "i64"), low), str(CHUNK_BYTES), "slt")
            high = f.select(inside, high, low, "i64")
            linear = f.add(f.add("%smem", f.mul(wide, row_bytes, "i64"), "i64"), offset, "i64")
            linear = f.xor(linear, f.and_(f.lshr(linear, 3, "i64"), mask, "i64"), "i64")
            _move(f, linear, f.add(source, at, "i64"), low, high, scratch)
    f.do("ret void")
    return f.function("define void @emu_box_copy(i64 %map, i64 %smem, ptr %coords, i1 %loads)")


def _fill(f: Builder, scratch: str) -> None:
    """What elements outside the tensor are: zeros, or the NaN with all bits set (of 4 bytes, 2 or 8)."""
    fills = f.cmp("ne", _read(f, "fill", kind="i8"), 0, "i64")
    byte = f.select(fills, -1, 0, "i8")
    f.do(f"call void @llvm.memset.p0.i64(ptr {scratch}, i8 {byte}, i64 {CHUNK_BYTES}, i1 false)")


def _move(f: Builder, smem: str, tensor: str, low: str, high: str, scratch: str) -> None:
    """Bytes `low` to `high` of one chunk; the others of shared memory are filled when loading."""
    there, here = f.cast("inttoptr", smem, "i64", "ptr"), f.cast("inttoptr", tensor, "i64", "ptr")
    size = f.sub(high, low, "i64")
    whole = f.cmp("eq", size, CHUNK_BYTES, "i64")
    block, loads, stores, part, after = (f.fresh(name) for name in ("whole", "loads", "stores", "part", "moved"))
    f.do(f"br i1 {whole}, label %{block}, label %{part}")
    f.start(block)
    f.do(f"br i1 %loads, label %{loads}, label %{stores}")
    for label, target, source in ((loads, there, here), (stores, here, there)):
        f.start(label)
        f.do(f"call void @llvm.memmove.p0.p0.i64(ptr {target}, ptr {source}, i64 {CHUNK_BYTES}, i1 false)")
        f.do(f"br label %{after}")
    f.start(part)
    inner, inside = (f.op(f"getelementptr i8, ptr {p}, i64 {low}") for p in (there, here))
    with f.if_("%loads"):
        f.do(f"call void @llvm.memmove.p0.p0.i64(ptr {there}, ptr {scratch}, i64 {CHUNK_BYTES}, i1 false)")
        with f.if_(f.cmp("ne", size, 0, "i64")):
            f.do(f"call void @llvm.memmove.p0.p0.i64(ptr {inner}, ptr {inside}, i64 {size}, i1 false)")
    store = f.and_(f.xor("%loads", "true", "i1"), f.cmp("ne", size, 0, "i64"), "i1")
    with f.if_(store):
        f.do(f"call void @llvm.memmove.p0.p0.i64(ptr {inside}, ptr {inner}, i64 {size}, i1 false)")
    f.do(f"br label %{after}")
    f.start(after)
