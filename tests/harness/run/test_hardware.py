"""Facts that name hardware, and facts that do not."""

import pytest

from harness.host.hosts import Host
from harness.records.index.cells import line_is_hardware
from harness.run.hardware import is_stand_in, missing, of_provenance
from tests.harness.by_a_gpu import FACTS

NAME, UUID = "PTX emulator", b"PTX-emulator-001"  # as libcuda.so.1 of the device answers: dsl/driver/device.cc


@pytest.mark.parametrize(
    "change, why",
    [
        ({}, ""),
        ({"driver": "570"}, ""),
        ({"uuid": "GPU-c0ffee00-c0ff-ee00-c0ff-ee00c0ffee00"}, ""),
        ({"kind": "emulator"}, "names the device emulator, which is not a GPU"),
        ({"kind": None}, "names the device nowhere, which is not a GPU"),
        ({"name": "PTX emulator"}, "names PTX emulator, a stand-in for a GPU"),
        ({"name": ""}, "names no GPU"),
        ({"name": None}, "names no GPU"),
        ({"driver": None}, "names no driver"),
        ({"driver": "CUDA 13.0"}, "names the driver CUDA 13.0, which is not a version of NVIDIA's driver"),
        ({"driver": "1"}, "names the driver 1, which is not a version of NVIDIA's driver"),
        ({"uuid": None}, "names no UUID of the GPU"),
        ({"uuid": "0707"}, "names the UUID 0707, which is not the UUID of a GPU"),
        ({"uuid": "07" * 16}, f"names the UUID {'07' * 16}, which is not the UUID of a GPU"),
        ({"uuid": UUID.hex()}, f"names the UUID {UUID.hex()}, which is not the UUID of a GPU"),
        ({"arch": "any"}, "names no arch"),
    ],
)
def test_facts_that_hardware_must_name(change, why):
    facts = FACTS | change
    assert missing(facts) == why
    assert Host("p1", "cuda", device_facts=facts).is_hardware == (not why or "kind" in change)
    assert line_is_hardware({"hardware": True, "device": facts}) == (not why)
    provenance = {
        "device": facts["kind"],
        "gpu": facts["name"],
        **{key: facts[key] for key in ("driver", "uuid", "arch")},
    }
    assert missing(of_provenance(provenance)) == why


def test_the_emulators_own_driver_is_not_a_gpu():
    assert is_stand_in(NAME) and not is_stand_in("NVIDIA GeForce RTX 4090") and not is_stand_in(None)
    facts = {"name": NAME, "arch": "sm_90", "driver": "CUDA 13.0", "uuid": UUID.hex()}
    host = Host("local", "cuda", device_facts=facts)
    said = "local (PTX emulator: not hardware, it names PTX emulator, a stand-in for a GPU)"
    assert not host.is_hardware and host.describe() == said
    assert not Host("local", "cuda", device_facts=facts | {"name": "NVIDIA H100"}).is_hardware


def test_a_line_of_the_record_needs_facts_to_be_from_hardware():
    assert line_is_hardware({"hardware": True, "device": FACTS})
    assert line_is_hardware({"device": FACTS})
    assert not line_is_hardware({"hardware": False, "device": FACTS})
    for device in ({"kind": "emulator"}, {}, None, {"kind": "cuda"}, FACTS | {"uuid": None}):
        assert not line_is_hardware({"hardware": True, "device": device})
