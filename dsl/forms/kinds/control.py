"""Forms of control flow: each thread takes its own way and tells which. PTX ISA 9.7.12, 9.7.17."""

from __future__ import annotations

from collections.abc import Iterator

from dsl.forms.form import BLOCK, Form
from dsl.forms.operands import operands

_HALVE = """\
.func (.reg .b32 %back) halve(.reg .b32 %x, .reg .b32 %y)
{
.reg .pred %odd;
.reg .b32 %z;
and.b32 %z, %x, 1;
setp.eq.u32 %odd, %z, 1;
shr.u32 %back, %x, 1;
@%odd ret;
add.u32 %back, %back, %y;
ret;
}"""


def _stack(two) -> Iterator[Form]:
    """9.7.17: two blocks of a thread, the second given back."""
    text = (
        "and.b32 %t, %a0, 63;\nadd.u32 %t, %t, 16;\ncvt.u64.u32 %size, %t;\nstacksave.u64 %top;\n"
        "alloca.u64 %one, %size, 32;\nst.local.u32 [%one], %a0;\nstacksave.u64 %kept;\nalloca.u64 %two, %size;\n"
        "st.local.u32 [%two], %a1;\nstackrestore.u64 %kept;\nalloca.u64 %three, %size;\nld.local.u32 %d0, [%one];\n"
        "st.local.u32 [%three], %d0;\nsub.u64 %three, %three, %two;\ncvt.u32.u64 %d1, %three;\n"
        "ld.local.u32 %d0, [%two];\nst.local.u32 [%two], %a1;\nstackrestore.u64 %top;"
    )
    declarations = ".reg .b64 %size, %top, %kept, %one, %two, %three;"
    for opcode in ("alloca", "stacksave", "stackrestore"):
        yield Form(f"{opcode}.u64", text, two, ("u4", "u4"), declarations=declarations)


def forms() -> Iterator[Form]:
    two = operands("u32", 2)
    loop = "mov.u32 %d0, 0;\nand.b32 %t, %a0, 63;\nagain:\nadd.u32 %d0, %d0, %a1;\nsub.u32 %t, %t, 1;\n"
    yield Form("bra", f"{loop}setp.gt.s32 %p, %t, 0;\n@%p bra again;", two, ("u4",), threads=32)
    text = "mov.u32 %d0, %a0;\nbra.uni over;\nmov.u32 %d0, %a1;\nover:\nadd.u32 %d0, %d0, 1;"
    yield Form("bra.uni", text, two, ("u4",), threads=32)
    cases = "".join(f"case{index}:\nadd.u32 %d0, %a1, {10**index};\nbra end;\n" for index in range(4))
    text = (
        f"and.b32 %t, %a0, 3;\ntargets: .branchtargets case0, case1, case2, case3;\nbrx.idx %t, targets;\n{cases}end:"
    )
    yield Form("brx.idx", text, two, ("u4",), threads=32)
    text = text.replace("and.b32 %t, %a0, 3", "shr.u32 %t, %i, 7;\nand.b32 %t, %t, 3").replace("brx.idx", "brx.idx.uni")
    yield Form("brx.idx.uni", text, two, ("u4",), threads=BLOCK)
    text = "call (%d0), halve, (%a0, %a1);"
    yield Form("call", text, two, ("u4",), module=_HALVE, threads=32)
    text = "call.uni (%d0), halve, (%a0, %a1);"
    yield Form("call.uni", text, two, ("u4",), module=_HALVE, threads=32)
    yield from _stack(two)
    for opcode in ("exit", "ret", "ret.uni"):
        early = "and.b32 %t, %a0, 1;" if opcode != "ret.uni" else "shr.u32 %t, %i, 7;\nand.b32 %t, %t, 1;"
        text = f"{early}\nsetp.eq.u32 %p, %t, 1;\n@%p {opcode};\nadd.u32 %d0, %a0, %a1;"
        yield Form(opcode, text, two, ("u4",), threads=BLOCK)
