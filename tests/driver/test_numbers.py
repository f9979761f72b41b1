"""The numbers of the device (device.inc) agree with torch's properties and with what the emulator holds."""

import json

import pytest
from cuda.bindings import driver

from dsl import emulator, gpu_models
from dsl.launch.devices.torch_mapping.torch_cuda import properties_of
from tests import fork_server
from tests.driver.numbers import ATTRIBUTES, NUMBERS, OF_MODEL

MODELS = ("h100", *gpu_models.BLACKWELL)


def of(name: str, model: str = "h100") -> int:
    which = int(getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}"))
    return OF_MODEL.get(model, {}).get(which, ATTRIBUTES[which])


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


@pytest.mark.parametrize("model", MODELS)
def test_torchs_properties_are_the_attributes(model):
    properties = properties_of("", gpu_models.limits_of(model))
    assert {name: of(attribute, model) for name, attribute in OF_TORCH.items()} == {
        name: properties[name] for name in OF_TORCH
    }


# Of the CUDA C++ Programming Guide (compute capabilities) and of deviceQuery: capability, multiprocessors, threads and
# shared memory of one, the most that a block asks for, blocks.
TOLD = {
    "h100": (9, 0, 132, 2048, 233472, 232448, 32),
    "b200": (10, 0, 148, 2048, 233472, 232448, 32),
    "b300": (10, 3, 148, 2048, 233472, 232448, 32),
    "rtx5090": (12, 0, 170, 1536, 102400, 101376, 24),
}
ASKED = (
    "COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR", "MULTIPROCESSOR_COUNT", "MAX_THREADS_PER_MULTIPROCESSOR",
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR", "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", "MAX_BLOCKS_PER_MULTIPROCESSOR",
)  # fmt: skip


@pytest.mark.parametrize("model", TOLD)
def test_the_driver_tells_the_model_that_is_chosen(model, tmp_path):
    path = tmp_path / "asks.py"
    path.write_text(
        "import json\nfrom cuda.bindings import driver\ndriver.cuInit(0)\n"
        f"asked = [getattr(driver.CUdevice_attribute, 'CU_DEVICE_ATTRIBUTE_' + name) for name in {ASKED}]\n"
        "print(json.dumps([driver.cuDeviceGetAttribute(each, 0)[1] for each in asked]))\n"
    )
    done = fork_server.run(["-m", "dsl", "--gpu-model", model, path], cwd=tmp_path, timeout=600)
    assert done.returncode == 0, done.stderr
    assert tuple(json.loads(done.stdout)) == TOLD[model]


def test_numbers_agree_with_cuda_h():
    assert of("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN") == 227 << 10
    assert of("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR") == 228 << 10
    assert (of("COMPUTE_CAPABILITY_MAJOR"), of("COMPUTE_CAPABILITY_MINOR"), of("WARP_SIZE")) == (9, 0, 32)
    assert of("CLUSTER_LAUNCH") == of("TENSOR_MAP_ACCESS_SUPPORTED") == of("COOPERATIVE_LAUNCH") == 1
    assert max(ATTRIBUTES) < NUMBERS["DEVICE_ATTRIBUTES"] <= int(driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX)


@pytest.mark.parametrize("model", MODELS)
def test_the_emulator_holds_as_many_blocks_as_the_attributes_give(model):
    by_smem = of("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR", model) // (1000 + of("RESERVED_SHARED_MEMORY_PER_BLOCK"))
    by_threads = of("MAX_THREADS_PER_MULTIPROCESSOR", model) // 128
    blocks = min(by_smem, of("MAX_BLOCKS_PER_MULTIPROCESSOR", model), by_threads)
    held = emulator.resident_blocks((128, 1, 1), 1000, gpu_models.limits_of(model))
    assert held == of("MULTIPROCESSOR_COUNT", model) * blocks
