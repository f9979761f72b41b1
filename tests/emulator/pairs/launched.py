"""Launches of kernels in PTX that a compiler made: what each pair gets, computes and is found with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dsl import emulator
from dsl.emulator.check.shadow import Footprint

BOTH = ("race", "undefined")


def ints(count: int) -> np.ndarray:
    return np.random.default_rng(count).integers(0, 1000, count).astype(np.int32)


def floats(count: int) -> np.ndarray:
    return ints(count).astype(np.float32)


def aligned(values: np.ndarray) -> np.ndarray:
    """A copy at a multiple of 128 bytes, as memory of cudaMalloc is."""
    raw = np.zeros(values.nbytes + 128, np.uint8)
    space = raw[-raw.ctypes.data % 128 :][: values.nbytes].view(values.dtype).reshape(values.shape)
    space[...] = values
    return space


class Launch(NamedTuple):
    """`text`: of the finding; `fix`: of its fix. `given`: the arguments; the last array is the result unless `result`
    names another one. `overlaps`: a kernel that the launch may overlap."""

    kernel: str
    kind: str
    text: str
    fix: str
    given: list
    expected: np.ndarray
    grid: int = 1
    block: int = 64
    result: int = -1
    smem_bytes: int = 0
    cooperative: bool = False
    overlaps: str = ""
    hidden: int = 0  # words after the arguments that the compiler adds

    def run(self, ptx: str, checks: tuple[str, ...] = BOTH, seed: int = 0, before: str = "") -> np.ndarray:
        """The result of a launch. `before`: the PTX of the kernel that it overlaps, if another one. Raises Fault."""
        memory = emulator.Memory()
        given = [aligned(each) if isinstance(each, np.ndarray) else each for each in self.given]
        for number, array in enumerate(given):
            if isinstance(array, np.ndarray):
                memory.register(array.ctypes.data, array.nbytes, f"argument {number}")
        params = [_parameter(each) for each in given]
        more = [bytes(8)] * self.hidden
        left: list[Footprint] = []

        def launch(text: str, name: str, params: list[bytes], earlier: Footprint | None) -> None:
            shape = (self.grid, 1, 1), (self.block, 1, 1)
            emulator.launch(emulator.load(text), name, *shape, params + more, memory, self.smem_bytes, checks=checks,
                            seed=seed, cooperative=self.cooperative, earlier=earlier, leaves=left.append)  # fmt: skip

        if self.overlaps:
            launch(before or ptx, self.overlaps, params[:1], None)
        launch(ptx, self.kernel, params, left[0] if left else None)
        return [each for each in given if isinstance(each, np.ndarray)][self.result]

    def fault(self, ptx: str, before: str = "") -> emulator.Fault | None:
        """The finding at the default seed with the default checks."""
        try:
            self.run(ptx, before=before)
        except emulator.Fault as fault:
            return fault
        return None


def _parameter(value) -> bytes:
    if isinstance(value, np.ndarray):
        return value.ctypes.data.to_bytes(8, "little")
    return value.to_bytes(4, "little")
