"""Parts that are sent to a host: our code as a wheel, and an agent that an old Python can run."""

import ast
import fcntl
import hashlib
import importlib.metadata
import io
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from harness import cli
from harness.host.connection import agent_start
from harness.host.environment import own_wheel, remote_env

HARNESS = Path(own_wheel.__file__).parents[2]


def test_the_wheel_holds_the_code_that_runs():
    ours = own_wheel.ours()
    with zipfile.ZipFile(io.BytesIO(ours.wheel)) as archive:
        assert archive.read("harness/run/supervisor.py") == (HARNESS / "run/supervisor.py").read_bytes()
        assert {"dsl/__init__.py", "harness/first_repro.txt"} <= set(archive.namelist())
        assert not [name for name in archive.namelist() if "__pycache__" in name]
    assert own_wheel.Package(dict(reversed(ours.files.items()))).sha256 == ours.sha256
    assert own_wheel.Package(ours.files | {"dsl/x.py": b""}).sha256 != ours.sha256


def test_uv_takes_the_wheel(tmp_path, uv):
    ours = own_wheel.ours()
    path = tmp_path / f"gpu_repro-{importlib.metadata.version('gpu-repro')}-py3-none-any.whl"
    path.write_bytes(ours.wheel)
    uv("pip", "install", "--quiet", "--no-deps", "--target", tmp_path / "there", path)
    assert (tmp_path / "there/dsl/span.py").exists()


def test_the_needs_of_a_host():
    names = [own_wheel.name_of(need) for need in own_wheel.needs()]
    assert {"numpy", "llvmlite"} <= set(names) and not {"torch", "pytest", "fabric", "filecheck"} & set(names)
    assert own_wheel.torch().startswith("torch>=")


@pytest.mark.parametrize("name", agent_start.SENT)
def test_the_agent_is_python_3_8(name):
    tree = ast.parse((HARNESS / f"{name.replace('.', '/')}.py").read_text(), feature_version=(3, 8))
    found = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not found & {"removeprefix", "removesuffix", "pairwise"}
    if name != "run.supervisor":  # of which the agent uses the frames alone
        assert "waitstatus_to_exitcode" not in found
        keywords = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
        assert "strict" not in keywords


def test_a_kept_package_is_whole_or_not_there(tmp_path):
    cache, wheel = str(tmp_path), own_wheel.ours().wheel
    with pytest.raises(remote_env.Refused, match="its hash differs"):
        remote_env.keep_package(cache, "0" * 64, wheel)
    assert remote_env.packages(cache) == []
    sha256 = hashlib.sha256(wheel).hexdigest()
    for _ in range(2):
        remote_env.keep_package(cache, sha256, wheel)
    assert [path.name for path in (tmp_path / "packages").iterdir()] == [sha256]
    found = subprocess.run(
        [sys.executable, "-P", "-c", "import harness; print(harness.__file__)"],
        env={"PYTHONPATH": str(tmp_path / "packages" / sha256)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert sha256 in found.stdout


def test_environments_are_bounded(tmp_path, monkeypatch, capsys):
    day, now = 86400, time.time()

    def made(name, days):
        path = tmp_path / "gpu-repro/envs" / name
        path.mkdir(parents=True)
        (path / "gpu-repro.json").write_text('{"requires": ["numpy"]}')
        os.utime(path / "gpu-repro.json", (now - days * day, now - days * day))

    cache = str(tmp_path / "gpu-repro")
    assert remote_env.prune(cache) == []
    for number in range(remote_env.KEPT_ENVIRONMENTS + 3):
        made(f"e{number:02}", number)
    made("old", 31)
    made("new", 0)
    said = []
    gone = remote_env.prune(cache, note=said.append)
    assert gone == ["e16", "e17", "e18", "old"] or gone == ["e15", "e16", "e17", "e18", "old"]
    assert said[-1] == "removed the environment old, last used 31 days ago"
    assert len(remote_env.environments(cache)) == remote_env.KEPT_ENVIRONMENTS
    lock = os.open(tmp_path / "gpu-repro/envs/e09.lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)  # somebody makes it again
    assert "e09" not in remote_env.prune(cache, 9 * day) and (tmp_path / "gpu-repro/envs/e09/gpu-repro.json").exists()
    os.close(lock)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cli.main(["doctor", "embedded", "--prune", "2"]) == 0
    text = capsys.readouterr().out
    assert "    e01  used 1 days ago: numpy\n" in text and "    e09  now removed\n" in text
    assert "at most 16 are kept, each 30 days unused; sooner: repro doctor HOST --prune DAYS" in text
    assert {one["name"] for one in remote_env.environments(cache)} == {"new", "e00", "e01"}


def test_an_environment_that_is_half_made_is_made_again(tmp_path, monkeypatch):
    made = []

    def make(uv, environment, path, python, note):
        made.append(path)
        Path(python).parent.mkdir(parents=True)
        Path(python).touch()
        if len(made) == 1:
            raise remote_env.Refused("the connection to the index broke")

    monkeypatch.setattr(remote_env, "_make", make)
    monkeypatch.setattr(remote_env, "find_uv", lambda cache: "uv")
    (tmp_path / "packages/1").mkdir(parents=True)
    environment = {"kind": "managed", "requires": ["numpy"], "python": ">=3.11", "torch_index": None, "variables": {}}
    for run, wanted in enumerate((1, 2, 2)):
        if run == 1:
            remote_env._not_made.clear()  # as in the agent of the next run: one run tries once
        try:
            command = remote_env.prepare(environment, str(tmp_path), "1", print)
        except remote_env.Refused:
            assert remote_env.environments(str(tmp_path)) == []
        assert len(made) == wanted
    assert command.argv == [made[0] + "/bin/python"]
    other = environment | {"torch_index": "cpu"}
    assert remote_env.environment_name(other) != remote_env.environment_name(environment)
