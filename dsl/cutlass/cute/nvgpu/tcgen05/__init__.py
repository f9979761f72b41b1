"""`cutlass.cute.nvgpu.tcgen05`: of Blackwell's names what a program asks of copies for other GPUs too."""

import enum

from dsl.cutlass.unsupported import module_getattr as _refuser

__all__ = ["CtaGroup"]


class CtaGroup(enum.Enum):
    """How many blocks of a cluster an instruction is for."""

    ONE = 1
    TWO = 2


__getattr__ = _refuser("cutlass.cute.nvgpu.tcgen05")
