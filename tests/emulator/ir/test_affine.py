"""Linear forms of threads: what a rule gives for a sum or product holds for every thread, modulo 2^bits."""

import itertools
import random

import pytest

from dsl.emulator.ir import affine
from dsl.emulator.ir.affine import Linear

THREADS = list(itertools.product(range(4), range(3), range(2)))


class Known:
    """All bases and strides are numbers: nothing is left to emit."""

    def __init__(self):
        self.ranges = []

    def op(self, text):
        raise AssertionError(f"emits {text}")

    def need_range(self, form, low, high):
        self.ranges.append((form, low, high))


def value(form: Linear, thread, bits: int) -> int:
    return (int(form.base) + sum(s * x for s, x in zip(form.strides, thread))) % (1 << bits)


def forms(bits: int, count: int, uniform: bool = False):
    rng = random.Random(bits + count)
    half = 1 << (bits - 1)
    for _ in range(count):
        strides = (
            affine.FLAT if uniform else tuple(rng.choice([0, 1, -1, 4, rng.randrange(-half, half)]) for _ in "xyz")
        )
        yield Linear(str(rng.randrange(-half, half)), strides)


@pytest.mark.parametrize("bits", [8, 32, 64])
def test_sums_and_differences(bits):
    for a, b in zip(forms(bits, 40), forms(bits, 41)):
        total, difference = affine.add(Known(), a, b, bits), affine.add(Known(), a, b, bits, "sub")
        for thread in THREADS:
            x, y = value(a, thread, bits), value(b, thread, bits)
            assert value(total, thread, bits) == (x + y) % (1 << bits)
            assert value(difference, thread, bits) == (x - y) % (1 << bits)


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_products_with_a_uniform_factor(bits):
    for a, b in zip(forms(bits, 40), forms(bits, 40, uniform=True)):
        for left, right in ((a, b), (b, a)):
            product = affine.multiply(Known(), left, right, bits)
            for thread in THREADS:
                assert value(product, thread, bits) == value(a, thread, bits) * value(b, thread, bits) % (1 << bits)
    assert affine.multiply(Known(), Linear("1", (1, 0, 0)), Linear("2", (0, 1, 0)), bits) is None


def test_fewer_bits_are_the_low_ones():
    for form in forms(64, 40):
        narrow = affine.resize(Known(), form, 64, 32, False)
        assert all(value(narrow, thread, 32) == value(form, thread, 64) % (1 << 32) for thread in THREADS)


@pytest.mark.parametrize("is_signed", [True, False])
def test_more_bits_hold_where_no_thread_wraps(is_signed):
    known, form = Known(), Linear("1000", (4, -100, 3))
    wide = affine.resize(known, form, 32, 64, is_signed)
    assert all(value(wide, thread, 64) == value(form, thread, 32) for thread in THREADS)
    low, high = (-(1 << 31), (1 << 31) - 1) if is_signed else (0, (1 << 32) - 1)
    assert known.ranges == [(wide, low, high)]  # the launch is asked whether that is so
    uniform = affine.resize(known, Linear("-5"), 32, 64, is_signed)
    assert uniform == Linear("-5" if is_signed else str((1 << 32) - 5)) and len(known.ranges) == 1
    assert affine.resize(known, form, 16, 32, is_signed) is None


def test_numbers_as_llvm_writes_them():
    assert [affine.signed(x, 8) for x in (127, 128, 255, 256, -1)] == [127, -128, -1, 0, -1]
    assert affine.signed(1, 1) == 1 and [affine.number(x) for x in (3, "-4", "%x")] == [3, -4, None]
