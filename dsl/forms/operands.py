"""Operands of instruction forms: edge values, values near one another, random bits. The same on every machine."""

from __future__ import annotations

import functools

import numpy as np

FLOATS = {"f16": (16, 10), "bf16": (16, 7), "f32": (32, 23), "f64": (64, 52)}  # bits, fraction bits
COUNT = 3072  # threads of a form with two operands or more: all pairs of edges, and a quarter of random bits
WORD = {8: "u1", 16: "u2", 32: "u4", 64: "u8"}


def width(kind: str) -> int:
    """Bits of a PTX type such as s32, bf16, f16x2."""
    if kind.endswith("x2"):
        return 2 * width(kind[:-2])
    return int(kind.lstrip("bfsue"))


@functools.cache
def edges(kind: str) -> tuple[int, ...]:
    """The bit patterns at which a type's instructions change what they do."""
    bits = width(kind)
    if kind not in FLOATS:
        top, ones = 1 << bits - 1, (1 << bits) - 1
        small = [0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF]
        return tuple(dict.fromkeys(each & ones for each in [*small, top - 1, top, top + 1, ones - 1, ones]))
    _, fraction = FLOATS[kind]
    infinity = (1 << bits - 1) - (1 << fraction)
    one = infinity >> 1 & ~((1 << fraction) - 1)
    quarter = 1 << fraction - 2
    least = [0, 1, 2, (1 << fraction) - 1, 1 << fraction, (1 << fraction) + 1]
    near_one = [one - (1 << fraction), one - 1, one, one + 1, one + 2 * quarter, one + (1 << fraction)]
    whole = [one + (each << fraction) + quarter for each in (fraction, fraction + 1, 6, 7, 14)]  # ties, integer limits
    great = [infinity - 1, infinity, infinity + 1, infinity + 2 * quarter, infinity + (1 << fraction) - 1]
    positive = [each for each in (*least, *near_one, *whole, *great) if each < 1 << bits - 1]
    return tuple(dict.fromkeys([*positive, *(each | 1 << bits - 1 for each in positive)]))


@functools.cache
def operands(kind: str, number: int) -> tuple[np.ndarray, ...]:
    """`number` arrays of bits: every 16-bit pattern for one operand, else all pairs of edges and random values."""
    if kind.endswith("x2"):
        low, high = (operands(kind[:-2], number + 1) for _ in range(2))
        return tuple(_pairs(a, b) for a, b in zip(low[:number], np.roll(high[1:], 77, axis=1), strict=True))
    bits = width(kind)
    if number == 1 and bits == 16:
        return (np.arange(1 << 16, dtype=np.uint16),)
    if bits == 8:
        every = np.arange(256 * 8, dtype=np.uint16) % 256
        return tuple((every * (1 + 2 * each) + each).astype(np.uint8) for each in range(number))
    stream = np.random.PCG64([bits, number, sum(kind.encode())])
    table = np.array(edges(kind), np.uint64)
    raw = [stream.random_raw(COUNT) >> np.uint64(64 - bits) for _ in range(number)]
    if number == 1:
        columns = [np.concatenate([table, raw[0]])[:COUNT]]
    else:
        first, second = np.divmod(np.arange(min(len(table) ** 2, COUNT * 3 // 4)), len(table))
        picks = [
            table[first],
            table[second],
            *(table[stream.random_raw(len(first)) % np.uint64(len(table))] for _ in raw),
        ]
        columns = [np.concatenate([pick, rest])[:COUNT] for pick, rest in zip(picks, raw)]
        near = slice(COUNT - COUNT // 8, COUNT)  # operands of one size: sums cancel, quotients are near one
        columns[1][near] = columns[0][near] ^ (raw[1][near] & np.uint64(15))
        if kind in FLOATS:
            columns[1][near] ^= np.uint64(1 << bits - 1)
    return tuple(column.astype(WORD[bits]) for column in columns)


def _pairs(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return low[:COUNT].astype(np.uint32) | high[:COUNT].astype(np.uint32) << np.uint32(16)
