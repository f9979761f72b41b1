"""CUDA C++ with TMA by inline PTX (tma.cu), compiled by nvcc: what numpy gives, in three schedules, and no finding."""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.families.tensor_map.tensor_map import Im2col, Tiled


def aligned(values: np.ndarray) -> np.ndarray:
    raw = np.zeros(values.nbytes + 128, np.uint8)
    space = raw[-raw.ctypes.data % 128 :][: values.nbytes].view(values.dtype).reshape(values.shape)
    space[...] = values
    return space


def numbers(*shape: int) -> np.ndarray:
    return aligned(np.random.default_rng(sum(shape)).integers(-9, 10, shape).astype(np.float32))


def zeros(*shape: int, dtype=np.float32) -> np.ndarray:
    return aligned(np.zeros(shape, dtype))


def map_of(tensor: np.ndarray, box: tuple[int, int], **more) -> bytes:
    return Tiled(7, tensor.ctypes.data, tensor.shape[::-1], tensor.strides[::-1][1:], box, (1, 1), **more).encode()


def transpose():
    given, out = numbers(64, 96), zeros(96, 64)
    arguments = [map_of(given, (32, 32), swizzle=3), out]
    return {"grid": (3, 2, 1), "block": (32, 4, 1)}, arguments, [given], out, given.T


def neighbours():
    image = aligned(np.random.default_rng(3).integers(0, 9, (2, 5, 6, 8)).astype(np.float16))
    out = zeros(2, 5, 6, 8)
    form = Im2col(6, image.ctypes.data, (8, 6, 5, 2), (16, 96, 480), (-1, -1), (-1, -1), 8, 60, (1, 1, 1, 1)).encode()
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1), (0, 0))).astype(np.float32)
    total = sum(padded[:, r : r + 5, s : s + 6] for r in range(3) for s in range(3))
    return {"block": (64, 1, 1), "smem_bytes": 960}, [form, out, 60], [image], out, total


def squares():
    given, out = numbers(20, 24), aligned(np.full((20, 24), -1, np.float32))
    expected = out.copy()
    expected[8:, 16:] = given[8:, 16:] ** 2
    box = (16, 16)
    return {"block": (256, 1, 1)}, [map_of(given, box), map_of(out, box), 16, 8], [given, out], out, expected


def split_k():
    out = numbers(3, 32)  # a box of four rows, of which the tensor has three
    expected = out + sum(b + np.arange(96).reshape(3, 32) for b in range(5))
    return {"grid": (5, 1, 1), "block": (128, 1, 1)}, [map_of(out, (32, 4))], [out], out, expected


def greatest():
    given = aligned(np.random.default_rng(5).integers(-999, 999, (37, 64)).astype(np.int32))
    out = aligned(np.full(64, -(1 << 30), np.int32))
    return {"grid": (3, 1, 1), "block": (64, 1, 1)}, [given, out, 37], [], out, given.max(0)


def groups():
    given = [numbers(h, 32) for h in (3, 8, 5)]
    out, form = zeros(3, 8, 32), zeros(128, dtype=np.uint8)
    pointers, heights = np.array([g.ctypes.data for g in given]), np.array([3, 8, 5], np.int32)
    start = map_of(given[0], (32, 8))
    expected = np.stack([np.pad(g, ((0, 8 - len(g)), (0, 0))) for g in given])
    return {"block": (256, 1, 1)}, [form, start, pointers, heights, out, 3], given, out, expected


def ring():
    given, out = numbers(80, 32), zeros(2, 32)
    expected = given.reshape(10, 2, 4, 32).sum((0, 2))
    return {"block": (96, 1, 1)}, [map_of(given, (32, 8)), out, 10], [given], out, expected


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    "case", [transpose, neighbours, squares, split_k, greatest, groups, ring], ids=lambda c: c.__name__
)
def test_it_computes_what_numpy_does(program, case, seed):
    launch, arguments, tensors, out, expected = case()
    memory, params = emulator.Memory(), []
    for array in (*tensors, *(each for each in arguments if isinstance(each, np.ndarray))):
        memory.register(array.ctypes.data, array.nbytes, "array")
    for each in arguments:
        if isinstance(each, np.ndarray):
            each = each.ctypes.data.to_bytes(8, "little")
        params.append(each if isinstance(each, bytes) else each.to_bytes(4, "little", signed=True))
    shape = launch.get("grid", (1, 1, 1)), launch["block"]
    smem_bytes = launch.get("smem_bytes", 0)
    emulator.launch(
        program, case.__name__, *shape, params, memory, smem_bytes=smem_bytes, seed=seed, checks=("race", "undefined")
    )
    assert out.tolist() == expected.tolist()
