"""Programs of clusters in CUDA C++, compiled by nvcc (clusters.cu), compute what numpy does, in three schedules."""

from __future__ import annotations

import numpy as np
import pytest


def words(count: int, most: int = 1000) -> np.ndarray:
    return np.random.default_rng(count).integers(0, most, count).astype(np.int32)


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).integers(-8, 8, shape).astype(np.float32)


def aligned(values: np.ndarray) -> np.ndarray:
    space = np.zeros(values.size + 4, values.dtype)
    space = space[(-space.ctypes.data % 16) // 4 :][: values.size].reshape(values.shape)
    space[:] = values
    return space


def histogram():
    given, out = words(5000), np.zeros(128, np.int32)
    return {"grid": 2, "block": 128}, {"given": given, "out": out, "n": 5000}, np.bincount(given & 127, minlength=128)


def total():
    given, out = floats(3000), np.zeros(1, np.float32)
    return {"grid": 8, "block": 128, "cluster": 8}, {"given": given, "out": out, "n": 3000}, given.sum(keepdims=True)


def ring():
    given, out = floats(16, 4), np.zeros((16, 4), np.float32)
    launch = {"grid": 4, "block": 4, "cluster": 4, "smem_bytes": 64}
    return launch, {"given": given, "out": out}, np.roll(given, -4, 0)


def pass_on():
    out = np.zeros((6, 4), np.int32)
    rank = (np.arange(6)[:, None] % 3 + 0) % 3
    return {"grid": 6, "block": 32, "cluster": 3}, {"out": out}, np.hstack([rank, [[1, 2, 3]] * 6]) + 30


def transpose():
    given, out = words(64 * 64).reshape(64, 64), np.zeros((64, 64), np.int32)
    return {"grid": 4, "block": 64}, {"given": given, "out": out}, given.T


def softmax():
    given, out = floats(3, 256), np.zeros((3, 256), np.float32)
    powers = np.exp(given - given.max(1, keepdims=True))
    launch = {"grid": (4, 3, 1), "block": 32, "cluster": 4}
    return launch, {"given": given, "out": out, "n": 256}, powers / powers.sum(1, keepdims=True)


def pipeline():
    given, out = words(7 * 32).reshape(7, 32), np.zeros((7, 32), np.int32)
    return {"grid": 2, "block": 64}, {"given": given, "out": out, "tiles": 7}, 2 * given[:, ::-1]


def broadcast():
    given, out = aligned(words(256)), np.zeros((8, 256), np.int32)
    return {"grid": 8, "block": 64, "cluster": 4}, {"given": given, "out": out}, given + np.arange(8)[:, None]


def matmul():
    a, b, out = (aligned(each) for each in (floats(64, 64), floats(64, 64)[::-1], np.zeros((64, 64), np.float32)))
    return {"grid": (4, 4, 1), "block": 256}, {"a": a, "b": b, "out": out, "n": 64}, a @ b


def copy_back():
    out = np.zeros((8, 64), np.int32)
    rank = (np.arange(8) % 4 + 1) % 4
    return {"grid": 8, "block": 64, "cluster": 4}, {"out": out}, 1000 * rank[:, None] + np.arange(64)


def add_up():
    given, out = words(8 * 32), np.zeros(32, np.int32)
    return {"grid": 8, "block": 32, "cluster": 8}, {"given": given, "out": out}, given.reshape(8, 32).sum(0)


def places():
    shape = np.array([2, 1, 3])
    out = np.zeros((3, 2, 4, 11), np.int32)
    z, y, x = np.indices((3, 2, 4))
    rank = x % 2 + 2 * z
    rows = [
        x % 2,
        y * 0,
        z,
        *(np.full_like(x, each) for each in shape),
        rank,
        rank * 0 + 6,
        rank * 32 + 1,
        rank * 0 + 192,
    ]
    return {"grid": (4, 2, 3), "block": 32, "cluster": (2, 1, 3)}, {"out": out}, np.stack([*rows, 5 - rank], -1)


def halves():
    out = np.zeros((4, 32), np.int32)
    rank = np.array([1, 0, 1, 0])[:, None]
    return {"grid": 4, "block": 32, "cluster": 2}, {"out": out}, np.full((4, 32), 45 * 6 + 600) + 4 * rank


def scan():
    given, out = words(5 * 32), np.zeros(5 * 32, np.int32)
    return {"grid": 5, "block": 32, "cluster": 5}, {"given": given, "out": out}, given.cumsum()


def stencil():
    given, out = floats(8 * 16), np.zeros(8 * 16, np.float32)
    line = given
    for _ in range(5):
        padded = np.pad(line, 1)
        line = np.float32(0.25) * padded[:-2] + np.float32(0.5) * line + np.float32(0.25) * padded[2:]
    launch = {"grid": 8, "block": 16, "cluster": 8, "smem_bytes": 64}
    return launch, {"given": given, "out": out, "steps": 5}, line


PROGRAMS = [histogram, total, ring, pass_on, transpose, softmax, pipeline, broadcast, matmul, copy_back, add_up, places,
            halves, scan, stencil]  # fmt: skip
NAMES = {"total": "sum"}


CHECKS = {"": (), "checked": ("race", "undefined")}
# Each program in three schedules, with checks and without.
RUNS = [
    pytest.param(
        program,
        seed,
        checks,
        id=f"{program.__name__}-{seed}-{name}",
        marks=[pytest.mark.slow] if seed or (checks and program is matmul) else [],
    )
    for name, checks in CHECKS.items()
    for seed in range(3)
    for program in PROGRAMS
]


@pytest.mark.parametrize("program, seed, checks", RUNS)
def test_a_program_computes_what_numpy_does(machine, ptx, program, seed, checks):
    """Checked, it has no findings."""
    launch, arguments, expected = program()
    if isinstance(cluster := launch.get("cluster", 1), int):
        launch["cluster"] = (cluster, 1, 1)
    machine.run(ptx, entry=NAMES.get(program.__name__, program.__name__), seed=seed,
                checks=checks, **launch, **arguments)  # fmt: skip
    if expected.dtype.kind == "f" and program is softmax:
        np.testing.assert_allclose(arguments["out"], expected, rtol=1e-5)
    else:
        np.testing.assert_array_equal(arguments["out"], expected)
