"""tcgen05.mma against numpy in exact arithmetic: types, layouts of A, B and D, options, pairs of blocks.

C++ tested here: tensor_products.cc, tensor_queue.cc, matrix_reads.h.
"""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings, strategies as st

from tests.emulator.families.tcgen05.matrices import BYTES, CHUNK, SWIZZLES
from tests.emulator.families.tcgen05.products import Case, check

SMALL = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")
TYPES = [("f16", "f16"), ("bf16", "bf16"), ("tf32", "tf32"), *itertools.product(SMALL, repeat=2)]
INTEGERS = list(itertools.product(("u8", "s8"), repeat=2))
HALVES = [each for each in TYPES if each[0] not in ("bf16", "tf32")]
MAJORS = list(itertools.product((False, True), repeat=2))
LANE_MASK = (0x00000001, 0xFFFF0000, 0, 0xFFFFFFFF, 0x80000000, 0x12345678, 0xFFFFFFFF, 0)


@pytest.mark.parametrize("a, b", TYPES)
def test_types(a, b):
    check(Case(a, b))
    check(Case(a, b, floats=True, seed=1))


@pytest.mark.parametrize("a, b", HALVES)
def test_results_of_f16(a, b):
    check(Case(a, b, "f16"))
    check(Case(a, b, "f16", floats=True, seed=1))


@pytest.mark.parametrize("saturates", [False, True])
@pytest.mark.parametrize("a, b", INTEGERS)
def test_integers(a, b, saturates):
    check(Case(a, b, "s32", saturates=saturates))
    check(Case(a, b, "s32", saturates=saturates, adds=False))


@pytest.mark.parametrize("n", [8, 16, 24, 136, 248, 256])
@pytest.mark.parametrize("m, lane", [(128, 0), (64, 0), (64, 16)])
def test_shapes(m, lane, n):
    check(Case(m=m, lane=lane, n=n))


@pytest.mark.parametrize("ks_first", [False, True])
@pytest.mark.parametrize("by_k", MAJORS)
@pytest.mark.parametrize("swizzle", [0, 6, 4, 2])
@pytest.mark.parametrize("kind", ["f16", "e5m2", "u8"])
def test_layouts_in_shared_memory(kind, swizzle, by_k, ks_first):
    result = "s32" if kind == "u8" else "f32"
    check(Case(kind, kind, result, n=128, swizzles=(swizzle, swizzle), by_k=by_k, ks_first=ks_first))


@pytest.mark.parametrize("swizzle", [0, 6, 4, 2])
@pytest.mark.parametrize("a, b", [("e2m1", "e3m2"), ("e2m3", "e2m1")])
def test_elements_of_4_and_6_bits_with_padding(a, b, swizzle):
    for by_k in MAJORS:
        check(Case(a, b, n=128, swizzles=(swizzle, swizzle), by_k=by_k))


@pytest.mark.parametrize("ks_first", [False, True])
@pytest.mark.parametrize("m, n", [(64, 32), (128, 96)])
def test_atoms_of_32_bytes(m, n, ks_first):
    """tf32, where M and N run fastest."""
    check(Case("tf32", "tf32", m=m, n=n, swizzles=(1, 1), by_k=(True, True), ks_first=ks_first))


@pytest.mark.parametrize("swizzles", [(0, 2), (6, 4), (2, 0)])
def test_a_and_b_have_their_own_layouts(swizzles):
    check(Case(n=64, swizzles=swizzles, by_k=(True, False), floats=True))


@pytest.mark.parametrize("swizzle", [4, 2])
def test_a_start_inside_of_a_swizzle(swizzle):
    """A step along K moves the start field alone."""
    steps = range(0, SWIZZLES[swizzle][0] * CHUNK, 32)
    for step in steps:
        check(Case(swizzles=(swizzle, swizzle), starts=(step, steps[-1] - step)))


@pytest.mark.parametrize("swizzle, lines", [(2, 8), (4, 4), (6, 2)])
def test_base_offsets(swizzle, lines):
    """The pattern of a swizzle begins some lines of 128 bytes after an aligned address."""
    for base in range(1, lines):
        bases = base, lines - base
        check(Case(swizzles=(swizzle, swizzle), starts=tuple(128 * each for each in bases), bases=bases))


@pytest.mark.parametrize("blocks, m", [(1, 128), (2, 256), (2, 128)])
@pytest.mark.parametrize(
    "a, b", [("f16", "f16"), ("tf32", "tf32"), ("e4m3", "e5m2"), ("e2m3", "e3m2"), ("e2m1", "e4m3")]
)
def test_a_in_tensor_memory(a, b, blocks, m):
    check(Case(a, b, m=m, n=64, blocks=blocks, a_is_in_tensor_memory=True))


@pytest.mark.parametrize("lane", [0, 16])
def test_a_of_64_rows_in_tensor_memory(lane):
    check(Case("s8", "u8", "s32", m=64, n=48, lane=lane, a_is_in_tensor_memory=True))


@pytest.mark.parametrize("kind", ["f16", "tf32", "e4m3", "e2m1"])
def test_signs(kind):
    for negates in MAJORS:
        check(Case(kind, kind, negates=negates))


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("kind, d, scale", [("f16", "f32", 0), ("f16", "f16", 3), ("tf32", "f32", 15)])
def test_d_is_scaled(kind, d, scale, adds):
    check(Case(kind, kind, d, scale_d=scale, adds=adds))
    check(Case(kind, kind, d, scale_d=scale, adds=adds, floats=True))


@pytest.mark.parametrize("blocks, m", [(1, 64), (1, 128), (2, 128), (2, 256)])
def test_lanes_that_stay(blocks, m):
    check(Case(m=m, n=64, blocks=blocks, kept=LANE_MASK[: 4 * blocks]))


@pytest.mark.parametrize("m", [128, 256])
@pytest.mark.parametrize("n", [32, 128, 256])
@pytest.mark.parametrize("kind, d", [("f16", "f32"), ("f16", "f16"), ("e2m1", "f32"), ("s8", "s32")])
def test_pairs(kind, d, m, n):
    check(Case(kind, kind, d, m=m, n=n, blocks=2))


@pytest.mark.parametrize("swizzle", [0, 6, 4, 2])
@pytest.mark.parametrize("by_k", MAJORS)
def test_layouts_of_pairs(by_k, swizzle):
    check(Case(m=256, n=128, blocks=2, swizzles=(swizzle, swizzle), by_k=by_k, floats=True))


STATIONARY = [
    ("f16", "f16", "f32"),
    ("bf16", "bf16", "f32"),
    ("tf32", "tf32", "f32"),
    ("e4m3", "e2m1", "f16"),
    ("s8", "u8", "s32"),
]


@pytest.mark.parametrize("in_tensor_memory", [False, True])
@pytest.mark.parametrize("n", [64, 128, 256])
@pytest.mark.parametrize("m", [32, 64, 128])
@pytest.mark.parametrize("a, b, d", STATIONARY)
def test_stationary_products(a, b, d, m, n, in_tensor_memory):
    """tcgen05.mma.ws: layouts G, E and D."""
    check(Case(a, b, d, m, n, stationary=True, a_is_in_tensor_memory=in_tensor_memory))


@pytest.mark.parametrize("swizzle", [0, 6, 4, 2])
@pytest.mark.parametrize("by_k", MAJORS)
def test_layouts_of_stationary_products(by_k, swizzle):
    swizzles = (0 if by_k[0] else swizzle, swizzle)
    check(Case(m=32, n=128, stationary=True, swizzles=swizzles, by_k=by_k, floats=True, adds=False))


@st.composite
def cases(draw) -> Case:
    """A legal product of any kind."""
    a, b = draw(st.sampled_from(TYPES + INTEGERS))
    blocks = draw(st.sampled_from((1, 2)))
    integer, wide = a in ("u8", "s8"), a in ("f16", "bf16", "tf32")
    results = ["s32"] if integer else ["f32"] if a in ("bf16", "tf32") else ["f32", "f16"]
    m = draw(st.sampled_from((64, 128) if blocks == 1 else (128, 256)))
    step = 16 * blocks if a not in ("f16", "bf16", "tf32") else 8 * blocks
    by_k = (False, False) if a == "tf32" else draw(st.tuples(st.booleans(), st.booleans()))
    swizzles = tuple(draw(st.sampled_from(fitting(m // blocks, kind, each))) for kind, each in zip((a, b), by_k))
    n = step * draw(st.integers(1, 256 // step))
    while by_k[1] and n // blocks * BYTES.get(b, 1) % (SWIZZLES[swizzles[1]][0] * CHUNK):
        n -= step
        n = n or 256
    bases = tuple(draw(st.integers(0, SWIZZLES[each][0] - 1)) for each in swizzles)
    starts = tuple(128 * base for base in bases)
    return Case(
        a, b, draw(st.sampled_from(results)), m, n, blocks, swizzles, by_k, draw(st.booleans()), starts, bases,
        (0, 0) if integer else draw(st.tuples(st.integers(0, 1), st.integers(0, 1))),
        draw(st.sampled_from((0, 16))) if m == 64 else 0, adds=draw(st.booleans()), seed=draw(st.integers(0, 1 << 32)),
        saturates=integer and draw(st.booleans()), a_is_in_tensor_memory=not by_k[0] and draw(st.booleans()),
        scale_d=draw(st.integers(0, 9)) if wide else None,
    )  # fmt: skip


def fitting(rows: int, kind: str, by_k: bool) -> list[int]:
    """The swizzles whose pattern the rows fill."""
    return [each for each in (0, 6, 4, 2) if not by_k or rows * BYTES.get(kind, 1) % (SWIZZLES[each][0] * CHUNK) == 0]


@settings(max_examples=120, deadline=None, derandomize=True)
@given(cases())
def test_random_products(case):
    check(case)
