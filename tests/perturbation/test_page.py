"""The commands of docs/perturb.md print what the page shows."""

import re
import shlex
from pathlib import Path

import pytest

from harness.cli import main

PAGE = (Path(__file__).parents[2] / "docs/perturb.md").read_text()
PROGRAM = re.search(r"^```python\n# file: repros/exchange.py\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1]
STEPS = [block.split("\n", 1) for block in re.findall(r"^```\n\$ (.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)]


@pytest.mark.parametrize(("command", "shown"), STEPS, ids=["--perturb", "--delays"])
def test_a_command_prints_what_is_shown(command, shown, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "repros").mkdir()
    (tmp_path / "repros/exchange.py").write_text(PROGRAM)
    assert main([*shlex.split(command)[1:], "--update-goldens"]) == 0
    printed = iter(capsys.readouterr().out.splitlines())
    for line in shown.splitlines():
        assert line in printed, line
