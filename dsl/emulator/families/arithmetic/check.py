"""Undefined values in instructions whose result does not always depend on all of their operands."""

from __future__ import annotations

from dsl.emulator.ptx.syntax import TYPE_BITS, Instr, type_of


def _select(body, instr: Instr, a, b, which) -> str:
    chosen = body.select(body.read(which, 1), body.mark(a), body.mark(b), "i64")
    return body.op(f"call i64 @llvm.umax.i64(i64 {chosen}, i64 {body.mark(which)})")


def _masked(body, instr: Instr, a, b) -> str:
    bits = TYPE_BITS[type_of(instr)]
    return _unless_settled(body, a, b, bits, 0 if instr.opcode == "and" else -1 if bits > 1 else 1)


def _product(body, instr: Instr, a, b, *addends) -> str:
    kind = type_of(instr)
    if "f" in kind:  # 0 * NaN is NaN
        return body.computed_mark(body.mark(a, b, *addends))
    product = _unless_settled(body, a, b, TYPE_BITS[kind], 0)
    mark = body.op(f"call i64 @llvm.umax.i64(i64 {product}, i64 {body.mark(*addends)})")
    return body.computed_mark(mark)


def _unless_settled(body, a, b, bits: int, settled: int) -> str:
    """A side counts unless the other one settles every bit of the result, and is itself defined."""
    marks = [body.mark(a), body.mark(b)]
    result = "0"
    for mine, other, operand in ((marks[0], marks[1], b), (marks[1], marks[0], a)):
        value = body.read(operand, bits)
        same = body.cmp("eq", value, settled, f"i{bits}")
        out = body.and_(same, body.cmp("eq", other, 0, "i64"), "i1")
        result = body.op(f"call i64 @llvm.umax.i64(i64 {result}, i64 {body.select(out, 0, mine, 'i64')})")
    return result


COMPUTED = {
    "selp": _select,
    **dict.fromkeys(("and", "or"), _masked),
    **dict.fromkeys(("mul", "mad", "mul24", "mad24"), _product),
}
