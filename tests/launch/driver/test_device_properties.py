"""cudaDeviceProp: the structure of CUDA 13, as cuda.bindings read it."""

import ctypes

from dsl.launch.driver.attributes import ATTRIBUTES
from dsl.launch.driver.device_properties import _ATTRIBUTES, DeviceProperties


def test_fields_have_the_offsets_of_driver_types_h():
    """Sizes and offsets that gcc gives for the header of CUDA 13."""
    assert ctypes.sizeof(DeviceProperties) == 1008
    assert DeviceProperties.surfaceAlignment.offset == 552
    assert DeviceProperties.clusterLaunch.offset == 748


def test_cuda_bindings_read_each_attribute(program):
    names = [name for name in _ATTRIBUTES if name != "maxThreadsDim"]
    expected = [ATTRIBUTES.get(_ATTRIBUTES[name], 0) for name in names]
    assert program(f"print([int(getattr(good(r.cudaGetDeviceProperties(0)), name)) for name in {names}])") == (
        f"{expected}\n"
    )
