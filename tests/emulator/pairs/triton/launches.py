"""The launches of kernels.py: what each pair gets, computes and is found with."""

from __future__ import annotations

import numpy as np

from tests.emulator.pairs.launched import Launch, floats, ints
from tests.emulator.pairs.triton.compiled import N

_INTS = np.int32
_RACE = "race"


def triton(
    kernel: str, kind: str, text: str, fix: str, given: list, expected: np.ndarray, grid: int = 1, **more
) -> Launch:
    """A launch with the two parameters that Triton adds: scratch, and one for profiles."""
    return Launch(kernel, kind, text, fix, given, expected, grid, 128, smem_bytes=1024, hidden=2, **more)


def zeros(count: int, kind=np.float32) -> np.ndarray:
    return np.zeros(count, kind)


_SUMS = np.array([ints(4 * N).sum()])
_LAST = [ints(4 * N), zeros(1, _INTS), zeros(4, _INTS), zeros(1, _INTS)]
PAIRS = [
    triton("reversed_tile", _RACE, "no barrier between", "`tl.debug_barrier()`", [ints(N), zeros(N, _INTS), zeros(N, _INTS)],
           2 * ints(N)[::-1]),
    triton("locked_sum", _RACE, "nothing orders", '`sem="acquire"`', [floats(4 * N), zeros(1, _INTS), zeros(N)],
           floats(4 * N).reshape(4, N).sum(0), 4),
    triton("split_k", _RACE, "nothing orders", 'sem="acquire"', [floats(4 * N), zeros(1, _INTS), zeros(N)],
           floats(4 * N).reshape(4, N).sum(0), 4),
    triton("flag_store", _RACE, "nothing orders", "tl.atomic_xchg", [ints(N), zeros(1, _INTS), zeros(N, _INTS), zeros(N, _INTS)], ints(N) + 1, 2),
    triton("last_program", _RACE, "nothing orders", 'sem="', _LAST, _SUMS, 4),
    triton("scope_of_block", _RACE, "nothing orders", 'scope="gpu"', _LAST, _SUMS, 4),
    triton("histogram", _RACE, "no barrier between", "atomic", [ints(4 * N), zeros(8, _INTS)], np.bincount(ints(4 * N) % 8, minlength=8), 4),
    triton("unmasked", "out_of_bounds", "just past the end", "", [ints(200), zeros(200, _INTS), 200], 2 * ints(200), 2),
    triton("promised", "misaligned", "is not aligned to 16 bytes", "a multiple of 16", [floats(2 * 514), zeros(4 * N * 2), 514],
           floats(2 * 514).reshape(2, 514)[:, :512].ravel(), 2),
    triton("overlapped", _RACE, "which the launch before", "gdc_wait", [zeros(N, _INTS), zeros(N, _INTS)],
           3 * np.arange(N) + 1, overlaps="before"),
]  # fmt: skip
