"""Device memory that two processes may compare: not addresses, and not the half of a tensor map that holds nothing."""

import numpy as np

from dsl.emulator.families.tensor_map.tensor_map import BYTES, Tiled
from tests.upstream.record_outputs import comparable


def compared(*, extent: int = 64, second_half: int = 0, before: int = 5, flags: int | None = None) -> bytes:
    """Of a word, a tensor map at a multiple of its size, and an address, in memory that nothing else has."""
    tensor, memory = np.zeros(512, np.uint64), np.zeros(3 * BYTES // 8, np.uint64)
    at = -memory.ctypes.data % BYTES // 8 or BYTES // 8
    words = np.frombuffer(
        Tiled(6, tensor.ctypes.data // 16 * 16, (extent, 16), (128,), (64, 16), (1, 1)).encode(), np.uint64
    )
    memory[at - 1] = before
    memory[at : at + len(words)] = words
    memory[at + 8 : at + 16] = second_half
    memory[at + 16] = tensor.ctypes.data + 24
    if flags is not None:
        memory[at + 1] = flags
    places = sorted((each.ctypes.data, each.nbytes) for each in (tensor, memory))
    start = memory.ctypes.data + (at - 1) * 8
    return comparable(start, BYTES + 16, places)


def test_addresses_and_the_second_half_of_a_tensor_map_are_left_out():
    assert compared() == compared(second_half=0xA5A5A5A5A5A5A5A5)
    assert compared()[:16] == (5).to_bytes(8, "little") + bytes(8)
    assert compared()[-8:] == bytes(8)


def test_everything_else_is_compared():
    assert compared() != compared(extent=48)
    assert compared() != compared(before=6)
    no_map = 7
    assert compared(flags=no_map) != compared(flags=no_map, second_half=1)
