"""wgmma: the four warps of a warpgroup meet, and one thread computes for all. PTX ISA 9.7.15.5.

The product is made at the instruction, one of the moments that the ISA allows. So fence, commit_group and
wait_group do nothing except for the checkers.
"""

from __future__ import annotations

import re

from dsl.emulator.families.warp import emit as warp
from dsl.emulator.families.warpgroup.async_registers import AsyncRegisters
from dsl.emulator.families.warpgroup.numbers import WgmmaArea, wgmma
from dsl.emulator.machine.numbers import meeting
from dsl.emulator.ptx.syntax import Vec
from dsl.emulator.tensor_core.fragments import BITS, Wgmma
from dsl.emulator.tensor_core.numbers import operand_kind

_SHAPE = re.compile(r"m64n(\d+)k(\d+)$")


def multiply(body, instr):
    """wgmma.mma_async.sync.aligned.shape.dtype.atype.btype d, a or a-desc, b-desc, scale-d, immediates."""
    if body.places.tensor_core.name != "hopper":
        raise body.refuse(instr, f"wgmma needs Hopper: this GPU model is of {body.places.tensor_core.name}")
    form = form_of(body, instr)
    d, a, b_desc, scale_d, *immediates = instr.operands
    in_registers = isinstance(a, Vec)
    flags = _flags(instr, in_registers, [each.value for each in immediates])
    area = body.exchange_area(WgmmaArea)
    body.put_in(area, WgmmaArea.function, "@emu_wgmma", "ptr")
    body.put_in(area, WgmmaArea.form, str(_form_word(form, flags)))
    adds = body.read(scale_d, 1)
    body.put_in(area, WgmmaArea.scale_d, body.cast("zext", adds, "i1", "i32"))
    body.put_in(area, WgmmaArea.a_desc, "0" if in_registers else body.read(a, 64), "i64")
    body.put_in(area, WgmmaArea.b_desc, body.read(b_desc, 64), "i64")
    body.put_in(area, WgmmaArea.group, _group(body))
    for i, item in enumerate(a.items if in_registers else ()):
        body.put_in(area, WgmmaArea.a, body.read(item, 32), index=i)
    if adds not in ("0", "false"):
        for i, item in enumerate(d.items):
            body.put_in(area, WgmmaArea.d, body.read(item, 32), index=i)
    key = meeting.WARPGROUP | body.site(instr) << 8
    warp.meet(body, instr, key, "-1", body.cast("ptrtoint", area, "ptr", "i64"))
    for i, item in enumerate(d.items):
        body.write(item, body.get_from(area, WgmmaArea.d, i), 32)


def _group(body) -> str:
    """The number of the group that this thread's next wgmma.commit_group closes, as i32; for checkers."""
    watch = body.watches.get(AsyncRegisters)
    return watch.group() if watch else "0"


def form_of(body, instr) -> Wgmma:
    """The form of an instruction. Raises Unsupported for a sparse one."""
    mods = instr.mods
    if "sp" in mods:
        raise body.refuse(instr, "sparse wgmma is not emulated")
    shape = next(filter(None, map(_SHAPE.match, mods)))
    d, a, b = (m for m in mods if m in BITS)
    return Wgmma(int(shape[1]), a, b, d)


def _form_word(form: Wgmma, flags: int) -> int:
    """The form of an instruction as one number; `flags` are IN_REGISTERS and its like."""
    a, b = (getattr(operand_kind, each.upper()) for each in (form.a, form.b))
    d = getattr(wgmma, f"D_{form.d.upper()}")
    return form.n // 8 | a << wgmma.A_SHIFT | b << wgmma.B_SHIFT | d << wgmma.D_SHIFT | flags


def _flags(instr, in_registers: bool, constants: list[int]) -> int:
    """The flags from the operands after scale-d: the sign of A and of B, then which of them have M or N fastest."""
    scales, transposes = constants[:2], constants[2:]
    names = [wgmma.NEGATED_A, wgmma.NEGATED_B][: len(scales)]
    flags = sum(flag for flag, scale in zip(names, scales) if scale == -1)
    names = [wgmma.TRANSPOSED_A, wgmma.TRANSPOSED_B][in_registers:]
    flags |= sum(flag for flag, value in zip(names, transposes) if value)
    flags |= wgmma.IN_REGISTERS if in_registers else 0
    return flags | (wgmma.SATURATES if "satfinite" in instr.mods else 0)
