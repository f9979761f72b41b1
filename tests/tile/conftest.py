"""Tile kernels run on the emulator, through the cutlass surface, on numpy arrays."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Constexpr, cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.launch import session


@cute.jit
def host(kernel: Constexpr, threads: Constexpr, *arguments):
    kernel(*arguments).launch(grid=(1, 1, 1), block=(threads, 1, 1))


def as_argument(value):
    return from_dlpack(value, assumed_align=16) if isinstance(value, np.ndarray) else value


@pytest.fixture(autouse=True)
def emulator():
    """A session on the emulator; `emulator.show("ptx")` is what was compiled."""
    yield session.start("emulator")
    session.stop()


@pytest.fixture
def run():
    """run(kernel, *arguments, threads=32): one block; numpy arrays are passed as tensors and changed in place."""

    def launch(kernel, *arguments, threads=32):
        host(kernel, threads, *map(as_argument, arguments))

    return launch


@pytest.fixture
def refused(run):
    """refused(kernel, *arguments): the message of the error, and the fix it offers."""

    def launch(kernel, *arguments):
        with pytest.raises(DSLUserCodeError) as error:
            run(kernel, *arguments)
        assert error.value.place.file == kernel.function.__code__.co_filename
        return error.value.message, error.value.fix

    return launch


@pytest.fixture
def aligned():
    """aligned(shape, dtype): zeros at an address that is a multiple of 16 bytes."""

    def make(shape, dtype=np.float32):
        count = int(np.prod(shape)) * np.dtype(dtype).itemsize
        raw = np.zeros(count + 16, np.uint8)
        start = -raw.ctypes.data % 16
        return raw[start : start + count].view(dtype).reshape(shape)

    return make
