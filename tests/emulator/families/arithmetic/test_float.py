"""Floating-point instructions against exact rationals rounded by a 20-line oracle. PTX ISA 9.7.3 to 9.7.5.

Modules tested here: dsl/emulator/families/arithmetic/rounding.cc, dsl/emulator/families/arithmetic/rounding.py.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.conftest import use

# name: (bits, fraction bits, exponent bias)
FORMATS = {"f16": (16, 10, 15), "bf16": (16, 7, 127), "f32": (32, 23, 127), "f64": (64, 52, 1023)}
UINT = {16: np.uint16, 32: np.uint32, 64: np.uint64}
CANONICAL_NAN = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF}


def decode(pattern: int, kind: str):
    """A bit pattern as a Fraction, or inf, -inf, nan as floats."""
    bits, fraction_bits, bias = FORMATS[kind]
    sign = -1 if pattern >> (bits - 1) else 1
    exponent = pattern >> fraction_bits & ((1 << (bits - 1 - fraction_bits)) - 1)
    fraction = pattern & ((1 << fraction_bits) - 1)
    if exponent == (1 << (bits - 1 - fraction_bits)) - 1:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * Fraction(fraction) * Fraction(2) ** (1 - bias - fraction_bits)
    return sign * Fraction(fraction + (1 << fraction_bits)) * Fraction(2) ** (exponent - bias - fraction_bits)


def encode(value: Fraction, kind: str, mode: str = "rn", negative_zero: bool = False) -> int:
    """The bit pattern nearest to a rational in a rounding mode (rn, rz, rm, rp)."""
    bits, fraction_bits, bias = FORMATS[kind]
    sign_bit = 1 << (bits - 1)
    if value == 0:
        return sign_bit if negative_zero else 0
    negative, size = value < 0, abs(value)
    exponent = max(math.floor(math.log2(size.numerator) - math.log2(size.denominator)) - 1, 1 - bias)
    while Fraction(2) ** (exponent + 1) <= size:
        exponent += 1
    scaled = size / Fraction(2) ** (exponent - fraction_bits)
    whole, rest = scaled.numerator // scaled.denominator, scaled - scaled.numerator // scaled.denominator
    up = {"rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole & 1), "rz": False,
          "rm": negative and rest > 0, "rp": not negative and rest > 0}[mode]  # fmt: skip
    pattern = whole + bool(up) + (exponent + bias - 1 << fraction_bits)
    largest = ((1 << (bits - 1 - fraction_bits)) - 1 << fraction_bits) - 1
    if pattern > largest:
        towards_zero = mode == "rz" or (mode == "rm" and not negative) or (mode == "rp" and negative)
        pattern = largest if towards_zero else largest + 1
    return pattern | (sign_bit if negative else 0)


def patterns(kind: str, seed: int, count: int = 220) -> np.ndarray:
    """Bit patterns: specials, subnormals, halves, values close to one another, random ones."""
    bits, fraction_bits, bias = FORMATS[kind]
    rng = np.random.default_rng(seed)
    infinity = (1 << (bits - 1 - fraction_bits)) - 1 << fraction_bits
    one = bias << fraction_bits
    special = [0, 1, 2, (1 << fraction_bits) - 1, 1 << fraction_bits, one - 1, one, one + 1, infinity - 1, infinity,
               infinity + 1, infinity | 1 << (fraction_bits - 1), one + (1 << fraction_bits - 1)]  # fmt: skip
    values = special + [s | 1 << (bits - 1) for s in special]
    while len(values) < count:
        pattern = int.from_bytes(rng.bytes(8), "little") & ((1 << bits) - 1)
        if rng.random() < 0.6:  # exponents near one another, so that sums round
            spread = int(rng.integers(-14, 15)) if kind != "f16" else int(rng.integers(-8, 8))
            pattern = pattern & ~infinity | (bias + spread) << fraction_bits
        values.append(pattern)
    rng.shuffle(values)
    return np.array(values, dtype=UINT[bits])


def same(got: np.ndarray, expected: list, kind: str) -> None:
    """Equal bit patterns; an expected None is any NaN (f64) or the canonical one."""
    for i, (g, e) in enumerate(zip(got.tolist(), expected)):
        if e is None:
            assert decode(g, kind) != decode(g, kind), (i, hex(g))
            assert kind == "f64" or g == CANONICAL_NAN[kind], (i, hex(g))
        else:
            assert g == e, f"element {i}: got {g:#x}, expected {e:#x}"


def is_nan(x) -> bool:
    return x != x


def exact(operation: str, values: list, patterns_: list[int], kind: str, mode: str):
    """The expected pattern of add, sub, mul, fma, div; None for NaN."""
    bits = FORMATS[kind][0]
    signs = [p >> (bits - 1) for p in patterns_]
    if any(is_nan(v) for v in values):
        return None
    if operation == "sub":
        values, signs, operation = [values[0], -values[1]], [signs[0], 1 - signs[1]], "add"
    if operation == "fma":
        product_sign = signs[0] ^ signs[1]
        if any(math.inf == abs(v) for v in values[:2]):
            if 0 in values[:2]:
                return None
            values, signs = [-math.inf if product_sign else math.inf, values[2]], [product_sign, signs[2]]
        else:
            values, signs = [values[0] * values[1], values[2]], [product_sign, signs[2]]
        operation = "add"
    infinity = encode(Fraction(2) ** 2000, kind)
    if operation == "add":
        infinite = [v for v in values if abs(v) == math.inf]
        if infinite:
            return None if len(set(infinite)) > 1 else infinity | (infinite[0] < 0) << (bits - 1)
        total = values[0] + values[1]
        both = (signs[0] and signs[1]) or (mode == "rm" and signs[0] != signs[1])
        exact_zero_of_unlike = total == 0 and (values[0] != 0 or values[1] != 0)
        return encode(total, kind, mode, mode == "rm" if exact_zero_of_unlike else both)
    sign = signs[0] ^ signs[1]
    if operation == "mul":
        if any(abs(v) == math.inf for v in values):
            return None if 0 in values else infinity | sign << (bits - 1)
        return encode(values[0] * values[1], kind, mode, sign)
    a, b = values
    if abs(a) == math.inf:
        return None if abs(b) == math.inf else infinity | sign << (bits - 1)
    if abs(b) == math.inf:
        return sign << (bits - 1)
    if b == 0:
        return None if a == 0 else infinity | sign << (bits - 1)
    return encode(a / b, kind, mode, sign)


IEEE = [
    *((f"{op}.{mode}.{kind}", op, mode, kind) for kind in ("f32", "f64") for mode in ("rn", "rz", "rm", "rp")
      for op in ("add", "sub", "mul", "fma", "div")),
    *((f"{op}.rn.{kind}", op, "rn", kind) for kind in ("f16", "bf16") for op in ("add", "sub", "mul", "fma")),
]  # fmt: skip


@pytest.mark.parametrize("name, operation, mode, kind", IEEE, ids=[row[0] for row in IEEE])
def test_ieee_operations(machine, name, operation, mode, kind):
    arrays = [patterns(kind, seed) for seed in range(3 if operation == "fma" else 2)]
    if operation in ("add", "sub", "fma"):
        arrays[-1][::7] = arrays[0][::7] ^ (1 << (FORMATS[kind][0] - 1))
    operands = ", ".join(f"%{c}" for c in "abc"[: len(arrays)])
    got = machine.each(f"{name} %d, {operands};", *arrays, out=arrays[0].dtype)
    rows = [[int(v) for v in row] for row in zip(*arrays)]
    same(got, [exact(operation, [decode(p, kind) for p in row], row, kind, mode) for row in rows], kind)


@pytest.mark.parametrize("name", ["add.f32", "sub.rz.f32", "fma.rn.f32", "fma.rm.f32"])
@pytest.mark.parametrize("small", ["f16", "bf16"])
def test_mixed_precision(machine_100, name, small):
    """PTX ISA 9.7.5: the f16 or bf16 operands are exact in f32, and the last one is f32."""
    operation, mode = name.split(".")[0], name.split(".")[1] if name.count(".") == 2 else "rn"
    smalls = [patterns(small, seed) for seed in range(2 if operation == "fma" else 1)]
    wide = [np.array([as_f32(int(p), small) for p in array], np.uint32) for array in smalls]
    last = patterns("f32", 7)
    last[::7] = wide[0][::7] ^ np.uint32(1 << 31)
    operands = ", ".join(f"%{c}" for c in "abc"[: len(smalls) + 1])
    got = machine_100.each(f"{name}.{small} %d, {operands};", *smalls, last, out=np.uint32)
    rows = [[int(v) for v in row] for row in zip(*wide, last)]
    same(got, [exact(operation, [decode(p, "f32") for p in row], row, "f32", mode) for row in rows], "f32")


def as_f32(pattern: int, kind: str) -> int:
    value, negative = decode(pattern, kind), pattern >> 15
    if value != value or abs(value) == math.inf:
        return 0x7FC00000 if value != value else 0x7F800000 | negative << 31
    return encode(value, "f32", "rn", bool(negative))


def exact_root(pattern: int, kind: str, mode: str):
    value = decode(pattern, kind)
    if is_nan(value) or value < 0:
        return None
    if value in (0, math.inf):
        return pattern
    scaled = value * 4**600
    root = math.isqrt(scaled.numerator * 4**600 // scaled.denominator)
    close = Fraction(root, 2**1200)  # truncated far below the last place
    if close * close != value:
        close += Fraction(1, 2**1201)
    return encode(close, kind, mode)


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_sqrt(machine, kind, mode):
    a = patterns(kind, 3)
    got = machine.each(f"sqrt.{mode}.{kind} %d, %a;", a, out=a.dtype)
    same(got, [exact_root(int(p), kind, mode) for p in a], kind)


def flushed(pattern: int, kind: str = "f32") -> int:
    value = decode(pattern, kind)
    bits, fraction_bits, _ = FORMATS[kind]
    tiny = not is_nan(value) and pattern & (1 << (bits - 1)) - 1 < 1 << fraction_bits
    return pattern & 1 << (bits - 1) if tiny else pattern


@pytest.mark.parametrize("operation", ["add", "mul", "fma"])
def test_ftz_flushes_inputs_and_results_to_zero_of_their_sign(machine, operation):
    arrays = [patterns("f32", seed) for seed in range(3 if operation == "fma" else 2)]
    arrays[0][::5] &= 0x80FFFFFF
    operands = ", ".join(f"%{c}" for c in "abc"[: len(arrays)])
    got = machine.each(f"{operation}.rn.ftz.f32 %d, {operands};", *arrays, out=np.uint32)
    expected = []
    for row in zip(*arrays):
        row = [flushed(int(v)) for v in row]
        result = exact(operation, [decode(p, "f32") for p in row], row, "f32", "rn")
        expected.append(None if result is None else flushed(result))
    same(got, expected, "f32")


def test_sat_clamps_to_zero_and_one_and_makes_nan_zero(machine):
    a, b = patterns("f32", 4), patterns("f32", 5)
    got = machine.each("add.sat.f32 %d, %a, %b;", a, b, out=np.uint32)
    expected = []
    for row in zip(a.tolist(), b.tolist()):
        result = exact("add", [decode(p, "f32") for p in row], list(row), "f32", "rn")
        value = math.nan if result is None else decode(result, "f32")
        expected.append(0 if is_nan(value) or value <= 0 else 0x3F800000 if value >= 1 else result)
    same(got, expected, "f32")


def exact_min(a: int, b: int, kind: str, operation: str, nan_wins: bool):
    x, y = decode(a, kind), decode(b, kind)
    if is_nan(x) or is_nan(y):
        if nan_wins or (is_nan(x) and is_nan(y)):
            return None
        return b if is_nan(x) else a
    key = lambda p: (decode(p, kind), -(p >> FORMATS[kind][0] - 1))
    return (min if operation == "min" else max)(a, b, key=key)


MINMAX = [(k, m) for k in ("f32", "f64", "f16", "bf16") for m in ("", ".NaN") if not (k == "f64" and m)]


@pytest.mark.parametrize("operation", ["min", "max"])
@pytest.mark.parametrize("kind, modifier", MINMAX)
def test_min_and_max(machine, kind, operation, modifier):
    a, b = patterns(kind, 6), patterns(kind, 7)
    b[::9] = a[::9] ^ (1 << (FORMATS[kind][0] - 1))
    got = machine.each(f"{operation}{modifier}.{kind} %d, %a, %b;", a, b, out=a.dtype)
    rows = zip(a.tolist(), b.tolist())
    same(got, [exact_min(x, y, kind, operation, bool(modifier)) for x, y in rows], kind)


@pytest.mark.parametrize("operation", ["min", "max"])
@pytest.mark.parametrize("modifier", ["", ".NaN", ".abs", ".NaN.abs", ".ftz", ".ftz.NaN.abs"])
def test_min_and_max_of_three(machine_100, operation, modifier):
    """PTX ISA 9.7.3.11: -0 is less than +0; a NaN counts with .NaN, and without if all three are NaNs."""
    arrays = [patterns("f32", seed) for seed in (6, 7, 8)]
    arrays[1][::9] = arrays[0][::9] ^ (1 << 31)
    arrays[2][::7] = arrays[0][::7]
    arrays[0][::5] &= 0x80FFFFFF
    got = machine_100.each(f"{operation}{modifier}.f32 %d, %a, %b, %c;", *arrays, out=np.uint32)
    expected = []
    for row in zip(*(each.tolist() for each in arrays)):
        row = [flushed(each) if "ftz" in modifier else each for each in row]
        row = [each & 0x7FFFFFFF if "abs" in modifier else each for each in row]
        numbers = [each for each in row if not is_nan(decode(each, "f32"))]
        if not numbers or ("NaN" in modifier and len(numbers) < 3):
            expected.append(None)
        else:
            key = lambda p: (decode(p, "f32"), -(p >> 31))
            expected.append((min if operation == "min" else max)(numbers, key=key))
    same(got, expected, "f32")


@pytest.mark.parametrize(
    "instruction, why",
    [
        ("min.f32 %r1, %r2, %r3, %r4;", "it needs .target sm_100 or later; the module has .target sm_90a"),
        ("max.abs.f32 %r1, %r2, %r3, %r4;", "it needs .target sm_100 or later; the module has .target sm_90a"),
        ("min.abs.f32 %r1, %r2, %r3;", "`min` takes 4 operands, got 3"),
        ("min.xorsign.abs.f32 %r1, %r2, %r3, %r4;", "`min` takes 3 operands, got 4"),
        ("min.s32 %r1, %r2, %r3, %r4;", "`min` takes 3 operands, got 4"),
    ],
)
def test_three_operands_that_ptxas_refuses_too(ptxas, instruction, why):
    target = "sm_90a" if "target" in why else "sm_100a"
    text = f".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k() {{ .reg .b32 %r<5>;\n{instruction}\nret; }}"
    with pytest.raises(AssertionError):
        ptxas(text, target)
    with pytest.raises((emulator.Unsupported, emulator.PtxError), match=re.escape(why)):
        use(text)


@pytest.mark.parametrize("ftz", ["", ".ftz"])
@pytest.mark.parametrize("mode", ["", ".rn", ".rz", ".rm", ".rp"])
@pytest.mark.parametrize("operation", ["add", "sub", "mul", "fma"])
def test_a_pair_of_f32_is_two_numbers(machine_100, operation, mode, ftz):
    if operation == "fma" and not mode:
        mode = ".rn"
    halves = [[patterns("f32", seed + 10 * half) for seed in range(3 if operation == "fma" else 2)] for half in (0, 1)]
    pairs = [low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32) for low, high in zip(*halves)]
    operands = ", ".join(f"%{c}" for c in "abc"[: len(pairs)])
    got = machine_100.each(f"{operation}{mode}{ftz}.f32x2 %d, {operands};", *pairs, out=np.uint64)
    for shift, arrays in zip((0, 32), halves):
        expected = []
        for row in zip(*(each.tolist() for each in arrays)):
            row = [flushed(each) if ftz else each for each in row]
            result = exact(operation, [decode(p, "f32") for p in row], row, "f32", mode[1:] or "rn")
            expected.append(None if result is None else flushed(result) if ftz else result)
        same((got >> np.uint64(shift)).astype(np.uint32), expected, "f32")


COMPARES = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


@pytest.mark.parametrize("kind", ["f32", "f64", "f16", "bf16"])
@pytest.mark.parametrize("how", [*COMPARES, *(f"{c}u" for c in COMPARES), "num", "nan"])
def test_comparisons_with_nan(machine, kind, how):
    a, b = patterns(kind, 8), patterns(kind, 9)
    b[::3] = a[::3]
    got = machine.each(f"setp.{how}.{kind} %p, %a, %b; selp.b32 %d, 1, 0, %p;", a, b, out=np.uint32)
    expected = []
    for x, y in zip(a.tolist(), b.tolist()):
        x, y = decode(x, kind), decode(y, kind)
        unordered = is_nan(x) or is_nan(y)
        if how in ("num", "nan"):
            expected.append(int(unordered == (how == "nan")))
        else:
            symbol = COMPARES[how[:2]]
            expected.append(int(len(how) == 3) if unordered else int(eval("x" + symbol + "y")))
    assert got.tolist() == expected


@pytest.mark.parametrize("kind", ["f16x2", "bf16x2"])
@pytest.mark.parametrize("operation", ["add", "mul", "fma", "min", "max", "neg", "abs"])
def test_a_pair_is_two_halves(machine, kind, operation):
    arity = {"fma": 3, "neg": 1, "abs": 1}.get(operation, 2)
    element = kind[:-2]
    halves = [[patterns(element, seed + 10 * h) for seed in range(arity)] for h in range(2)]
    pairs = [lo.astype(np.uint32) | hi.astype(np.uint32) << np.uint32(16) for lo, hi in zip(*halves)]
    operands = ", ".join(f"%{c}" for c in "abc"[:arity])
    rounding = ".rn" if operation in ("fma",) else ""
    got = machine.each(f"{operation}{rounding}.{kind} %d, {operands};", *pairs, out=np.uint32)
    for shift, arrays in zip((0, 16), halves):
        alone = machine.each(f"{operation}{rounding}.{element} %d, {operands};", *arrays, out=np.uint16)
        np.testing.assert_array_equal((got >> np.uint32(shift)).astype(np.uint16), alone)


@pytest.mark.parametrize("kind", ["f16", "bf16", "f16x2", "bf16x2"])
@pytest.mark.parametrize("relu", ["", ".relu"])
def test_fma_oob_gives_zero_where_a_half_is_out_of_bounds(machine, kind, relu):
    """Each half for itself; only the NaN that TMA fills with counts."""
    rng = np.random.default_rng(5)
    halves = [patterns(kind.removesuffix("x2"), seed).astype(np.uint32) for seed in range(6)]
    for each in halves:
        each[rng.random(len(each)) < 0.1] = 0x7FF7
        each[rng.random(len(each)) < 0.05] = rng.choice([0x7FF6, 0xFFF7, 0x7FFF])
    is_pair = kind.endswith("x2")
    arrays = [low | high << 16 if is_pair else low.astype(np.uint16) for low, high in zip(halves[::2], halves[1::2])]
    got, plain = (
        machine.each(f"fma.rn{oob}{relu}.{kind} %d, %a, %b, %c;", *arrays, out=arrays[0].dtype) for oob in (".oob", "")
    )
    for shift in (0, 16)[: 1 + is_pair]:
        out = np.any([each >> shift & 0xFFFF == 0x7FF7 for each in arrays], axis=0)
        np.testing.assert_array_equal(got >> shift & 0xFFFF, np.where(out, 0, plain >> shift & 0xFFFF))
        assert 0 < out.sum() < len(out)


APPROXIMATE = {  # name: (function, largest relative error, largest absolute error), PTX ISA
    "ex2.approx.f32": (np.exp2, 2.0**-22, 2.0**-149),
    "rcp.approx.f32": (lambda x: 1 / x, 2.0**-23, 0),
    "rsqrt.approx.f32": (lambda x: 1 / np.sqrt(x), 2.0**-22.9, 0),
    "sqrt.approx.f32": (np.sqrt, 2.0**-23, 0),
    "lg2.approx.f32": (np.log2, 2.0**-22, 2.0**-22),
    "sin.approx.f32": (np.sin, 0, 2.0**-20.5),
    "cos.approx.f32": (np.cos, 0, 2.0**-20.5),
    "tanh.approx.f32": (np.tanh, 2.0**-11, 0),
}


@pytest.mark.parametrize("name", APPROXIMATE)
def test_approximations_stay_inside_their_bounds(machine, name):
    function, relative, absolute = APPROXIMATE[name]
    rng = np.random.default_rng(11)
    x = rng.uniform(-3.1, 3.1, 2000).astype(np.float32)
    if name.split(".")[0] in ("rsqrt", "sqrt", "lg2"):
        x = np.abs(x) + np.float32(1e-3)
    got = machine.each(f"{name} %d, %a;", x, out=np.float32).astype(np.float64)
    wanted = function(x.astype(np.float64))
    error = np.abs(got - wanted)
    assert np.all(error <= absolute + relative * np.abs(wanted))


def test_special_values_of_approximations_follow_the_isa_tables(machine):
    inputs = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], np.float32)
    tables = {
        "rcp.approx.f32": [np.inf, -np.inf, 0.0, -0.0, np.nan],
        "rsqrt.approx.f32": [np.inf, -np.inf, 0.0, np.nan, np.nan],
        "lg2.approx.f32": [-np.inf, -np.inf, np.inf, np.nan, np.nan],
        "ex2.approx.f32": [1.0, 1.0, np.inf, 0.0, np.nan],
    }
    for name, wanted in tables.items():
        got = machine.each(f"{name} %d, %a;", inputs, out=np.float32)
        np.testing.assert_array_equal(got, np.array(wanted, np.float32), err_msg=name)
        assert np.array_equal(
            np.signbit(got[:4]), np.signbit(np.array(wanted[:4])) | np.isnan(got[:4]) & np.signbit(got[:4])
        )


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_testp_and_copysign(machine, kind):
    a, b = patterns(kind, 12), patterns(kind, 13)
    bits, fraction_bits, _ = FORMATS[kind]
    top = 1 << (bits - 1)
    tests = {
        "finite": lambda p: not is_nan(decode(p, kind)) and abs(decode(p, kind)) != math.inf,
        "infinite": lambda p: abs(decode(p, kind)) == math.inf,
        "number": lambda p: not is_nan(decode(p, kind)),
        "notanumber": lambda p: is_nan(decode(p, kind)),
        "subnormal": lambda p: 0 < p & (top - 1) < 1 << fraction_bits,
        "normal": lambda p: 1 << fraction_bits <= p & (top - 1) < encode(Fraction(2) ** 2000, kind),
    }
    for name, function in tests.items():
        got = machine.each(f"testp.{name}.{kind} %p, %a; selp.b32 %d, 1, 0, %p;", a, out=np.uint32)
        assert got.tolist() == [int(function(p)) for p in a.tolist()], name
    got = machine.each(f"copysign.{kind} %d, %a, %b;", a, b, out=a.dtype)
    assert got.tolist() == [x & top | y & (top - 1) for x, y in zip(a.tolist(), b.tolist())]


def test_ptxas_accepts_what_is_tested_here(machine, ptxas):
    texts = []
    for name, operation, _, kind in IEEE:
        dtype = np.dtype(UINT[FORMATS[kind][0]])
        arity = 3 if operation == "fma" else 2
        operands = ", ".join(f"%{c}" for c in "abc"[:arity])
        texts.append(machine.each_ptx(f"{name} %d, {operands};", [dtype] * arity, dtype, name=f"k{len(texts)}"))
    for name in APPROXIMATE:
        dtype = np.dtype(np.float32)
        texts.append(machine.each_ptx(f"{name} %d, %a;", [dtype], dtype, name=f"k{len(texts)}"))
    ptxas("\n".join(texts))


def test_every_nan_that_shows_is_the_canonical_one(machine):
    """A sum in a loop, copied, stored, compared, negated and moved to another type on its way."""
    ptx = """.visible .entry k(.param .u64 out, .param .u64 data)
{
  .reg .f32 %s, %x, %y; .reg .b32 %t, %k, %r; .reg .b64 %o, %d, %off; .reg .pred %p, %q;
  mov.u32 %t, %tid.x; ld.param.u64 %o, [out]; ld.param.u64 %d, [data]; mul.wide.u32 %off, %t, 4; add.s64 %d, %d, %off;
  mul.wide.u32 %off, %t, 16; add.s64 %o, %o, %off; ld.global.f32 %x, [%d]; mov.f32 %s, 0f00000000; mov.u32 %k, 0;
NEXT:
  setp.gt.u32 %q, %t, 100; @%q bra PAST;
  fma.rn.f32 %s, %x, %x, %s;
PAST:
  add.u32 %k, %k, 1; setp.lt.u32 %p, %k, 3; @%p bra NEXT;
  mov.b32 %r, %s; st.global.b32 [%o], %r; st.global.f32 [%o+4], %s; neg.f32 %y, %s; st.global.f32 [%o+8], %y;
  add.f32 %y, %s, %s; st.global.f32 [%o+12], %y; ret;
}"""
    data = np.array([0x7FC00001, 0xFFC00000, 0x7F800001, 0xFF812345, 0x3F800000, 0x7F800000], np.uint32)
    out = np.zeros((6, 4), np.uint32)
    machine.run(ptx, block=6, out=out, data=data)
    np.testing.assert_array_equal(out[:4], np.array([[0x7FFFFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFFFFF]] * 4, np.uint32))
    three = np.float32(3).view(np.uint32)
    np.testing.assert_array_equal(out[4], [three, three, three | 1 << 31, np.float32(6).view(np.uint32)])
