"""A kernel of kernels.py that Triton has compiled without a GPU, and its launches on the emulator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dsl import emulator
from dsl.emulator.families.tensor_map.tensor_map import Tiled

MAP_TYPES = {np.dtype(np.float16): 6, np.dtype(np.float32): 7}


def aligned(values: np.ndarray) -> np.ndarray:
    """A copy at a multiple of 128 bytes, as tensors of torch are."""
    raw = np.zeros(values.nbytes + 128, np.uint8)
    space = raw[-raw.ctypes.data % 128 :][: values.nbytes].view(values.dtype).reshape(values.shape)
    space[...] = values
    return space


@dataclass(frozen=True)
class CompiledKernel:
    """`boxes` and `swizzles` belong to its descriptor parameters, in their order."""

    gpu_model: str
    ptx: str
    smem_bytes: int
    scratch_bytes: int
    boxes: tuple[tuple[int, ...], ...]
    swizzles: tuple[int, ...]

    def run(self, grid: tuple[int, ...], arguments: list, checks=(), seed: int | None = None) -> None:
        """`arguments` are arrays, as pointers or (array,) as descriptors, and integers."""
        program, memory, params = emulator.load(self.ptx, gpu_model=self.gpu_model), emulator.Memory(), []
        entry = next(iter(program.entries.values()))
        maps = iter(zip(self.boxes, self.swizzles))
        for number, each in enumerate(arguments):
            array = each[0] if isinstance(each, tuple) else each
            if not isinstance(array, np.ndarray):
                params.append(each.to_bytes(4, "little"))
                continue
            memory.register(array.ctypes.data, array.nbytes, f"argument{number}")
            params += _descriptor(array, *next(maps)) if array is not each else [_word(array.ctypes.data)]
        blocks, threads = int(np.prod(grid)), entry.reqntid or (128, 1, 1)
        scratch = aligned(np.zeros(max(1, self.scratch_bytes * blocks), np.uint8))
        memory.register(scratch.ctypes.data, scratch.nbytes, "scratch")
        params += [_word(scratch.ctypes.data), _word(0)]  # Triton's own: scratch, and one for profiles
        shape = (*grid, 1, 1)[:3], tuple(threads)
        emulator.launch(program, entry.name, *shape, params, memory, self.smem_bytes, checks=checks, seed=seed)


def _word(value: int) -> bytes:
    return value.to_bytes(8, "little")


def _descriptor(array: np.ndarray, box: tuple[int, ...], swizzle: int) -> list[bytes]:
    """What Triton passes for a descriptor that the host made: the map, the extents and the strides."""
    form = Tiled(MAP_TYPES[array.dtype], array.ctypes.data, array.shape[::-1], array.strides[::-1][1:], box[::-1],
                 (1,) * array.ndim, swizzle=swizzle)  # fmt: skip
    strides = [_word(stride // array.itemsize) for stride in array.strides]
    return [form.encode(), *(extent.to_bytes(4, "little") for extent in array.shape), *strides]
