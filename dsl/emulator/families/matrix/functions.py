"""Functions of the C++ that generated code calls, with their types in LLVM: see machine/functions.py."""

from __future__ import annotations

import itertools

from dsl.emulator.tensor_core import fragments
from dsl.emulator.tensor_core.fragments import Mma
from dsl.emulator.tensor_core.tensor_core import TENSOR_CORES, is_modelled


def of_mma(form: Mma, core: str) -> str:
    """The function that computes a form of mma for a warp, as the tensor cores of that name do."""
    return f"emu_{form.name}" + f"_{core}" * is_modelled(form)


def of_matrices(instruction: str, count: int, transposes: bool) -> str:
    """The same of ldmatrix and stmatrix."""
    return f"emu_{instruction}_x{count}" + "_trans" * transposes


MOVMATRIX, MMA_KIND = "emu_movmatrix_trans", "emu_mma_kind"


def _of_warps() -> set[str]:
    """All that a warp's lanes compute together."""
    matrices = itertools.product(("ldmatrix", "stmatrix"), (1, 2, 4), (False, True))
    return {of_mma(form, core) for form in fragments.forms() for core in TENSOR_CORES} | {
        of_matrices(*each) for each in matrices
    }


SIGNATURES = {**dict.fromkeys(sorted(_of_warps() | {MOVMATRIX, MMA_KIND}), "void (ptr, i32)")}
