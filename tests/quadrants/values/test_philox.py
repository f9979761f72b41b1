"""qd.random and qd.randn: ranges, evenness, independence of threads, tasks, calls and launches; the seed decides.

Modules tested here: dsl/quadrants/types/utils.py.
"""

import math

import numpy as np
import pytest

import dsl.quadrants as qd
from dsl.quadrants.values import philox

COUNT = 4096


pytestmark = pytest.mark.usefixtures("running")


@qd.kernel
def drawn(x: qd.template()):
    for i in x:
        x[i] = qd.random(x.dtype)


@qd.kernel
def pairs(x: qd.types.ndarray(), y: qd.types.ndarray(), z: qd.types.ndarray()):
    for i in x:
        x[i] = qd.random()
        y[i] = qd.random()
    for i in z:
        z[i] = qd.random()


@qd.kernel
def normal(x: qd.types.ndarray()):
    for i in x:
        x[i] = qd.randn()


@qd.kernel
def two() -> qd.types.vector(2, qd.f64):
    return qd.Vector([qd.random(qd.f64), qd.random(qd.f64)])


def evenness(numbers: np.ndarray) -> float:
    """Chi-squared of 64 equal bins, in standard deviations of what evenly distributed numbers give."""
    counts, _ = np.histogram(numbers, 64, (0, 1))
    expected = len(numbers) / 64
    return (((counts - expected) ** 2 / expected).sum() - 63) / math.sqrt(126)


@pytest.mark.parametrize("dtype", [qd.f16, qd.f32, qd.f64, qd.i32, qd.i64, qd.u32, qd.u64], ids=str)
def test_every_type_is_even_over_its_range(dtype):
    x = qd.field(dtype, COUNT)
    drawn(x)
    numbers = x.to_numpy()
    assert numbers.dtype == dtype.numpy_name
    if not qd.types.is_real(dtype):
        info = np.iinfo(numbers.dtype)
        numbers = (numbers.astype(np.float64) - info.min) / 2.0**info.bits
    assert 0 <= numbers.min() and numbers.max() < 1 and abs(evenness(numbers)) < 4


def test_threads_calls_tasks_and_launches_have_their_own():
    rows = []
    for _ in range(2):
        row = [np.zeros(COUNT, np.float32) for _ in range(3)]
        pairs(*row)
        rows += row
    assert len(np.unique(np.concatenate(rows))) > 6 * COUNT * 0.999  # 2**24 values: a few meet by chance
    for k, a in enumerate(rows):
        for b in rows[k + 1 :]:
            assert abs(np.corrcoef(a, b)[0, 1]) < 4 / math.sqrt(COUNT)
        assert abs(np.corrcoef(a[1:], a[:-1])[0, 1]) < 4 / math.sqrt(COUNT)


def test_the_seed_decides():
    def numbers(**options) -> list:
        qd.init(arch=qd.cpu, **options)
        return [list(two()), list(two())]

    assert numbers() == numbers() == numbers(random_seed=0)
    assert numbers(random_seed=5) == numbers(random_seed=5) != numbers(random_seed=-5)
    flat = sum(numbers(random_seed=5) + numbers(random_seed=6), [])
    assert len(set(flat)) == 8


def test_normal_numbers():
    x = np.zeros(4 * COUNT, np.float32)
    normal(x)
    assert abs(x.mean()) < 4 / math.sqrt(len(x)) and abs(x.std() - 1) < 4 / math.sqrt(2 * len(x))
    assert abs((x**3).mean()) < 4 * math.sqrt(15 / len(x)) and abs((x**4).mean() - 3) < 4 * math.sqrt(96 / len(x))
    assert np.isfinite(x).all()


def test_the_hash_is_philox():
    """Known answers of Philox4x32-10, published with Random123."""

    @qd.kernel
    def hashed(words: qd.types.ndarray(), out: qd.types.ndarray(), key: qd.template()):
        made = philox._hashed([qd.u32(words[0]), qd.u32(words[1]), qd.u32(words[2]), qd.u32(words[3])], qd.static(key))
        for k in qd.static(range(4)):
            out[k] = made[k]

    ones = 0xFFFFFFFF
    for words, key, expected in (
        ((0,) * 4, (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ones,) * 4, (ones, ones), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ):
        out = np.zeros(4, np.uint32)
        hashed(np.array(words, np.uint32), out, key)
        assert out.tolist() == list(expected)


def test_other_types_and_calls_outside_kernels_are_refused():
    @qd.kernel
    def narrow() -> qd.i8:
        return qd.random(qd.i8)

    with pytest.raises(qd.QuadrantsTypeError, match="f16, f32, f64, i32, i64, u32 or u64, not i8"):
        narrow()
    for outside in (qd.random, qd.randn):
        with pytest.raises(qd.QuadrantsRuntimeError, match="in a kernel or func only"):
            outside()
