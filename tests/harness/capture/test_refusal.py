"""Captures of functions whose text is in no file: cells of a notebook and executed text."""

from pathlib import Path

import pytest

from tests.harness.capture.commands import captured

PROGRAM = Path(__file__).with_name("program_of_cells.py")


@pytest.mark.parametrize(
    "what",
    ["cells", pytest.param("executed", marks=pytest.mark.slow), pytest.param("in_a_module", marks=pytest.mark.slow)],
)
def test_a_class_of_a_text(tmp_path, what):
    text = captured(tmp_path, PROGRAM, what, "--kernel", "Scaled")
    assert "SIZE = 8" in text and "return SIZE - 5" in text and "return 1" not in text and "UNUSED" not in text


def test_text_that_python_alone_has(tmp_path):
    """`python -m dsl` keeps what a program executes."""
    assert "def scale_kernel(" in captured(tmp_path, PROGRAM, "unknown")
