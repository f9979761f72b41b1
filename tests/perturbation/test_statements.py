"""PTX text as statements: every instruction once, with offsets that give its text back."""

import pytest

from dsl.perturbation.statements import BadPtx, statements

PTX = """//
.version 8.0
.target sm_90a, debug
.address_size 64
.file 1 "/home/a/kernel.py"
.extern .shared .align 16 .b8 pool[];
.global .align 4 .b8 table[4] = {1, 2, 3, 4};
.section .debug_str { .b8 104,105 ; $L__info: .b8 0 }
.func (.param .b32 r) helper(.param .b32 a) ;
.visible .func (.param .b32 r) helper(.param .b32 a)
{ .reg .b32 %r<3>; ld.param.b32 %r1, [a]; st.param.b32 [r], %r1; ret; }
.visible .entry k(
    .param .align 8 .b8 x[8]
)
.maxntid 128, 1, 1
.minnctapersm 1
{
  .reg .b32 %r<9>; .reg .pred %p<2>;
  .loc 1 10 5
$L__BB0_1: .pragma "nounroll; }";
  .loc 1 12 7, function_name $L__info+0, inlined_at 1 10 5
  { .reg .pred %q; @!%p1 bar.sync 0; } // a comment; with { in it
  mov.b64 {%r1, %r2}, %rd1; /* ld.global; */
TABLE: .branchtargets $L__BB0_1, DONE;
  brx.idx %r3, TABLE;
DONE: ld.global.v4.b32 {%r1, %r2,
     %r3, %r4}, [%rd1];
  ret;
}
"""


def test_every_instruction_with_its_place_and_text():
    found = [(each.function, each.line, each.opcode) for each in statements(PTX)]
    assert found == [
        *(("helper", 0, name) for name in ("ld.param.b32", "st.param.b32", "ret")),
        ("k", 12, "bar.sync"),
        *(("k", 12, name) for name in ("mov.b64", "brx.idx", "ld.global.v4.b32", "ret")),
    ]
    assert [each.text for each in statements(PTX)][3] == "@!%p1 bar.sync 0;"


def test_offsets_point_into_the_text():
    for each in statements(PTX):
        assert " ".join(PTX[each.start : each.end].split()) == each.text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".entry k() { bar.sync 0;", "PTX line 1: the body of `k` does not end"),
        (".entry k()\n{\n bar.sync 0 }", "PTX line 3: a semicolon is missing"),
        ("\n.visible .entry k(", "PTX line 2: this does not end: .visible .entry k("),
    ],
)
def test_text_that_is_not_ptx_is_refused(text, message):
    with pytest.raises(BadPtx) as caught:
        list(statements(text))
    assert str(caught.value) == message
