"""Shuffles, votes, reductions, matches and elections of a warp, compared with Python."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Boolean, Float32, Int32, cute
from dsl.cutlass.experimental import primitives as prims
from tests.primitives import kernels

LANES, VALUES = np.arange(32), (np.arange(32) * 37 % 23 - 11).astype(np.int32)


def each_lane(function) -> np.ndarray:
    """What `function(value, lane)` gives in each lane of a warp."""

    def body(a, b):
        i, _, _ = cute.arch.thread_idx()
        a[i] = Int32(function(a[i], i))

    return kernels.run(body, VALUES.copy(), threads=32)


SHUFFLES = {"idx": (3, np.full(32, 3)), "bfly": (5, LANES ^ 5), "down": (4, np.where(LANES + 4 < 32, LANES + 4, LANES))}


@pytest.mark.parametrize("kind", SHUFFLES)
def test_shuffles(kind):
    offset, source = SHUFFLES[kind]
    assert np.array_equal(each_lane(lambda v, i: prims.shfl_sync(0xFFFFFFFF, v, offset, 31, kind)), VALUES[source])


def test_a_shuffle_that_returns_whether_the_lane_is_in_range():
    def both(v, i):
        moved, valid = prims.shfl_sync(0xFFFFFFFF, v, 4, 31, prims.Shfl.DOWN, return_value_and_is_valid=True)
        return moved * 2 + Int32(valid)

    source = SHUFFLES["down"][1]
    assert np.array_equal(each_lane(both), VALUES[source] * 2 + (LANES + 4 < 32))


def test_votes():
    def votes(v, i):
        words = [prims.vote_sync(0xFFFFFFFF, v > 0, kind) for kind in ("all", "any", "uni")]
        return Int32(words[0]) + Int32(words[1]) * 2 + Int32(words[2]) * 4

    assert np.array_equal(each_lane(votes), np.full(32, 2))
    ballot = each_lane(lambda v, i: prims.vote_sync(0xFFFFFFFF, v > 0, prims.VoteSync.BALLOT))
    assert np.array_equal(ballot.view(np.uint32), np.full(32, sum(1 << i for i in LANES if VALUES[i] > 0)))


REDUCED = {
    "ADD": VALUES.sum(), "MIN": VALUES.min(), "MAX": VALUES.max(), "AND": np.bitwise_and.reduce(VALUES),
    "OR": np.bitwise_or.reduce(VALUES), "XOR": np.bitwise_xor.reduce(VALUES),
    "UMIN": VALUES.view(np.uint32).min(), "UMAX": VALUES.view(np.uint32).max().astype(np.int32),
}  # fmt: skip


@pytest.mark.parametrize("kind", REDUCED)
def test_reductions(kind):
    result = each_lane(lambda v, i: prims.redux_sync(v, prims.ReductionKind[kind], 0xFFFFFFFF))
    assert np.array_equal(result, np.full(32, REDUCED[kind]))


def test_matches_and_elections():
    matching = each_lane(lambda v, i: prims.match_sync(0xFFFFFFFF, v, prims.MatchSync.ANY))
    expected = [sum(1 << j for j in LANES if VALUES[j] == VALUES[i]) for i in LANES]
    assert np.array_equal(matching.view(np.uint32), expected)
    assert each_lane(lambda v, i: Int32(prims.match_sync(0xFFFFFFFF, v, "all")[1])).sum() == 0
    assert each_lane(lambda v, i: Int32(prims.elect_sync())).sum() == 1


def test_types_of_results():
    def body(a, b):
        assert type(prims.elect_sync()) is Boolean and type(prims.vote_sync(1, True, "ballot")) is Int32
        assert type(prims.shfl_sync(1, Float32(a[0]), 0, 31, "idx")) is Float32

    kernels.ptx(body)


MISTAKES = [
    (lambda v: prims.shfl_sync(-1, v, 1, 31, "idx"), "mask must be 0-0xFFFFFFFF, got -0x1"),
    (lambda v: prims.shfl_sync(1, True, 1, 31, "idx"), "shfl_sync moves 32 bits, got Python bool"),
    (lambda v: prims.vote_sync(1, True, "most"), "kind of a vote must be one of any, all, ballot, uni, got 'most'"),
    (lambda v: prims.redux_sync(Float32(v), prims.ReductionKind.FMAX, 1),
     "redux_sync of FMAX, of floats, needs compute capability 10, and this compiler's newest is 9.0"),
    (lambda v: prims.redux_sync(Float32(v), prims.ReductionKind.ADD, 1), "redux_sync of integers, got Float32"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[text for _, text in MISTAKES])
def test_mistakes(mistake, message):
    with pytest.raises(DSLUserCodeError) as error:
        kernels.ptx(lambda a, b: mistake(a[0]))
    assert str(error.value.message) == message
