"""Mistakes in Triton kernels: at the default seed each wrong kernel is found at the author's line, with a fix in Triton's
words, and each right one is silent and computes what numpy does.

Triton's PTX is kept next to the kernels. If this Triton is installed, it is made again and compared, and the edits that
findings propose are compiled and run.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from dsl.emulator import SameValueRace
from tests.edits import applied
from tests.emulator.pairs.triton import compiled
from tests.emulator.pairs.triton.launches import PAIRS

CASES = [pytest.param(pair, id=pair.kernel) for pair in PAIRS]
EDITS = ["reversed_tile", "locked_sum", "split_k", "last_program", "scope_of_block", "overlapped"]
pytestmark = pytest.mark.filterwarnings("ignore::dsl.emulator.SameValueRace", "ignore::UserWarning:triton")


@pytest.fixture
def ptx(tmp_path):
    """The kept PTX of a kernel, whose source is in this test's folder."""
    file = tmp_path / "kernels.py"
    file.write_text(compiled.SOURCE.read_text())

    def of(name: str, is_right: bool) -> str:
        return compiled.kept(name, is_right).read_text().replace('"kernels.py"', f'"{file}"')

    return of


def found(pair, ptx):
    fault = pair.fault(ptx(pair.kernel, False), before=ptx("before", False))
    assert fault is not None, "nothing is found"
    return fault


@pytest.mark.parametrize("pair", CASES)
def test_the_wrong_one_is_found(pair, ptx):
    fault, text = found(pair, ptx), compiled.SOURCE.read_text()
    marked = [n for n, row in enumerate(text.splitlines(), 1) if row.endswith(f"found: {pair.kernel}")]
    assert [fault.kind, fault.place.line] == [pair.kind, *marked], str(fault)
    assert pair.text in str(fault) and pair.fix in str(fault).partition("\nfix: ")[2], str(fault)
    assert "cute." not in str(fault), str(fault)


@pytest.mark.parametrize("pair", CASES)
def test_the_right_one_is_silent(pair, ptx):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SameValueRace)  # all lanes store a sum that all have
        result = pair.run(ptx(pair.kernel, True), before=ptx("before", True))
    np.testing.assert_array_equal(result, pair.expected)


@pytest.fixture
def triton(needs_module, tmp_path, monkeypatch):
    """Triton of the version that made the PTX."""
    needs_module("triton", "dev")
    import triton

    # after the import: where a session of an earlier test is still open, the import itself sets these
    for name in ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    if triton.__version__ != compiled.VERSION:
        pytest.skip(f"this test needs triton {compiled.VERSION}")


@pytest.mark.parametrize("name", compiled.KERNELS)
def test_the_ptx_is_of_the_source(name, triton):
    for is_right in (False, True):
        assert compiled.compiled(name, is_right) == compiled.kept(name, is_right).read_text()


@pytest.mark.parametrize("pair", CASES)
def test_the_edit_cures(pair, triton, ptx, tmp_path):
    edit = found(pair, ptx).finding.get("edit")
    assert (edit is not None) == (pair.kernel in EDITS)
    if edit is not None:
        edited = tmp_path / "edited.py"
        edited.write_text(applied(compiled.SOURCE.read_text(), edit))
        result = pair.run(compiled.compiled(pair.kernel, False, edited), before=ptx("before", False))
        np.testing.assert_array_equal(result, pair.expected)
