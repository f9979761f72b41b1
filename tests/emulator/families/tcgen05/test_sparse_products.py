"""tcgen05.mma.sp and .ws.sp against numpy in exact arithmetic: kinds, places of metadata, the selector, wrong metadata.

The places of metadata are written from the formulas of JAX (`format_tcgen05_sparse_metadata`, which runs on the chip) and of
CuTe (`tmem_e_frg`, `tmem_e_frg_ws`); the PTX ISA has figures alone. C++ tested here: tensor_products.cc.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.families.tcgen05.matrices import BYTES, result
from tests.emulator.families.tcgen05.products import (
    LANES,
    ROW_BYTES,
    Case,
    elements,
    expected,
    images,
    multiply,
    place_of_d,
    put_a,
    sum_before,
)  # fmt: skip

# a code of four bits: where the first element of two is in a chunk of four, and the second
PAIRS = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (2, 1))
CODES = {first | second << 2: (first, second) for first, second in PAIRS}
ZEROS = 0b0000  # CUTLASS's compressor writes it for a chunk of zeros; the PTX ISA does not list it
TF32_CODES = {0b0100: (0,), 0b1110: (1,)}  # of a chunk of two
KINDS = [("f16", "f16", "f32"), ("f16", "f16", "f16"), ("bf16", "bf16", "f32"), ("tf32", "tf32", "f32"),
         ("e4m3", "e5m2", "f32"), ("e2m1", "e3m2", "f16"), ("s8", "u8", "s32")]  # fmt: skip


@dataclass(frozen=True)
class Sparse(Case):
    """A product with a sparse A, whose other column of metadata is garbage."""

    selector: int = 0
    zeros: bool = False  # some chunks have no element but zeros

    @property
    def is_wide(self) -> bool:
        return self.a in BYTES

    @property
    def chunks(self) -> tuple[int, int]:
        return self.m, 8 if self.is_wide else 16

    @property
    def row_bytes(self) -> tuple[int, int]:
        return ROW_BYTES, 2 * ROW_BYTES

    @property
    def columns(self) -> int:
        """D, A, two columns of metadata."""
        return max(32, 1 << (self.n + 10 - 1).bit_length())

    @property
    def idesc(self) -> int:
        return super().idesc | self.selector | 1 << 2

    @property
    def operation(self) -> str:
        before, rest = super().operation.split("tcgen05", 1)
        stationary = ".ws" * self.stationary
        rest = rest.replace(f".mma{stationary}.", f".mma{stationary}.sp.").replace("%db,", "%db, [%c],")
        return f"{before}add.u32 %c, %i, 8;\ntcgen05{rest}"


def codes_of(stream: np.random.Generator, case: Sparse) -> np.ndarray:
    """The codes of the chunks of each row of A."""
    return stream.choice(list(TF32_CODES if case.a == "tf32" else CODES), case.chunks)


def spread(kept: np.ndarray, codes: np.ndarray, case: Sparse) -> np.ndarray:
    """A with its zeros."""
    table, chunk = (TF32_CODES, 2) if case.a == "tf32" else (CODES, 4)
    out = np.zeros((case.m, codes.shape[1], chunk), kept.dtype)
    places = np.array([[table[code] for code in row] for row in codes.tolist()])
    np.put_along_axis(out, places, kept.reshape(places.shape), axis=2)
    return out.reshape(case.m, -1)


def metadata(codes: np.ndarray, is_wide: bool) -> np.ndarray:
    """The words of 128 lanes, or of as many as rows, a column or two."""
    bits = codes[..., None] >> np.arange(4) & 1
    if is_wide:  # rows (16s, halves of words, 8), chunks (halves of 16 lanes, 4)
        bits = bits.reshape(-1, 2, 8, 2, 16).transpose(0, 3, 2, 1, 4)
    words = np.packbits(bits.reshape(len(codes), -1).astype(np.uint8), axis=1, bitorder="little")
    return words.view("<u4")


def put_metadata(case: Sparse, cells: np.ndarray, codes: np.ndarray) -> None:
    """Each block has the metadata of its rows, once for each part of the columns of D."""
    first = case.n + 8 + case.selector
    for block, rows in zip(cells, np.split(codes, case.blocks), strict=True):
        words = metadata(rows, case.is_wide)
        block[:, first : first + words.shape[1]] = np.tile(words, (LANES // len(words), 1))


def check(case: Sparse) -> None:
    """D must be right, and the rest of tensor memory as before."""
    stream = np.random.default_rng(case.seed)
    kept = elements(stream, (case.m, case.k), case.a, case.floats)
    b = elements(stream, (case.n, 2 * case.k), case.b, case.floats)
    c, place, codes = sum_before(stream, case), place_of_d(case), codes_of(stream, case)
    if case.zeros:
        empty = stream.random(case.chunks) < 0.3
        kept.reshape(*case.chunks, -1)[empty] = 0
    cells = stream.integers(0, 1 << 32, (case.blocks, LANES, case.columns), np.uint32)
    cells[place] = c
    put_metadata(case, cells, np.where(empty, ZEROS, codes) if case.zeros else codes)
    if case.a_is_in_tensor_memory:
        put_a(case, cells, kept)
    after = multiply(case, cells, images(case, stream, kept, b))
    assert np.array_equal(result(after[place], case.d), expected(case, spread(kept, codes, case), b, c)), case
    after[place] = c
    assert np.array_equal(after, cells), f"other cells changed: {case}"


@pytest.mark.parametrize("a, b, d", KINDS)
def test_kinds(a, b, d):
    check(Sparse(a, b, d))
    check(Sparse(a, b, d, n=56 if a in BYTES else 64, a_is_in_tensor_memory=True, adds=False))


@pytest.mark.parametrize("a, b, d", [each for each in KINDS if each[0] != "tf32"])
def test_chunks_of_zeros(a, b, d):
    check(Sparse(a, b, d, zeros=True))


@pytest.mark.parametrize("a, b, d", [each for each in KINDS if each[0] != "s8"])
def test_sums(a, b, d):
    check(Sparse(a, b, d, floats=True))


@pytest.mark.parametrize("blocks, m", [(1, 128), (2, 256)])
@pytest.mark.parametrize("a", ["f16", "tf32"])
def test_the_selector_names_the_second_column(a, blocks, m):
    check(Sparse(a, a, m=m, blocks=blocks, selector=1))


@pytest.mark.parametrize("in_tensor_memory", [False, True])
@pytest.mark.parametrize("n", [32, 256])
@pytest.mark.parametrize("a, b, d", KINDS)
def test_pairs(a, b, d, n, in_tensor_memory):
    check(Sparse(a, b, d, m=256, n=n, blocks=2, a_is_in_tensor_memory=in_tensor_memory))


@pytest.mark.parametrize("in_tensor_memory", [False, True])
@pytest.mark.parametrize("n", [64, 128])
@pytest.mark.parametrize("m", [32, 64, 128])
@pytest.mark.parametrize("a, b, d", [KINDS[0], KINDS[3], KINDS[6]])
def test_stationary_products(a, b, d, m, n, in_tensor_memory):
    check(Sparse(a, b, d, m=m, n=n, stationary=True, a_is_in_tensor_memory=in_tensor_memory))


@pytest.mark.parametrize("swizzle", [0, 4, 2])
@pytest.mark.parametrize("by_k", list(itertools.product((False, True), repeat=2)))
@pytest.mark.parametrize("kind, d", [("f16", "f32"), ("e4m3", "f32"), ("u8", "s32")])
def test_layouts_in_shared_memory(kind, d, by_k, swizzle):
    check(Sparse(kind, kind, d, n=128, swizzles=(swizzle, swizzle), by_k=by_k))


def fault_of(case: Sparse, codes: np.ndarray | None = None) -> str:
    stream = np.random.default_rng(0)
    cells = np.zeros((case.blocks, LANES, case.columns), np.uint32)
    put_metadata(case, cells, codes_of(stream, case) if codes is None else codes)
    a, b = np.zeros((case.m, case.k), np.uint16), np.zeros((case.n, 2 * case.k), np.uint16)
    with pytest.raises(emulator.Fault) as found:
        multiply(case, cells, images(case, stream, a, b))
    return str(found.value)


@pytest.mark.parametrize("kind", ["f16", "tf32", "e4m3"])
def test_metadata_without_meaning(kind):
    legal = TF32_CODES if kind == "tf32" else {ZEROS, *CODES}
    for code in set(range(16)) - set(legal):
        case = Sparse(kind, kind)
        codes = codes_of(np.random.default_rng(code), case)
        codes[77, 5] = code
        assert f"the metadata of row 77 of A has 0b{code:04b} for a chunk" in fault_of(case, codes)


@dataclass(frozen=True)
class Odd(Sparse):
    """The metadata begin at an odd column."""

    @property
    def operation(self) -> str:
        return super().operation.replace("%i, 8", "%i, 9")


@pytest.mark.parametrize("case, words", [
    (Sparse(m=64), "a sparse A with 64 rows is not emulated"),
    (Sparse(m=128, blocks=2), "a sparse A of a pair with 128 rows is not emulated"),
    (Sparse(m=128, n=256, stationary=True), "(N is 256)"),
    (Sparse(selector=2), "bits 0-1, the sparsity selector"),
    (Sparse("e4m3", "e4m3", selector=1), "bits 0-1, the sparsity selector"),
    (Odd(), "must begin at lane 0 of an even column"),
])  # fmt: skip
def test_refusals(case, words):
    assert words in fault_of(case)
