"""Functions of the C++ that generated code calls, with their types in LLVM: see machine/functions.py."""

from __future__ import annotations

import itertools

from dsl.emulator.tensor_core import fragments
from dsl.emulator.tensor_core.fragments import Mma
from dsl.emulator.tensor_core.tensor_core import TENSOR_CORES, is_modelled

ELEMENTS = ("b8", "b6x16_p32", "b4x16_p64")  # of rows of 16 bytes


def of_mma(form: Mma, core: str) -> str:
    """The function that computes a form of mma for a warp, as the tensor cores of that name do."""
    return f"emu_{form.name}" + f"_{core}" * is_modelled(form)


def of_matrices(instruction: str, count: int, transposes: bool) -> str:
    """The same of ldmatrix and stmatrix."""
    return f"emu_{instruction}_x{count}" + "_trans" * transposes


def of_bytes(shape: str, count: int, elements: str) -> str:
    """The same of ldmatrix whose rows have 16 elements of 8 bits, or of 6 or 4 as `elements` has them."""
    return f"emu_ldmatrix_{shape}_x{count}_{elements}"


MOVMATRIX, MMA_KIND = "emu_movmatrix_trans", "emu_mma_kind"
MARKED = {"mma": "emu_mma_marked", "ldmatrix": "emu_ldmatrix_marked"}


def _of_warps() -> set[str]:
    """All that a warp's lanes compute together."""
    matrices = itertools.product(("ldmatrix", "stmatrix"), (1, 2, 4), (False, True))
    narrow = *itertools.product(("m8n16",), (1, 2, 4), ELEMENTS[1:]), *itertools.product(("m16n16",), (1, 2), ELEMENTS)
    return (
        {of_mma(form, core) for form in fragments.forms() for core in TENSOR_CORES}
        | {of_matrices(*each) for each in matrices}
        | {of_matrices("stmatrix_b8", count, True) for count in (1, 2, 4)}
        | {of_bytes(*each) for each in narrow}
    )


SIGNATURES = {**dict.fromkeys(sorted(_of_warps() | {MOVMATRIX, MMA_KIND, *MARKED.values()}), "void (ptr, i32)")}
