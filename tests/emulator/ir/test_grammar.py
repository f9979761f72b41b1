"""Groups of modifiers that exclude each other."""

import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dsl import emulator
from dsl.emulator.families import table as isa
from dsl.emulator.ir import grammar, needs
from tests.emulator.conftest import HEADER, use

FORMS = [(opcode, form) for opcode, rows in isa.ROWS.items() for row in rows for form in row.forms]


@given(st.data(), st.sampled_from(FORMS))
def test_modifiers_that_fill_a_form_are_found_in_the_order_of_the_isa(data, chosen):
    opcode, form = chosen
    filled = [
        data.draw(st.sampled_from(sorted(group.modifiers)))
        for group in form.groups
        if not group.is_optional or data.draw(st.booleans())
    ]
    assert form.ordered(filled) is not None and isa.row_of(opcode, tuple(filled)) is not None
    if len(filled) == len(form.groups) and not any(group.leads or group.follows for group in form.groups):
        shuffled = data.draw(st.permutations(filled))
        assert sorted(form.ordered(shuffled) or ()) == sorted(filled)


@pytest.mark.parametrize(
    "text, modifiers, ordered",
    [
        ("^lo/hi u16/s16", "lo.u16", "lo.u16"),
        ("^lo/hi u16/s16", "u16.lo", None),
        ("^lo/hi u16/s16", "lo.hi.u16", None),
        ("^lo/hi u16/s16", "lo", None),
        ("?rn/rz ?ftz f32", "f32.ftz.rz", "rz.ftz.f32"),
        ("?rn/rz ?ftz f32", "f32", "f32"),
        ("f16/f32 >f32/f64", "f32.f64", "f32.f64"),
        ("f16/f32 >f32/f64", "f64.f32", None),
        ("f16/f32 >f32/f64", "f32.f32", "f32.f32"),
        ("^?to global u64", "global.u64", "global.u64"),
        ("^?to global u64", "global.to.u64", None),
        ("", "", ""),
    ],
)
def test_one_form(text, modifiers, ordered):
    (form,) = grammar.read(text)
    said = form.ordered(tuple(filter(None, modifiers.split("."))))
    assert said == (None if ordered is None else tuple(filter(None, ordered.split("."))))


@pytest.mark.parametrize(
    "modifiers, need",
    [("rn.f16", "80"), ("rn.bf16", "90:7.8"), ("f16.relu.rn", "80:8.1"), ("rn.relu.bf16", "90:8.1"), ("rn.f32", "")],
)
def test_a_form_needs_what_the_alternative_and_its_modifiers_need(modifiers, need):
    forms = grammar.read("rn ?relu@:8.1 f16/bf16@90:7.8 @80 | rn f32")
    chosen = tuple(modifiers.split("."))
    (form,) = (each for each in forms if each.ordered(chosen))
    assert form.need(chosen) == needs.read(need)


@pytest.mark.parametrize(
    "instruction, why",
    [
        ("mul.u32 %r, %r, %r;", "`mul.u32`: the emulator has no such form, `.hi` or `.lo` or `.wide` is missing"),
        ("add.ftz.s32 %r, %r, %r;", "`add.ftz.s32`: the emulator has no such form, `.ftz` does not go with `.s32`"),
        ("mul.u32.lo %r, %r, %r;", "`mul.u32.lo`: the emulator has no such form, the order must be `.lo.u32`"),
        ("add.rna.f32 %r, %r, %r;", "`add.rna.f32`: the emulator does not support this form"),
    ],
)
def test_a_refusal_names_the_wrong_modifier(instruction, why):
    with pytest.raises(Exception) as caught:
        use(HEADER + f".visible .entry k() {{ .reg .b32 %r;\n{instruction}\nret; }}")
    assert str(caught.value).startswith(f"UNSUPPORTED_PTX {why}\n    PTX line ")
    assert ("correct the modifiers" in str(caught.value)) == ("no such form" in why)


def test_modifiers_in_another_order_mean_the_same(machine):
    tiny = np.array([1e-40, -1e-40, 1.5], np.float32)
    for name in ("add.rn.ftz.f32", "add.f32.ftz.rn"):
        out = machine.each(f"{name} %d, %a, %b;", tiny.view(np.uint32), tiny.view(np.uint32), out=np.uint32)
        assert out.view(np.float32).tolist() == [0.0, 0.0, 3.0]


@pytest.mark.parametrize(
    "instruction, why",
    [
        ("xor.b64 %r, %r, %r;", "operand 1 must be a register of .b64, got `%r`, a register of .b32: xor.b64"),
        ("add.u16 %r, %r, %r;", "operand 1 must be a register of .u16, got `%r`, a register of .b32: add.u16"),
        (
            "ld.global.b64 %r, [%d];",
            "operand 1 must be a register of .b64, got `%r`, a register of .b32: ld.global.b64",
        ),
        ("cvt.u64.u16 %d, %r;", ""),  # PTX ISA 9.4.1: registers of ld, st and cvt may be wider
        ("ld.global.u8 %r, [%d];", ""),
        ("st.global.u8 [%d], %r;", ""),
    ],
)
def test_the_size_of_a_register_is_the_size_of_the_type(ptxas, instruction, why):
    text = HEADER + f".visible .entry k() {{ .reg .b32 %r; .reg .b64 %d;\n{instruction}\nret; }}"
    if not why:
        ptxas(text)
        return use(text)
    with pytest.raises(AssertionError, match="Arguments mismatch"):
        ptxas(text)
    with pytest.raises(emulator.PtxError, match=re.escape(why)):
        use(text)


def test_registers_wider_than_what_is_loaded_and_stored_in_each_path(machine):
    """1 thread, and blocks whose threads run as vectors."""
    text = """
.visible .entry k(.param .u64 out, .param .u64 src)
{
  .reg .b32 %i, %x, %w, %n; .reg .b64 %o, %g, %a;
  ld.param.u64 %o, [out]; ld.param.u64 %g, [src];
  mov.u32 %w, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %i, %tid.x; mad.lo.u32 %i, %w, %n, %i;
  cvt.u64.u32 %a, %i; add.u64 %g, %g, %a; add.u64 %o, %o, %a;
  ld.global.s8 %x, [%g]; add.s32 %x, %x, 1; st.global.u8 [%o], %x;
  ret;
}
"""
    for grid, block in ((1, 1), (16, 128)):
        count = grid * block
        src, out = np.arange(-2, count - 2).astype(np.int8), np.zeros(count, np.int8)
        machine.run(text, grid=grid, block=block, out=out, src=src)
        assert out.tolist() == (src + 1).astype(np.int8).tolist()
