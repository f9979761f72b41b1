"""Memory that is not a tensor: an allocation of the CUDA driver, which has no shape, or a container of a language."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np


@dataclass(eq=False)
class DeviceMemory:
    """An allocation, a variable of a module, or a field. `dtype`: what its bytes are taken for, a numpy dtype.

    `making` is an expression that makes it, with `{}` for its contents as an array; `output` one that reads it, with
    `{}` for its name. `read` copies bytes from an address to the host.
    """

    address: int
    nbytes: int
    dtype: str
    making: str
    output: str
    read: Callable[[int, int], np.ndarray] = field(repr=False)
    shape: tuple[int, ...] | None = None  # of what `output` gives; None: one mode

    def __post_init__(self) -> None:
        if self.nbytes % np.dtype(self.dtype).itemsize:
            self.dtype = "uint8"

    def bytes(self) -> np.ndarray:
        """Its contents now."""
        return self.read(self.address, self.nbytes)

    def array(self) -> np.ndarray:
        """Its contents now."""
        flat = self.bytes().view(self.dtype)
        return flat if self.shape is None else flat.reshape(self.shape)
