"""Faults of mma, in words."""

from __future__ import annotations

from dsl.emulator.families.matrix.kinds import THREADS, is_sparse, scales_of
from dsl.emulator.machine import context


def _bad_selector(launch, instr):
    operand, value = launch.ctx.address, launch.ctx.access_bytes
    matrix = "A" if operand == (8 if is_sparse(instr) else 6) else "B"
    bytes_ = " or ".join(map(str, range(0, 4, scales_of(instr))))
    return (
        f"operand {operand} of `{instr.name}` selects scales of {matrix} by {value}: the byte id must be {bytes_}, the "
        f"thread id less than {THREADS[matrix]}",
        f"choose a byte of the word and a thread of the four that have scales of {matrix}",
    )


ILLEGAL = {context.BAD_SELECTOR: _bad_selector}
