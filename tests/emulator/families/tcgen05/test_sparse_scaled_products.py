"""tcgen05.mma.sp with scales of blocks against numpy in exact arithmetic: kinds, places of scales and of metadata, pairs.

The metadata have the places of 8-bit elements (PTX ISA 9.7.16.10.8.4.6); of the packed kinds a code is of four pairs of
elements (9.7.16.10.8.3). A scale is of twice as many columns as without `.sp`, as CuTe has it (`SFVecSize` of the
sparse atoms). C++ tested here: tensor_products.cc.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.families.tcgen05.matrices import small_integers, values
from tests.emulator.families.tcgen05.products import LANES, images, multiply, place_of_d, put_a, sum_before
from tests.emulator.families.tcgen05.test_leeway import left_open
from tests.emulator.families.tcgen05.test_scaled_products import (
    FIRST_BYTES,
    FORMS,
    PACKED,
    SMALL,
    Scaled,
    packed,
    put_scales,
    scales,
    spread as scaled_by,
)
from tests.emulator.families.tcgen05.test_sparse_products import CODES, ZEROS, metadata

CHUNKS = 16  # of a row of A


@dataclass(frozen=True)
class SparseScaled(Scaled):
    """A product with a sparse A, whose metadata are in the two columns after the scales of B."""

    @property
    def row_bytes(self) -> tuple[int, int]:
        return 32, 64

    @property
    def columns(self) -> int:
        return 1 << (self.n + 38 - 1).bit_length()

    @property
    def idesc(self) -> int:
        return super().idesc | 1 << 2

    @property
    def operation(self) -> str:
        before, rest = super().operation.split("tcgen05", 1)
        rest = rest.replace(".mma.", ".mma.sp.").replace("%db,", "%db, [%c],")
        return f"{before}add.u32 %c, %d, {self.n + 36};\ntcgen05{rest}"


def with_zeros(kept: np.ndarray, codes: np.ndarray, is_packed: bool) -> np.ndarray:
    """A with its zeros: two elements of four, or two pairs of four."""
    width = 2 if is_packed else 1
    out = np.zeros((len(kept), CHUNKS, 4, width), kept.dtype)
    places = np.array([[CODES[code] for code in row] for row in codes.tolist()])
    np.put_along_axis(out, places[..., None], kept.reshape(len(kept), CHUNKS, 2, width), axis=2)
    return out.reshape(len(kept), -1)


def check(case: SparseScaled, zeros: bool = False) -> None:
    """D must be right, and the rest of tensor memory as before."""
    stream = np.random.default_rng(case.seed)
    kept, b = small_integers(stream, (case.m, case.k), case.a), small_integers(stream, (case.n, 2 * case.k), case.b)
    codes = stream.choice(list(CODES), (case.m, CHUNKS))
    (codes_a, scale_a), (codes_b, scale_b) = (scales(stream, rows, case) for rows in (case.m, case.n))
    c, place = sum_before(stream, case), place_of_d(case)
    cells = stream.integers(0, 1 << 32, (case.blocks, LANES, case.columns), np.uint32)
    cells[place] = c
    empty = stream.random(codes.shape) < 0.3 * zeros
    kept.reshape(case.m, CHUNKS, -1)[empty] = 0
    in_memory = (packed(kept), packed(b)) if case.is_packed else (kept, b)
    kinds = replace(case, a="u8", b="u8") if case.is_packed else case
    if case.a_is_in_tensor_memory:
        put_a(kinds, cells, in_memory[0])
    written = np.where(empty, ZEROS, codes)
    for block, rows, of_rows in zip(cells, np.split(codes_a, case.blocks), np.split(written, case.blocks), strict=True):
        put_scales(block, case.first_scales[0], case.ids[0], rows)
        put_scales(block, case.first_scales[1], case.ids[1], codes_b)
        block[:, case.n + 36 : case.n + 38] = metadata(of_rows, False)
    after = multiply(case, cells, images(kinds, stream, *in_memory))
    whole = with_zeros(values(kept, case.a), codes, case.is_packed)
    wanted = (-1) ** sum(case.negates) * (scaled_by(whole, scale_a) @ scaled_by(values(b, case.b), scale_b).T)
    wanted += case.adds * c.view(np.float32)
    assert np.array_equal(after[place].view(np.float32), wanted), case
    after[place] = c
    assert np.array_equal(after, cells), f"other cells changed: {case}"


def sparse(form: tuple, **more) -> SparseScaled:
    kind, vector, count, scale = form
    types = ("e4m3", "e4m3") if kind == "mxf8f6f4" else ("e2m1", "e2m1")
    return SparseScaled(**{"a": types[0], "b": types[1], **more}, kind=kind, vector=vector, count=count, scale=scale)


@pytest.mark.parametrize("form", FORMS)
def test_first_bytes_of_scales(form):
    for ids in itertools.product(FIRST_BYTES[form[2]], repeat=2):
        check(sparse(form, ids=ids, n=40))


@pytest.mark.parametrize("a, b", list(itertools.product(SMALL, repeat=2)))
def test_types(a, b):
    check(sparse(FORMS[0], a=a, b=b))


@pytest.mark.parametrize("n", [8, 96, 136, 256])
@pytest.mark.parametrize("form", [FORMS[0], PACKED[0], PACKED[4]])
def test_widths(form, n):
    check(sparse(form, n=n, adds=n != 96))


@pytest.mark.parametrize("swizzle", [0, 4, 2])
@pytest.mark.parametrize("form", [FORMS[0], PACKED[0]])
def test_layouts(form, swizzle):
    for by_k in itertools.product((False, True), repeat=2) if form[2] == 1 else [(False, False)]:
        check(sparse(form, n=128, swizzles=(swizzle, swizzle), by_k=by_k))


@pytest.mark.parametrize("in_tensor_memory", [False, True])
@pytest.mark.parametrize("blocks, m", [(1, 128), (2, 256)])
@pytest.mark.parametrize("form", [FORMS[0], PACKED[0], PACKED[4]])
def test_pairs_and_a_in_tensor_memory(form, blocks, m, in_tensor_memory):
    check(sparse(form, m=m, n=64, blocks=blocks, a_is_in_tensor_memory=in_tensor_memory))


@pytest.mark.parametrize("form", [FORMS[0], PACKED[0], PACKED[4]])
def test_chunks_of_zeros_and_signs(form):
    check(sparse(form), zeros=True)
    check(sparse(form, negates=(1, 0)))


@pytest.mark.parametrize("form", [FORMS[0], PACKED[0]])
def test_they_are_open(form):
    assert left_open(sparse(form)) == ["nobody measured this form on the chip"]


@pytest.mark.parametrize("case, words", [
    (sparse(FORMS[0], m=128, blocks=2), "a sparse A of a pair with 128 rows is not emulated"),
    (sparse(("mxf4", "block32", 3, "ue8m0")), "bit 31, that K is 96, is for kinds `mxf4` and `mxf4nvf4` of sm_103a, "
     "without `.sp`"),
])  # fmt: skip
def test_refusals(case, words):
    stream = np.random.default_rng(0)
    cells = np.zeros((case.blocks, LANES, case.columns), np.uint32)
    zeros = np.zeros((case.m, 32), np.uint8), np.zeros((case.n, 64), np.uint8)
    with pytest.raises(emulator.Fault) as caught:
        multiply(case, cells, images(replace(case, a="u8", b="u8"), stream, *zeros))
    assert words in str(caught.value)
