"""The runner of TVM's test files: what it reads of pytest's words, and what is listed."""

from __future__ import annotations

import pytest

from tests.tirx.upstream import run

CASES = """
import pytest, tvm
from tvm.script import tirx as T

def test_good():
    assert tvm.IRModule is not None and T.int32 is not None

@pytest.mark.parametrize("n", [1, 2])
def test_half(n):
    assert n == 1

@pytest.mark.skip(reason="no")
def test_skipped():
    pass
"""


@pytest.mark.slow
def test_a_file_through_the_alias(tmp_path, capsys):
    folder = tmp_path / "tests/python/tirx"
    folder.mkdir(parents=True)
    (folder / "test_cases.py").write_text(CASES)
    found, _ = run.outcomes(folder / "test_cases.py")
    assert {case: outcome for case, outcome in found.items() if outcome != "SKIPPED"} == {
        "test_good": "PASSED",
        "test_half[1]": "PASSED",
        "test_half[2]": "FAILED",
    }
    assert run._report("test_cases", found, {}, False, "")
    assert not run._report("test_cases", found, {"test_half": "why"}, False, "")
    assert run._report("test_cases", found, {"test_half": "why", "test_good": "why"}, False, "")
    assert "test_good is listed as left out, and passes" in capsys.readouterr().out


@pytest.mark.parametrize(
    "case, entry, wanted",
    [
        ("test_a", "test_a", True),
        ("test_a[1]", "test_a", True),
        ("test_ab", "test_a*", True),
        ("test_b", "test_a*", False),
    ],
)
def test_a_pattern_lists_cases(case, entry, wanted):
    assert run.listed(case, {entry: "why"}) is wanted


def test_wrong_usage(tmp_path, capsys):
    assert run.main([str(tmp_path)]) == 2
    assert "is not a clone of TVM" in capsys.readouterr().err
