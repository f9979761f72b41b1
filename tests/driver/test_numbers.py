"""The numbers of the device (device.inc) agree with torch's properties and with what the emulator holds."""

import pytest
from cuda.bindings import driver

from dsl import emulator
from dsl.launch.devices.torch_mapping.torch_cuda import PROPERTIES
from tests.driver.numbers import ATTRIBUTES, NUMBERS


def of(name: str) -> int:
    return ATTRIBUTES[int(getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}"))]


# A property of torch: the attribute of cuda.h that it is.
OF_TORCH = {
    "major": "COMPUTE_CAPABILITY_MAJOR", "minor": "COMPUTE_CAPABILITY_MINOR", "warp_size": "WARP_SIZE",
    "multi_processor_count": "MULTIPROCESSOR_COUNT", "L2_cache_size": "L2_CACHE_SIZE",
    "max_threads_per_multi_processor": "MAX_THREADS_PER_MULTIPROCESSOR",
    "max_threads_per_block": "MAX_THREADS_PER_BLOCK", "regs_per_multiprocessor": "MAX_REGISTERS_PER_MULTIPROCESSOR",
    "shared_memory_per_block": "MAX_SHARED_MEMORY_PER_BLOCK",
    "shared_memory_per_multiprocessor": "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",
    "shared_memory_per_block_optin": "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
}  # fmt: skip


@pytest.mark.parametrize("name", OF_TORCH)
def test_torchs_properties_are_the_attributes(name):
    assert of(OF_TORCH[name]) == PROPERTIES[name]


def test_numbers_agree_with_cuda_h():
    assert of("MULTIPROCESSOR_COUNT") == PROPERTIES["multi_processor_count"]
    assert of("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN") == PROPERTIES["shared_memory_per_block_optin"] == 227 << 10
    assert of("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR") == 228 << 10
    assert (of("COMPUTE_CAPABILITY_MAJOR"), of("COMPUTE_CAPABILITY_MINOR"), of("WARP_SIZE")) == (9, 0, 32)
    assert of("CLUSTER_LAUNCH") == of("TENSOR_MAP_ACCESS_SUPPORTED") == of("COOPERATIVE_LAUNCH") == 1
    assert max(ATTRIBUTES) < NUMBERS["DEVICE_ATTRIBUTES"] <= int(driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX)


def test_the_emulator_holds_as_many_blocks_as_the_attributes_give():
    by_smem = of("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR") // (1000 + of("RESERVED_SHARED_MEMORY_PER_BLOCK"))
    blocks = of("MULTIPROCESSOR_COUNT") * min(by_smem, of("MAX_BLOCKS_PER_MULTIPROCESSOR"), 2048 // 128)
    assert emulator.resident_blocks((128, 1, 1), 1000) == blocks
