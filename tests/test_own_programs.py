"""The programs inside the tests under NVIDIA's compiler: a part here, all of them by `second_opinion.py --all`."""

import pytest

from tests import own_programs

PART = ["tests/cutlass/test_nested.py", "tests/tile/tensor/test_tensor.py"]


@pytest.mark.slow
def test_programs_give_the_same_under_both_compilers(installed, tmp_path):
    found = own_programs.compare(PART, tmp_path)
    kinds = {made.id: made.kind for made in found}
    assert {"differs", "died", "lacks"}.isdisjoint(kinds.values()), own_programs.report(found)
    assert list(kinds.values()).count("equal") > 8, own_programs.report(found)
    assert kinds["tests/cutlass/test_nested.py::test_early_exits_in_a_kernel_inside_a_jit_function"] == "refused"


def test_a_difference_is_reported():
    ours = {"id": "t", "outcome": "passed", "programs": 1, "printed": "", "arrays": [{"sha256": "1", "shown": "[1]"}]}
    theirs = {**ours, "arrays": [{"sha256": "2", "shown": "[2]"}]}
    assert own_programs.verdict(ours, ours).kind == "equal"
    assert own_programs.verdict(ours, theirs) == own_programs.Verdict("t", "differs", "[1], and [2]")
    failed = {"outcome": "failed", "raised": "AssertionError", "error": "assert 1 == 2"}
    assert own_programs.verdict(ours, {**ours, **failed}).kind == "equal so far"
    assert own_programs.verdict(ours, {**theirs, **failed}).kind == "differs"
    assert own_programs.verdict(ours, {**ours, "outcome": "failed", "refused": "UNSUP_X"}).detail == "UNSUP_X"
    assert own_programs.verdict(ours, {"id": "t", "outcome": "died: SIGSEGV"}).kind == "died"
