"""Operands: edges are there, pairs of edges too, and they are the same every time."""

import numpy as np
import pytest

from dsl.forms import operands


@pytest.mark.parametrize("kind", ["u16", "s32", "b64", "f16", "bf16", "f32", "f64"])
def test_edges_are_among_the_operands(kind):
    a, b = operands.operands(kind, 2)
    edges = operands.edges(kind)
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    assert set(edges) <= set(a.tolist()) and (edges[0], edges[0]) in pairs and (edges[1], edges[-1]) in pairs


def test_f32_has_the_values_where_instructions_change():
    values = np.array(operands.edges("f32"), np.uint32)
    wanted = (0, 1, 0x7FFFFF, 0x800000, 0x3F7FFFFF, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000)
    for bits in wanted:
        assert bits in values and bits | 0x80000000 in values


def test_some_operands_are_near_one_another():
    a, b = (each.astype(np.int64) for each in operands.operands("u32", 2))
    assert (abs(a - b)[-256:] < 16).all()


def test_one_operand_of_16_bits_is_every_value():
    assert operands.operands("bf16", 1)[0].tolist() == list(range(65536))


def test_halves_of_a_pair_are_edges_both():
    (a, _) = operands.operands("f16x2", 2)
    assert a.dtype == np.uint32 and 0x7C00 in (a & 0xFFFF) and 0x7C00 in (a >> 16)
