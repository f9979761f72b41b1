"""qd.algorithms: sums, scans, selections and sorts of arrays, against numpy."""

import numpy as np
import pytest

import dsl.quadrants as qd

pytestmark = pytest.mark.usefixtures("running")
A = qd.algorithms
SIZE = 20_000  # more than the 64 blocks take in one trip


def fields(*dtypes, size=SIZE):
    return [qd.field(dtype, size) for dtype in dtypes]


def drawn(dtype, seed=0):
    values = np.random.default_rng(seed).integers(-40, 40, SIZE)
    return (np.abs(values) if dtype in (qd.u32, qd.u64) else values).astype(dtype.numpy_name)


@pytest.mark.parametrize("n", [0, 1, 777, SIZE])
@pytest.mark.parametrize("dtype", [qd.i32, qd.f64])
def test_sums_and_scans(dtype, n):
    arr, added, most = fields(dtype, dtype, dtype)
    least = qd.field(dtype, 1)
    scratch, count = (
        qd.field(qd.u64 if dtype is qd.f64 else qd.u32, A.reduce_scratch_slots(SIZE, 2)),
        qd.field(qd.i32, 1),
    )
    x = drawn(dtype)
    arr.from_numpy(x)
    added.fill(7)
    count[0] = n

    @qd.kernel
    def whole():
        A.reduce_min(arr, least, scratch, count[0], dtype, 2)
        A.exclusive_scan_add(arr, added, scratch, count[0], dtype, 2)
        A.exclusive_scan_max(arr, most, scratch, count[0], dtype, 2)

    whole()
    bottom, top = (-np.inf, np.inf) if dtype is qd.f64 else (-(2**31), 2**31 - 1)
    assert least[0] == (x[:n].min() if n else top)
    assert added.to_numpy().tolist() == (np.cumsum(x[:n]) - x[:n]).tolist() + [7] * (SIZE - n)
    assert most.to_numpy()[:n].tolist() == [bottom, *np.maximum.accumulate(x[:n]).tolist()][:n]


def test_selected_elements_keep_their_order():
    arr, flags, out = fields(qd.f32, qd.i32, qd.f32)
    scratch, count, chosen = qd.field(qd.u32, A.select_scratch_slots(SIZE)), qd.field(qd.i32, 1), qd.field(qd.i32, 1)
    x = drawn(qd.f32)
    arr.from_numpy(x)
    flags.from_numpy((x > 3).astype(np.int32))

    @qd.kernel
    def positive():
        A.select(arr, flags, out, chosen, scratch, count[0], 2)

    for n in (SIZE, 300):
        count[0] = n
        positive()
        wanted = x[:n][x[:n] > 3]
        assert out.to_numpy()[: chosen[0]].tolist() == wanted.tolist()


def test_runs_of_equal_keys_are_summed():
    keys, values, keys_out, sums = fields(qd.i32, qd.i32, qd.i32, qd.i32)
    scratch, count, runs = (
        qd.field(qd.u32, A.reduce_by_key_scratch_slots(SIZE)),
        qd.field(qd.i32, 1),
        qd.field(qd.i32, 1),
    )
    k, v = np.repeat(drawn(qd.i32), 3)[:SIZE], drawn(qd.i32, 1)
    keys.from_numpy(k)
    values.from_numpy(v)

    @qd.kernel
    def by_key():
        A.reduce_by_key_add(keys, values, keys_out, sums, runs, scratch, count[0], qd.i32, 2)

    for n in (SIZE, 1):
        count[0] = n
        by_key()
        heads = np.flatnonzero(np.concatenate(([True], k[1:n] != k[: n - 1])))
        assert runs[0] == len(heads) and keys_out.to_numpy()[: len(heads)].tolist() == k[heads].tolist()
        assert sums.to_numpy()[: len(heads)].tolist() == np.add.reduceat(v[:n], heads).tolist()


@pytest.mark.parametrize("dtype, bits", [(qd.u32, 16), (qd.f32, 32), (qd.i64, 64)])
def test_sorts_are_stable(dtype, bits):
    keys, other_keys = fields(dtype, dtype)
    values, other_values = fields(qd.i32, qd.i32)
    scratch, count = qd.field(qd.u32, A.sort_scratch_slots(SIZE, 2)), qd.field(qd.i32, ())
    x = drawn(dtype)
    keys.from_numpy(x)
    values.from_numpy(np.arange(SIZE, dtype=np.int32))
    count[None] = SIZE - 5

    @qd.kernel
    def ordered():
        A.sort(keys, other_keys, values, other_values, scratch, count, dtype, True, bits, 2)

    ordered()
    order = np.argsort(x[:-5], kind="stable")
    assert values.to_numpy()[:-5].tolist() == order.tolist()
    assert keys.to_numpy().tolist() == [*x[order].tolist(), *x[-5:].tolist()]


@pytest.mark.parametrize("offset", [0, -3])
def test_functions_that_python_calls(offset):
    keys, values = qd.field(qd.f32, 300, offset=offset), qd.field(qd.i32, 300, offset=offset)
    x = drawn(qd.f32)[:300]
    keys.from_numpy(x)
    values.from_numpy(np.arange(300, dtype=np.int32))
    with pytest.warns(DeprecationWarning, match="use qd.algorithms.sort"):
        A.parallel_sort(keys, values)
    assert keys.to_numpy().tolist() == np.sort(x).tolist() and (x[values.to_numpy()] == keys.to_numpy()).all()
    with pytest.warns(DeprecationWarning, match="exclusive_scan_add"):
        sums = A.PrefixSumExecutor(300)
    sums.run(values)
    assert values.to_numpy()[-1] == 299 * 150
    with pytest.raises(qd.QuadrantsTypeError, match="Only qd.i32"):
        sums.run(keys)


@qd.kernel
def nested(arr: qd.Template, scratch: qd.Template, n: int):
    if n > 2:
        A.reduce_add(arr, arr, scratch, n, qd.i32, 1)


@qd.kernel
def narrow(arr: qd.Template, scratch: qd.Template, n: int):
    A.reduce_add(arr, arr, scratch, n, qd.i16, 1)


@qd.kernel
def too_deep(arr: qd.Template, scratch: qd.Template, n: int):
    A.reduce_add(arr, arr, scratch, n, qd.i32, 5)


@pytest.mark.parametrize(
    "kernel, message",
    [
        (nested, "requires the outermost scope"),
        (narrow, "one of i32, u32, f32, i64, u64, f64, got i16"),
        (too_deep, "log256_max_n is an integer from 1 to 4, got 5"),
    ],
)
def test_wrong_uses_are_refused_at_the_authors_line(kernel, message):
    arr, scratch = qd.field(qd.i32, 8), qd.field(qd.u32, 64)
    with pytest.raises(Exception, match=message) as raised:
        kernel(arr, scratch, 3)
    assert "A.reduce_add(" in str(raised.value) and "\nfix: " in str(raised.value)
    with pytest.raises(ValueError, match="log256_max_n"):
        A.sort_scratch_slots(8, 5)
