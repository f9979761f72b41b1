"""Forms of integers, logic, shifts and selection. PTX ISA 9.7.1, 9.7.2, 9.7.7, 9.7.8."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dsl.emulator.ir import rows
from dsl.forms.form import Form
from dsl.forms.operands import WORD, operands, width

INT = tuple(rows.INT.split("/"))
_WIDER = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
LUTS = (0x00, 0x01, 0x17, 0x1E, 0x2D, 0x3C, 0x56, 0x80, 0x96, 0xB8, 0xC0, 0xCA, 0xD8, 0xE8, 0xFE, 0xFF)


def simple(name: str, kinds: str, result: str, least: str = "") -> Form:
    """`name` on operands of these types (in words) with a result of one type."""
    types = kinds.split()
    arrays = of_types(types)
    text = f"{name} %d0, {', '.join(f'%a{index}' for index in range(len(types)))};"
    return Form(name, text, arrays, (WORD[width(result)],), least=least)


def of_types(types: list[str]) -> tuple[np.ndarray, ...]:
    """Operands of types that may differ: the operands of each type, at its place."""
    count = len(types)
    return tuple(operands(kind, count)[index] for index, kind in enumerate(types))


def text_form(name: str, text: str, kinds: str, result: str) -> Form:
    """A form whose text is more than its name."""
    return Form(name, text, of_types(kinds.split()), (WORD[width(result)],))


def arithmetic() -> Iterator[Form]:
    """9.7.1."""
    for kind in INT:
        two, three = f"{kind} {kind}", f"{kind} {kind} {kind}"
        for opcode in ("add", "sub", "min", "max", "mul.lo", "mul.hi"):
            yield simple(f"{opcode}.{kind}", two, kind)
        for opcode in ("mad.lo", "mad.hi", "sad"):
            yield simple(f"{opcode}.{kind}", three, kind)
        if kind in _WIDER:
            yield simple(f"mul.wide.{kind}", two, _WIDER[kind])
            yield simple(f"mad.wide.{kind}", f"{two} {_WIDER[kind]}", _WIDER[kind])
        if kind[0] == "s":
            yield simple(f"abs.{kind}", kind, kind)
            yield simple(f"neg.{kind}", kind, kind)
        for opcode in ("div", "rem"):  # by zero the ISA leaves it open
            a, b = operands(kind, 2)
            arrays = a, np.where(b == 0, b.dtype.type(1), b)
            yield Form(f"{opcode}.{kind}", f"{opcode}.{kind} %d0, %a0, %a1;", arrays, (WORD[width(kind)],))
    for opcode in ("add", "sub"):
        yield simple(f"{opcode}.sat.s32", "s32 s32", "s32")
    yield simple("mad.hi.sat.s32", "s32 s32 s32", "s32")
    for kind in ("u32", "s32"):
        for half in ("lo", "hi"):
            yield simple(f"mul24.{half}.{kind}", f"{kind} {kind}", kind)
            yield simple(f"mad24.{half}.{kind}", f"{kind} {kind} {kind}", kind)
    yield simple("mad24.hi.sat.s32", "s32 s32 s32", "s32")
    for opcode in ("add", "min", "max"):
        for kind in ("u16x2", "s16x2"):
            yield simple(f"{opcode}.{kind}", f"{kind} {kind}", kind)
    for opcode in ("min", "max"):
        for kind in ("s16x2", "s32"):
            yield simple(f"{opcode}.relu.{kind}", f"{kind} {kind}", kind)


def bits() -> Iterator[Form]:
    """9.7.1.14 to 9.7.1.24."""
    for size in (32, 64):
        for opcode in ("popc", "clz"):
            yield simple(f"{opcode}.b{size}", f"b{size}", "b32")
        yield simple(f"brev.b{size}", f"b{size}", f"b{size}")
        yield simple(f"bfi.b{size}", f"b{size} b{size} b32 b32", f"b{size}")
        for sign in "us":
            yield simple(f"bfind.{sign}{size}", f"{sign}{size}", "u32")
            yield simple(f"bfind.shiftamt.{sign}{size}", f"{sign}{size}", "u32")
            yield simple(f"bfe.{sign}{size}", f"{sign}{size} b32 b32", f"{sign}{size}")
    base = "and.b32 %t, %a1, 31;\nfns.b32 %d0, %a0, %t, {};"
    yield text_form("fns.b32", base.format("%a2"), "b32 b32 s32", "b32")
    yield text_form("fns.b32.near", "rem.s32 %u, %a2, 7;\n" + base.format("%u"), "b32 b32 s32", "b32")
    for mode in ("clamp", "wrap"):
        for kind in ("u32", "s32"):
            yield simple(f"szext.{mode}.{kind}", f"{kind} u32", kind)
        yield simple(f"bmsk.{mode}.b32", "b32 b32", "b32")
    for a in ("u32", "s32"):
        for b in ("u32", "s32"):
            result = "s32" if "s32" in (a, b) else "u32"
            yield simple(f"dp4a.{a}.{b}", f"{a} {b} {result}", result)
            for half in ("lo", "hi"):
                yield simple(f"dp2a.{half}.{a}.{b}", f"{a} {b} {result}", result)


def carries() -> Iterator[Form]:
    """9.7.2: the second of two instructions takes the carry of the first; name and result belong to the second."""
    for kind in ("u32", "s32", "u64", "s64"):
        low = "%t" if width(kind) == 32 else "%v"
        for opcode, first in (("addc", "add"), ("subc", "sub")):
            text = f"{first}.cc.{kind} {low}, %a0, %a1;\n{opcode}.{kind} %d0, %a1, %a2;"
            yield text_form(f"{opcode}.{kind}", text, f"{kind} {kind} {kind}", kind)
            text = (
                f"{first}.cc.{kind} {low}, %a0, %a1;\n{opcode}.cc.{kind} %d0, %a1, %a2;\n{opcode}.{kind} %d1, %a0, %a2;"
            )
            size = WORD[width(kind)]
            yield Form(f"{opcode}.cc.{kind}", text, operands(kind, 3), (size, size))
        for half in ("lo", "hi"):
            text = (
                f"mad.{half}.cc.{kind} {low}, %a0, %a1, %a2;\nmadc.{half}.cc.{kind} %d0, %a1, %a2, %a0;\n"
                f"addc.{kind} %d1, %a0, %a2;"
            )
            yield Form(f"madc.{half}.cc.{kind}", text, operands(kind, 3), (WORD[width(kind)],) * 2)
            text = f"mad.{half}.cc.{kind} {low}, %a0, %a1, %a2;\nmadc.{half}.{kind} %d0, %a1, %a2, %a0;"
            yield text_form(f"madc.{half}.{kind}", text, f"{kind} {kind} {kind}", kind)


def logic() -> Iterator[Form]:
    """9.7.7, 9.7.8, 9.7.9.7."""
    for size in (16, 32, 64):
        kind = f"b{size}"
        for opcode in ("and", "or", "xor"):
            yield simple(f"{opcode}.{kind}", f"{kind} {kind}", kind)
        for opcode in ("not", "cnot"):
            yield simple(f"{opcode}.{kind}", kind, kind)
        yield simple(f"shl.{kind}", f"{kind} b32", kind)
        for letter in "bus":
            yield simple(f"shr.{letter}{size}", f"{letter}{size} b32", kind)
    for lut in LUTS:
        text = f"lop3.b32 %d0, %a0, %a1, %a2, {lut:#x};"
        yield text_form(f"lop3.b32.{lut:#04x}", text, "b32 b32 b32", "b32")
    for word in ("and", "or"):
        text = (
            f"and.b32 %t, %a2, 3;\nsetp.ne.u32 %q, %t, 0;\nlop3.{word}.b32 %d0|%p, %a0, %a1, %a2, 0x80, %q;\n"
            "selp.u32 %d1, 1, 0, %p;"
        )
        yield Form(f"lop3.{word}.b32", text, operands("b32", 3), ("u4", "u4"))
    for side in "lr":
        for mode in ("clamp", "wrap"):
            yield simple(f"shf.{side}.{mode}.b32", "b32 b32 b32", "b32")
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        yield text_form(f"prmt.b32{mode}", f"prmt.b32{mode} %d0, %a0, %a1, %a2;", "b32 b32 b32", "b32")
    for kind in ("b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64"):
        text = f"setp.ne.u32 %p, %a2, 0;\nselp.{kind} %d0, %a0, %a1, %p;"
        yield text_form(f"selp.{kind}", text, f"{kind} {kind} b32", kind)
        for sign in ("s32", "f32"):
            yield simple(f"slct.{kind}.{sign}", f"{kind} {kind} {sign}", kind)
        yield simple(f"slct.ftz.{kind}.f32", f"{kind} {kind} f32", kind)


def forms() -> Iterator[Form]:
    yield from arithmetic()
    yield from bits()
    yield from carries()
    yield from logic()
