"""Hosts: their names, and the message if there is no device."""

import sys

import pytest

from harness import judge
from harness.host import hosts
from harness.host.hosts import Host, NoDevice, resolve
from tests.harness.by_a_gpu import UUID


def test_embedded_needs_nothing():
    host = resolve("embedded")
    assert (host.device, host.is_hardware, host.describe()) == ("emulator", False, "embedded (emulator)")


def test_local_without_a_driver_is_an_error(monkeypatch):
    probe = "raise SystemExit('there is no NVIDIA driver (libcuda.so.1: cannot open shared object file)')"
    monkeypatch.setattr(hosts, "PROBE", probe)
    with pytest.raises(NoDevice) as error:
        resolve("local")
    assert str(error.value) == (
        "host local: this machine has no CUDA device that can be used: "
        "there is no NVIDIA driver (libcuda.so.1: cannot open shared object file)\n"
        "fix: name no host: the emulator runs it then"
    )


def test_local_with_a_driver(fake_driver, monkeypatch):
    """The probe against a stand-in for the driver's library."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(fake_driver))
    host = resolve("local")
    assert host.is_hardware and host.device_facts["name"] == "NVIDIA H100" and host.device_facts["arch"] == "sm_90"
    assert host.device_facts["uuid"] == UUID
    assert host.describe().startswith("local (NVIDIA H100, sm_90, driver ")


def test_an_older_gpu_skips(write, tmp_path):
    case = next(write("def run(): return {}", 'arch = "sm_100a"').cases())
    host = Host("local", "cuda", device_facts={"name": "NVIDIA H100", "arch": "sm_90", "driver": "580.1", "uuid": UUID})
    verdict = judge.judge(case, host, judge.run(None, case, host), tmp_path)
    assert (verdict.status, verdict.text) == (
        "skip",
        "needs sm_100a; local (NVIDIA H100, sm_90, driver 580.1) is older",
    )
    assert host.shortfall("sm_90a") == host.shortfall(None) == resolve("embedded").shortfall("sm_100") == ""


@pytest.mark.parametrize("name, model, is_it", [
    ("NVIDIA H100 80GB HBM3", "h100", True), ("NVIDIA A100-SXM4-40GB", "a100", True),
    ("NVIDIA GeForce RTX 4090", "rtx4090", True), ("NVIDIA L40S", "l4", False), ("NVIDIA H200", "h100", False),
])  # fmt: skip
def test_a_claim_about_one_gpu_is_not_about_another(name, model, is_it):
    host = Host("p1", "cuda", device_facts={"name": name, "arch": "sm_90", "driver": "570", "uuid": UUID})
    text = f'the claim states `silicon = "{model}"`, but p1 ({name}, sm_90, driver 570)'
    assert host.other_silicon(model) == ("" if is_it else text)


def test_the_emulator_computes_as_one_gpu():
    assert Host("embedded", "emulator").other_silicon("h100") == Host("embedded", "emulator").other_silicon("") == ""
    text = 'the claim states `silicon = "a100"`, but embedded computes as h100'
    assert Host("embedded", "emulator").other_silicon("a100") == text


@pytest.mark.parametrize(
    ("host", "said"),
    [
        (hosts.Host("embedded", "emulator"), f"the one of this command, {sys.prefix}"),
        (hosts.Host("embedded", "emulator", compiler="nvidia==4.6.3"), "made by uv for nvidia==4.6.3, in /cache/gpu-repro"),
        (hosts.Host("p1", "cuda"), "made there by uv from what the repro needs, in ~/.cache/gpu-repro"),
        (hosts.Host("p1", "cuda", settings=hosts.Settings(python="/opt/p")), "/opt/p, the host's setting `python`"),
        (hosts.Host("p1", "cuda", settings=hosts.Settings(workdir="~/k")), "the project ~/k, the host's setting `workdir`"),
    ],
)  # fmt: skip
def test_the_source_of_an_environment(monkeypatch, host, said):
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert host.environment() == said
