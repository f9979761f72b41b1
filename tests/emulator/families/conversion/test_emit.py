"""cvt between all scalar types, mov packing, set, slct: against exact rationals. PTX ISA 9.7.9.21."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.families.arithmetic import test_float as oracle
from tests.emulator.families.arithmetic.test_float import FORMATS, decode, encode, is_nan, same

INTS = {f"{s}{b}": np.dtype(f"{'i' if s == 's' else 'u'}{b // 8}") for s in "us" for b in (8, 16, 32, 64)}
FLOAT_NAMES = ["f16", "bf16", "f32", "f64"]
INTEGRAL = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


def integers(kind: str, seed: int, count: int = 300) -> np.ndarray:
    dtype = INTS[kind]
    bits = 8 * dtype.itemsize
    rng = np.random.default_rng(seed)
    values = [0, 1, 2**bits - 1, 2 ** (bits - 1), 2 ** (bits - 1) - 1]
    while len(values) < count:
        values.append(int.from_bytes(rng.bytes(8), "little") & ((1 << int(rng.integers(1, bits + 1))) - 1))
        values.append(-values[-1] & ((1 << bits) - 1))
    return np.array(values, dtype=f"u{dtype.itemsize}").view(dtype)


def limits(kind: str) -> tuple[int, int]:
    info = np.iinfo(INTS[kind])
    return int(info.min), int(info.max)


TO_INTEGER = [(f"cvt.{m}.{i}.{f}", m, i, f) for f in ("f16", "f32", "f64") for i in INTS for m in INTEGRAL
              if m in ("rni", "rzi") or i in ("s32", "u64")]  # fmt: skip


@pytest.mark.parametrize("name, mode, target, source", TO_INTEGER, ids=[r[0] for r in TO_INTEGER])
def test_float_to_integer_rounds_and_clamps(machine, name, mode, target, source):
    a = oracle.patterns(source, 1)
    if source != "f16":  # many values near the limits of the target
        rng = np.random.default_rng(2)
        low, high = limits(target)
        near = [float(x) + d for x in (low, high) for d in rng.uniform(-3, 3, 20)]
        dtype = {"f32": np.float32, "f64": np.float64}[source]
        a[: len(near)] = np.array(near, dtype).view(a.dtype)
    out = INTS[target] if INTS[target].itemsize > 1 else np.dtype("i2" if target[0] == "s" else "u2")
    got = machine.each(f"{name} %d, %a;", a, out=out)
    low, high = limits(target)
    expected = []
    for pattern in a.tolist():
        value = decode(pattern, source)
        if is_nan(value):
            wide = source == "f64" or INTS[target].itemsize == 8
            bits = 8 * INTS[target].itemsize
            unsigned = 1 << bits - 1 if wide else 0
            expected.append(unsigned - (1 << bits) if wide and target[0] == "s" else unsigned)
        elif abs(value) == math.inf:
            expected.append(high if value > 0 else low)
        else:
            expected.append(min(max(INTEGRAL[mode](value), low), high))
    assert got.tolist() == expected


FROM_INTEGER = [(f"cvt.{m}.{f}.{i}", m, f, i) for i in INTS for f in FLOAT_NAMES for m in ("rn", "rz", "rm", "rp")
                if not (f == "bf16" and m != "rn")]  # fmt: skip


@pytest.mark.parametrize("name, mode, target, source", FROM_INTEGER, ids=[r[0] for r in FROM_INTEGER])
def test_integer_to_float(machine, name, mode, target, source):
    a = integers(source, 3)
    out = oracle.UINT[FORMATS[target][0]]
    got = machine.each(f"{name} %d, %a;", a, out=out)
    same(got, [encode(Fraction(v), target, mode) for v in a.tolist()], target)


NARROWING = [*((f"cvt.{m}.{t}.{s}", m, t, s) for s, t in (("f64", "f32"), ("f32", "f16"), ("f64", "f16"))
               for m in ("rn", "rz", "rm", "rp")),
             ("cvt.rn.bf16.f32", "rn", "bf16", "f32"), ("cvt.rz.bf16.f32", "rz", "bf16", "f32"),
             ("cvt.f64.f32", "rn", "f64", "f32"), ("cvt.f32.f16", "rn", "f32", "f16"),
             ("cvt.f64.f16", "rn", "f64", "f16"),
             ("cvt.f32.bf16", "rn", "f32", "bf16")]  # fmt: skip


def convert_pattern(pattern: int, mode: str, target: str, source: str):
    value = decode(pattern, source)
    if is_nan(value):
        return None
    sign = pattern >> FORMATS[source][0] - 1
    infinity = encode(Fraction(2) ** 2000, target)
    if abs(value) == math.inf:
        return infinity | sign << FORMATS[target][0] - 1
    return encode(value, target, mode, bool(sign))


@pytest.mark.parametrize("name, mode, target, source", NARROWING, ids=[r[0] for r in NARROWING])
def test_float_to_float(machine, name, mode, target, source):
    a = oracle.patterns(source, 4)
    if FORMATS[target][0] < FORMATS[source][0]:  # values whose low bits make ties in the target
        drop = FORMATS[source][1] - FORMATS[target][1]
        a[::2] &= np.array(~((1 << drop - 1) - 1) & (1 << FORMATS[source][0]) - 1, a.dtype)
    got = machine.each(f"{name} %d, %a;", a, out=oracle.UINT[FORMATS[target][0]])
    same(got, [convert_pattern(p, mode, target, source) for p in a.tolist()], target)


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("mode", INTEGRAL)
def test_rounding_to_an_integral_float(machine, kind, mode):
    a = oracle.patterns(kind, 5)
    got = machine.each(f"cvt.{mode}.{kind}.{kind} %d, %a;", a, out=a.dtype)
    expected = []
    for pattern in a.tolist():
        value = decode(pattern, kind)
        if is_nan(value) or abs(value) == math.inf:
            expected.append(None if is_nan(value) else pattern)
        else:
            expected.append(encode(Fraction(INTEGRAL[mode](value)), kind, "rn", bool(pattern >> FORMATS[kind][0] - 1)))
    same(got, expected, kind)


PAIRS = [(t, s) for t in INTS for s in INTS if t != s]


@pytest.mark.parametrize("target, source", PAIRS, ids=[f"{t}-{s}" for t, s in PAIRS])
def test_integer_to_integer_wraps_or_saturates(machine, target, source):
    a = integers(source, 6)
    out = INTS[target] if INTS[target].itemsize > 1 else np.dtype("i2" if target[0] == "s" else "u2")
    got = machine.each(f"cvt.{target}.{source} %d, %a;", a, out=out)
    np.testing.assert_array_equal(got, a.astype(INTS[target]).astype(out))
    low, high = limits(target)
    if low <= limits(source)[0] and limits(source)[1] <= high:  # nothing to saturate: ptxas refuses it
        with pytest.raises(emulator.Unsupported, match="`.sat` does not go with"):
            machine.each(f"cvt.sat.{target}.{source} %d, %a;", a, out=out)
        return
    got = machine.each(f"cvt.sat.{target}.{source} %d, %a;", a, out=out)
    assert got.tolist() == [min(max(v, low), high) for v in a.tolist()]


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("relu", ["", ".relu"])
def test_packing_two_floats_puts_the_first_operand_on_top(machine, kind, relu):
    a, b = oracle.patterns("f32", 7), oracle.patterns("f32", 8)
    got = machine.each(f"cvt.rn{relu}.{kind}x2.f32 %d, %a, %b;", a, b, out=np.uint32)

    def one(pattern):
        result = convert_pattern(pattern, "rn", kind, "f32")
        return result if result is None or not relu or result < 0x8000 else 0

    same((got >> np.uint32(16)).astype(np.uint16), [one(p) for p in a.tolist()], kind)
    same(got.astype(np.uint16), [one(p) for p in b.tolist()], kind)


def test_tf32_rounds_half_away(machine):
    a = oracle.patterns("f32", 9)
    a = a[~np.isnan(a.view(np.float32)) & (np.abs(a.view(np.float32)) < 1e38)]
    got = machine.each("cvt.rna.tf32.f32 %d, %a;", a, out=np.uint32)
    for pattern, result in zip(a.tolist(), got.tolist()):
        size = Fraction(pattern & 0x7FFFFFFF)
        assert result & 0x7FFFFFFF == math.floor(size / 8192 + Fraction(1, 2)) * 8192
        assert result >> 31 == pattern >> 31


def test_sign_extension_into_a_wider_register(machine):
    a = integers("s8", 10)
    got = machine.each("cvt.s8.s8 %d, %a;", a.astype(np.int16), out=np.int64, wide_out=64)
    np.testing.assert_array_equal(got, a.astype(np.int64))


def test_mov_packs_low_element_first(machine):
    a, b = integers("u32", 11), integers("u32", 12)
    got = machine.each("mov.b64 %d, {%a, %b};", a, b, out=np.uint64)
    np.testing.assert_array_equal(got, a.astype(np.uint64) | b.astype(np.uint64) << np.uint64(32))
    wide = integers("u64", 13)
    got = machine.each("mov.b64 {_, %d}, %a;", wide, out=np.uint32)
    np.testing.assert_array_equal(got, (wide >> np.uint64(32)).astype(np.uint32))
    got = machine.each("{ .reg .b16 %l, %h; mov.b32 {%l, %h}, %a; mov.b32 %d, {%h, %l}; }", a, out=np.uint32)
    np.testing.assert_array_equal(got, a >> np.uint32(16) | a << np.uint32(16))


def test_set_gives_all_ones_or_one(machine):
    a, b = integers("s32", 14), integers("s32", 15)
    np.testing.assert_array_equal(machine.each("set.lt.u32.s32 %d, %a, %b;", a, b, out=np.uint32),
                                  np.where(a < b, np.uint32(0xFFFFFFFF), np.uint32(0)))  # fmt: skip
    np.testing.assert_array_equal(machine.each("set.lt.f32.s32 %d, %a, %b;", a, b, out=np.float32),
                                  (a < b).astype(np.float32))  # fmt: skip


@pytest.mark.parametrize("kind", ["f16x2", "bf16x2"])
@pytest.mark.parametrize("result", ["u32", "s32", "same"])
@pytest.mark.parametrize("name", ["set.lt", "set.geu.and", "set.nan.xor", "set.ne.or"])
def test_set_compares_packed_halves_one_by_one(machine, name, kind, result):
    element = kind[:-2]
    halves = [[oracle.patterns(element, seed + 10 * half)[:2000] for seed in range(2)] for half in range(2)]
    pairs = [low.astype(np.uint32) | high.astype(np.uint32) << np.uint32(16) for low, high in zip(*halves)]
    of_half, of_pair = (element, kind) if result == "same" else ("u16", result)
    flags = np.arange(2000, dtype=np.uint32) // 7 % 2
    third = ", %q" if name.count(".") == 2 else ""
    text = "setp.ne.u32 %q, %c, 0; {} %d, %a, %b" + third + ";"
    got = machine.each(text.format(f"{name}.{of_pair}.{kind}"), *pairs, flags, out=np.uint32)
    for shift, arrays in zip((0, 16), halves):
        alone = machine.each(text.format(f"{name}.{of_half}.{element}"), *arrays, flags, out=np.uint16)
        np.testing.assert_array_equal(got >> np.uint32(shift) & 0xFFFF, alone)


@pytest.mark.parametrize("kind", ["u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"])
def test_cvt_pack(machine, kind):
    a, b, c = (integers("s32", seed) for seed in (20, 21, 22))
    for each in (a, b):
        each[::2] %= 40
    bits = int(kind[1:])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)
    third = ".b32 %d, %a, %b, %c;" if bits < 16 else " %d, %a, %b;"
    got = machine.each(f"cvt.pack.sat.{kind}.s32{third}", a, b, c, out=np.uint32)

    def packed(a: int, b: int, c: int) -> int:
        above, below = (min(max(each, low), high) & (1 << bits) - 1 for each in (a, b))
        return (c << 2 * bits | above << bits | below) & 0xFFFFFFFF

    np.testing.assert_array_equal(got, np.array([packed(*map(int, row)) for row in zip(a, b, c)], np.uint32))


def test_slct_picks_by_sign(machine):
    a, b, c = integers("u32", 16), integers("u32", 17), integers("s32", 18)
    np.testing.assert_array_equal(
        machine.each("slct.u32.s32 %d, %a, %b, %c;", a, b, c, out=np.uint32), np.where(c >= 0, a, b)
    )
    x = oracle.patterns("f32", 19)[: len(a)]
    picked = machine.each("slct.u32.f32 %d, %a, %b, %c;", a[: len(x)], b[: len(x)], x, out=np.uint32)
    np.testing.assert_array_equal(picked, np.where(x.view(np.float32) >= 0, a[: len(x)], b[: len(x)]))


def test_ptxas_accepts_what_is_tested_here(machine, ptxas):
    texts = []
    for name, _, target, source in TO_INTEGER + FROM_INTEGER + NARROWING:
        size = lambda k: FORMATS[k][0] // 8 if k in FORMATS else max(INTS[k].itemsize, 2)
        if "bf16" in (target, source) and name != "cvt.rn.bf16.f32":
            continue
        if source == "f16" and target == "f16":
            continue
        dtypes = [np.dtype(f"u{size(source)}")], np.dtype(f"u{size(target)}")
        texts.append(machine.each_ptx(f"{name} %d, %a;", *dtypes, name=f"k{len(texts)}"))
    ptxas("\n".join(texts))


PARAMETER = """
.visible .entry k(.param .u64 out, .param .align 16 .b8 row[16])
{
  .reg .b32 %r, %v, %t; .reg .b64 %o, %p, %g; .reg .pred %q;
  mov.u32 %t, %tid.x; setp.ne.u32 %q, %t, 0; @%q ret;
  ld.param.u64 %o, [out];
  mov.b32 %r, row; cvt.u64.u32 %p, %r; cvta.param.u64 %g, %p; ld.b32 %v, [%g+4]; st.global.b32 [%o], %v;
  ld.param.b32 %v, [%p+8]; st.global.b32 [%o+4], %v;
  mov.b64 %p, row; cvta.param.u64 %g, %p; ld.b32 %v, [%g+12]; st.global.b32 [%o+8], %v;
  ld.param.b32 %v, [%p]; st.global.b32 [%o+12], %v;
  ret;
}
"""


def test_the_address_of_a_parameter_in_32_bits_and_in_64(machine):
    """PTX ISA 9.7.9.18: cvta.param makes it a generic address; without it, it is one for ld.param."""
    out, row = np.zeros(4, np.uint32), np.arange(5, 9, dtype=np.uint32)
    machine.run(PARAMETER, block=32, out=out, row=row.tobytes())
    assert out.tolist() == [6, 7, 8, 5]


SHARED = """
.version 8.0 .target sm_90 .address_size 64
.visible .entry k(.param .u64 out)
{
  .shared .align 4 .b32 word[2];
  .reg .b32 %v, %t; .reg .b64 %o, %p, %g, %s; .reg .pred %q;
  mov.u32 %t, %tid.x; setp.ne.u32 %q, %t, 0; @%q ret;
  ld.param.u64 %o, [out];
  mov.b64 %p, word; mov.b32 %v, 7; st.shared.b32 [%p+4], %v;
  cvta.to.shared.u64 %s, %p; ld.shared.b32 %v, [%s+4]; st.global.b32 [%o], %v;
  cvta.shared.u64 %g, %p; cvta.shared.u64 %g, %g; ld.b32 %v, [%g+4]; st.global.b32 [%o+4], %v;
  cvta.to.shared.u64 %s, %g; sub.u64 %s, %s, %p; st.global.b64 [%o+8], %s;
  ret;
}
"""


def test_a_shared_address_may_be_converted_to_what_it_is(machine):
    """Machine code of sm_90: cvta.to.shared takes the lower 32 bits of an address, cvta.shared sets the upper ones."""
    out = np.full(4, 9, np.uint32)
    machine.run(SHARED, block=32, out=out)
    assert out.tolist() == [7, 7, 0, 0]
