"""What names hardware, and what does not."""

import pytest

from dsl.launch.driver import attributes
from harness.host.hosts import Host
from harness.records.cells import line_is_hardware
from harness.run.hardware import is_stand_in, missing

GPU = {"device": "cuda", "gpu": "NVIDIA H100 80GB HBM3", "driver": "570.1", "arch": "sm_90"}


@pytest.mark.parametrize(
    "change, why",
    [
        ({}, ""),
        ({"gpu": None, "uuid": "0707"}, ""),
        ({"device": "emulator"}, "names the device emulator, which is not a GPU"),
        ({"device": None}, "names the device nowhere, which is not a GPU"),
        ({"gpu": "PTX emulator"}, "names PTX emulator, a stand-in for a GPU"),
        ({"gpu": ""}, "names no GPU"),
        ({"driver": None}, "names no driver"),
        ({"arch": "any"}, "names no arch"),
    ],
)
def test_what_a_provenance_must_name(change, why):
    assert missing(GPU | change) == why


def test_the_emulators_own_driver_is_no_gpu():
    assert is_stand_in(attributes.NAME) and not is_stand_in("NVIDIA GeForce RTX 4090") and not is_stand_in(None)
    facts = {"name": attributes.NAME, "arch": "sm_90", "driver": "CUDA 13.0"}
    host = Host("local", "cuda", device_facts=facts)
    assert not host.is_hardware and host.describe() == "local (PTX emulator: a stand-in, not hardware)"
    assert Host("local", "cuda", device_facts=facts | {"name": "NVIDIA H100"}).is_hardware


def test_a_line_of_the_record_is_not_hardwares_because_it_says_so():
    assert line_is_hardware({"hardware": True, "device": {"kind": "cuda", "name": "NVIDIA H100"}})
    assert line_is_hardware({"device": {"kind": "cuda"}})  # of old records
    for device in ({"kind": "emulator"}, {}, None, {"kind": "cuda", "name": "PTX emulator"}):
        assert not line_is_hardware({"hardware": True, "device": device})
