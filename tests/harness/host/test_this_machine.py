"""The doctor of this machine: what is there, what is missing, and the command that brings it.

Modules tested here: harness/host/doctor.py.
"""

import importlib.metadata
import sys

import pytest

from dsl.lower import sass
from harness.cli import main
from harness.host import this_machine
from tests.harness.documents import result_of


def test_the_doctor_lists_the_parts_of_this_machine(capsys):
    assert main(["doctor", "--json"]) == 0
    (here,) = result_of(capsys.readouterr().out)["hosts"]
    found = {one["name"]: one["found"] for one in here["parts"]}
    assert found["gpu-repro"].startswith(f"{importlib.metadata.version('gpu-repro')}, Python {sys.version.split()[0]}")
    assert found["torch"] == f"torch {importlib.metadata.version('torch')}" and "x86_64_v" in found["emulator"]
    assert " packages, " in found["installed"] and "torch and what it requires take " in found["installed"]
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("embedded (emulator): on this machine\n  gpu-repro            ") and text.endswith("ready\n")


@pytest.mark.parametrize("name, package", [("torch", "torch"), ("nvidia", "nvidia-cutlass-dsl")])
def test_a_missing_package_comes_with_its_command(monkeypatch, name, package):
    known = importlib.metadata.version

    def version(distribution):
        if distribution == package:
            raise importlib.metadata.PackageNotFoundError(distribution)
        return known(distribution)

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(this_machine, "install_command", lambda needs, program, **_: f"bring {needs[0]}")
    (part,) = (one for one in this_machine.parts() if one.name == name)
    assert part.found == "" and part.line().endswith(f"to get it: bring {package}")


def test_a_missing_tool_comes_with_its_command(monkeypatch):
    def gone(tool):
        raise sass.ToolMissing(tool)

    monkeypatch.setattr(sass, "version", gone)
    lines = "\n".join(one.line() for one in this_machine.parts())
    assert "  ptxas                missing, for SASS of our kernels" in lines and "nvidia-cuda-nvcc" in lines


def test_packages_that_only_torch_requires_count_as_part_of_torch(monkeypatch):
    """A package that something else needs too is not part of torch; one that only an extra needs does not count."""
    needs = {"torch": ["cuda", "numpy", "sympy"], "sympy": ["mpmath"], "cuda": [], "numpy": [], "ours": ["numpy"],
             "mpmath": []}  # fmt: skip

    class Distribution:
        def __init__(self, name):
            self.name, self.requires = name, [*needs[name], 'torch; extra == "x"']

    monkeypatch.setattr(importlib.metadata, "distributions", lambda: map(Distribution, needs))
    assert this_machine._of_torch() == {"torch", "cuda", "sympy", "mpmath"}


def test_sizes_have_units():
    sizes = (0, 999, 1000, 73_808, 599_400_000, 4_060_000_000)
    assert [this_machine.sized(size) for size in sizes] == ["0 bytes", "999 bytes", "1 kB", "74 kB", "599 MB", "4.1 GB"]
