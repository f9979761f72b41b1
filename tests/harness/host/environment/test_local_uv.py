"""A host without uv gets uv itself; a uv that does not run there is found and replaced.

Modules tested here: harness/host/doctor.py.
"""

import os
import shutil
from pathlib import Path

import pytest

from harness.host import doctor
from harness.host.connection import agent_start
from harness.host.environment import local_uv

SHIM = '#!/bin/sh\nset -e\nexec "{real}" "$@"\n'
ELSEWHERE = '#!/usr/bin/env bash\nexec "/no/such/pyenv/libexec/pyenv" exec uv "$@"\n'


@pytest.fixture
def real(needs):
    """uv itself, by a way of the tests' own."""
    found = Path(os.environ.get("UV") or needs("uv", "uv")).resolve()
    assert found.read_bytes()[:4] == b"\x7fELF"
    return found


@pytest.fixture
def only(tmp_path, monkeypatch):
    """`only(text)`: the one uv of this machine is this script."""

    def only(text: str) -> Path:
        folder = tmp_path / "shims"
        folder.mkdir(exist_ok=True)
        (folder / "uv").write_text(text)
        (folder / "uv").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        monkeypatch.delenv("UV", raising=False)
        monkeypatch.setattr(local_uv, "_of_users", lambda: ())
        monkeypatch.setattr(local_uv.Path, "home", lambda: tmp_path)
        monkeypatch.setattr(local_uv.sysconfig, "get_path", lambda *_: str(tmp_path / "none"))
        return folder / "uv"

    return only


def test_a_shim_leads_to_uv_itself(real, only, tmp_path):
    """A script that starts uv, a link to it, a link to a script: always the program, or an error if there is none."""
    shim = only(SHIM.format(real=real))
    assert local_uv.program() == real
    (tmp_path / "shims/other").write_text(SHIM.format(real=real))
    shim.unlink()
    shim.symlink_to(real)
    assert local_uv.program() == real
    shim.unlink()
    only(ELSEWHERE)
    with pytest.raises(local_uv.NoUv) as caught:
        local_uv.program()
    assert str(caught.value) == f"{shim} is a script that starts uv, not uv itself"
    shim.write_bytes(b"\x7fELF" + bytes(2 << 20))
    with pytest.raises(local_uv.NoUv, match="does not run: "):
        local_uv.program()
    shutil.rmtree(shim.parent)
    with pytest.raises(local_uv.NoUv, match="^it is not on PATH\nfix: install uv as its page describes"):
        local_uv.program()


@pytest.mark.slow
def test_a_broken_uv_there_is_found_and_mended(real, only, on_host, sshd, monkeypatch):
    """As when a shim was copied: it is not taken for uv, the doctor reports it, and --fix --bootstrap brings uv."""
    sources = dict(agent_start.sources())
    old = "places: list = ["
    assert old in sources["host.environment.remote_env"]
    sources["host.environment.remote_env"] = sources["host.environment.remote_env"].replace(
        old, f"{old}lambda: cached_uv(cache)] or ["
    )
    monkeypatch.setattr(agent_start, "sources", lambda: list(sources.items()))
    cache = sshd.folder / "broken-uv"
    (cache / "bin").mkdir(parents=True)
    (cache / "bin/uv").write_text(ELSEWHERE)
    (cache / "bin/uv").chmod(0o755)
    only(SHIM.format(real=real))
    monkeypatch.setattr(doctor, "LITTLE_BYTES", 0)
    text, ready = doctor.report(on_host(python=None, cache=cache).host)
    assert not ready and f"{cache}/bin/uv does not run: " in text and "no such pyenv" not in text
    assert "the uv there does not run\nfix: `repro doctor p1 --fix --bootstrap` removes one that was brought" in text
    text, ready = doctor.report(on_host(python=None, cache=cache, bootstrap="true").host, fix=True)
    assert ready and f"({cache}/bin/uv)" in text, text
    assert (cache / "bin/uv").read_bytes() == real.read_bytes()
