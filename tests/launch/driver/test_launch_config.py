"""A launch's configuration."""

import ctypes

import pytest

from dsl.core.trace import COOPERATIVE, PROGRAMMATIC
from dsl.launch.devices.protocol import DeviceError
from dsl.launch.driver.launch_config import LaunchAttribute, LaunchConfig, launch_of


def config_of(*attributes):
    rows = (LaunchAttribute * len(attributes))(*(LaunchAttribute(number, 0, value) for number, value in attributes))
    config = LaunchConfig((2, 3, 4), (32, 1, 1), 1000, 0x50, rows, len(attributes))
    config.rows = rows
    return config


def test_shape_cluster_and_flags():
    launch = launch_of(config_of((4, (2, 1, 1)), (2, (1,)), (6, (1,)), (3, (0,))))
    assert (launch.grid, launch.block, launch.cluster) == ((2, 3, 4), (32, 1, 1), (2, 1, 1))
    assert (launch.smem_bytes, launch.stream, launch.flags) == (1000, 0x50, COOPERATIVE | PROGRAMMATIC)


def test_shared_memory_is_32_bits():
    config = config_of()
    ctypes.c_uint32.from_address(ctypes.addressof(config) + 28).value = 0xDEAD  # padding
    assert launch_of(config).smem_bytes == 1000


def test_an_attribute_that_nobody_knows_is_refused():
    with pytest.raises(DeviceError, match="a launch has the attribute CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW"):
        launch_of(config_of((1, (1,))))
