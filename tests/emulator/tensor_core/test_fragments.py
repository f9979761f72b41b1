"""Register fragments of wgmma and mma.m16n8 against tables written by hand from the PTX ISA's figures."""

from __future__ import annotations

import collections
import itertools

import pytest

from dsl.emulator.families import table as isa
from dsl.emulator.tensor_core import fragments
from dsl.emulator.tensor_core.fragments import BITS, SHAPES, WGMMA_TYPES, Mma, Wgmma, a_element, b_element, c_element
from tests.emulator.families.warpgroup.test_emit import a_place, result_place

# The PTX ISA's figures of register fragments of wgmma.m64nNk16, 9.7.15.5.1: for row 0 to 15 of a warp, the thread and
# its elements at each column. The rows between go on with the next four threads; warp w has rows 16 w on and threads 32 w on.
D_FIGURE = {  # columns 0 to 15 of D
    0: "T0:d0 T0:d1 T1:d0 T1:d1 T2:d0 T2:d1 T3:d0 T3:d1 T0:d4 T0:d5 T1:d4 T1:d5 T2:d4 T2:d5 T3:d4 T3:d5",
    1: "T4:d0 T4:d1 T5:d0 T5:d1 T6:d0 T6:d1 T7:d0 T7:d1 T4:d4 T4:d5 T5:d4 T5:d5 T6:d4 T6:d5 T7:d4 T7:d5",
    7: "T28:d0 T28:d1 T29:d0 T29:d1 T30:d0 T30:d1 T31:d0 T31:d1 T28:d4 T28:d5 T29:d4 T29:d5 T30:d4 T30:d5 T31:d4 T31:d5",
    8: "T0:d2 T0:d3 T1:d2 T1:d3 T2:d2 T2:d3 T3:d2 T3:d3 T0:d6 T0:d7 T1:d6 T1:d7 T2:d6 T2:d7 T3:d6 T3:d7",
    15: "T28:d2 T28:d3 T29:d2 T29:d3 T30:d2 T30:d3 T31:d2 T31:d3 T28:d6 T28:d7 T29:d6 T29:d7 T30:d6 T30:d7 T31:d6 T31:d7",
}
A_FIGURES = {  # columns of A: 16 of 2 bytes, 8 of 4, 32 of 1
    2: {
        0: "T0:0 T0:1 T1:0 T1:1 T2:0 T2:1 T3:0 T3:1 T0:4 T0:5 T1:4 T1:5 T2:4 T2:5 T3:4 T3:5",
        7: "T28:0 T28:1 T29:0 T29:1 T30:0 T30:1 T31:0 T31:1 T28:4 T28:5 T29:4 T29:5 T30:4 T30:5 T31:4 T31:5",
        8: "T0:2 T0:3 T1:2 T1:3 T2:2 T2:3 T3:2 T3:3 T0:6 T0:7 T1:6 T1:7 T2:6 T2:7 T3:6 T3:7",
        15: "T28:2 T28:3 T29:2 T29:3 T30:2 T30:3 T31:2 T31:3 T28:6 T28:7 T29:6 T29:7 T30:6 T30:7 T31:6 T31:7",
    },
    4: {
        0: "T0:0 T1:0 T2:0 T3:0 T0:2 T1:2 T2:2 T3:2",
        8: "T0:1 T1:1 T2:1 T3:1 T0:3 T1:3 T2:3 T3:3",
        15: "T28:1 T29:1 T30:1 T31:1 T28:3 T29:3 T30:3 T31:3",
    },
    1: {
        0: "T0:0 T0:1 T0:2 T0:3 T1:0 T1:1 T1:2 T1:3 T2:0 T2:1 T2:2 T2:3 T3:0 T3:1 T3:2 T3:3 "
        "T0:8 T0:9 T0:10 T0:11 T1:8 T1:9 T1:10 T1:11 T2:8 T2:9 T2:10 T2:11 T3:8 T3:9 T3:10 T3:11",
        8: "T0:4 T0:5 T0:6 T0:7 T1:4 T1:5 T1:6 T1:7 T2:4 T2:5 T2:6 T2:7 T3:4 T3:5 T3:6 T3:7 "
        "T0:12 T0:13 T0:14 T0:15 T1:12 T1:13 T1:14 T1:15 T2:12 T2:13 T2:14 T2:15 T3:12 T3:13 T3:14 T3:15",
    },
}


def cells(figure: dict[int, str]):
    """(row, column, thread, element) of the figure in each of the four warps."""
    for row, text in figure.items():
        for column, cell in enumerate(text.split()):
            thread, element = (int(part.strip("Td")) for part in cell.split(":"))
            for warp in range(4):
                yield 16 * warp + row, column, 32 * warp + thread, element


def test_places_of_elements_in_the_tests_of_wgmma():
    """Those tests check that the device agrees."""
    for row, column, thread, element in cells(D_FIGURE):
        for eight in range(16):  # columns 16 eight on: elements 8 eight on
            assert result_place(256, thread, element + 8 * eight) == (row, column + 16 * eight)
    for nbytes, figure in A_FIGURES.items():
        for row, column, thread, element in cells(figure):
            assert a_place(nbytes, thread, element) == (row, column)


FORMS = {
    2: Mma(16, 8, 16, "f16", "f16", "f32"),
    4: Mma(16, 8, 8, "tf32", "tf32", "f32"),
    1: Mma(16, 8, 32, "s8", "s8", "s32"),
}


@pytest.mark.parametrize("nbytes", A_FIGURES)
def test_a_warp_of_mma_has_the_same(nbytes):
    """PTX ISA 9.7.14.5: the figures of m16n8k16, m16n8k8 (tf32) and m16n8k32 are the same as for a warp's part here."""
    form = FORMS[nbytes]
    for row, column, thread, element in cells(A_FIGURES[nbytes]):
        if thread < 32:
            first_row, first_column = fragments.a_element(form, thread, element // form.pack)
            assert (first_row, first_column + element % form.pack) == (row, column)
    for row, column, thread, element in cells(D_FIGURE):
        if thread < 32 and column < 8:
            assert fragments.c_element(thread, element) == (row, column)


# --- every element is held once ---

EVERY_FORM = [Mma(*shape, *types) for shape, every in SHAPES.items() for types in every]


@pytest.mark.parametrize("form", EVERY_FORM, ids=lambda form: form.name)
def test_every_element_is_held_once(form):
    of_a, of_b, of_c = form.registers
    a, b = collections.Counter(), collections.Counter()
    for lane in range(32):
        for register in range(of_a):
            row, column = a_element(form, lane, register)
            a.update((row, column + k) for k in range(form.pack))
        for register in range(of_b):
            row, column = b_element(form, lane, register)
            b.update((row + k, column) for k in range(form.pack))
    c = collections.Counter(c_element(lane, k) for lane in range(32) for k in range(form.m * form.n // 32))
    for held, rows, columns in ((a, form.m, form.k), (b, form.k, form.n), (c, form.m, form.n)):
        assert held == collections.Counter(itertools.product(range(rows), range(columns)))
    assert of_c * (64 if form.c == "f64" else 32) * 32 == form.m * form.n * BITS[form.c]


def test_figures_of_the_isa():
    """m16n8k16, f16: a0..a7 of lane 5 (figure of A); b of lane 5; c0..c3 of lane 31."""
    form = Mma(16, 8, 16, "f16", "f16", "f32")
    assert [a_element(form, 5, register) for register in range(4)] == [(1, 2), (9, 2), (1, 10), (9, 10)]
    assert [b_element(form, 5, register) for register in range(2)] == [(2, 1), (10, 1)]
    assert [c_element(31, k) for k in range(4)] == [(7, 6), (7, 7), (15, 6), (15, 7)]


def test_forms_of_wgmma():
    """Integer forms have N of 8, 24 and multiples of 16; others every multiple of 8 to 256."""

    def widths(k, *types):
        start = "mma_async", "sync", "aligned"
        return [n for n in range(1, 300) if isa.row_of("wgmma", (*start, f"m64n{n}k{k}", *types))]

    floats = widths(16, "f32", "bf16", "bf16")
    assert floats == list(range(8, 257, 8))
    assert sorted({*floats} - {*widths(32, "s32", "s8", "u8")}) == [40, *range(56, 257, 16)]
    assert widths(16, "f32", "f16", "bf16") == []
    assert {types[0]: Wgmma(8, *types).k for types in WGMMA_TYPES} == {
        "f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32, "b1": 256,
    }  # fmt: skip
    assert Wgmma(256, "f16", "f16", "f32").registers == 128 and Wgmma(256, "f16", "f16", "f16").registers == 64
