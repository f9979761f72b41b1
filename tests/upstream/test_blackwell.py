"""The list of NVIDIA's Blackwell programs: complete, and each for a model with the features it needs."""

import pytest

from dsl import gpu_models
from tests.upstream import blackwell
from tests.upstream.hopper import verdict_of


def test_the_74_programs_and_three_without_products():
    names = [program.path for program in blackwell.PROGRAMS]
    assert len(names) == len({*names}) == 74 + 3
    assert {program.needs for program in blackwell.PROGRAMS} == {*blackwell.FEATURES}
    assert {program.model for program in blackwell.PROGRAMS} == {*gpu_models.BLACKWELL}


def test_a_folder_that_is_not_a_clone_is_refused(tmp_path, capsys):
    assert blackwell.main([str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"blackwell.py: {tmp_path} has no examples/python/CuTeDSL\n"


@pytest.mark.parametrize("kind", ["TYPE_UNSTABLE_JOIN", "CONTAINER_STRUCTURE_CHANGED"])
def test_a_program_that_nvidias_compiler_rejects_does_not_compile(kind):
    output = f"\x1b[91m\x1b[1merror[{kind}]:\x1b[0m `x` has type `Int64`\n   --> a.py:7\ncutlass.X.DSLUserCodeError\n"
    assert verdict_of(1, output) == "does not compile"
