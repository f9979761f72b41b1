"""Arrays of the host for a GPU that does not reach them: copied there and back, each byte once."""

import ctypes

import pytest

from dsl.launch.devices.protocol import DeviceError
from dsl.quadrants.memory.staging import staged


class Gpu:
    """A device with its own memory; `reaches`: whether it reaches the host's memory."""

    def __init__(self, reaches: bool):
        self.reaches, self.buffers, self.copies, self.freed = reaches, {}, [], []

    def register(self, address, nbytes, label):
        if not self.reaches:
            raise DeviceError("HOST_MEMORY", "not mapped")

    def unregister(self, address):
        pass

    def alloc(self, nbytes, label):
        buffer = ctypes.create_string_buffer(nbytes)
        self.buffers[ctypes.addressof(buffer)] = buffer
        return ctypes.addressof(buffer)

    def free(self, address):
        self.freed.append(address)

    def copy(self, destination, source, nbytes):
        self.copies.append(nbytes)
        ctypes.memmove(destination, source, nbytes)

    def sync(self):
        pass


@pytest.fixture
def array():
    return ctypes.create_string_buffer(bytes(range(64)), 64)


def test_pointers_are_of_the_device_and_results_come_back(array):
    gpu, here = Gpu(reaches=False), ctypes.addressof(array)
    with staged(
        gpu, [here, here + 16, 7, here + 16], "PPiP", [(here, 64, "a"), (here + 16, 16, "part of it")]
    ) as slots:
        (there,) = gpu.buffers
        assert slots == [there, there + 16, 7, there + 16] and gpu.buffers[there].raw == bytes(range(64))
        ctypes.memset(there + 20, 0xFF, 2)
        assert array.raw == bytes(range(64))
    assert array.raw == bytes(range(20)) + b"\xff\xff" + bytes(range(22, 64))
    assert gpu.copies == [64, 64] and gpu.freed == [there]


def test_arrays_that_the_device_reaches_are_not_copied(array):
    gpu, here = Gpu(reaches=True), ctypes.addressof(array)
    with staged(gpu, [here, here], "Pi", [(here, 64, "a")]) as slots:
        assert slots == [here, here]
    assert gpu.copies == [] and gpu.buffers == {}


def test_a_call_that_fails_gives_the_memory_back_and_copies_nothing(array):
    gpu, here = Gpu(reaches=False), ctypes.addressof(array)
    with pytest.raises(KeyError), staged(gpu, [here], "P", [(here, 64, "a")]):
        raise KeyError
    assert gpu.copies == [64] and len(gpu.freed) == 1


def test_other_errors_of_the_device_are_not_hidden(array):
    gpu = Gpu(reaches=False)
    gpu.register = lambda *_: (_ for _ in ()).throw(DeviceError("OUT_OF_MEMORY", "no"))
    with pytest.raises(DeviceError, match="OUT_OF_MEMORY"), staged(gpu, [0], "P", [(0, 8, "a")]):
        pass
