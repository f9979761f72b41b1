"""Linear forms of threads: what a rule gives for a sum or product holds for every thread, modulo 2^bits."""

import itertools
import random

import pytest
from hypothesis import given, settings, strategies as st

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


# ** parts of a value by its bits, against Python's integers in every thread

LAST = st.tuples(st.integers(0, 7), st.integers(0, 3), st.integers(0, 2))
STRIDE = st.one_of(st.integers(0, 9), st.sampled_from([12, 16, 32, 48, 64, 96, 128, 1 << 20, -1, "%t1"]))


def _threads(last):
    return itertools.product(*(range(end + 1) for end in last))


@given(
    st.sampled_from([8, 32, 64]), st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 64) - 1),
    st.tuples(STRIDE, STRIDE, STRIDE), LAST, st.integers(0, 63), st.booleans(),
)  # fmt: skip
@settings(max_examples=400, deadline=None)
def test_parts_hold_in_every_thread(bits, chosen, mask, strides, last, bit, is_signed):
    """`base` has only bits of the mask; whatever the rules answer holds for the threads up to `last`."""
    bit, every = bit % bits, (1 << bits) - 1
    base = affine.signed(chosen & mask, bits)
    if any(not isinstance(each, int) or each >= 1 << (bits - 1) for each in strides):
        strides = tuple(each if isinstance(each, int) and each < 1 << (bits - 1) else 0 for each in strides)
    form, reach = Linear(str(base), strides), affine.Reach(mask & every, last)
    low, high = (rule(Known(), form, reach, bit, bits) for rule in (affine.below, affine.from_bit))
    shifted = affine.shift_right(Known(), form, reach, bit, bits, is_signed)
    for thread in _threads(last):
        whole = value(form, thread, bits)
        if low is not None:
            assert value(low, thread, bits) == whole % (1 << bit)
        if high is not None:
            assert value(high, thread, bits) == whole - whole % (1 << bit)
        if shifted is not None:
            number = affine.signed(whole, bits) if is_signed and bits > 1 else whole
            assert value(shifted, thread, bits) == (number >> bit) & every


@pytest.mark.parametrize("mask, strides, last, bit, parts", [
    (0xFFFFFF80, (1, 0, 0), (127, 0, 0), 10, ((0, 0, 0), (1, 0, 0))),  # block * 128 + thread, by 1024
    (0xFFFFFF80, (1, 0, 0), (127, 0, 0), 7, ((0, 0, 0), (1, 0, 0))),
    (0xFFFFFF80, (1, 0, 0), (128, 0, 0), 10, None),  # one thread too many
    (0xFFFFFF80, (1, 0, 0), (127, 0, 0), 6, None),
    (0xFFFFFFC0, (1, 0, 0), (127, 0, 0), 10, None),
    (0, (1, 32, 0), (31, 7, 0), 5, ((0, 32, 0), (1, 0, 0))),  # a warp's number and the lane
    (3, (4, 0, 0), (63, 0, 0), 2, ((4, 0, 0), (0, 0, 0))),
])  # fmt: skip
def test_parts_that_there_are(mask, strides, last, bit, parts):
    form, reach = Linear("0", strides), affine.Reach(mask, last)
    low, high = (rule(Known(), form, reach, bit, 32) for rule in (affine.below, affine.from_bit))
    assert (high and low and (high.strides, low.strides)) == parts
    shifted = affine.shift_right(Known(), form, reach, bit, 32, False)
    assert (shifted and shifted.strides) == (parts and tuple(each >> bit for each in parts[0]))


def test_a_value_that_may_wrap_around_is_not_shifted():
    """Its lowest bits are as well known as ever."""
    form, reach = Linear("0", (4, 0, 0)), affine.Reach(0xFFFFFFFF, (63, 0, 0))
    assert affine.below(Known(), form, affine.Reach(0xFFFFFFFC, (63, 0, 0)), 2, 32) == Linear("0")
    assert affine.shift_right(Known(), form, reach, 2, 32, False) is None
    half = affine.Reach(0x7FFFFF00, (63, 0, 0))
    assert affine.shift_right(Known(), form, half, 2, 32, True) == Linear("0", (1, 0, 0))
    assert affine.shift_right(Known(), form, affine.Reach(0x7FFFFFFC, (63, 0, 0)), 2, 32, True) is None
    assert affine.shift_right(Known(), form, affine.Reach(0x7FFFFFFC, (63, 0, 0)), 2, 32, False) == Linear(
        "0", (1, 0, 0)
    )
