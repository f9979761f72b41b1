"""cuda::barrier and cuda::pipeline of CCCL begin and end mbarriers as they may: right results, and no finding."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

LANES = np.arange(128, dtype=np.int32)


def aligned(values: np.ndarray) -> np.ndarray:
    space = np.zeros(values.size + 4, values.dtype)
    space = space[(-space.ctypes.data % 16) // 4 :][: values.size]
    space[:] = values
    return space


@pytest.mark.parametrize("checks, seed", [((), 0), (("race", "undefined"), 0), (("race",), 3)])
@pytest.mark.parametrize("name, given, expected", [
    ("split", [np.zeros(128, np.int32)], LANES[::-1] + 2),
    ("bulk", [LANES], LANES + 1),
    ("stages", [np.arange(512, dtype=np.int32), np.zeros(512, np.int32)], np.arange(512).reshape(4, 128)[:, ::-1].ravel()),
])  # fmt: skip
def test_no_finding(machine, ptx, name, given, expected, checks, seed):
    arrays = {f"argument{i}": aligned(each) for i, each in enumerate(given)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine.run(ptx, grid=1, block=128, entry=name, checks=checks, seed=seed, **arrays)
    assert np.array_equal([*arrays.values()][-1], expected)
