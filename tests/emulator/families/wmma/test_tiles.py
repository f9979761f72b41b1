"""Fragments of wmma: every element is held once, and registers are as many as in the tables of 9.7.14.4.1."""

import collections
import itertools

import pytest

from dsl.emulator.families.wmma.tiles import Product, fragment
from tests.emulator.families.wmma.test_emit import SHAPES, registers

PRODUCTS = [
    *((shape, kind, "f32") for shape in SHAPES for kind in ("f16", "bf16")),
    *((shape, kind, "s32") for shape in SHAPES for kind in ("s8", "u8")),
    ((16, 16, 8), "tf32", "f32"), ((8, 8, 4), "f64", "f64"), ((8, 8, 32), "s4", "s32"), ((8, 8, 128), "b1", "s32"),
]  # fmt: skip


@pytest.mark.parametrize("shape, kind, accumulator", PRODUCTS)
@pytest.mark.parametrize("matrix", "abc")
def test_every_element_is_held(shape, kind, accumulator, matrix):
    m, n, k = shape
    of = accumulator if matrix == "c" else kind
    whole = fragment(Product(shape, kind), matrix, of)
    assert len(whole.places) == registers(shape, matrix, of)
    held = collections.Counter()
    for lane, (x, y), each in itertools.product(range(32), whole.places, range(whole.pack)):
        place = lane // 4 + x, lane % 4 * whole.step + y + each
        held[place[::-1] if whole.by_columns else place] += 1
    rows, columns = {"a": (m, k), "b": (k, n), "c": (m, n)}[matrix]
    assert set(held) == set(itertools.product(range(rows), range(columns)))
    assert len(set(held.values())) == 1 and (of == "f16" or set(held.values()) == {1})


def test_a_tile_has_its_part():
    """As ptxas 13.0 gives registers to HMMA.16816: with 8 rows A and B change places."""
    wide, high, flat = (Product(shape, "f16") for shape in SHAPES[:1] + SHAPES[2:] + SHAPES[1:2])
    assert [wide.part(each, 1, "f32") for each in "abc"] == [(0, 4), (2, 4), (4, 8)]
    assert [high.part(each, 1, "f32") for each in "abc"] == [(4, 8), (0, 2), (4, 8)]
    assert [flat.part(each, 1, "f32") for each in "abc"] == [(0, 2), (4, 8), (4, 8)]
