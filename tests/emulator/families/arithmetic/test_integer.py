"""Integer instructions against Python's unbounded integers. PTX ISA 9.7.1, 9.7.2, 9.7.7, 9.7.8."""

from __future__ import annotations

import re

import numpy as np
import pytest

EDGES = [0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 127, 128, 255, 256, 32767, 32768, 65535, 2**31 - 1, 2**31,
         2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1]  # fmt: skip
TYPES = {"u16": np.uint16, "s16": np.int16, "u32": np.uint32, "s32": np.int32, "u64": np.uint64, "s64": np.int64,
         "b16": np.uint16, "b32": np.uint32, "b64": np.uint64}  # fmt: skip


def patterns(kind: str, seed: int, count: int = 600) -> np.ndarray:
    """Random bit patterns of a type, its edges first, short values often."""
    dtype = np.dtype(TYPES[kind])
    bits = 8 * dtype.itemsize
    rng = np.random.default_rng(seed)
    values = [e & ((1 << bits) - 1) for e in EDGES] + [-e & ((1 << bits) - 1) for e in EDGES]
    while len(values) < count:
        width = int(rng.integers(1, bits + 1))
        values.append(int.from_bytes(rng.bytes(8), "little") & ((1 << width) - 1))
    rng.shuffle(values)
    return np.array(values, dtype=f"u{dtype.itemsize}").view(dtype)


def expect(function, out, *arrays) -> np.ndarray:
    """`function` on Python ints, wrapped into `out`."""
    dtype = np.dtype(out)
    mask = (1 << (8 * dtype.itemsize)) - 1
    wrapped = [function(*(int(v) for v in row)) & mask for row in zip(*arrays)]
    return np.array(wrapped, dtype=f"u{dtype.itemsize}").view(dtype)


def clamp(value: int, kind: str) -> int:
    bits = int(kind[1:])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)
    return min(max(value, low), high)


def truncating(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def divide(a, b):
    return -1 if b == 0 else truncating(a, b)


def remainder(a, b):
    return -1 if b == 0 else a - b * truncating(a, b)


INT_TYPES = ["u16", "s16", "u32", "s32", "u64", "s64"]
TWO_OPERANDS = [
    *((f"{name}.{t}", t, t, f) for t in INT_TYPES for name, f in {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul.lo": lambda a, b: a * b,
        "div": divide, "rem": remainder, "min": min, "max": max}.items()),
    *((f"mul.hi.{t}", t, t, lambda a, b, n=int(t[1:]): a * b >> n) for t in INT_TYPES),
    *((f"mul.wide.{t}", t, f"{t[0]}{2 * int(t[1:])}", lambda a, b: a * b) for t in INT_TYPES[:4]),
    *((f"{name}.b{n}", f"b{n}", f"b{n}", f) for n in (16, 32, 64) for name, f in {
        "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}.items()),
    ("add.sat.s32", "s32", "s32", lambda a, b: clamp(a + b, "s32")),
    ("sub.sat.s32", "s32", "s32", lambda a, b: clamp(a - b, "s32")),
    ("mul24.lo.u32", "u32", "u32", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
    ("mul24.hi.u32", "u32", "u32", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) >> 16),
]  # fmt: skip


@pytest.mark.parametrize("name, kind, out, function", TWO_OPERANDS, ids=[row[0] for row in TWO_OPERANDS])
def test_two_operands(machine, name, kind, out, function):
    a, b = patterns(kind, 1), patterns(kind, 2)
    got = machine.each(f"{name} %d, %a, %b;", a, b, out=TYPES[out])
    np.testing.assert_array_equal(got, expect(function, TYPES[out], a, b))


SHIFTS = [
    *((f"shl.b{n}", f"b{n}", lambda a, s, n=n: a << s if s < n else 0) for n in (16, 32, 64)),
    *((f"shr.u{n}", f"u{n}", lambda a, s: a >> s if s < 64 else 0) for n in (16, 32, 64)),
    *((f"shr.s{n}", f"s{n}", lambda a, s: a >> min(s, 64)) for n in (16, 32, 64)),
]


@pytest.mark.parametrize("name, kind, function", SHIFTS, ids=[row[0] for row in SHIFTS])
def test_shift_amounts_past_the_width_are_clamped(machine, name, kind, function):
    a, amount = patterns(kind, 3), patterns("u32", 4)
    amount[::2] %= 70
    got = machine.each(f"{name} %d, %a, %b;", a, amount, out=TYPES[kind])
    np.testing.assert_array_equal(got, expect(function, TYPES[kind], a, amount))


def reverse_bits(a: int, bits: int) -> int:
    return int(f"{a:0{bits}b}"[::-1], 2)


def find_top(a: int, signed: bool) -> int:
    return (~a if signed and a < 0 else a).bit_length() - 1


ONE_OPERAND = [
    *((f"abs.s{n}", f"s{n}", f"s{n}", abs) for n in (16, 32, 64)),
    *((f"neg.s{n}", f"s{n}", f"s{n}", lambda a: -a) for n in (16, 32, 64)),
    *((f"not.b{n}", f"b{n}", f"b{n}", lambda a: ~a) for n in (16, 32, 64)),
    *((f"cnot.b{n}", f"b{n}", f"b{n}", lambda a: int(a == 0)) for n in (16, 32, 64)),
    *((f"popc.b{n}", f"b{n}", "u32", lambda a: a.bit_count()) for n in (32, 64)),
    *((f"clz.b{n}", f"b{n}", "u32", lambda a, n=n: n - a.bit_length()) for n in (32, 64)),
    *((f"brev.b{n}", f"b{n}", f"b{n}", lambda a, n=n: reverse_bits(a, n)) for n in (32, 64)),
    *((f"bfind.{t}", t, "u32", lambda a, t=t: find_top(a, t[0] == "s")) for t in ("u32", "s32", "u64", "s64")),
]


@pytest.mark.parametrize("name, kind, out, function", ONE_OPERAND, ids=[row[0] for row in ONE_OPERAND])
def test_one_operand(machine, name, kind, out, function):
    a = patterns(kind, 5)
    got = machine.each(f"{name} %d, %a;", a, out=TYPES[out])
    np.testing.assert_array_equal(got, expect(function, TYPES[out], a))


THREE_OPERANDS = [
    *((f"mad.lo.{t}", t, t, lambda a, b, c: a * b + c) for t in INT_TYPES),
    *((f"mad.wide.{t}", t, f"{t[0]}{2 * int(t[1:])}", lambda a, b, c: a * b + c) for t in INT_TYPES[:4]),
    *((f"mad.hi.{t}", t, t, lambda a, b, c, n=int(t[1:]): (a * b >> n) + c) for t in INT_TYPES),
    *((f"sad.{t}", t, t, lambda a, b, c: abs(a - b) + c) for t in INT_TYPES),
]


@pytest.mark.parametrize("name, kind, out, function", THREE_OPERANDS, ids=[row[0] for row in THREE_OPERANDS])
def test_three_operands(machine, name, kind, out, function):
    a, b, c = patterns(kind, 6), patterns(kind, 7), patterns(out, 8)
    got = machine.each(f"{name} %d, %a, %b, %c;", a, b, c, out=TYPES[out])
    np.testing.assert_array_equal(got, expect(function, TYPES[out], a, b, c))


def funnel(a: int, b: int, c: int, left: bool, wrap: bool) -> int:
    n = c & 31 if wrap else min(c, 32)
    both = b << 32 | a
    return both << n >> 32 if left else both >> n


@pytest.mark.parametrize("direction", ["l", "r"])
@pytest.mark.parametrize("mode", ["wrap", "clamp"])
def test_shf(machine, direction, mode):
    a, b, c = patterns("u32", 16), patterns("u32", 17), patterns("u32", 18)
    c[::2] %= 40
    got = machine.each(f"shf.{direction}.{mode}.b32 %d, %a, %b, %c;", a, b, c, out=np.uint32)
    expected = expect(lambda *v: funnel(*v, direction == "l", mode == "wrap"), np.uint32, a, b, c)
    np.testing.assert_array_equal(got, expected)


def permute(a: int, b: int, c: int) -> int:
    source = (b << 32 | a).to_bytes(8, "little")
    result = 0
    for i in range(4):
        nibble = c >> 4 * i & 15
        byte = source[nibble & 7]
        if nibble & 8:
            byte = 255 if byte & 128 else 0
        result |= byte << 8 * i
    return result


def test_prmt(machine):
    a, b, c = patterns("u32", 19), patterns("u32", 20), patterns("u32", 21)
    got = machine.each("prmt.b32 %d, %a, %b, %c;", a, b, c, out=np.uint32)
    np.testing.assert_array_equal(got, expect(permute, np.uint32, a, b, c))


@pytest.mark.parametrize("mode, order", [
    ("f4e", {0: 0x3210, 1: 0x4321, 2: 0x5432, 3: 0x6543}), ("b4e", {0: 0x5670, 1: 0x6701, 2: 0x7012, 3: 0x0123}),
    ("rc8", {0: 0x0000, 1: 0x1111, 2: 0x2222, 3: 0x3333}), ("ecl", {0: 0x3210, 1: 0x3211, 2: 0x3222, 3: 0x3333}),
    ("ecr", {0: 0x0000, 1: 0x1110, 2: 0x2210, 3: 0x3210}), ("rc16", {0: 0x1010, 1: 0x3232, 2: 0x1010, 3: 0x3232}),
])  # fmt: skip
def test_prmt_modes_follow_the_table_of_the_isa(machine, mode, order):
    a, b, c = patterns("u32", 22), patterns("u32", 23), patterns("u32", 24)
    got = machine.each(f"prmt.b32.{mode} %d, %a, %b, %c;", a, b, c, out=np.uint32)
    np.testing.assert_array_equal(got, expect(lambda a, b, c: permute(a, b, order[c & 3]), np.uint32, a, b, c))


@pytest.mark.parametrize("table", [0x80, 0xC0, 0x96, 0xE8, 0x1F, 0xFF, 0x00, 0xAC])
def test_lop3(machine, table):
    a, b, c = patterns("u32", 25), patterns("u32", 26), patterns("u32", 27)
    got = machine.each(f"lop3.b32 %d, %a, %b, %c, {table};", a, b, c, out=np.uint32)

    def by_bit(a, b, c):
        return sum((table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i for i in range(32))

    np.testing.assert_array_equal(got, expect(by_bit, np.uint32, a, b, c))


def test_carry_chain_adds_and_subtracts_128_bits(machine):
    low_a, high_a, low_b, high_b = (patterns("u64", s) for s in (28, 29, 30, 31))
    operands = (low_a, high_a, low_b, high_b)
    total = machine.each("{ .reg .b64 %x; add.cc.u64 %x, %a, %c; addc.u64 %d, %b, %e; }", low_a, high_a, low_b, high_b,
                         out=np.uint64)  # fmt: skip
    np.testing.assert_array_equal(
        total, expect(lambda la, ha, lb, hb: ((ha << 64 | la) + (hb << 64 | lb)) >> 64, np.uint64, *operands)
    )
    less = machine.each("{ .reg .b64 %x; sub.cc.u64 %x, %a, %c; subc.u64 %d, %b, %e; }", low_a, high_a, low_b, high_b,
                        out=np.uint64)  # fmt: skip
    np.testing.assert_array_equal(
        less, expect(lambda la, ha, lb, hb: ((ha << 64 | la) - (hb << 64 | lb)) >> 64, np.uint64, *operands)
    )


@pytest.mark.parametrize("kind", ["u32", "u64"])
def test_one_carry_serves_additions_and_subtractions(machine, kind):
    """The code that ptxas makes computes a - b as a + ~b + 1, so the carry is set if nothing is borrowed."""
    bits = int(kind[1:])
    operands = [patterns(kind, seed) for seed in (28, 29, 30, 31)]
    cases = {
        "sub.cc %x, %a, %b; addc %d, %c, %e": lambda a, b, c, e: c + e + (a >= b),
        "add.cc %x, %a, %b; subc %d, %c, %e": lambda a, b, c, e: c - e - 1 + (a + b >> bits),
        "sub.cc %x, %a, %b; subc.cc %x, %c, %e; addc %d, %a, %b": lambda a, b, c, e: a + b + (c >= e + (a < b)),
        "add.cc %x, %a, %b; addc.cc %x, %c, %e; subc %d, %a, %b": lambda a, b, c, e: (
            a - b - 1 + (c + e + (a + b >> bits) >> bits)
        ),
    }
    for code, result in cases.items():
        typed = re.sub(r"(add|sub)(c?)(.cc)? ", rf"\1\2\3.{kind} ", code)
        got = machine.each(f"{{ .reg .b{bits} %x; {typed}; }}", *operands, out=TYPES[kind])
        np.testing.assert_array_equal(got, expect(result, TYPES[kind], *operands), err_msg=code)


def signed_bytes(word: int, signed: bool) -> list[int]:
    return [b - 256 if signed and b > 127 else b for b in word.to_bytes(4, "little")]


@pytest.mark.parametrize("a_kind", ["u32", "s32"])
@pytest.mark.parametrize("b_kind", ["u32", "s32"])
def test_dp4a(machine, a_kind, b_kind):
    a, b, c = patterns("u32", 32), patterns("u32", 33), patterns("u32", 34)
    got = machine.each(f"dp4a.{a_kind}.{b_kind} %d, %a, %b, %c;", a, b, c, out=np.uint32)

    def dot(a, b, c):
        x, y = signed_bytes(a, a_kind == "s32"), signed_bytes(b, b_kind == "s32")
        return c + sum(i * j for i, j in zip(x, y))

    np.testing.assert_array_equal(got, expect(dot, np.uint32, a, b, c))


COMPARES = {"eq": "__eq__", "ne": "__ne__", "lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__"}


@pytest.mark.parametrize("kind", INT_TYPES)
@pytest.mark.parametrize("how", COMPARES)
def test_setp_and_selp(machine, kind, how):
    a, b = patterns(kind, 35), patterns(kind, 36)
    b[::3] = a[::3]
    got = machine.each(f"setp.{how}.{kind} %p, %a, %b; selp.b32 %d, 1, 2, %p;", a, b, out=np.uint32)
    expected = expect(lambda a, b: 1 if getattr(a, COMPARES[how])(b) else 2, np.uint32, a, b)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("combine", ["and", "or", "xor"])
def test_setp_combines_and_gives_the_negation_as_second_result(machine, combine):
    a, b = patterns("s32", 37), patterns("s32", 38)
    got = machine.each(
        "{ .reg .pred %c1; setp.gt.s32 %c1, %b, 0; "
        f"setp.lt.{combine}.s32 %p|%q, %a, %b, %c1; "
        "selp.b32 %t, 1, 0, %p; selp.b32 %u, 2, 0, %q; or.b32 %d, %t, %u; }",
        a, b, out=np.uint32,
    )  # fmt: skip
    logic = {"and": lambda x, y: x and y, "or": lambda x, y: x or y, "xor": lambda x, y: x != y}[combine]

    def both(a, b):
        return int(logic(a < b, b > 0)) + 2 * int(logic(not a < b, b > 0))

    np.testing.assert_array_equal(got, expect(both, np.uint32, a, b))


def test_unsigned_comparison_names(machine):
    a, b = patterns("u32", 39), patterns("u32", 40)
    for how, function in {"lo": int.__lt__, "ls": int.__le__, "hi": int.__gt__, "hs": int.__ge__}.items():
        got = machine.each(f"setp.{how}.u32 %p, %a, %b; selp.b32 %d, 1, 0, %p;", a, b, out=np.uint32)
        np.testing.assert_array_equal(got, expect(lambda a, b: int(function(a, b)), np.uint32, a, b))


def test_packed_halves(machine):
    a, b = patterns("u32", 41), patterns("u32", 42)
    for name, function in {"add.u16x2": lambda x, y: x + y, "min.u16x2": min, "max.u16x2": max}.items():
        got = machine.each(f"{name} %d, %a, %b;", a, b, out=np.uint32)
        expected = expect(
            lambda a, b: sum((function(a >> s & 0xFFFF, b >> s & 0xFFFF) & 0xFFFF) << s for s in (0, 16)),
            np.uint32,
            a,
            b,
        )
        np.testing.assert_array_equal(got, expected)


def test_ptxas_accepts_what_is_tested_here(machine, ptxas):
    texts = []
    for table, operands in ((TWO_OPERANDS, "%a, %b"), (ONE_OPERAND, "%a"), (THREE_OPERANDS, "%a, %b, %c")):
        for name, kind, out, _ in table:
            dtypes = [np.dtype(TYPES[kind])] * operands.count("%")
            if table is THREE_OPERANDS:
                dtypes[2] = np.dtype(TYPES[out])
            out = np.dtype(TYPES[out])
            texts.append(machine.each_ptx(f"{name} %d, {operands};", dtypes, out, name=f"k{len(texts)}"))
    ptxas("\n".join(texts))
