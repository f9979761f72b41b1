"""The spots between two lines of PTX."""

import pytest

from dsl.emulator.diagnosis.edits.ptx_lines import PtxLines

TEXT = """\
ld.param.u64 %a, [x];
@%p bra S; // bra L
st.shared.u32 [%s], 1;
S:
mov.u32 %r, 0;
L:
st.shared.u32 [%s], %r;
ld.shared.u32 %r1, [%s+4];
add.u32 %r, %r, 1;
@%q bra L;
@%p bra E;
bar.sync 0;
E:
st.global.u32 [%a], %r;
ret;
}
"""


@pytest.mark.parametrize(
    ("first", "second", "line", "conditional"),
    [(3, 8, 4, False), (3, 4, 3, True), (7, 8, 7, False), (12, 14, 13, False), (14, 15, 14, False)],
)
def test_the_first_line_after_which_all_threads_come_by(first, second, line, conditional):
    spot = PtxLines(TEXT).after(first, second)
    assert spot is not None and (spot.line, spot.is_before, spot.conditional) == (line, False, conditional)


def test_no_line_is_between():
    assert PtxLines(TEXT).after(8, 8) is PtxLines(TEXT).after(8, 7) is None


def test_right_before_a_line():
    lines = PtxLines(TEXT)
    assert (
        lines.before(3, 8).line == 7
        and lines.at_statement(8, True).line == 7
        and lines.at_statement(8, False).line == 8
    )
    assert lines.before(3, 6) is lines.before(8, 8) is None, "others come to a label by branches"


def test_the_end_of_a_round_is_before_the_branch_back():
    lines = PtxLines(TEXT)
    assert lines.end_of_round(8, 7).line == lines.end_of_round(7, 8).line == 8
    assert lines.end_of_round(3, 7) is lines.end_of_round(12, 14) is None


def test_the_end_of_the_kernel_is_before_its_return():
    assert PtxLines(TEXT).end_of_function(8).line == 14
    assert PtxLines(TEXT.replace("E:\nst.global.u32 [%a], %r;\nret;", "E: ret;")).end_of_function(8) is None
