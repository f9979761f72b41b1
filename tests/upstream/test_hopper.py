"""The command that makes the table of NVIDIA's Hopper programs: its report of one run, and its usage."""

import pytest

from tests.upstream import hopper


@pytest.mark.parametrize(
    "status, output, verdict",
    [
        (0, "PASS\n", "passed"),
        (1, "a/k.py:176:21: RACE\n    copy(\n", "`RACE`"),
        (1, "Traceback (most recent call last):\ntorch.cuda.OutOfMemoryError: no room\n", "`OutOfMemoryError`"),
        (1, "error: libNVVM failed (error 9: NVVM_ERROR_COMPILATION), libNVVM\n", "does not compile"),
        (1, "dsl.emulator.ptx.syntax.Unsupported: a/k.py:4:1: UNSUPPORTED_PTX `x.y`: no\n", "`UNSUPPORTED_PTX`"),
        (2, "usage: k.py [-h]\n", "status 2"),
    ],
)
def test_the_verdict_of_a_run(status, output, verdict):
    assert hopper.verdict_of(status, output) == verdict


def test_a_folder_that_is_not_a_clone_is_refused(tmp_path, capsys):
    assert hopper.main([str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"hopper.py: {tmp_path} has no examples/python/CuTeDSL\n"


@pytest.mark.slow
def test_no_program_is_in_the_table_twice():
    names = [program.name for program in hopper.PROGRAMS]
    assert len(names) == len({*names}) >= 45
