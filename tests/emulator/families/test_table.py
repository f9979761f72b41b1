"""The instruction table: what is refused, by name and place."""

from __future__ import annotations

import pytest

from dsl import emulator
from dsl.emulator import families
from dsl.emulator.families import table as isa
from dsl.emulator.families.control import stack
from dsl.emulator.ir import operand_grammar
from dsl.forms.coverage import own_instructions
from dsl.forms.table import forms
from tests.emulator.conftest import use

HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n"


def test_every_row_has_a_section_and_an_emitter():
    for opcode, rows in isa.ROWS.items():
        for row in rows:
            assert row.section.startswith("9.7."), opcode
            assert callable(row.emit)


REFUSED = [
    "suq.width.b32", "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8",
    "mbarrier.frobnicate.shared.b64",
    "wgmma.mma_async.sync.aligned.m64n8k64.s32.b1.b1.xor.popc", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", "frobnicate.u32",
    "add.banana.s32", "txq.width.b32", "barrier.cluster.sync",
]  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_an_instruction_without_a_row_is_refused_when_used(name):
    text = HEAD + f'.file 1 "k.py"\n.visible .entry k() {{ .reg .b32 %r<3>;\n.loc 1 9 4\n{name} %r1, %r2;\nret; }}'
    with pytest.raises(emulator.Unsupported) as caught:
        use(text)
    assert (caught.value.opcode, caught.value.ptx_line) == (name, 7)
    assert str(caught.value.place) == "k.py:9:4"


def test_the_text_of_a_refusal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.py").write_text("\n\n    cute.gemm(mma, a, b, c)\n")
    text = HEAD + '.file 1 "k.py"\n.visible .entry k() { .reg .b32 %r<3>;\n.loc 1 3 5\nistypep.texref %r1, %r2;\nret; }'
    with pytest.raises(emulator.Unsupported) as caught:
        use(text)
    assert str(caught.value) == "\n".join([
        "k.py:3:5: UNSUPPORTED_PTX `istypep.texref`: the emulator does not support this instruction",
        "    cute.gemm(mma, a, b, c)",
        "    ^",
        "    PTX line 7: istypep.texref %r1, %r2;",
        "fix: run this program on a GPU, or use an instruction the emulator has",
    ])  # fmt: skip


@pytest.mark.parametrize("instruction, why", [
    ("fma.rn.f32 %f1, %f1, %f1;", "`fma` takes 4 operands, got 3"),
    ("sqrt.rn.f32 %f1, %f1, %f1;", "`sqrt` takes 2 operands, got 3"),
    ("setp.lt.s32 %p, %r1;", "`setp` takes 3 or 4 operands, got 2"),
    ("nanosleep.u32;", "`nanosleep` takes 1 operand, got 0"),
])  # fmt: skip
def test_the_number_of_operands_is_checked_when_loaded(instruction, why):
    registers = ".reg .b32 %r<3>; .reg .f32 %f<3>; .reg .pred %p;"
    with pytest.raises(emulator.PtxError) as caught:
        emulator.load(HEAD + f".visible .entry k() {{ {registers}\n{instruction}\nret; }}")
    assert str(caught.value) == f"PTX line 5: {why}: {instruction}"


@pytest.mark.slow
def test_every_form_has_operands_that_its_row_takes():
    for form in forms():
        for instr in own_instructions(form):
            if instr.opcode in stack.OPERANDS:  # which counts them itself
                continue
            wanted = isa.find(instr).operands or isa.OPERANDS.get(instr.opcode, "")
            assert not wanted or operand_grammar.problem(wanted, instr) == "", instr.text


@pytest.mark.slow
def test_ptxas_refuses_other_numbers_of_operands(ptxas):
    seen = set()
    for form in forms():
        for instr in own_instructions(form):
            if instr.opcode not in isa.OPERANDS or instr.opcode in seen or instr.text not in form.ptx:
                continue
            seen.add(instr.opcode)
            changed = instr.text.replace(";", ", 1, 1, 1, 1;" if instr.operands else " 1, 1, 1, 1;")
            with pytest.raises(AssertionError):
                ptxas(form.ptx.replace(instr.text, changed))
    assert len(seen) > 60


@pytest.mark.parametrize("name", ["FAULTS", "ILLEGAL", "WARNINGS"])
def test_families_have_different_numbers_for_their_faults(name):
    tables = families.named("words", name)
    assert sum(map(len, tables)) == len({number for table in tables for number in table}) > 1
