"""clusterlaunchcontrol.try_cancel and .query_cancel. PTX ISA 9.7.13.17, 9.7.13.18."""

from __future__ import annotations

from dsl.emulator.families.bulk.checked import overwritten
from dsl.emulator.families.cluster import emit as cluster
from dsl.emulator.families.launch_control.numbers import answer
from dsl.emulator.machine import context
from dsl.emulator.ptx.syntax import Vec

UNDEFINED = 0xFFFFFFFF  # a coordinate of a cluster that was refused
_PARTS = {"x": (0, 32), "y": (answer.Y_SHIFT, 16), "z": (answer.Z_SHIFT, 16)}


def try_cancel(body, instr):
    """try_cancel.async [answer], [mbarrier]: both are in shared memory of the block, or generic addresses of it. With
    .multicast::cluster::all each block of the cluster gets the answer, and completes it at its own mbarrier."""
    body.uses.update(("bulk", "mbarrier", "cluster", "launch_control"))
    place, barrier = (_address(body, instr, operand) for operand in instr.operands)
    mask = _everybody(body) if "multicast::cluster::all" in instr.mods else "0"
    where = f"i32 {body.threads['linear']}, i32 {body.site(instr)}, i64 {place}, i64 {barrier}, i32 {mask}"
    body.stop_unless(body.op(f"call i32 @emu_try_cancel(ptr %ctx, {where})"))
    overwritten(body, instr, place, "16", barrier, mask)


def _address(body, instr, operand) -> str:
    address = body.address(operand)
    return address if "shared::cta" in instr.mods else cluster.of_generic(body, address)


def _everybody(body) -> str:
    """The mask of all blocks of the cluster."""
    blocks = body.load("cluster_blocks", constant=True)
    return body.or_(body.sub(body.shl(1, blocks), 1), context.MULTICAST)


def is_canceled(body, instr):
    """query_cancel.is_canceled: whether the request was granted."""
    destination, source = instr.operands
    _, high = _halves(body, source)
    where = f"i32 {body.threads['linear']}, i32 {body.site(instr)}, i64 {high}"
    flag = body.op(f"call i32 @emu_is_canceled(ptr %ctx, {where})")
    body.stop_unless(body.cmp("ne", flag, -1), "i1")
    body.write(destination, body.cmp("eq", flag, 1), 1)


def first_block(body, instr):
    """query_cancel.get_first_ctaid: the ctaid of the cluster's first block: x, y, z and nothing, or one of them."""
    destination, source = instr.operands
    low, high = _halves(body, source)
    granted = body.cmp("eq", high, answer.GRANTED, "i64")
    names = [each.rpartition(":")[2] for each in instr.mods if each.startswith("get_first_ctaid::")] or ["x", "y", "z"]
    for item, name in zip(destination.items if isinstance(destination, Vec) else (destination,), names):
        shift, bits = _PARTS[name]
        part = body.and_(body.lshr(low, shift, "i64"), (1 << bits) - 1, "i64")
        body.write(item, body.select(granted, body.resize(part, 64, 32), UNDEFINED), 32)
    if isinstance(destination, Vec):
        body.write(destination.items[3], str(UNDEFINED), 32)


def _halves(body, operand) -> tuple[str, str]:
    value = body.read(operand, 128)
    return body.resize(value, 128, 64), body.resize(body.lshr(value, 64, "i128"), 128, 64)


def refused(body, operand) -> str:
    """Whether an answer is a refusal."""
    return body.cmp("eq", _halves(body, operand)[1], answer.REFUSED, "i64")
