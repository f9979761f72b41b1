"""A project with a record that tests write line by line, and the command that reads it."""

import hashlib

import pytest

from harness import store
from harness.cli import main
from tests.harness.by_a_gpu import UUID

TEXT = b"# a repro\n"
PTX = ".version 8.0\n.target sm_90\nld.global.u32 %r1;\nadd.s32 %r2, %r1, 1;\nst.global.u32 %r2;\n"


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "repros").mkdir()
    for name in ("shfl_width", "zfill", "vote"):
        (tmp_path / f"repros/{name}.py").write_bytes(TEXT)
    return tmp_path


@pytest.fixture
def put(root):
    """`put("shfl_width", "pass", day, ...)`: append a record; returns its id."""
    run = store.Run()

    def put(name: str, verdict: str, day: int, hardware: bool = False, ptx: str = PTX, **more) -> str:
        device = {"kind": "cuda", "name": "NVIDIA H100", "arch": "sm_90", "uuid": UUID}
        device["driver"] = more.pop("driver", "570")
        compiler = {"name": more.get("asked", "ours"), "version": more.pop("version", "0.1.0")}
        versions = {"numpy": more.pop("numpy", "2.4.6"), "python": "3.11.7"}
        line = {
            "schema": 2, "key": {"repro_sha256": hashlib.sha256(TEXT).hexdigest()}, "repro": f"repros/{name}.py",
            "case": "", "host": "p1" if hardware else "embedded", "hardware": hardware, "asked": "ours",
            "device": device if hardware else {"kind": "emulator", "arch": "sm_90a"}, "compiler": compiler,
            "versions": versions, "verdict": verdict, "reason": "" if verdict == "pass" else "differs from the golden",
            "outcome": "outputs", "outputs": {"out": "a" * 64 if verdict == "pass" else "b" * 64},
            "kernels": {"k": store.sha256(ptx)}, "differences": [], "title": "It is so.",
            "digest": f"{name}{day}{more}", "date": f"2026-11-{day:02}T12:00:00.000000Z",
        } | more  # fmt: skip
        folder = store.folder(root / line["repro"], hardware, root)
        store.keep_text(folder, store.sha256(ptx) + ".ptx", ptx)
        return run.append(folder, line)["id"]

    return put


@pytest.fixture
def said(capsys, root):
    def said(*argv: str) -> tuple[int, str]:
        status = main(argv)
        found = capsys.readouterr()
        return status, found.out + found.err

    return said
