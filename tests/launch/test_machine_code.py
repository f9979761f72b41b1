"""ptxas and nvdisasm run once a text: another process finds what they gave."""

import subprocess

import pytest

from dsl.launch import disk_cache, machine_code
from dsl.lower import sass
from tests.small_ptx import PTX


@pytest.fixture
def runs(monkeypatch, tmp_path, ptxas_path) -> list[str]:
    """The tools that ran, in order; the disk cache is on."""
    monkeypatch.setenv("GPU_REPRO_CACHE", "1")
    monkeypatch.setenv("GPU_REPRO_CACHE_DIR", str(tmp_path))
    ran: list[str] = []
    original = subprocess.run

    def run(command, **options):
        ran.append(command[0].rpartition("/")[2])
        return original(command, **options)

    monkeypatch.setattr(sass.subprocess, "run", run)
    return ran


def test_each_tool_runs_once_for_a_text(runs):
    first = machine_code.disassembly(machine_code.cubin(PTX, "sm_90a"))
    assert "STG.E" in first and runs == ["ptxas", "nvdisasm"]
    assert machine_code.disassembly(machine_code.cubin(PTX, "sm_90a")) == first
    assert runs == ["ptxas", "nvdisasm"]


def test_another_text_gpu_or_option_is_another_entry(runs):
    for ptx, arch, options in ((PTX, "sm_90a", ()), (PTX.replace("7", "8"), "sm_90a", ()), (PTX, "sm_90a", ("-O0",))):
        machine_code.cubin(ptx, arch, options)
    machine_code.cubin(PTX.replace("sm_90a", "sm_80"), "sm_80")
    assert runs == ["ptxas"] * 4


def test_a_refusal_is_not_kept(runs):
    for _ in range(2):
        with pytest.raises(sass.ToolRejected, match="globule"):
            machine_code.cubin(PTX.replace("st.global", "st.globule"), "sm_90a")
    assert runs == ["ptxas", "ptxas"]


def test_without_the_disk_cache_the_tools_run(runs, monkeypatch):
    monkeypatch.setenv("GPU_REPRO_CACHE", "0")
    assert disk_cache.current() is None
    assert machine_code.cubin(PTX, "sm_90a") == machine_code.cubin(PTX, "sm_90a")
    assert runs == ["ptxas", "ptxas"]
