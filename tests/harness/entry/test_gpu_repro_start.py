"""The door of the command and the plugin: where a repository has packages named as ours, its tests still run."""

import signal
import subprocess
import sys
from pathlib import Path

import gpu_repro_start
import pytest

from harness import plugin

TEST = "from {name}.tool import f\ndef test_f(): assert f() == 1\n"


@pytest.fixture(params=["harness", "dsl"])
def theirs(request, tmp_path, monkeypatch):
    """A repository with a package of that name, and the name."""
    for folder in (tmp_path / request.param, tmp_path / "checks"):
        folder.mkdir()
    (tmp_path / request.param / "__init__.py").touch()
    (tmp_path / request.param / "tool.py").write_text("def f(): return 1\n")
    (tmp_path / "checks/test_f.py").write_text(TEST.format(name=request.param))
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return tmp_path, request.param


def test_the_plugin_is_ours_where_nothing_is_in_the_way(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert gpu_repro_start.plugin is plugin and gpu_repro_start.foreign() == ""
    with pytest.raises(AttributeError):
        gpu_repro_start.plugins


@pytest.mark.parametrize("start", [["-m", "pytest"], ["-c", "import pytest, sys; sys.exit(pytest.main())"]])
def test_tests_of_a_repository_with_packages_of_our_names_run(theirs, start):
    root, name = theirs
    done = subprocess.run([sys.executable, *start, "checks"], cwd=root, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
    assert (
        f"gpu-repro: {root / name} has the name of the package `{name}` of gpu-repro, so its plugin is off"
        in done.stdout
    )


def test_an_option_of_the_plugin_shows_why_it_is_off(theirs):
    root, name = theirs
    command = [sys.executable, "-m", "pytest", "checks", "--gpu-host", "p1"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=600)
    assert done.returncode == 4 and f"{root / name} has the name of the package" in done.stderr, done.stderr
    assert "fix: install the command apart from it" in done.stderr and "Traceback" not in done.stderr


def test_the_command_names_the_package_in_its_way(theirs, capsys, monkeypatch):
    root, name = theirs
    if name == "harness":
        monkeypatch.syspath_prepend(str(root))
        code = "import gpu_repro_start, sys; sys.exit(gpu_repro_start.main())"
        done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=600)
        assert done.returncode == 3 and done.stderr.startswith(f"repro: `harness` is the package in {root / name}, not")
    else:
        monkeypatch.setattr(sys, "argv", ["repro", "--version"])
        with pytest.raises(SystemExit) as ended:
            gpu_repro_start.main()
        assert ended.value.code in (0, None) and capsys.readouterr().out.startswith("gpu-repro ")


def test_a_checkout_of_ours_is_not_in_the_way(tmp_path, monkeypatch):
    """As the worktrees of `repro bisect` are."""
    ours = Path(plugin.__file__).parent
    (tmp_path / "harness").symlink_to(ours)
    (tmp_path / "dsl").symlink_to(ours.parent / "dsl")
    monkeypatch.chdir(tmp_path)
    assert gpu_repro_start.foreign() == ""


INTERRUPTED = """
import os, signal, sys
import gpu_repro_start

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "harness.cli.document":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
signal.signal(signal.SIGINT, signal.HANDLER)
sys.argv = ["repro", "--version"]
gpu_repro_start.main()
"""


def test_ctrl_c_while_modules_load():
    """It ends without a traceback; a program that ignores Ctrl-C, as under nohup, goes on."""
    for handler, ended in ("default_int_handler", -signal.SIGINT), ("SIG_IGN", 0):
        code = INTERRUPTED.replace("HANDLER", handler)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
        assert (done.returncode, done.stderr) == (ended, "")
