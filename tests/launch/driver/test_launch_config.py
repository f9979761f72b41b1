"""A launch's configuration, of the runtime and of the driver."""

import ctypes

import pytest

from dsl.core.trace import COOPERATIVE, PROGRAMMATIC
from dsl.launch.devices.protocol import DeviceError
from dsl.launch.driver.launch_config import DriverLaunchConfig, LaunchAttribute, LaunchConfig, launch_of


def config_of(kind, *attributes):
    rows = (LaunchAttribute * len(attributes))(*(LaunchAttribute(number, 0, value) for number, value in attributes))
    config = kind((2, 3, 4), (32, 1, 1), 1000, 0x50, rows, len(attributes))
    config.rows = rows
    return config


@pytest.mark.parametrize("kind", [LaunchConfig, DriverLaunchConfig])
def test_shape_cluster_and_flags(kind):
    launch = launch_of(config_of(kind, (4, (2, 1, 1)), (2, (1,)), (6, (1,)), (3, (0,))))
    assert (launch.grid, launch.block, launch.cluster) == ((2, 3, 4), (32, 1, 1), (2, 1, 1))
    assert (launch.smem_bytes, launch.stream, launch.flags) == (1000, 0x50, COOPERATIVE | PROGRAMMATIC)


def test_the_drivers_shared_memory_is_32_bits():
    config = config_of(DriverLaunchConfig)
    ctypes.c_uint32.from_address(ctypes.addressof(config) + 28).value = 0xDEAD  # padding
    assert launch_of(config).smem_bytes == 1000


def test_an_attribute_that_nobody_knows_is_refused():
    with pytest.raises(DeviceError, match="a launch has the attribute cudaLaunchAttributeAccessPolicyWindow"):
        launch_of(config_of(LaunchConfig, (1, (1,))))
