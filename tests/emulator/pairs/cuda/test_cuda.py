"""Mistakes in CUDA C++ compiled by nvcc: at the default seed each wrong kernel is found at the author's line, with a fix in
the words of CUDA C++, and each right one is silent and computes what numpy does.

nvcc's PTX is kept next to the sources. If this nvcc is installed, it is made again and compared, and the edits that
findings propose are compiled and run.
"""

from __future__ import annotations

import re
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

from tests.edits import applied
from tests.emulator.pairs.cuda import nvcc
from tests.emulator.pairs.cuda.launches import PAIRS
from tests.emulator.pairs.launched import Launch

CASES = [pytest.param(name, pair, id=pair.kernel) for name, pairs in PAIRS.items() for pair in pairs]
EDITS = {"blocks": 2, "flags": 4, "copies": 5, "clusters": 2}
_BRANCH = re.compile(r"#if(n?)def RIGHT\n(.*?)(?:#else\n(.*?))?#endif\n", re.DOTALL)


def source_of(name: str, is_right: bool) -> str:
    """A source without the lines of the other one, which are empty."""

    def chosen(branch: re.Match) -> str:
        arms = [branch[2], branch[3] or ""]
        other = (branch[1] == "n") != is_right
        arms[other] = "\n" * arms[other].count("\n")
        return "\n" + arms[0] + ("\n" if branch[3] is not None else "") + arms[1] + "\n"

    return _BRANCH.sub(chosen, (nvcc.FOLDER / f"{name}.cu").read_text())


@pytest.fixture
def ptx(tmp_path):
    """The kept PTX of a source, which is in this test's folder."""

    def of(name: str, is_right: bool) -> str:
        file = tmp_path / f"{name}.cu"
        file.write_text(source_of(name, is_right))
        return nvcc.kept(nvcc.FOLDER / f"{name}.cu", is_right).read_text().replace(f'"{name}.cu"', f'"{file}"')

    return of


def found(pair: Launch, text: str):
    fault = pair.fault(text)
    assert fault is not None, "nothing is found"
    return fault


@pytest.mark.parametrize("name, pair", CASES)
def test_the_wrong_one_is_found(name, pair, ptx):
    fault = found(pair, ptx(name, False))
    marked = [
        n for n, row in enumerate(source_of(name, False).splitlines(), 1) if row.endswith(f"found: {pair.kernel}")
    ]
    assert [fault.kind, fault.place.line] == [pair.kind, *marked], str(fault)
    assert pair.text in str(fault) and pair.fix in str(fault).partition("\nfix: ")[2], str(fault)
    assert "cute." not in str(fault), str(fault)


@pytest.mark.parametrize("name, pair", CASES)
def test_the_right_one_is_silent(name, pair, ptx):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = pair.run(ptx(name, True))
    np.testing.assert_allclose(result, pair.expected, rtol=1e-5)


@pytest.fixture(scope="module")
def compiler(needs) -> None:
    """nvcc of the version that made the PTX."""
    command = needs("nvcc", "nvidia-cuda-toolkit"), "--version"
    if nvcc.VERSION not in subprocess.run(command, capture_output=True, text=True, timeout=600).stdout:
        pytest.skip(f"this test needs nvcc {nvcc.VERSION}")


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
def test_the_ptx_is_of_the_source(name, compiler):
    source = nvcc.FOLDER / f"{name}.cu"
    for is_right in (False, True):
        assert nvcc.compiled(source, is_right) == nvcc.kept(source, is_right).read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
def test_the_edits_cure(name, compiler, ptx, tmp_path):
    """All edits of a source are made at once, and each kernel that had one runs again."""
    wrong, text = ptx(name, False), source_of(name, False)
    edits = [(pair, edit) for pair in PAIRS[name] if (edit := found(pair, wrong).finding.get("edit"))]
    assert len(edits) == EDITS[name]
    for _, edit in sorted(edits, key=lambda each: -each[1]["line"]):
        assert Path(edit["file"]).name == f"{name}.cu"
        text = applied(text, edit)
    edited = tmp_path / f"{name}.cu"
    edited.write_text(text)
    made = nvcc.compiled(edited, False)
    for pair, _ in edits:
        np.testing.assert_allclose(pair.run(made), pair.expected, rtol=1e-5)
