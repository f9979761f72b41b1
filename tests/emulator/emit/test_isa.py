"""The instruction table: what is refused, by name and place."""

from __future__ import annotations

import pytest

from dsl import emulator
from dsl.emulator.emit import isa

HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n"


def test_every_row_has_a_section_and_an_emitter():
    for opcode, rows in isa.ROWS.items():
        for row in rows:
            assert row.section.startswith("9.7."), opcode
            assert callable(row.emit)


REFUSED = [
    "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8",
    "mbarrier.frobnicate.shared.b64", "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group",
    "wgmma.mma_async.sync.aligned.m64n8k64.s32.b1.b1.xor.popc", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", "frobnicate.u32",
    "add.banana.s32", "multimem.ld_reduce.relaxed.sys.global.add.f32", "barrier.cluster.sync", "cvt.rn.satfinite.e4m3x2.f32",
]  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_row_allows_is_refused_when_loaded(name):
    text = HEAD + f'.file 1 "k.py"\n.visible .entry k() {{ .reg .b32 %r<3>;\n.loc 1 9 4\n{name} %r1, %r2;\nret; }}'
    with pytest.raises(emulator.Unsupported) as caught:
        emulator.load(text)
    assert (caught.value.opcode, caught.value.ptx_line) == (name, 7)
    assert str(caught.value.place) == "k.py:9:4"


def test_the_text_of_a_refusal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.py").write_text("\n\n    cute.gemm(mma, a, b, c)\n")
    text = HEAD + '.file 1 "k.py"\n.visible .entry k() { .reg .b32 %r<3>;\n.loc 1 3 5\ntcgen05.mma %r1, %r2;\nret; }'
    with pytest.raises(emulator.Unsupported) as caught:
        emulator.load(text)
    assert str(caught.value) == "\n".join([
        "k.py:3:5: UNSUPPORTED_PTX `tcgen05.mma`: the emulator does not support this instruction",
        "    cute.gemm(mma, a, b, c)",
        "    ^",
        "    PTX line 7: tcgen05.mma %r1, %r2;",
        "fix: run this program with --device cuda, or use an instruction the emulator has",
    ])  # fmt: skip
