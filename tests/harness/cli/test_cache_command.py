"""Files kept on this machine: their sizes, and that only files that can be made again are removed."""

import fcntl
import json
import os

import pytest

from harness.cli import main
from tests.harness.documents import result_of


@pytest.fixture
def kept(project, tmp_path, monkeypatch):
    """A cache with one file of each kind, an environment in use, results that wait, and runs of scripts."""
    cache, state = tmp_path / "cache/gpu-repro", tmp_path / "state/gpu-repro/observations"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("GPU_REPRO_CACHE_DIR", raising=False)
    names = ("ab/program", "cd/program", "looked_at", "packages/1/x.py", "files/2/a.whl", "bin/uv", "bytecode/x.pyc")
    for path in (*(cache / name for name in names), project / ".repro/pending/one.json", state / "a.jsonl"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"." * 1000)
    for name in ("used", "unused"):
        (cache / "envs" / name).mkdir(parents=True)
        (cache / "envs" / name / "gpu-repro.json").write_text('{"requires": []}')
    lock = os.open(cache / "envs/used.lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    yield cache
    os.close(lock)


def test_sizes_are_listed_by_kind(kept, project, capsys):
    assert main(["cache", "size", "--json"]) == 0
    rows = {one["name"]: one for one in result_of(capsys.readouterr().out)["kept"]}
    assert rows["compiled programs"]["bytes"] == 3000 and rows["compiled programs"]["path"] == str(kept)
    assert rows["packages of this project"]["bytes"] == rows["uv"]["bytes"] == 1000
    lasting = {name for name, one in rows.items() if not one["can_be_made_again"]}
    assert lasting == {"runs of the emulator, results that wait", "runs of scripts outside of projects"}
    assert main(["cache", "size"]) == 0
    assert f"    3 kB  compiled programs                        {kept}\n" in capsys.readouterr().out


def test_only_what_can_be_made_again_is_removed(kept, project, tmp_path, capsys):
    """An environment that something uses stays, and is named; so do results and runs of scripts."""
    assert main(["cache", "clean", "--json"]) == 3
    table = json.loads(capsys.readouterr().out)["result"]
    assert table["left"] == [str(kept / "envs")] and table["freed_bytes"] > 7000
    assert sorted(path.name for path in kept.iterdir()) == ["envs"]
    assert (kept / "envs/used/gpu-repro.json").exists() and not (kept / "envs/unused").exists()
    assert (project / ".repro/pending/one.json").exists() and (
        tmp_path / "state/gpu-repro/observations/a.jsonl"
    ).exists()


def test_files_of_others_in_a_folder_that_the_user_chose_stay(kept, tmp_path, monkeypatch, capsys):
    chosen = tmp_path / "mine"
    monkeypatch.setenv("GPU_REPRO_CACHE_DIR", str(chosen))
    entry, theirs = chosen / "ab" / ("c" * 62), [chosen / "ab/notes.txt", chosen / "thesis/one.tex", chosen / "list"]
    for path in (entry, *theirs):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"." * 500)
    assert main(["cache", "size", "--json"]) == 0
    rows = result_of(capsys.readouterr().out)["kept"]
    assert [one["bytes"] for one in rows if one["path"] == str(chosen)] == [500]
    main(["cache", "clean"])
    assert not entry.exists() and all(path.exists() for path in theirs)


def test_a_machine_without_anything(project, tmp_path, monkeypatch, capsys):
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "empty"))
    assert main(["cache", "size"]) == main(["cache", "clean"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("nothing is kept on this machine\nremoved 0 bytes\n")
