"""cp.async.bulk: copies of bytes and of boxes of tensors, their groups. PTX ISA 9.7.9.25.5, 9.7.9.27."""

from __future__ import annotations

from dsl.emulator.emit.memory import nothing
from dsl.emulator.ptx.syntax import Addr, Vec
from dsl.emulator.runtime.bulk_copies import BOX_IN, BOX_OUT, BYTES_IN, BYTES_OUT, MULTICAST

_SHARED = ("shared::cluster", "shared::cta", "shared")


def copy(body, instr):
    """cp.async.bulk between global and shared memory: with an mbarrier inwards, in a bulk group outwards; from shared
    memory of the block to that of another one of its cluster."""
    _used(body)
    if _spaces(instr) == ["shared::cluster", "shared::cta"]:
        return _copy_to_peer(body, instr)
    inwards = _inwards(body, instr)
    target, source, size, *rest = instr.operands
    smem, other = (target, source) if inwards else (source, target)
    barrier, mask = _signal(body, instr, rest) if inwards else ("0", "0")
    kind = BYTES_IN if inwards else BYTES_OUT
    arguments = (
        f"i64 {body.address(smem)}, i64 {body.address(other)}, i32 {body.read(size, 32)}, i64 {barrier}, i32 {mask}"
    )
    where = f"i32 {body.threads['linear']}, i32 {body.site(instr)}, i32 {kind}"
    body.stop_unless(body.op(f"call i32 @emu_bulk_copy(ptr %ctx, {where}, {arguments})"))
    if inwards:
        body.overwritten(instr, body.address(smem), body.read(size, 32))


def _copy_to_peer(body, instr):
    target, source, size, barrier = instr.operands
    arguments = f"i64 {body.address(source)}, i64 {body.address(target)}, i32 {body.read(size, 32)}"
    where = f"i32 {body.threads['linear']}, i32 {body.site(instr)}"
    body.stop_unless(body.op(f"call i32 @emu_bulk_peer(ptr %ctx, {where}, {arguments}, i64 {body.address(barrier)})"))


def copy_box(body, instr):
    """cp.async.bulk.tensor.Nd in tile mode: [map, {coordinates}] and shared memory, either way."""
    _used(body)
    inwards = _inwards(body, instr)
    target, source, *rest = instr.operands
    smem, place = (target, source) if inwards else (source, target)
    barrier, mask = _signal(body, instr, rest) if inwards else ("0", "0")
    rank = next(int(m[0]) for m in instr.mods if m in ("1d", "2d", "3d", "4d", "5d"))
    if not isinstance(place, Addr) or not isinstance(place.coords, Vec) or len(place.coords.items) != rank:
        raise body.refuse(instr, f"a tensor of {rank} dimensions has as many coordinates: [map, {{...}}]")
    coordinates = [body.read(item, 32) for item in place.coords.items] + ["0"] * (5 - rank)
    numbers = ", ".join(f"i32 {each}" for each in coordinates)
    addresses = (
        f"i64 {body.address(smem)}, i64 {body.address(Addr(place.base, place.offset))}, i64 {barrier}, i32 {mask}"
    )
    where = f"i32 {body.threads['linear']}, i32 {body.site(instr)}, i32 {BOX_IN if inwards else BOX_OUT}"
    body.stop_unless(body.op(f"call i32 @emu_bulk_box(ptr %ctx, {where}, {addresses}, i32 {rank}, {numbers})"))
    if inwards:
        nbytes = body.op(f"call i32 @emu_box_bytes(i64 {body.address(Addr(place.base, place.offset))})")
        body.overwritten(instr, body.address(smem), nbytes)


def group(body, instr):
    """cp.async.bulk.commit_group; .wait_group N: all but the last N groups of the thread have been read and written."""
    _used(body)
    linear = body.threads["linear"]
    if "commit_group" in instr.mods:
        body.do(f"call void @emu_bulk_commit(ptr %ctx, i32 {linear})")
    else:
        body.do(f"call void @emu_bulk_wait(ptr %ctx, i32 {linear}, i32 {body.read(instr.operands[0], 32)})")


prefetch = nothing


def _used(body) -> None:
    body.uses.add("bulk")


def _spaces(instr) -> list[str]:
    return [m for m in instr.mods if m in _SHARED or m == "global"]


def _inwards(body, instr) -> bool:
    """Whether it copies into shared memory: the space named first is that of the destination."""
    spaces = _spaces(instr)
    if len(spaces) != 2 or ("global" in spaces) != 1 or spaces[0] == spaces[1]:
        raise body.refuse(
            instr, "it must copy between global and shared memory, or from shared::cta to shared::cluster"
        )
    return spaces[0] != "global"


def _signal(body, instr, operands: list) -> tuple[str, str]:
    """The address of the mbarrier, and the mask of the blocks that get the bytes."""
    barrier = body.address(operands[0])
    if "multicast::cluster" not in instr.mods:
        return barrier, "0"
    return barrier, body.or_(body.and_(body.read(operands[1], 32), MULTICAST - 1), MULTICAST)
