"""Memory that a program allocated by the CUDA driver, which has an address and a size, and no shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np


@dataclass(eq=False)
class DeviceMemory:
    """An allocation, or a variable of a module. `dtype`: what its bytes are taken for, a numpy dtype.

    `making` is an expression that makes it, with `{}` for its contents as an array; `output` one that reads it, with
    `{}` for its name. `read` copies bytes from an address to the host.
    """

    address: int
    nbytes: int
    dtype: str
    making: str
    output: str
    read: Callable[[int, int], np.ndarray] = field(repr=False)

    def __post_init__(self) -> None:
        if self.nbytes % np.dtype(self.dtype).itemsize:
            self.dtype = "uint8"

    def bytes(self) -> np.ndarray:
        """What is in it now."""
        return self.read(self.address, self.nbytes)

    def array(self) -> np.ndarray:
        """What is in it now, in one mode."""
        return self.bytes().view(self.dtype)
