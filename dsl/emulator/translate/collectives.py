"""Instructions at which whole warps meet, in code made of regions: one step between two regions.

The region before leaves what each thread gives in an array. A block of whole warps, of which no thread has left, is
then one vector of 32 lanes after another; others go through the C++ that coroutines use.
"""

from __future__ import annotations

from dsl.emulator.ir.builder import Builder
from dsl.emulator.ir.collective import Collective, Vector, differs
from dsl.emulator.ptx.syntax import Imm, Reg


def give(code, collective: Collective, place: str, kind: str) -> None:
    """In the code of thread `place` (of LLVM type `kind`): leave what it gives."""
    for array, operand, bits in collective.given:
        code.kept.store(array, bits, place, code.read(operand, bits), kind)


def meet(code, collective: Collective) -> None:
    """Between two regions: each thread gets its results."""
    if collective.vector is None:
        _one_by_one(code, collective)
        return
    number = code.region.number
    whole = code.cmp("eq", code.and_("%threads", 31), 0)
    if code.plan.leaves:
        x, y, z = (
            code.sub(code.get(f"%end_{axis}", "i64"), code.get(f"%first_{axis}", "i64"), "i64") for axis in "xyz"
        )
        left = code.mul(code.mul(x, y, "i64"), z, "i64")
        here = code.cmp("eq", left, "%wide_threads", "i64")
        even = code.xor(code.get("%degraded", "i1"), "true", "i1")
        whole = code.and_(whole, code.and_(here, even, "i1"), "i1")
    code.do(f"br i1 {whole}, label %whole{number}, label %some{number}, !prof !1")
    Builder.start(code, f"some{number}")
    _one_by_one(code, collective)
    code.branch(f"met{number}")
    Builder.start(code, f"whole{number}")
    _warps(code, collective, collective.vector)
    Builder.start(code, f"met{number}")


def _results(code, collective: Collective) -> list[str]:
    """The arrays of both results, "null" where nobody reads one."""
    rows = []
    for operand, width in ((collective.first, 32), (collective.second, 8)):
        is_read = isinstance(operand, Reg) and code.outlives(operand.name)
        rows.append(code.kept.array(operand.name, width) if is_read else "null")
    return rows


def _one_by_one(code, collective: Collective) -> None:
    out, pred = _results(code, collective)
    width = max(collective.bits, 8)
    value = code.kept.array(f"given {collective.bits}", width)
    rest = ""
    for name, operand in (("b", collective.b), ("c", collective.c)):
        array = code.kept.array(f"given {name}", 32) if differs(operand) else "null"
        rest += f"ptr {array}, i32 {operand.value & 0xFFFFFFFF if isinstance(operand, Imm) else 0}, "
    active = "null"
    if code.plan.leaves:
        active = "%active"
        code.do("call void @emu_trim(ptr %ctx, ptr %active, ptr %box)")
    code.do(
        f"call void @emu_collect(ptr %ctx, i32 {collective.key}, ptr {active}, ptr {value}, i32 {width // 8}, {rest}"
        f"ptr {out}, ptr {pred})"
    )


def _warps(code, collective: Collective, vector: Vector) -> None:
    """A loop over the warps of the block."""
    number = code.region.number
    out, pred = _results(code, collective)
    width = max(collective.bits, 8)
    code.branch(f"warps{number}")
    Builder.start(code, f"warps{number}")
    place = f"%place{number}"
    code.do(f"br label %warp{number}")
    Builder.start(code, f"warp{number}")
    code.do(f"{place} = phi i64 [0, %warps{number}], [%further{number}, %warp{number}]")

    def cell(array: str, bits: int) -> str:
        return code.op(f"getelementptr i{bits}, ptr {array}, i64 {place}")

    given = code.op(
        f"load <32 x i{width}>, ptr {cell(code.kept.array(f'given {collective.bits}', width), width)}, align 32"
    )
    first, second = vector(code, given)
    for array, value, bits in ((out, first, 32), (pred, second, 8)):
        if array != "null":
            code.do(f"store <32 x i{bits}> {value}, ptr {cell(array, bits)}, align 32")
    code.do(f"%further{number} = add nuw nsw i64 {place}, 32")
    more = code.cmp("ult", f"%further{number}", "%wide_threads", "i64")
    code.do(f"br i1 {more}, label %warp{number}, label %met{number}")
