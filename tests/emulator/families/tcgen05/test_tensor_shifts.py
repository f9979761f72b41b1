"""tcgen05.shift and `.ashift` of tcgen05.mma: each lane gets 32 bytes of the lane after it, except the last of a warp.

Written from PTX ISA 9.0, 9.7.16.9.3 and 9.7.16.10.9.1. C++ tested here: tensor_shifts.cc.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.families.tcgen05 import program
from tests.emulator.families.tcgen05.products import (
    KINDS,
    LANES,
    Case,
    elements,
    expected as product_of,
    images,
    multiply,
    place_of_d,
    put_a,
    result,
    sum_before,
)
from tests.emulator.families.tcgen05.test_leeway import left_open
from tests.emulator.families.tcgen05.test_sparse_products import Sparse

COLUMNS, WARP = 64, 32


def shifted(cells: np.ndarray, column: int, warps: range) -> np.ndarray:
    """Tensor memory (..., lanes, columns) with 8 columns of some warps' lanes shifted."""
    after = cells.copy()
    for warp in warps:
        first, last = warp * WARP, warp * WARP + WARP - 1
        after[..., first:last, column : column + 8] = cells[..., first + 1 : last + 1, column : column + 8]
    return after


@pytest.mark.parametrize("blocks", [1, 2])
@pytest.mark.parametrize("warp", range(4))
def test_a_shift_moves_the_rows_of_one_warp(warp, blocks):
    cells = np.random.default_rng(warp).integers(0, 1 << 32, (blocks, LANES, COLUMNS), np.uint32)
    operation = f"tcgen05.shift.cta_group::{blocks}.down [%d+{(warp * WARP << 16) + 20}];"
    one = blocks == 1
    after = program.run(operation, cells[0] if one else cells, b"" if one else [b"", b""], checks=("race",))
    assert np.array_equal(after.reshape(cells.shape), shifted(cells, 20, range(warp, warp + 1)))


def test_shifts_and_copies_of_a_thread_are_in_order():
    cells = np.random.default_rng(0).integers(0, 1 << 32, (LANES, COLUMNS), np.uint32)
    after = program.run("tcgen05.shift.cta_group::1.down [%d];\n" * 3, cells)
    for _ in range(3):
        cells = shifted(cells, 0, range(1))
    assert np.array_equal(after, cells)


@dataclass(frozen=True)
class Shifted(Case):
    """A product whose A, in tensor memory, is shifted when it has been read."""

    a_is_in_tensor_memory: bool = True
    n: int = 32

    @property
    def operation(self) -> str:
        kind = f"kind::{KINDS.get(self.a, 'f8f6f4')}"
        return super().operation.replace(kind, f"{kind}.ashift")


CASES = [
    Shifted(), Shifted("tf32", "tf32"), Shifted("e4m3", "e5m2"), Shifted("s8", "u8", "s32"), Shifted(blocks=2, m=256),
    Shifted(blocks=2, m=128), Shifted("bf16", "bf16", kept=(0xFFFFFFFF, 0, 5, 1 << 31)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_product_reads_a_and_then_shifts_it(case):
    stream = np.random.default_rng(1)
    a, b = (elements(stream, (rows, case.k), kind, False) for rows, kind in ((case.m, case.a), (case.n, case.b)))
    c, place = sum_before(stream, case), place_of_d(case)
    cells = stream.integers(0, 1 << 32, (case.blocks, LANES, case.columns), np.uint32)
    cells[place] = c
    put_a(case, cells, a)
    after = multiply(case, cells, images(case, stream, a, b))
    wanted = shifted(cells, case.n, range(4))
    kept = np.unpackbits(np.array(case.kept or [0] * 8, "<u4").view(np.uint8), bitorder="little")
    stays = kept[place[0] * LANES + place[1]].astype(bool)
    assert np.array_equal(result(after[place], case.d)[~stays], product_of(case, a, b, c)[~stays])
    wanted[place] = np.where(stays, cells[place], after[place])
    assert np.array_equal(after, wanted)


def test_the_next_product_has_the_rows_of_the_next_lane():
    """As NVIDIA's example 1cta_mma_a_from_tmem.py has it: the second product overwrites the first."""
    case = Shifted("tf32", "tf32")
    stream = np.random.default_rng(2)
    a, b = (elements(stream, (rows, case.k), "tf32", False) for rows in (case.m, case.n))
    cells = np.zeros((1, LANES, case.columns), np.uint32)
    put_a(case, cells, a)
    first = case.operation
    shared = images(case, stream, a, b)
    at = [program.descriptor(x.start, x.leading, x.stride, x.swizzle, x.base) for x in case.layouts]
    twice = f"{first}\n{first.replace('.ashift', '')}"
    after = program.run(twice, cells[0], shared[0], *at, case.idesc, adds=False, checks=("race",))
    rows = np.where(np.arange(LANES) % WARP == WARP - 1, np.arange(LANES), np.arange(LANES) + 1)
    wanted = product_of(case, a[rows], b, np.zeros((case.m, case.n), np.uint32))
    assert np.array_equal(after[:, : case.n].view(np.float32), wanted)


SHIFT = "tcgen05.shift.cta_group::1.down [%d+{}];"
WRONG = [
    (SHIFT.format(16 << 16), "it shifts rows from 0x00100000 (lane 16, column 0) on, and the lane must be 0, 32, 64 or 96"),
    (SHIFT.format(128 << 16), "it shifts rows from 0x00800000 (lane 128, column 0) on, and the lane must be"),
    (SHIFT.format(COLUMNS - 4), f"and column {COLUMNS} is not allocated"),
]  # fmt: skip


@pytest.mark.parametrize("operation, words", WRONG)
def test_places_that_are_none(operation, words):
    with pytest.raises(emulator.Fault) as caught:
        program.run(operation, np.zeros((LANES, COLUMNS), np.uint32))
    assert "ILLEGAL\n    it" in str(caught.value) and words in str(caught.value)


def test_a_of_64_rows_is_not_shifted():
    with pytest.raises(emulator.Fault, match="`.ashift` needs an A of 128 or 256 rows, and A has 64"):
        case = Shifted(m=64)
        multiply(case, np.zeros((1, LANES, case.columns), np.uint32), [b""])


WAIT = "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p, [smem], 0; @!%p bra WAIT;"
FIRST_LOAD = "tcgen05.fence::after_thread_sync; mov.u32 %c, 0;"


@pytest.mark.parametrize("operation, words", [
    (SHIFT.format(32), "which the tcgen05.shift at PTX line 34 still writes: its commit was not waited for"),
    (Shifted().operation, "which the tcgen05.mma at PTX line 35 still writes: its commit was not waited for"),
])  # fmt: skip
def test_a_load_must_wait_for_a_shift(operation, words):
    """The columns that are shifted are loaded, with a wait for the commit and without. D is not loaded."""
    case = Shifted()
    at = [program.descriptor(x.start, x.leading, x.stride, x.swizzle, x.base) for x in case.layouts]
    right = program.ptx(operation, COLUMNS).replace(FIRST_LOAD, FIRST_LOAD.replace("%c, 0", "%c, 32"))
    assert right.count(WAIT) == right.count("%c, 32;") == 1

    def run(text: str) -> None:
        program.run("", np.zeros((LANES, COLUMNS), np.uint32), b"", *at, case.idesc, checks=("race",), text=text)

    run(right)
    with pytest.raises(emulator.Fault) as caught:
        run(right.replace(WAIT, "WAIT:"))
    assert "reads tensor memory at lane 0, column 32, " + words in str(caught.value)


def test_a_shift_reads_what_it_moves():
    text = program.ptx(SHIFT.format(0), COLUMNS).replace("mov.u32 %c, 0;\n", "mov.u32 %c, 32;\n")
    assert text.count("mov.u32 %c, 32;") == 2  # the columns that are stored and loaded
    with pytest.raises(emulator.Fault) as caught:
        program.run("", np.zeros((LANES, COLUMNS), np.uint32), checks=("race", "undefined"), text=text)
    assert "UNDEFINED_READ\n    reads tensor memory at lane 0, column 0, which nobody has written" in str(caught.value)
    assert "tcgen05.shift" in str(caught.value)


def test_the_first_race_of_a_shift_is_the_one_that_is_named():
    """Each half of the lanes is loaded by another instruction, and neither is waited for."""
    loads = "".join(f"tcgen05.ld.sync.aligned.16x64b.x1.b32 {{%v{i}}}, [%lane+{16 * i << 16}];\n" for i in range(2))
    text = program.ptx(SHIFT.format(0), COLUMNS).replace("or.b32 %i, %t, %rank;", f"{loads}or.b32 %i, %t, %rank;")
    with pytest.raises(emulator.Fault) as caught:
        program.run("", np.zeros((LANES, COLUMNS), np.uint32), checks=("race",), text=text)
    assert "RACE\n" in str(caught.value) and "16x64b.x1.b32 {%v0}" in str(caught.value)
    assert "{%v1}" not in str(caught.value)


def test_which_rows_a_shift_moves_is_open():
    assert left_open(Shifted()) == []
    assert left_open(Moved()) == ["nobody measured this form on the chip"]


@dataclass(frozen=True)
class Moved(Case):
    """A shift in the place of a product."""

    @property
    def operation(self) -> str:
        return SHIFT.format(0)


class SparseShifted(Sparse):
    @property
    def operation(self) -> str:
        return super().operation.replace("kind::f16", "kind::f16.ashift")


def test_a_sparse_a_is_shifted_too():
    case = SparseShifted(a_is_in_tensor_memory=True, n=32)
    cells = np.full((LANES, case.columns), 0x44444444, np.uint32)
    cells[:, case.n : case.n + 8] = np.arange(8 * LANES).reshape(LANES, 8)
    at = [program.descriptor(x.start, x.leading, x.stride, x.swizzle, x.base) for x in case.layouts]
    after = program.run(case.operation, cells, b"", *at, case.idesc, adds=False)
    assert np.array_equal(after[:, case.n : case.n + 8], shifted(cells, case.n, range(4))[:, case.n : case.n + 8])
