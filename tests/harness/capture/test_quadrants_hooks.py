"""Calls of Quadrants kernels, from the program to a file that does what the program did."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.capture.commands import captured

PROGRAM = Path(__file__).with_name("program_of_quadrants.py")


def test_fields_that_a_kernel_and_its_functions_mention(tmp_path):
    text = captured(tmp_path, PROGRAM, "cool", "--kernel", "cool", "--call", "2")
    assert "qd.init(arch=qd.cpu, default_fp=qd.f32)" in text and "unused" not in text and "swap" not in text
    assert '    heat_ = _filled(heat, np.ones((16,), "float32"))\n' in text
    assert 'cool(2.0, out)\n    return {"heat": heat_.to_numpy(), "out": out}' in text
    again = subprocess.run([sys.executable, "x.py"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert again.returncode == 0 and "out = [-1.5 -1.5" in again.stdout  # by the package quadrants itself


def test_vectors_an_array_and_a_result(tmp_path):
    text = captured(tmp_path, PROGRAM, "swap")
    assert 'pairs_ = _filled(pairs, np.zeros((8,), "int32"))' in text
    assert "a = _filled(qd.ndarray(qd.i32, shape=(4,)), _stored_array(" in text
    assert 'return {"pairs": pairs_.to_numpy(), "returned": np.asarray(returned)}' in text


def test_a_method_of_an_object(tmp_path):
    text = captured(tmp_path, PROGRAM, "fill")
    assert "instance = _object(Cells, n=5, a=a)\n    instance.fill(10)" in text


def test_a_finding(tmp_path):
    assert '# outcome = "out_of_bounds"' in captured(tmp_path, PROGRAM, "beyond", "--first-finding")


@pytest.mark.slow
def test_the_package_itself(tmp_path):
    """A program that captures by itself, under the package quadrants on its CPU."""
    text = PROGRAM.read_text().replace(
        "    main(sys.argv[1])", '    with capture("x.py", kernel="swap"):\n        main("swap")'
    )
    (tmp_path / "own.py").write_text("from harness.capture import capture\n" + text)
    for file in ("own.py", "x.py"):
        run = subprocess.run([sys.executable, file], cwd=tmp_path, capture_output=True, text=True, timeout=600)
        assert run.returncode == 0, run.stderr
    assert "returned = 6" in run.stdout and "[ 0 10]" in run.stdout
