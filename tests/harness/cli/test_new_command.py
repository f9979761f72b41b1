"""`repro new --language`: a first repro of each language passes at once."""

import importlib.util
import json
import shutil

import pytest

from harness.claim.repro_file import is_repro
from harness.cli import main, new_command

QUICK = {"ptx", "qd"}
NEEDS_NVCC = pytest.mark.skipif(not shutil.which("nvcc"), reason="needs nvcc")


def languages() -> list[object]:
    marks = {name: [] if name in QUICK else [pytest.mark.slow] for name in new_command.LANGUAGES}
    marks["cu"].append(NEEDS_NVCC)
    return [pytest.param(name, marks=mark) for name, mark in marks.items()]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


@pytest.mark.parametrize("language", languages())
def test_a_first_repro_passes(language, folder, capfd):
    _, modules, _ = new_command.LANGUAGES[language]
    in_another = language in new_command.IN_THEIR_OWN and new_command._has_uv()  # environment
    if not in_another and (missing := [module for module in modules if not new_command._has(module)]):
        pytest.skip(f"needs {missing[0]}")
    assert main(["new", "ask/first", "--language", language]) == 0, capfd.readouterr()
    written = [path for path in folder.glob("repros/ask/first.*") if is_repro(path.read_bytes())]
    goldens = list(folder.glob("repros/ask/goldens/*/*.json"))
    assert len(written) == 1 and goldens and all(json.loads(one.read_text())["outcome"] == "outputs" for one in goldens)
    assert main(["new", "ask/first", "--language", language]) == 2


def test_a_missing_package_is_named_with_its_command(folder, monkeypatch, capfd):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(new_command, "_has_uv", lambda: False)
    assert main(["new", "first", "--language", "numba"]) == 2
    said = capfd.readouterr().err
    assert "--language numba needs numba.cuda" in said and "uv add --dev 'numba-cuda[cu13]'" in said
    assert not (folder / "repros").exists()


def test_numpy_is_an_option_of_cute(folder, capfd):
    assert main(["new", "first", "--language", "qd", "--numpy"]) == 2
    assert "--numpy is for CuTe DSL" in capfd.readouterr().err
