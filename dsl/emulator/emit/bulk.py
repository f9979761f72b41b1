"""cp.async.bulk: copies of bytes and of boxes of tensors, their groups. PTX ISA 9.7.9.25.5, 9.7.9.27."""

from __future__ import annotations

from dsl.emulator.emit import mbarrier
from dsl.emulator.emit.memory import nothing
from dsl.emulator.ptx.syntax import Addr, Unsupported, Vec
from dsl.emulator.runtime.bulk_copies import BOX_IN, BOX_OUT, BYTES_IN, BYTES_OUT

_SHARED = ("shared::cluster", "shared::cta", "shared")


def copy(body, instr):
    """cp.async.bulk between global and shared memory: with an mbarrier inwards, in a bulk group outwards."""
    _used(body)
    inwards = _inwards(body, instr)
    target, source, size, *barrier = instr.operands
    smem, other = (target, source) if inwards else (source, target)
    word = _barrier(body, instr, barrier[0]) if inwards else "0"
    kind = BYTES_IN if inwards else BYTES_OUT
    arguments = f"i64 {body.address(smem)}, i64 {body.address(other)}, i32 {body.read(size, 32)}, i64 {word}"
    _call(body, instr, "emu_bulk_copy", kind, arguments)


def copy_box(body, instr):
    """cp.async.bulk.tensor.Nd in tile mode: [map, {coordinates}] and shared memory, either way."""
    _used(body)
    inwards = _inwards(body, instr)
    target, source, *barrier = instr.operands
    smem, place = (target, source) if inwards else (source, target)
    word = _barrier(body, instr, barrier[0]) if inwards else "0"
    rank = next(int(m[0]) for m in instr.mods if m in ("1d", "2d", "3d", "4d", "5d"))
    if not isinstance(place, Addr) or not isinstance(place.coords, Vec) or len(place.coords.items) != rank:
        raise body.refuse(instr, f"a tensor of {rank} dimensions has as many coordinates: [map, {{...}}]")
    coordinates = [body.read(item, 32) for item in place.coords.items] + ["0"] * (5 - rank)
    numbers = ", ".join(f"i32 {each}" for each in coordinates)
    arguments = (
        f"i64 {body.address(smem)}, i64 {body.address(Addr(place.base, place.offset))}, i64 {word}, i32 "
        f"{rank}, {numbers}"
    )
    _call(body, instr, "emu_bulk_box", BOX_IN if inwards else BOX_OUT, arguments)


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


def _inwards(body, instr) -> bool:
    """Whether it copies into shared memory: the space named first is that of the destination."""
    spaces = [m for m in instr.mods if m in _SHARED or m == "global"]
    if len(spaces) != 2 or ("global" in spaces) != 1 or spaces[0] == spaces[1]:
        raise _not_here(body, instr)
    return spaces[0] != "global"


def _not_here(body, instr) -> Unsupported:
    return body.refuse(instr, "bulk copies between blocks of a cluster are not emulated")


def _barrier(body, instr, address) -> str:
    return body.cast("ptrtoint", mbarrier.place(body, instr, address), "ptr", "i64")


def _call(body, instr, function: str, kind: int, arguments: str) -> None:
    where = f"i32 {body.threads['linear']}, i32 {body.site(instr)}, i32 {kind}"
    body.stop_unless(body.op(f"call i32 @{function}(ptr %ctx, {where}, {arguments})"))
