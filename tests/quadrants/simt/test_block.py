"""qd.simt.block: threads of a block that meet, and meetings that not all of them get to."""

import numpy as np
import pytest

import dsl.quadrants as qd
from dsl.core.diagnosis.unsupported_names import UnsupportedName
from dsl.launch.call.limits.launch_limits import DivergentCollective
from dsl.quadrants.errors.errors import QuadrantsCompilationError

pytestmark = pytest.mark.usefixtures("running")
block = qd.simt.block


@qd.kernel
def reversed_in_blocks(a: qd.types.ndarray(), b: qd.types.ndarray()):
    qd.loop_config(block_dim=64)
    for i in range(256):
        a[i] = i
        qd.simt.block.mem_fence()
        qd.simt.block.sync()
        b[i] = a[i ^ 63] * 1000 + qd.simt.block.thread_idx()


def test_a_block_meets():
    a, b = np.zeros(256, np.int32), np.zeros(256, np.int32)
    reversed_in_blocks(a, b)
    i = np.arange(256)
    assert b.tolist() == ((i ^ 63) * 1000 + i % 64).tolist()


@qd.kernel
def some_threads(k: qd.Template):
    for i in range(128):
        if qd.simt.block.thread_idx() < k:
            qd.simt.block.sync()


@qd.kernel
def odd_threads(k: qd.Template):
    for i in range(128):
        if qd.simt.block.thread_idx() % k == 0:
            qd.simt.block.sync()


@qd.kernel
def one_iteration(k: qd.Template):
    for i in range(128):
        if k or i == 5:
            qd.simt.block.sync()


@qd.kernel
def trips_of_their_own(k: qd.Template):
    for i in range(128):
        for j in range(qd.simt.block.thread_idx() * k + 1):
            qd.simt.block.sync()


@pytest.mark.parametrize(
    "kernel, wrong, right",
    [(some_threads, 16, 128), (odd_threads, 2, 1), (one_iteration, False, True), (trips_of_their_own, 1, 0)],
)
def test_a_meeting_that_not_all_get_to_is_refused(kernel, wrong, right):
    with pytest.raises(QuadrantsCompilationError, match="waits for all 128 threads of the block") as raised:
        kernel(wrong)
    assert "\nfix: " in str(raised.value) and str(raised.value).count("test_block.py") == 2
    assert isinstance(raised.value, DivergentCollective) and raised.value.id == "DIVERGENT_COLLECTIVE"
    kernel(right)


@qd.func
def either(a, b):
    return a | b


@qd.kernel
def folds(
    dtype: qd.Template, threads: qd.Template, trips: int, x: qd.types.ndarray(), p: qd.types.ndarray(),
    out: qd.types.ndarray(), votes: qd.types.ndarray(),
):  # fmt: skip
    qd.loop_config(block_dim=threads)
    for i in range(2 * threads):
        for trip in range(trips):  # the same shared memory again
            v = x[trip, i]
            out[trip, 0, i] = block.reduce_all_add(v, threads, dtype)
            out[trip, 1, i] = block.reduce_all_min(v, threads, dtype)
            out[trip, 2, i] = block.reduce_all_max(v, threads, dtype)
            first = block.reduce_add(v, threads, dtype)
            if block.thread_idx() == 0:
                out[trip, 3, i] = first
            out[trip, 4, i] = block.inclusive_add(v, threads, dtype)
            out[trip, 5, i] = block.inclusive_min(v, threads, dtype)
            out[trip, 6, i] = block.exclusive_add(v, threads, dtype)
            out[trip, 7, i] = block.exclusive_max(v, threads, dtype)
        votes[0, i] = block.sync_all_nonzero(p[i])
        votes[1, i] = block.sync_any_nonzero(p[i])
        votes[2, i] = block.sync_count_nonzero(p[i])
        votes[3, i] = block.reduce_all(p[i], threads, either, qd.i32)
        votes[4, i] = block.exclusive_scan(p[i], threads, either, 64, qd.i32)


@pytest.mark.parametrize("dtype, threads", [(qd.i32, 32), (qd.i64, 96), (qd.f64, 64)])
def test_sums_extremes_and_scans_of_a_block(dtype, threads):
    draw = np.random.default_rng(threads)
    kind = dtype.numpy_name
    x = draw.integers(-50, 50, (2, 2 * threads)).astype(kind)
    p = draw.integers(0, 3, 2 * threads).astype(np.int32)
    p[:threads] = 1
    out, votes = np.zeros((2, 8, 2 * threads), kind), np.zeros((5, 2 * threads), np.int32)
    folds(dtype, threads, 2, x, p, out, votes)
    first = -np.inf if dtype is qd.f64 else np.iinfo(kind).min
    for start in (0, threads):
        span = slice(start, start + threads)
        for trip in range(2):
            v = x[trip, span]
            assert (out[trip, 0, span] == v.sum()).all() and (out[trip, 1, span] == v.min()).all()
            assert (out[trip, 2, span] == v.max()).all() and out[trip, 3, start] == v.sum()
            assert (out[trip, 4, span] == np.cumsum(v)).all()
            assert (out[trip, 5, span] == np.minimum.accumulate(v)).all()
            assert (out[trip, 6, span] == np.cumsum(v) - v).all()
            assert out[trip, 7, span].tolist() == [first, *np.maximum.accumulate(v)[:-1].tolist()]
        flags = p[span]
        either_before = np.bitwise_or.accumulate(np.concatenate(([64], flags)))[:-1]
        assert (votes[0, span] == (flags != 0).all()).all() and (votes[1, span] == (flags != 0).any()).all()
        assert (votes[2, span] == (flags != 0).sum()).all() and (votes[3, span] == np.bitwise_or.reduce(flags)).all()
        assert (votes[4, span] == either_before).all()


@qd.kernel
def transposed(x: qd.types.ndarray(), out: qd.types.ndarray()):
    qd.loop_config(block_dim=64)
    for i in range(128):
        tile = block.SharedArray((8, 8), qd.i64)
        pairs = block.SharedArray(64, qd.types.vector(2, qd.i32))
        count = block.SharedArray((1,), qd.i32)
        t = block.thread_idx()
        tile[t // 8, t % 8] = x[i]
        pairs[t] = qd.Vector([i, -i])
        if t == 0:
            count[0] = 0
        block.sync()
        count[0] += t % 2
        block.sync()
        out[i] = tile[t % 8, t // 8] + pairs[63 - t][0] * 1000 + count[0] * 1000000 + qd.block_idx() * 100000000


def test_shared_arrays():
    x, out = np.arange(128, dtype=np.int64), np.zeros(128, np.int64)
    transposed(x, out)
    tiles = x.reshape(2, 8, 8).transpose(0, 2, 1).ravel()
    mirrored = np.arange(128).reshape(2, 64)[:, ::-1].ravel()
    assert out.tolist() == (tiles + mirrored * 1000 + 32 * 10**6 + np.arange(128) // 64 * 10**8).tolist()


@qd.kernel
def ranked(bit_start: qd.Template, keys: qd.types.ndarray(), out: qd.types.ndarray()):
    qd.loop_config(block_dim=64)
    for i in range(64):
        bins, before = block.SharedArray((64,), qd.i32), block.SharedArray((64,), qd.i32)
        out[0, i] = block.radix_rank_match_atomic_or(keys[i], 64, 6, bit_start, 6, bins, before)
        out[1, i] = bins[i]
        out[2, i] = before[i]


@pytest.mark.parametrize("bit_start", [0, 3])
def test_ranks_by_a_digit(bit_start):
    keys, out = np.random.default_rng(bit_start).integers(0, 1 << 8, 64).astype(np.uint32), np.zeros((3, 64), np.int32)
    ranked(bit_start, keys, out)
    digits = (keys >> bit_start) & 63
    order = np.argsort(digits, kind="stable")
    assert out[0][order].tolist() == list(range(64))
    bins = np.bincount(digits, minlength=64)
    assert out[1].tolist() == bins.tolist() and out[2].tolist() == (np.cumsum(bins) - bins).tolist()


@qd.kernel
def outside():
    block.SharedArray((4,), qd.f32)
    for _ in range(4):
        pass


@qd.kernel
def with_extents(n: int):
    for i in range(4):
        block.SharedArray((n,), qd.f32)


@qd.kernel
def wrong_threads(x: qd.types.ndarray()):
    qd.loop_config(block_dim=64)
    for i in range(64):
        x[i] = block.reduce_all_add(x[i], 128, qd.i32)


@qd.kernel
def half_a_warp(x: qd.types.ndarray()):
    qd.loop_config(block_dim=48)
    for i in range(48):
        x[i] = block.reduce_all_add(x[i], 48, qd.i32)


@pytest.mark.parametrize(
    "kernel, arguments, message",
    [
        (outside, (), "outside the loop that becomes a grid"),
        (with_extents, (4,), "an extent of a shared array is an integer"),
        (wrong_threads, (np.zeros(64, np.int32),), "the blocks of this loop have 64 threads"),
        (half_a_warp, (np.zeros(48, np.int32),), "positive multiple of subgroup size, which is 32, got 48"),
    ],
)
def test_wrong_uses_are_refused(kernel, arguments, message):
    with pytest.raises(QuadrantsCompilationError, match=message) as raised:
        kernel(*arguments)
    assert "\nfix: " in str(raised.value) and "^" in str(raised.value) and "test_block.py" in str(raised.value)


def test_missing_names_are_refused_by_name():
    with pytest.raises(UnsupportedName, match=r"quadrants.simt.Tile16x16 is not part of this compiler"):
        qd.simt.Tile16x16()
