"""The reported properties of a device (tests/tile/scheduler/scheduler_program.py compares them with upstream)."""

import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.launch import session
from dsl.launch.devices.torch_mapping.torch_cuda import properties_of
from dsl.launch.hardware_info import HardwareInfo


@pytest.fixture(autouse=True)
def emulator():
    yield session.start("emulator")
    session.stop()


def test_it_reports_the_same_as_torch():
    info, device = HardwareInfo(), session.current().device
    properties = properties_of(device.name, device.limits)
    assert info.get_device_multiprocessor_count() == properties["multi_processor_count"]
    assert info.get_l2_cache_size_in_bytes() == properties["L2_cache_size"]


def test_a_cluster_has_blocks():
    with pytest.raises(DSLUserCodeError, match="cluster_size must be 1-32, got 0"):
        HardwareInfo().get_max_active_clusters(0)


def test_there_is_one_device():
    with pytest.raises(DSLUserCodeError, match="device_id must be 0, got 1: there is one device here"):
        HardwareInfo(device_id=1)
