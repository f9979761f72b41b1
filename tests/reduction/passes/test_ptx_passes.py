"""Whatever a pass over PTX (dsl.reduction.ptx_program) proposes, alone or with others, is PTX, and another text.

Modules tested here: dsl/reduction/ptx_program.py.
"""

import random

import pytest

from dsl.emulator.ptx.parse import parse
from dsl.emulator.ptx.syntax import PtxError
from dsl.reduction.passes import ptx_passes
from dsl.reduction.passes.passes import PTX
from dsl.reduction.program import Refused
from dsl.reduction.ptx_program import PtxProgram

TEXT = """\
// ü: made by hand
.version 8.0
.target sm_90
.address_size 64
.file 1 "a // b.py"
.global .align 4 .b8 unused[4];
.shared .align 4 .b8 tile[128];

.func (.param .b32 r) twice(.param .b32 x)
{
    .reg .b32 %r<9>;
    ld.param.b32 %r1, [x];
    add.u32 %r2, %r1, %r1;
    st.param.b32 [r], %r2;
    ret;
}
.visible .entry other() .maxntid 128, 1, 1 { ret; }
.visible .entry kernel(
    .param .u64 .ptr .global .align 8 out,
    .param .u32 spare
)
.reqntid 32, 1, 1
.minnctapersm 2
{
    .reg .pred %p<4>;
    .reg .b32 %r<8>, %unused;
    .reg .b64 %rd<4>;
    .loc 1 3 5
    mov.u32 %r1, %tid.x; /* which */ mov.u32 %r2, %r1;
    mov.u32 %r3, 64;
$top:
    setp.lt.u32 %p1, %r2, %r3;
    @!%p1 bra $done;
    { .reg .b32 %inner; add.u32 %inner, %r2, 32; mov.u32 %r2, %inner; }
    bra.uni $top;
$done:
    .pragma "nounroll";
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.v2.b32 [%rd3+4], {%r2, %r3};
    mov.u32 %r5, 7;
$never:
    ret;
}
"""


def edits_of(name, text=TEXT):
    program = PtxProgram(text)
    (one,) = [each for each in PTX if each.name == name]
    return program, list(one.edits(program))


def after(name, about, text=TEXT):
    """The lines that an edit takes away, and those that it brings."""
    program, edits = edits_of(name, text)
    (edit,) = [each for each in edits if each.about == about]
    lines, old = program.apply([edit]).splitlines(), text.splitlines()
    return [line.strip() for line in old if line not in lines], [line.strip() for line in lines if line not in old]


@pytest.mark.parametrize("name", [each.name for each in PTX])
def test_edits_give_other_programs(name):
    program, edits = edits_of(name)
    assert edits
    for edit in edits:
        text = program.apply([edit])
        assert text != TEXT
        parse(text)
    for seed in range(8):
        some = [edit for edit in edits if random.Random(seed).random() < 0.5 or seed == 0]
        try:
            parse(program.apply(some))
        except Refused as refusal:
            assert str(refusal)


def test_only_the_instruction_that_is_named_goes():
    gone, new = after("ptx-instructions", "drop `mov.u32 %r2, %r1;`")
    assert gone == ["mov.u32 %r1, %tid.x; /* which */ mov.u32 %r2, %r1;"]
    assert new == ["mov.u32 %r1, %tid.x; /* which */"]


def test_one_entry_is_left_with_what_it_calls():
    program, edits = edits_of("ptx-functions")
    (edit,) = [each for each in edits if each.about == "only `kernel`"]
    assert [*parse(program.apply([edit])).functions] == ["kernel"]


def test_unread_parts_go():
    assert after("ptx-unread", "drop `mov.u32 %r5, 7;`") == (["mov.u32 %r5, 7;"], [])
    assert after("ptx-labels", "drop the label `$never`") == (["$never:"], [])
    assert after("ptx-parameters", "drop the parameter `spare`")[0][0] == ".param .u32 spare"
    assert after("ptx-functions", "drop `.global .align 4 .b8 unused[4];`")[0] == [".global .align 4 .b8 unused[4];"]


def test_a_guarded_branch_is_always_taken():
    assert after("ptx-guards", "always `@!%p1 bra $done;`") == (["@!%p1 bra $done;"], ["bra $done;"])


def test_a_copy_becomes_what_it_copies():
    gone, new = after("ptx-copies", "`64` in place of `%r3`")
    assert "mov.u32 %r3, 64;" in gone
    assert "setp.lt.u32 %p1, %r2, 64;" in new


def test_text_that_is_not_ptx_is_refused():
    for text in ("kernel", ".version 8.0\n.entry", ".version 8.0\n.target sm_90\n.entry a() { add"):
        with pytest.raises(PtxError):
            PtxProgram(text)
    assert list(ptx_passes.notes(PtxProgram(""))) == []
