"""A command that cannot do as asked prints one sentence and ends with exit status 2, never a traceback."""

import pytest

from harness import cli

REPRO = '''"""Gives nothing."""

# /// script
# dependencies = ["numpy"]
# [tool.repro]
# params = { n = [1, 2] }
# ///


def run(n):
    return {}
'''


@pytest.mark.parametrize("arguments, text", [
    (["new", "there.py"], "there.py exists already; `repro run repros/there.py` runs it"),
    (["run", "repros/there.py", "-p", "n=x"], "-p n=x: 'x' is not of type int; declared are 1, 2"),
])  # fmt: skip
def test_one_sentence_and_no_traceback(arguments, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "repros").mkdir()
    (tmp_path / "repros" / "there.py").write_text(REPRO)
    assert cli.main(arguments) == 2
    printed = capsys.readouterr()
    assert text in printed.err and "Traceback" not in printed.err + printed.out
