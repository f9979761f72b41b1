"""Memory of the driver as an argument of a call."""

import numpy as np

from harness.capture.arguments.device_memory import DeviceMemory
from harness.capture.arguments.memory import Memory, host_values, is_tensor
from harness.capture.arguments.values import made


def memory_of(array: np.ndarray, dtype: str) -> DeviceMemory:
    data = array.view(np.uint8)
    return DeviceMemory(4096, array.nbytes, dtype, "_memory({})", "_values({})", lambda at, size: data[:size].copy())


def test_bytes_that_are_not_elements_stay_bytes():
    assert memory_of(np.zeros(6, np.uint8), "float32").dtype == "uint8"
    assert memory_of(np.zeros(8, np.uint8), "float32").dtype == "float32"


def test_it_is_a_storage_with_one_view():
    kept, values = Memory(), np.arange(4, dtype=np.float32)
    memory = memory_of(values, "float32")
    view = kept.view(memory, "x")
    assert is_tensor(memory) and kept.view(memory, "y") is view
    assert (view.shape, view.dtype, kept.storages[0].library) == ((4,), "float32", "driver")
    assert made(kept.storages[0], "float32", []).text == '_memory(np.arange(4, dtype="float32"))'
    values[1] = 7
    assert kept.storages[0].changed()
    name, bits = host_values(memory)
    assert name == "float32" and bits.view(np.float32).tolist() == [0, 7, 2, 3]
