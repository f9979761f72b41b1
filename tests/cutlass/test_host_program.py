"""Host-only jit functions print the same under nvidia-cutlass-dsl and here: two compilers, one text."""

from pathlib import Path

import pytest

from tests.recorded import output, recorded

HERE = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.parametrize("program, lines", [("host_program.py", 70), ("frontend_program.py", 180)])
def test_prints_what_upstream_prints(program, lines):
    theirs = recorded(HERE / program)
    assert theirs.count("\n") >= lines
    assert output(HERE / program, "-m", "dsl") == theirs
