"""Relations over a few events: for each event a bit mask of those it is related to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Relation = list[int]


def empty(size: int) -> Relation:
    """No event is related to another."""
    return [0] * size


def of_pairs(size: int, pairs: Iterable[tuple[int, int]]) -> Relation:
    """The relation with these pairs."""
    relation = [0] * size
    for first, second in pairs:
        relation[first] |= 1 << second
    return relation


def bits(mask: int) -> Iterator[int]:
    """The positions of the bits that are set."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def pairs(relation: Relation) -> Iterator[tuple[int, int]]:
    """Its pairs."""
    for first, row in enumerate(relation):
        for second in bits(row):
            yield first, second


def union(*relations: Relation) -> Relation:
    """The pairs that are in one of them."""
    result = [0] * len(relations[0])
    for relation in relations:
        result = [a | b for a, b in zip(result, relation)]
    return result


def both(one: Relation, other: Relation) -> Relation:
    """The pairs that are in both."""
    return [a & b for a, b in zip(one, other)]


def then(one: Relation, other: Relation) -> Relation:
    """The composition: a is related to c by some b."""
    result = []
    for row in one:
        reached = 0
        while row:
            low = row & -row
            reached |= other[low.bit_length() - 1]
            row ^= low
        result.append(reached)
    return result


def or_equal(relation: Relation) -> Relation:
    """The reflexive closure."""
    return [row | 1 << i for i, row in enumerate(relation)]


def within(relation: Relation, firsts: int, seconds: int) -> Relation:
    """Its pairs from one set to another, given as bit masks."""
    return [row & seconds if firsts >> i & 1 else 0 for i, row in enumerate(relation)]


def inverse(relation: Relation) -> Relation:
    """Its pairs the other way round."""
    return of_pairs(len(relation), ((second, first) for first, second in pairs(relation)))


def closure(relation: Relation) -> Relation:
    """The transitive closure."""
    result = list(relation)
    for k, _ in enumerate(result):
        reached, bit = result[k], 1 << k
        if reached:
            result = [row | reached if row & bit else row for row in result]
    return result


def is_irreflexive(relation: Relation) -> bool:
    """Whether no event is related to itself."""
    return not any(row >> i & 1 for i, row in enumerate(relation))


def is_acyclic(relation: Relation) -> bool:
    """Whether it has no cycle."""
    return is_irreflexive(closure(relation))
