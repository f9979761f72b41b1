"""Operands of wgmma in shared memory, as rows of 32 bytes along K. PTX ISA 9.7.15.5.1, Shared Memory Matrix Layout.

A descriptor has, in units of 16 bytes, the start address (bits 0-13), the leading (16-29) and the stride byte offset
(32-45); the base offset (49-51); the swizzle (62-63: none, 128, 64, 32 bytes). Memory is read in chunks of 16 bytes.
Where K runs fastest, row r of 32 bytes is two chunks; eight rows lie one after another, W chunks apart, the next eight
a stride offset further. Where M or N runs fastest (16-bit types), a chunk is eight rows at one k. W is how many chunks
the swizzle mixes: chunk c of line l (128 bytes each) of its pattern lies at c xor l.
"""

from __future__ import annotations

from dsl.emulator import context
from dsl.emulator.builder import Builder

ROW_BYTES, CHUNK_BYTES = 32, 16
LONGEST_PATTERN = 8  # chunks that the 128-byte swizzle mixes


def functions() -> list[str]:
    """The IR text: `@wgmma_operand` is what wgmma calls."""
    return [_chunk(), _operand()]


class Descriptor:
    """The fields of %desc, as i32 in bytes."""

    def __init__(self, f: Builder):
        self.f = f
        self.start, self.leading, self.stride = (self._offset(bit) for bit in (0, 16, 32))
        mode = self._field(62, 3)
        self.plain = f.cmp("eq", mode, 0)
        self.width_log2 = f.and_(f.sub(4, mode), 3)  # of the chunks that are mixed
        self.mask = f.sub(f.shl(1, self.width_log2), 1)
        self.pitch = f.shl(CHUNK_BYTES, self.width_log2)  # from a row to the next
        self.base = f.select(self.plain, 0, self._field(49, 7))

    def _field(self, bit: int, mask: int) -> str:
        f = self.f
        return f.cast("trunc", f.and_(f.lshr("%desc", bit, "i64"), mask, "i64"), "i64", "i32")

    def _offset(self, bit: int) -> str:
        return self.f.shl(self._field(bit, 0x3FFF), 4)

    def swizzled(self, offset: str) -> str:
        """An address with its chunk mixed; the pattern's phase is counted from the base offset."""
        f = self.f
        line = f.sub(f.lshr(offset, 7), self.base)
        return f.xor(offset, f.shl(f.and_(line, self.mask), 4))


def _chunk() -> str:
    """The host address of 16 bytes at an offset in shared memory, told to the race checker; null after a fault."""
    f = Builder()
    end = f.add(f.cast("zext", "%offset", "i32", "i64"), CHUNK_BYTES, "i64")
    with f.if_(f.cmp("ugt", end, f.load("smem_bytes"), "i64")):
        offset = f.cast("zext", "%offset", "i32", "i64")
        where = f"i32 {context.OUT_OF_BOUNDS}, i32 %site, i32 %tid, i64 {offset}, i64 {CHUNK_BYTES}"
        f.do(f"call void @emu_fault(ptr %ctx, {where}, i64 {context.SHARED})")
        f.do("ret ptr null")
        f.start(f.fresh("dead"))
    address = f.add(f.load("smem"), f.cast("zext", "%offset", "i32", "i64"), "i64")
    told = f.load("matrix_read")
    with f.if_(f.cmp("ne", told, 0, "i64")):
        where = f"i32 %tid, i32 %site, i64 {address}"
        fine = f.op(f"call i32 {f.cast('inttoptr', told, 'i64', 'ptr')}(ptr %ctx, {where})")
        f.return_if(f.cmp("eq", fine, 0), "ptr null")
    f.do(f"ret ptr {f.cast('inttoptr', address, 'i64', 'ptr')}")
    return f.function("define internal ptr @wgmma_chunk(ptr %ctx, i32 %offset, i32 %tid, i32 %site) alwaysinline")


def _operand() -> str:
    """Copy %rows rows of 32 bytes to %out; %transposed where M or N runs fastest. 0 after a fault."""
    f = Builder()
    desc = Descriptor(f)
    by_row, by_k = f.fresh("by_row"), f.fresh("by_k")
    f.do(f"br i1 %transposed, label %{by_k}, label %{by_row}")
    f.start(by_row)
    step = f.select(desc.plain, desc.leading, CHUNK_BYTES)
    with f.for_range("%rows") as row:
        eight = f.add(f.mul(f.lshr(row, 3), desc.stride), f.mul(f.and_(row, 7), desc.pitch))
        for chunk in range(ROW_BYTES // CHUNK_BYTES):
            offset = f.add(f.add(desc.start, eight), f.mul(step, chunk))
            source = _checked(f, desc.swizzled(offset))
            target = _place(f, row, str(CHUNK_BYTES * chunk))
            f.do(f"store i128 {f.op(f'load i128, ptr {source}, align 16')}, ptr {target}, align 16")
    f.do("ret i1 true")
    f.start(by_k)
    between_chunks = f.select(desc.plain, desc.stride, desc.leading)
    between_ks = f.select(desc.plain, desc.leading, desc.stride)
    with f.for_range(f.lshr("%rows", 3)) as chunk:
        across = f.add(f.shl(f.and_(chunk, desc.mask), 4), f.mul(f.lshr(chunk, desc.width_log2), between_chunks))
        with f.for_range(str(ROW_BYTES // 2)) as k:
            down = f.add(f.mul(f.and_(k, 7), desc.pitch), f.mul(f.lshr(k, 3), between_ks))
            source = _checked(f, desc.swizzled(f.add(desc.start, f.add(across, down))))
            for i in range(8):
                value = f.get(f.op(f"getelementptr i16, ptr {source}, i32 {i}"), "i16")
                f.put(_place(f, f.add(f.shl(chunk, 3), i), f.shl(k, 1)), value, "i16")
    f.do("ret i1 true")
    arguments = "i64 %desc, i32 %rows, i1 %transposed, ptr %out, i32 %tid, i32 %site"
    return f.function(f"define internal i1 @wgmma_operand(ptr %ctx, {arguments})")


def _checked(f: Builder, offset: str) -> str:
    source = f.op(f"call ptr @wgmma_chunk(ptr %ctx, i32 {offset}, i32 %tid, i32 %site)")
    f.return_if(f.cmp("eq", source, "null", "ptr"), "i1 false")
    return source


def _place(f: Builder, row: str, byte: str) -> str:
    return f.op(f"getelementptr i8, ptr %out, i32 {f.add(f.mul(row, ROW_BYTES), byte)}")
