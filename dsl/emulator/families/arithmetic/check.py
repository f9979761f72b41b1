"""Undefined values in instructions whose result does not always depend on all of their operands."""

from __future__ import annotations

from dsl.emulator.ptx.syntax import TYPE_BITS, Instr


def _select(body, instr: Instr, a, b, which) -> str:
    chosen = body.select(body.read(which, 1), body.mark(a), body.mark(b), "i64")
    return body.op(f"call i64 @llvm.umax.i64(i64 {chosen}, i64 {body.mark(which)})")


def _masked(body, instr: Instr, a, b) -> str:
    """A side counts unless the other one settles every bit, and is itself defined."""
    bits = next(TYPE_BITS[m] for m in instr.mods if m in TYPE_BITS)
    settled = 0 if instr.opcode == "and" else -1 if bits > 1 else 1
    marks = [body.mark(a), body.mark(b)]
    result = "0"
    for mine, other, operand in ((marks[0], marks[1], b), (marks[1], marks[0], a)):
        value = body.read(operand, bits)
        same = body.cmp("eq", value, settled, f"i{bits}")
        out = body.and_(same, body.cmp("eq", other, 0, "i64"), "i1")
        result = body.op(f"call i64 @llvm.umax.i64(i64 {result}, i64 {body.select(out, 0, mine, 'i64')})")
    return result


COMPUTED = {"selp": _select, "and": _masked, "or": _masked}
