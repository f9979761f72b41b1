"""Addresses in the even block of a pair, as CUTLASS makes them: it clears bit 24 of an address in shared::cluster.

On a GPU each address in shared memory has the rank of its block from bit 24 on. Here a block's own addresses have none,
and others have the rank + 1, so the instruction that clears the bit gets this meaning where what it gives is an address
in shared::cluster.
"""

from __future__ import annotations

from dsl.emulator.machine.context import RANK_SHIFT
from dsl.emulator.ptx.operands import reads, registers, writes
from dsl.emulator.ptx.syntax import Addr, Function, Imm, Instr

OFFSET_MASK = (1 << RANK_SHIFT) - 1
_CLEARED = 0xFFFFFFFF ^ 1 << RANK_SHIFT
# Low bits that a compiler may leave out of the mask where it knows them to be zeros: shared memory begins at a multiple
# of as many bytes, and a place in it is a constant.
_KNOWN = 1024 - 1
_PASSES = frozenset({"mov", "add", "sub", "and", "or", "selp", "cvt", "mad"})


def leads(body, instr: Instr) -> bool:
    """Whether an `and.b32` gives an address in the even block of the pair of its operand's block."""
    if not _clears_rank_bit(instr):
        return False
    if not hasattr(body, "leader_masks"):
        body.leader_masks = {}
    function = body.frame.function
    if function.name not in body.leader_masks:
        body.leader_masks[function.name] = _masks(function)
    return id(instr) in body.leader_masks[function.name]


def leader_address(body, address: str, mask: int) -> str:
    """The i32 address in the even block of the pair."""
    own = body.load("cluster_rank", constant=True)
    code = body.lshr(address, RANK_SHIFT)
    rank = body.select(body.cmp("eq", code, 0), own, body.sub(code, 1))
    even = body.add(body.and_(rank, -2), 1)
    return body.or_(body.shl(even, RANK_SHIFT), body.and_(address, mask & OFFSET_MASK))


def _clears_rank_bit(instr: Instr) -> bool:
    mask = instr.operands[-1]
    return isinstance(mask, Imm) and "b32" in instr.mods and mask.value & 0xFFFFFFFF | _KNOWN == _CLEARED


def _masks(function: Function) -> frozenset[int]:
    """By id the instructions that clear the bit of what becomes an address in shared::cluster."""
    instructions = [each for each in function.items if isinstance(each, Instr)]
    wanted = {reg.name for each in instructions if "shared::cluster" in each.mods for reg in _of_addresses(each)}
    size = -1
    while size != len(wanted):
        size = len(wanted)
        for each in instructions:
            if each.opcode in _PASSES and any(reg.name in wanted for reg in writes(each)):
                wanted.update(reg.name for reg in reads(each))
    return frozenset(
        id(each)
        for each in instructions
        if each.opcode == "and" and _clears_rank_bit(each) and any(reg.name in wanted for reg in writes(each))
    )


def _of_addresses(instr: Instr):
    for operand in instr.operands:
        if isinstance(operand, Addr):
            yield from registers(operand.base)
