"""Parts that generated programs have in common: their head, element types, and values that sums keep exact."""

from __future__ import annotations

import math
from dataclasses import dataclass

HEAD = '''\
"""{title}"""

import cutlass
import cutlass.cute as cute
import cutlass.pipeline as pipeline
import numpy as np
import torch
from cutlass.cute.nvgpu import CopyUniversalOp, OperandMajorMode, cpasync, warp, warpgroup
from cutlass.cute.runtime import from_dlpack


def device(array, dtype, stride=None):
    """A tensor on the device with the values of an array, and these strides."""
    values = torch.from_numpy(np.asarray(array, np.float64)).to(dtype)
    made = torch.empty_strided(values.shape, stride or values.stride(), dtype=dtype, device="cuda")
    made.copy_(values)
    return made


def numbers(count, low, high, seed):
    """Integers from low to high."""
    return np.random.default_rng(seed).integers(low, high + 1, count)


def plain(tensor):
    """A tensor as an array of numpy; elements of few bits as numbers."""
    values = tensor.cpu()
    return (values if values.dtype in (torch.float64, torch.int64) else values.to(torch.float32)).numpy()

'''


@dataclass(frozen=True)
class Type:
    """An element type under its names, and the integers that it has."""

    name: str
    torch: str
    bits: int
    low: int = -100
    high: int = 100

    def __str__(self) -> str:
        return f"cutlass.{self.name}"


FLOAT32, FLOAT16, INT32 = (
    Type("Float32", "torch.float32", 32),
    Type("Float16", "torch.float16", 16),
    Type("Int32", "torch.int32", 32),
)
BFLOAT16, FLOAT64, INT8 = (
    Type("BFloat16", "torch.bfloat16", 16),
    Type("Float64", "torch.float64", 64),
    Type("Int8", "torch.int8", 8),
)
UINT8, INT64, INT16 = (
    Type("Uint8", "torch.uint8", 8, 0, 200),
    Type("Int64", "torch.int64", 64),
    Type("Int16", "torch.int16", 16),
)
TYPES = FLOAT32, FLOAT16, INT32, BFLOAT16, INT8, FLOAT64, INT16, UINT8, INT64


def strides(shape: tuple[int, ...], order: tuple[int, ...], padding: int = 0) -> tuple[int, ...]:
    """Compact strides; `order` has the modes from the one with stride 1 on. `padding` elements follow each of its rows."""
    made, step = [0] * len(shape), 1
    for place, mode in enumerate(order):
        made[mode] = step
        step *= shape[mode]
        if place == 0:
            step += padding
    return tuple(made)


def count(shape: tuple[int, ...]) -> int:
    return math.prod(shape)
