"""CHECK lines of a repro against texts of a compiler: a match gives no text, a mismatch shows the line."""

import pytest

from harness.claim.check_lines import failure

BODY = """
import numpy

def kernel():
    # CHECK-PTX: ld.global
    # CHECK-PTX(width=8)-NEXT: add.s32
    # CHECK-PTX-NOT: st.local
    pass

def run(width):
    return {}
"""


@pytest.fixture
def said(write):
    repro = write(BODY, "params = { width = [8, 16] }")
    eight, sixteen = repro.cases()

    def said(ptx: str | None, case=eight, target: str = "PTX") -> str:
        return failure(case, [{"ptx": ptx, "sass": None}], target)

    said.sixteen = sixteen
    return said


def test_lines_that_match_give_no_text(said):
    assert said("ld.global.b32 %r1;\nadd.s32 %r2;\n") == ""
    assert said("nothing here", target="SASS") == ""  # no line is about SASS


def test_a_line_is_of_the_cases_that_it_names(said):
    text = "ld.global.b32 %r1;\nmul.lo.s32 %r2;\n"
    assert said(text, said.sixteen) == ""
    lines = said(text).splitlines()
    assert lines[0].endswith("one.py:10: CHECK_FAILED") and lines[1] == "    # CHECK-PTX(width=8)-NEXT: add.s32"
    assert lines[2].startswith("      ^") and set(lines[2].split()[0]) == {"^"}


def test_a_forbidden_line_fails(said):
    lines = said("ld.global.b32 %r1;\nadd.s32 %r2;\nst.local.b32 %r1;\n").splitlines()
    assert lines[0].endswith("CHECK_FAILED") and lines[1] == "    # CHECK-PTX-NOT: st.local"


def test_without_a_kernel_there_is_nothing_to_match(said):
    assert said("") == "the CHECK-PTX lines have nothing to match: the case compiled no kernel"
