"""The block of a repro's file, as `python -m dsl` reads it."""

import pytest

from dsl import repro_block
from harness.claim import findings, repro_file

HEAD = '# /// script\n# [tool.repro]\n{}# ///\n"""It is so."""\ndef run():\n    return {{}}\n'
SET = '# compare = { out = "set" }\n# allowed = { out = [1] }\n'


@pytest.mark.parametrize(
    "lines, checks",
    [
        ("", "all"),
        ('# outcome = "race"\n', "all"),
        ("# runs = 3\n", "none"),
        ("# poison = true\n", "none"),
        (SET, "none"),
        ('# runs = 3\n# outcome = "race"\n', "race"),
        ('# runs = 3\n# outcome = "undefined_read"\n', "undefined"),
    ],
)
def test_the_default_of_check_is_the_one_of_repro_run(tmp_path, lines, checks):
    text = HEAD.format(lines)
    assert repro_block.checks(text) == checks
    path = tmp_path / "one.py"
    path.write_text(text)
    repro = repro_file.read(path)
    assert findings.sought(None, repro.outcome, repro.varies) in (checks, {"all": "race,undefined"}.get(checks))


@pytest.mark.parametrize("text", ["x = 1\n", HEAD.format("# runs = = 3\n"), HEAD.format('# outcome = ["race"]\n')])
def test_a_file_without_a_block_or_with_a_wrong_one_is_checked(text):
    assert repro_block.checks(text) == "all"


def test_the_table_of_a_file():
    assert repro_block.table(HEAD.format("# params = { n = [1, 2] }\n")) == {"params": {"n": [1, 2]}}
    assert repro_block.table("x = 1\n") == {}


def test_the_block_of_cuda_is_in_its_comments():
    for text in (
        '// /// script\n// [tool.repro]\n// nvcc = ["-G"]\n// ///\n',
        '/* /// script\n * [tool.repro]\n * nvcc = ["-G"]\n * ///\n */\n',
        '/*\n/// script\n[tool.repro]\nnvcc = ["-G"]\n/// */\n',
    ):
        assert repro_block.table_of_cuda(text + "int main() {}\n") == {"nvcc": ["-G"]}
    assert repro_block.table_of_cuda("int main() {}\n") == {}
