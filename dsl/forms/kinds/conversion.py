"""Forms of cvt. PTX ISA 9.7.9.21, 9.7.9.22."""

from __future__ import annotations

from collections.abc import Iterator

from dsl.forms.form import Form
from dsl.forms.kinds import integer
from dsl.forms.kinds.floating import ROUNDINGS, options
from dsl.forms.kinds.integer import simple
from dsl.forms.operands import WORD, operands, width

INT = ("u8", "s8", *integer.INT)
FLOAT = ("f16", "f32", "f64")
INTEGRAL = tuple(f"{each}i" for each in ROUNDINGS)


def integers() -> Iterator[Form]:
    """Between integers, and between integers and floats."""
    for target in INT:
        for source in INT:
            yield _cvt(f"cvt.{target}.{source}", target, source)
            if not _holds(target, source):
                yield _cvt(f"cvt.sat.{target}.{source}", target, source)
        for source in FLOAT:
            for each in options(INTEGRAL, ("", "ftz") if source == "f32" else ("",), ("", "sat")):
                yield _cvt(f"cvt{each}.{target}.{source}", target, source)
            for each in options(ROUNDINGS, ("",)):
                yield _cvt(f"cvt{each}.{source}.{target}", source, target)


def floats() -> Iterator[Form]:
    """Between floats, and to integral values of the same type."""
    for each in options(INTEGRAL, ("", "ftz"), ("", "sat")):
        yield _cvt(f"cvt{each}.f32.f32", "f32", "f32")
    for kind in ("f16", "f64"):
        for each in options(INTEGRAL, ("", "sat")):
            yield _cvt(f"cvt{each}.{kind}.{kind}", kind, kind)
    for each in options(("", "ftz"), ("", "sat")):
        yield _cvt(f"cvt{each}.f32.f16", "f32", "f16")
        for rounding in ROUNDINGS:
            yield _cvt(f"cvt.{rounding}{each}.f32.f64", "f32", "f64")
            yield _cvt(f"cvt.{rounding}{each}.f16.f32", "f16", "f32")
        yield _cvt(f"cvt{each}.f64.f32", "f64", "f32")
    for rounding in ROUNDINGS:
        yield _cvt(f"cvt.{rounding}.f16.f64", "f16", "f64")
    yield _cvt("cvt.f64.f16", "f64", "f16")
    yield _cvt("cvt.f32.bf16", "f32", "bf16")
    for each in options(("rn", "rz"), ("", "relu")):
        yield _cvt(f"cvt{each}.bf16.f32", "bf16", "f32")
        yield _cvt(f"cvt{each}.f16.f32", "f16", "f32") if "relu" in each else _pack(f"cvt{each}.f16x2.f32")
        yield _pack(f"cvt{each}.bf16x2.f32")
        if "relu" in each:
            yield _pack(f"cvt{each}.f16x2.f32")
        yield _cvt(f"cvt{each}.tf32.f32", "b32", "f32")
    yield _cvt("cvt.rna.tf32.f32", "b32", "f32")
    yield _cvt("cvt.rna.satfinite.tf32.f32", "b32", "f32")


def eight_bits() -> Iterator[Form]:
    """Pairs of 8-bit floats."""
    for kind in ("e4m3x2", "e5m2x2"):
        for each in options(("", "relu")):
            arrays = operands("f32", 2)
            name = f"cvt.rn.satfinite{each}.{kind}.f32"
            yield Form(name, f"{name} %d0, %a0, %a1;", arrays, ("u2",), least="89:8.1")
            name = f"cvt.rn.satfinite{each}.{kind}.f16x2"
            yield Form(name, f"{name} %d0, %a0;", operands("f16x2", 1), ("u2",), least="89:8.1")
            name = f"cvt.rn{each}.f16x2.{kind}"
            yield Form(name, f"{name} %d0, %a0;", operands("b16", 1), ("u4",), least="89:8.1")


def powers() -> Iterator[Form]:
    """Pairs of powers of two."""
    for each in options(("rz", "rp"), ("", "satfinite")):
        name = f"cvt{each}.ue8m0x2.f32"
        yield Form(name, f"{name} %d0, %a0, %a1;", operands("f32", 2), ("u2",))
        name = f"cvt{each}.ue8m0x2.bf16x2"
        yield Form(name, f"{name} %d0, %a0;", operands("bf16x2", 1), ("u2",))
    yield Form("cvt.rn.bf16x2.ue8m0x2", "cvt.rn.bf16x2.ue8m0x2 %d0, %a0;", operands("b16", 1), ("u4",))


def stochastic() -> Iterator[Form]:
    """Halves and four narrow floats, with random bits."""
    for each in options(("", "relu"), ("", "satfinite")):
        for kind in ("f16x2", "bf16x2"):
            name = f"cvt.rs{each}.{kind}.f32"
            yield Form(name, f"{name} %d0, %a0, %a1, %a2;", operands("f32", 3), ("u4",))
    for each in options(("", "relu")):
        for kind in ("e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4", "e2m1x4"):
            name = f"cvt.rs{each}.satfinite.{kind}.f32"
            text = f"{name} %d0, {{%a0, %a1, %a2, %a3}}, %a4;"
            yield Form(name, text, operands("f32", 5), ("u2" if kind == "e2m1x4" else "u4",))


def packs() -> Iterator[Form]:
    """9.7.9.22."""
    for kind in ("u16", "s16"):
        yield simple(f"cvt.pack.sat.{kind}.s32", "s32 s32", "b32")
    for kind in ("u8", "s8", "u4", "s4", "u2", "s2"):
        yield simple(f"cvt.pack.sat.{kind}.s32.b32", "s32 s32 b32", "b32")


def _cvt(name: str, target: str, source: str) -> Form:
    if width(target) == 8:  # the register is wider: the bits above the result are extended
        return Form(name, f"{name} %d0, %a0;", operands(source, 1), ("u2",))
    return simple(name, source, target)


def _holds(target: str, source: str) -> bool:
    """Whether an integer type has every value of another: then it has no .sat."""
    if target[0] == source[0]:
        return width(target) >= width(source)
    return target[0] == "s" and width(target) > width(source)


def _pack(name: str) -> Form:
    return Form(name, f"{name} %d0, %a0, %a1;", operands("f32", 2), (WORD[32],))


def forms() -> Iterator[Form]:
    yield from integers()
    yield from floats()
    yield from eight_bits()
    yield from powers()
    yield from stochastic()
    yield from packs()
