"""cp.async.bulk and cp.reduce.async.bulk: bytes and boxes of tensors, their groups. PTX ISA 9.7.9.25.4, 9.7.9.27."""

from __future__ import annotations

from dsl.emulator.families.bulk.checked import copied_out, overwritten
from dsl.emulator.families.bulk.numbers import bulk
from dsl.emulator.families.reduction.reductions import OPERATIONS, TYPES, code
from dsl.emulator.families.tensor_map.emit import tell
from dsl.emulator.families.tensor_map.numbers import tensor_map
from dsl.emulator.ir.rows import nothing
from dsl.emulator.machine import context
from dsl.emulator.ptx.syntax import Addr

_ROWS = frozenset({"tile::gather4", "tile::scatter4"})
_MODES = {
    "im2col": tensor_map.PIXELS,
    "im2col_no_offs": tensor_map.PIXELS,
    "im2col::w": tensor_map.WIDE,
    "im2col::w::128": tensor_map.WIDE_128,
}
_SHARED = ("shared::cluster", "shared::cta", "shared")


def copy(body, instr):
    """cp.async.bulk between global and shared memory: with an mbarrier inwards, in a bulk group outwards; from shared
    memory of the block to shared memory of another one of its cluster."""
    _used(body)
    if _spaces(instr) == ["shared::cluster", "shared::cta"]:
        return _copy_to_peer(body, instr)
    inwards = _inwards(instr)
    target, source, size, *rest = instr.operands
    smem, other = (target, source) if inwards else (source, target)
    barrier, mask = _signal(body, instr, rest) if inwards else ("0", "0")
    kind = bulk.BYTES_IN if inwards else bulk.BYTES_OUT
    arguments = (
        f"i64 {body.address(smem)}, i64 {body.address(other)}, i32 {body.read(size, 32)}, i64 {barrier}, i32 {mask}"
    )
    where = f"i32 {body.threads['linear']}, i32 {body.site(instr)}, i32 {kind}"
    body.stop_unless(body.op(f"call i32 @emu_bulk_copy(ptr %ctx, {where}, {arguments})"))
    _begins(body, instr, smem, body.read(size, 32), inwards, barrier, mask)


def _begins(body, instr, smem, size_bytes: str, inwards: bool, barrier: str, mask: str) -> None:
    if inwards:
        overwritten(body, instr, body.address(smem), size_bytes, barrier, mask)
    else:
        copied_out(body, instr, body.address(smem), size_bytes)


def _copy_to_peer(body, instr, reduction: int = 0):
    target, source, size, barrier = instr.operands
    body.uses.add("mbarrier")
    arguments = f"i64 {body.address(source)}, i64 {body.address(target)}, i32 {body.read(size, 32)}"
    kind = bulk.BYTES_IN | reduction << bulk.REDUCTION_SHIFT
    where = f"i32 {body.threads['linear']}, i32 {body.site(instr)}, i32 {kind}"
    body.stop_unless(body.op(f"call i32 @emu_bulk_peer(ptr %ctx, {where}, {arguments}, i64 {body.address(barrier)})"))
    nbytes = body.read(size, 32)
    there = body.address(source)
    copied_out(body, instr, there, nbytes)
    target = body.address(target)
    overwritten(body, instr, target, nbytes, body.address(barrier), source=there, is_atomic=bool(reduction))


def copy_box(body, instr):
    """cp.async.bulk.tensor.Nd in tile mode: [map, {coordinates}] and shared memory, either way. The
    coordinates of four rows are a column and the rows."""
    _box(body, instr)


def copy_pixels(body, instr):
    """cp.async.bulk.tensor.Nd in an im2col mode: inwards {offsets} of W, H and D follow the mbarrier, or {halo, offset}
    along W; outwards there are none."""
    barrier_and_offsets = instr.operands[2:]
    offsets = ["0", "0", "0"]
    if "im2col_no_offs" not in instr.mods:
        numbers = barrier_and_offsets.pop(1)
        offsets = [_unsigned_16(body, item) for item in numbers.items] + offsets[len(numbers.items) :]
    _box(body, instr, offsets, barrier_and_offsets)


def _unsigned_16(body, operand) -> str:
    return body.resize(body.read(operand, 16), 16, 32)


def reduce(body, instr):
    """cp.reduce.async.bulk: out of shared memory into global memory, or into shared memory of another block."""
    _used(body)
    kind = next(m for m in instr.mods if m in TYPES)
    operation = next(m for m in instr.mods if m in OPERATIONS)
    if _spaces(instr) == ["shared::cluster", "shared::cta"]:
        return _copy_to_peer(body, instr, code(operation, TYPES[kind]))
    target, source, size, *_ = instr.operands
    arguments = f"i64 {body.address(source)}, i64 {body.address(target)}, i32 {body.read(size, 32)}, i64 0, i32 0"
    number = bulk.BYTES_OUT | code(operation, TYPES[kind]) << bulk.REDUCTION_SHIFT
    where = f"i32 {body.threads['linear']}, i32 {body.site(instr)}, i32 {number}"
    body.stop_unless(body.op(f"call i32 @emu_bulk_copy(ptr %ctx, {where}, {arguments})"))
    copied_out(body, instr, body.address(source), body.read(size, 32))


def reduce_box(body, instr):
    """cp.reduce.async.bulk.tensor: a box of shared memory into the tensor; the map has the type."""
    operation = next(m for m in instr.mods if m in OPERATIONS)
    offsets = ["0", "0", "0"] if "im2col_no_offs" in instr.mods else None
    _box(body, instr, offsets, reduction=code(operation) << bulk.REDUCTION_SHIFT)


def _rank(instr) -> int:
    return next(int(m[0]) for m in instr.mods if m in ("1d", "2d", "3d", "4d", "5d"))


def _box(body, instr, offsets: list[str] | None = None, rest: list | None = None, reduction: int = 0) -> None:
    """A copy of a box, or with `offsets` of pixels."""
    _used(body)
    inwards = _inwards(instr)
    target, source, *others = instr.operands
    rest = others if rest is None else rest
    smem, place = (target, source) if inwards else (source, target)
    barrier, mask = _signal(body, instr, rest) if inwards else ("0", "0")
    rank, rows = _rank(instr), 1 if _ROWS.isdisjoint(instr.mods) else 4
    coordinates = [body.read(item, 32) for item in place.coords.items]
    coordinates += ["0"] * (5 - len(coordinates)) + (offsets or ["0"] * 3)
    numbers = ", ".join(f"i32 {each}" for each in coordinates)
    addresses = (
        f"i64 {body.address(smem)}, i64 {body.address(Addr(place.base, place.offset))}, i64 {barrier}, i32 {mask}"
    )
    tell(body, instr, context.ORDER_MAP_USED, body.address(Addr(place.base, place.offset)))
    kind = (bulk.BOX_IN if inwards else bulk.BOX_OUT) | reduction
    where = f"i32 {body.threads['linear']}, i32 {body.site(instr)}, i32 {kind}"
    mode = next((each for name, each in _MODES.items() if name in instr.mods), 0)
    form = f"i32 {rank | mode | (tensor_map.ROWS if rows > 1 else 0)}"
    body.stop_unless(body.op(f"call i32 @emu_bulk_box(ptr %ctx, {where}, {addresses}, {form}, {numbers})"))
    form = body.address(Addr(place.base, place.offset))
    nbytes = body.mul(body.op(f"call i32 @emu_box_bytes(i64 {form}, i32 {coordinates[5]})"), rows)
    _begins(body, instr, smem, nbytes, inwards, barrier, mask)


def group(body, instr):
    """cp.async.bulk.commit_group; .wait_group N: all but the last N groups of the thread have been read and written."""
    _used(body)
    linear = body.threads["linear"]
    if "commit_group" in instr.mods:
        body.do(f"call void @emu_bulk_commit(ptr %ctx, i32 {linear})")
    else:
        which = f"i32 {body.read(instr.operands[0], 32)}, i32 {int('read' not in instr.mods)}"
        body.do(f"call void @emu_bulk_wait(ptr %ctx, i32 {linear}, {which})")


prefetch = nothing


def _used(body) -> None:
    body.uses.add("bulk")


def _spaces(instr) -> list[str]:
    return [m for m in instr.mods if m in _SHARED or m == "global"]


def _inwards(instr) -> bool:
    """Whether it copies into shared memory: the space named first is where it writes."""
    return _spaces(instr)[0] != "global"


def _signal(body, instr, operands: list) -> tuple[str, str]:
    """The address of the mbarrier, and the mask of the blocks that get the bytes."""
    barrier = body.address(operands[0])
    body.uses.add("mbarrier")
    paired = context.PAIRED if "cta_group::2" in instr.mods else 0
    if "multicast::cluster" not in instr.mods:
        return barrier, str(paired)
    return barrier, body.or_(_unsigned_16(body, operands[1]), context.MULTICAST | paired)
