"""Commands that cannot be watched."""

import io

import pytest

from harness.cli import main, watching
from tests.harness.conftest import repro_text


@pytest.mark.parametrize(
    "arguments, told",
    [
        (
            ["one.py", "--watch", "--update-goldens"],
            "--watch and --update-goldens do not go together: run once with --update-goldens",
        ),
        (["one.py", "--watch", "--ptx"], "--watch and --ptx do not go together: run once with --ptx"),
        (["one.py", "--watch", "--json"], "--watch and --json do not go together: run once with --json"),
        (
            ["one.py", "--watch", "--coverage", "c"],
            "--watch and --coverage do not go together: run once with --coverage",
        ),
        (["lost.py", "--watch"], "lost.py: there is no such file"),
        (["gone.py", "--watch"], "there is no file gone.py; did you mean `one.py`?"),
        (["-", "--watch"], "--watch needs a file that can be saved, not -"),
        (["script.py", "--watch", "--sass"], "--watch and --sass do not go together: run once with --sass"),
    ],
)
def test_commands_that_cannot_be_watched(tmp_path, monkeypatch, capsys, arguments, told):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"print(1)")))
    (tmp_path / "one.py").write_text(repro_text("def run(): ..."))
    (tmp_path / "script.py").write_text("print(1)\n")
    assert main(["run", *arguments]) == 2 and watching
    assert capsys.readouterr().err.strip().endswith(told)
