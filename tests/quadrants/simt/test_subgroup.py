"""qd.simt.subgroup: what the lanes of a warp exchange, against numpy.

Modules tested here: dsl/quadrants/simt/trees.py.
"""

import itertools

import numpy as np
import pytest

import dsl.quadrants as qd
from dsl.quadrants.errors.errors import QuadrantsTypeError

pytestmark = pytest.mark.usefixtures("running")
subgroup = qd.simt.subgroup

FOLDS = {
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
SCANS = tuple(FOLDS)
ROWS = (
    *(f"inclusive_{name}" for name in SCANS),
    *(f"exclusive_{name}" for name in SCANS),
    *(f"{kind}_{name}" for kind in ("reduce", "reduce_all", "segmented_reduce") for name in ("add", "min", "max")),
)
OPS = {row: (getattr(subgroup, row), getattr(subgroup, f"{row}_tiled")) for row in ROWS}


@qd.kernel
def all_of(
    rows: qd.Template, log2_size: qd.Template, whole: qd.Template, x: qd.types.ndarray(), heads: qd.types.ndarray(),
    out: qd.types.ndarray(),
):  # fmt: skip
    qd.loop_config(block_dim=64)
    for i in range(64):
        for k in qd.static(range(len(rows))):
            if qd.static(rows[k].startswith("segmented")):
                if qd.static(whole):
                    out[k, i] = OPS[rows[k]][0](x[i], heads[i])
                else:
                    out[k, i] = OPS[rows[k]][1](x[i], heads[i], log2_size)
            else:
                if qd.static(whole):
                    out[k, i] = OPS[rows[k]][0](x[i])
                else:
                    out[k, i] = OPS[rows[k]][1](x[i], log2_size)


def identity(name: str, dtype):
    if name in ("min", "max"):
        limits = np.finfo(dtype) if np.issubdtype(dtype, np.floating) else np.iinfo(dtype)
        return {"min": np.inf, "max": -np.inf}[name] if np.issubdtype(dtype, np.floating) else (
            limits.max if name == "min" else limits.min
        )  # fmt: skip
    return ~dtype(0) if name == "and" else dtype(name == "mul")


def expected(row: str, group: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Of each lane of a group; of `reduce` the first alone."""
    kind, _, name = row.rpartition("_")
    fold = FOLDS[name]
    if kind.startswith("reduce"):
        return np.full(len(group), fold.reduce(group))
    if kind == "inclusive":
        return fold.accumulate(group)
    if kind == "exclusive":
        return np.concatenate(([identity(name, group.dtype.type)], fold.accumulate(group)[:-1])).astype(group.dtype)
    starts = [max((j for j in range(i + 1) if heads[j]), default=0) for i in range(len(group))]
    return np.array([fold.reduce(group[start : i + 1]) for i, start in enumerate(starts)])


@pytest.mark.parametrize(
    "dtype, log2_size", [(np.int32, 5), (np.int32, 3), (np.uint64, 5), (np.float32, 4), (np.float64, 5), (np.int64, 0)]
)
def test_sums_extremes_and_scans(dtype, log2_size):
    is_float = np.issubdtype(dtype, np.floating)
    rows = tuple(row for row in ROWS if not is_float or row.rpartition("_")[2] not in ("and", "or", "xor"))
    draw = np.random.default_rng(log2_size)
    x = draw.integers(1, 4, 64).astype(dtype)
    x[::7] = 5
    heads = (draw.integers(0, 4, 64) == 0).astype(np.int32)
    out = np.zeros((len(rows), 64), dtype)
    all_of(rows, log2_size, log2_size == 5, x, heads, out)
    size = 1 << log2_size
    with np.errstate(over="ignore"):
        for k, row in enumerate(rows):
            for start in range(0, 64, size):
                group = slice(start, start + size)
                counts = 1 if row.startswith("reduce_") and "all" not in row else size
                wanted = expected(row, x[group], heads[group]).astype(dtype)[:counts]
                assert out[k, group][:counts].tolist() == wanted.tolist(), row


@qd.kernel
def moves(x: qd.types.ndarray(), out: qd.types.ndarray()):
    qd.loop_config(block_dim=32)
    for i in range(32):
        out[0, i] = subgroup.shuffle(x[i], qd.u32(31 - i))
        out[1, i] = subgroup.shuffle_up(x[i], qd.u32(3))
        out[2, i] = subgroup.shuffle_down(x[i], qd.u32(3))
        out[3, i] = subgroup.shuffle_xor(x[i], qd.u32(5))
        out[4, i] = subgroup.broadcast(x[i], qd.u32(9))
        out[5, i] = subgroup.broadcast_first(x[i])


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint32, np.int64, np.float16, np.float32, np.float64])
def test_values_of_other_lanes(dtype):
    x, out, i = (np.arange(32) * 3 - 40).astype(dtype), np.zeros((6, 32), dtype), np.arange(32)
    moves(x.astype(dtype), out)
    lanes = [31 - i, np.where(i < 3, i, i - 3), np.where(i > 28, i, i + 3), i ^ 5, i * 0 + 9, i * 0]
    assert out.tolist() == [x[lane].tolist() for lane in lanes]


@qd.kernel
def votes(p: qd.types.ndarray(), out: qd.types.ndarray()):
    qd.loop_config(block_dim=32)
    for i in range(32):
        out[0, i] = subgroup.all_true_tiled(p[i], 2)
        out[1, i] = subgroup.any_true_tiled(p[i], 2)
        out[2, i] = subgroup.all_equal_tiled(p[i], 2)
        out[3, i] = subgroup.all_true(p[i]) * 4 + subgroup.any_true(p[i]) * 2 + subgroup.all_equal(p[i])
        out[4, i] = subgroup.ballot(p[i])
        out[5, i] = subgroup.ballot_first_n(p[i], 11)
        out[6, i] = subgroup.invocation_id() + subgroup.elect() * 100
        out[7, i] = subgroup.lanemask_lt(i)
        out[8, i] = subgroup.lanemask_le(i)
        out[9, i] = subgroup.lanemask_eq(i)
        out[10, i] = subgroup.lanemask_gt(i)
        out[11, i] = subgroup.lanemask_ge(i)
        subgroup.sync()
        subgroup.mem_fence()


@pytest.mark.parametrize("seed", range(4))
def test_votes_and_masks(seed):
    p = np.random.default_rng(seed).choice([0, 0, 1, -7][: seed + 1], 32).astype(np.int32)
    p[:8], p[8:12] = 0, 3
    out, i = np.zeros((12, 32), np.int64), np.arange(32)
    votes(p, out)
    groups = (p != 0).reshape(8, 4)
    bits = sum(1 << int(lane) for lane in np.flatnonzero(p))
    same = (p.reshape(8, 4) == p.reshape(8, 4)[:, :1]).all(1)
    wanted = [
        np.repeat(groups.all(1), 4),
        np.repeat(groups.any(1), 4),
        np.repeat(same, 4),
        np.full(32, groups.all() * 4 + groups.any() * 2 + (p == p[0]).all()),
        np.full(32, bits),
        np.full(32, bits & 0x7FF),
        i + (i == 0) * 100,
        (1 << i) - 1,
        (2 << i) - 1,
        1 << i,
        0xFFFFFFFF & ~((2 << i) - 1),
        0xFFFFFFFF & ~((1 << i) - 1),
    ]
    assert out.tolist() == [row.astype(np.int64).tolist() for row in wanted]


@qd.kernel
def ordered(log2_size: qd.Template, keys: qd.types.ndarray(), values: qd.types.ndarray()):
    qd.loop_config(block_dim=32)
    for i in range(32):
        k, v = subgroup.bitonic_sort_kv_tiled(keys[i], values[i], log2_size)
        keys[i] = k
        values[i] = v


@pytest.mark.parametrize("log2_size", [0, 1, 3, 5])
def test_pairs_are_sorted(log2_size):
    draw = np.random.default_rng(log2_size)
    keys, values = draw.integers(-5, 5, 32).astype(np.float32), draw.permutation(32).astype(np.int32)
    pairs, size = list(zip(keys.tolist(), values.tolist())), 1 << log2_size
    ordered(log2_size, keys, values)
    tiles = (sorted(pairs[start : start + size]) for start in range(0, 32, size))
    assert list(zip(keys.tolist(), values.tolist())) == list(itertools.chain(*tiles))


def test_sizes_and_old_names():
    assert (subgroup.group_size(), subgroup.log2_group_size()) == (32, 5)

    @qd.kernel
    def old():
        qd.loop_config(block_dim=32)
        for _ in range(32):
            subgroup.barrier()

    with pytest.warns(DeprecationWarning, match="use qd.simt.subgroup.sync"):
        old()


@qd.kernel
def too_wide(n: qd.Template, x: qd.types.ndarray()):
    qd.loop_config(block_dim=32)
    for i in range(32):
        x[i] = subgroup.reduce_add_tiled(x[i], n)


@qd.kernel
def sized_at_run_time(n: int, x: qd.types.ndarray()):
    qd.loop_config(block_dim=32)
    for i in range(32):
        x[i] = subgroup.reduce_add_tiled(x[i], n)


@pytest.mark.parametrize("kernel, n, got", [(too_wide, 6, "6"), (sized_at_run_time, 5, "a run-time value")])
def test_a_size_that_no_warp_has_is_refused(kernel, n, got):
    with pytest.raises(QuadrantsTypeError, match=f"from 0 to 5, known while compiling, got {got}") as raised:
        kernel(n, np.zeros(32, np.int32))
    assert "\nfix: 5 takes all 32 lanes" in str(raised.value) and "x[i] = subgroup" in str(raised.value)


def test_lanes_exchange_in_kernels_only():
    with pytest.raises(Exception, match="in a kernel or func only"):
        subgroup.shuffle(1, 0)
