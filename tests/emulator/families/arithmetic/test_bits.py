"""Bit fields and counts of bits against Python's integers. PTX ISA 9.7.1.14 to 9.7.1.22; the rest: test_integer.py."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.families.arithmetic.test_integer import TYPES, expect, patterns


def bit_field(a: int, b: int, c: int, bits: int, signed: bool) -> int:
    """The pseudo-code of bfe, on the unsigned pattern of a."""
    a &= (1 << bits) - 1
    position, length = b & 255, c & 255
    sign = 0 if not signed or length == 0 else a >> min(position + length - 1, bits - 1) & 1
    picked = [a >> (position + i) & 1 if i < length and position + i < bits else sign for i in range(bits)]
    return sum(bit << i for i, bit in enumerate(picked))


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
def test_bfe(machine, kind):
    a, b, c = patterns(kind, 9), patterns("u32", 10), patterns("u32", 11)
    b[::2] %= 40
    c[1::2] %= 40
    got = machine.each(f"bfe.{kind} %d, %a, %b, %c;", a, b, c, out=TYPES[kind])
    bits = int(kind[1:])
    np.testing.assert_array_equal(got, expect(lambda *v: bit_field(*v, bits, kind[0] == "s"), TYPES[kind], a, b, c))


def bit_insert(a: int, b: int, c: int, d: int, bits: int) -> int:
    """The pseudo-code of bfi."""
    position, length = c & 255, d & 255
    for i in range(length):
        if position + i < bits:
            b = b & ~(1 << position + i) | (a >> i & 1) << position + i
    return b


@pytest.mark.parametrize("bits", [32, 64])
def test_bfi(machine, bits):
    kind = f"b{bits}"
    a, b, c, d = patterns(kind, 12), patterns(kind, 13), patterns("u32", 14), patterns("u32", 15)
    c[::2] %= 40
    d[1::2] %= 40
    got = machine.each(f"bfi.{kind} %d, %a, %b, %c, %e;", a, b, c, d, out=TYPES[kind])
    np.testing.assert_array_equal(got, expect(lambda *v: bit_insert(*v, bits), TYPES[kind], a, b, c, d))


def nth_set(mask: int, base: int, offset: int) -> int:
    """The pseudo-code of fns."""
    if offset == 0:
        return base if mask >> base & 1 else -1
    count, place, step = abs(offset) - 1, base, 1 if offset > 0 else -1
    while 0 <= place < 32:
        if mask >> place & 1:
            if count == 0:
                return place
            count -= 1
        place += step
    return -1


def test_fns(machine):
    masks, bases, offsets = patterns("u32", 40, 4000), patterns("u32", 41, 4000) % 32, patterns("s32", 42, 4000)
    offsets[::8] %= 40
    offsets[1::4] = offsets[1::4] % 12 - 6
    offsets[:3] = -(2**31), 2**31 - 1, 0
    got = machine.each("fns.b32 %d, %a, %b, %c;", masks, bases, offsets, out=np.uint32)
    np.testing.assert_array_equal(got, expect(nth_set, np.uint32, masks, bases, offsets))
    assert (got != 0xFFFFFFFF).sum() > 500


@pytest.mark.parametrize("kind", ["u32", "s32"])
@pytest.mark.parametrize("mode", ["clamp", "wrap"])
def test_szext(machine, kind, mode):
    a, b = patterns("u32", 43), patterns("u32", 44)
    b[::2] %= 40
    got = machine.each(f"szext.{mode}.{kind} %d, %a, %b;", a, b, out=np.uint32)

    def extended(a: int, b: int) -> int:
        """The pseudo-code of szext."""
        length, too_large = b & 31, b >= 32 and mode == "clamp"
        mask = 0 if too_large else -1 << length
        has_sign = length > 0 and not too_large and kind == "s32" and a >> length - 1 & 1
        return a & ~mask | (mask if has_sign else 0)

    np.testing.assert_array_equal(got, expect(extended, np.uint32, a, b))
