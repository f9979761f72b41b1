"""Relations against sets of pairs."""

from __future__ import annotations

from hypothesis import given, strategies as st

from dsl.memory_model import relation as rel

SIZE = 6
PAIRS = st.sets(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)))


def pairs(relation):
    return set(rel.pairs(relation))


@given(PAIRS, PAIRS)
def test_operations_agree_with_sets_of_pairs(a, b):
    one, other = rel.of_pairs(SIZE, a), rel.of_pairs(SIZE, b)
    assert pairs(rel.union(one, other)) == a | b
    assert pairs(rel.both(one, other)) == a & b
    assert pairs(rel.inverse(one)) == {(y, x) for x, y in a}
    assert pairs(rel.then(one, other)) == {(x, z) for x, y in a for y2, z in b if y == y2}
    assert pairs(rel.or_equal(one)) == a | {(i, i) for i in range(SIZE)}
    assert pairs(rel.within(one, 0b000111, 0b111000)) == {(x, y) for x, y in a if x < 3 <= y}
    assert rel.is_irreflexive(one) == all(x != y for x, y in a)


@given(PAIRS)
def test_the_closure_has_every_path(a):
    expected = set(a)
    while more := {(x, z) for x, y in expected for y2, z in expected if y == y2} - expected:
        expected |= more
    closed = rel.closure(rel.of_pairs(SIZE, a))
    assert pairs(closed) == expected
    assert rel.is_acyclic(rel.of_pairs(SIZE, a)) == all(x != y for x, y in expected)
