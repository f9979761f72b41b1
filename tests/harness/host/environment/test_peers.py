"""Repros whose language is not installed here run in environments that uv makes."""

import dataclasses
import importlib.metadata

import pytest

from harness.host.environment import peers, releases
from harness.run.transport import Job


@pytest.fixture
def installed(monkeypatch):
    names = {"triton"}

    def version(name):
        if name not in names:
            raise importlib.metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(importlib.metadata, "version", version)
    return names


def test_only_languages_that_are_not_here_are_missing(installed):
    assert peers.missing(["numba_cuda[cu13]>=0.30", "triton", "numpy"]) == ["numba-cuda"]
    assert peers.missing(["TileLang==0.1.15", "torch"]) == ["tilelang"]
    installed.update(peers.PACKAGES)
    assert peers.missing(["tilelang", "numba-cuda"]) == []


def test_each_language_has_one_environment(installed, monkeypatch):
    began, ran, closed = [], [], []

    class Fake:
        def __init__(self, *about, name="here"):
            began.append(name)
            self.name = name

        def run(self, job):
            ran.append(self.name)
            return {}, []

        def close(self):
            closed.append(self.name)

    monkeypatch.setattr(peers, "Local", Fake)
    monkeypatch.setattr(releases, "Released", Fake)
    here = peers.Here()
    job = Job("x.py", "", {}, "emulator", 60, needs=("triton",))
    for needs in (("triton",), ("tilelang",), ("tilelang", "numpy"), ("numba-cuda[cu13]",)):
        here.run(dataclasses.replace(job, needs=needs))
    here.close()
    assert began == ["here", "tilelang", "numba-cuda"]
    assert ran == ["here", "tilelang", "tilelang", "numba-cuda"] and sorted(closed) == sorted(began)


def test_such_an_environment_has_no_package_that_only_nvidias_compiler_needs():
    needs = releases.Released("ours", name="tilelang").needs(["tilelang"])
    assert "tilelang" in needs and not any(need.startswith("apache-tvm-ffi") for need in needs)
    assert any(need.startswith("apache-tvm-ffi") for need in releases.Released("nvidia==4.6.3").needs([]))
