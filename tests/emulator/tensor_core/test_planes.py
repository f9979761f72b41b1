"""Products of planes against whole numbers (exact_products.py): kinds, extents, signs, results, shifts of D.

Modules tested here: dsl/emulator/tensor_core/planes.cc.
"""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
import pytest

from dsl import native_library
from dsl.emulator.tensor_core.numbers import operand_kind
from tests.emulator import exact_products

K = {"f16": 16, "bf16": 16, "tf32": 8, **dict.fromkeys(("e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "s8", "u8"), 32)}
SMALL = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")
PAIRS = [("f16", "f16"), ("bf16", "bf16"), ("tf32", "tf32"), *itertools.product(SMALL, SMALL)]
STORED = {16: np.uint16, 32: np.uint32, 8: np.uint8, 6: np.uint8, 4: np.uint8}


class Operand(ctypes.Structure):
    _fields_ = [("raw", ctypes.c_void_p), ("rows", ctypes.c_uint32), ("kind", ctypes.c_uint32),
                ("negated", ctypes.c_bool), ("columns", ctypes.c_void_p), ("is_long", ctypes.c_bool)]  # fmt: skip


class Matrix(ctypes.Structure):
    _fields_ = [("values", ctypes.c_void_p), ("pitch", ctypes.c_uint32)]


class Scales(ctypes.Structure):
    _fields_ = [("a", ctypes.c_void_p), ("b", ctypes.c_void_p), ("count", ctypes.c_uint32),
                ("is_ue4m3", ctypes.c_bool)]  # fmt: skip


class Rule(ctypes.Structure):
    _fields_ = [("fraction_bits", ctypes.c_uint32), ("is_half", ctypes.c_bool), ("saturates", ctypes.c_bool),
                ("shift", ctypes.c_uint32)]  # fmt: skip


def operand(rows: np.ndarray, kind: str, negated: bool = False, columns: np.ndarray | None = None) -> Operand:
    of_elements = None if columns is None else columns.ctypes.data
    return Operand(rows.ctypes.data, len(rows), getattr(operand_kind, kind.upper()), negated, of_elements)


def call(name: str, a: Operand, b: Operand, d: np.ndarray, *rest: ctypes.Structure) -> np.ndarray:
    """D of 32-bit elements after the call; the columns after the product must stay."""
    wide = np.full((len(d), d.shape[1] + 3), 7, d.dtype)
    wide[:, :-3] = d
    *before, last = [*rest, Matrix(wide.ctypes.data, wide.shape[1])]
    order = (a, b, last, *before) if name == "emu_multiply" else (a, b, *before, last)
    getattr(ctypes.CDLL(str(native_library.here())), name)(*map(ctypes.byref, order))
    assert (wide[:, -3:] == 7).all()
    return wide[:, :-3]


def multiply(a: Operand, b: Operand, d: np.ndarray, rule: Rule) -> np.ndarray:
    return call("emu_multiply", a, b, d, rule)


def scaled(form: tuple, a: np.ndarray, b: np.ndarray, c: np.ndarray, scales_a, scales_b) -> np.ndarray:
    """The bits of D of a form of tensor_core_data.scaled_forms; A and B are rows of bytes."""
    packed = "x2" * (form[2] == 64)
    scales = Scales(scales_a.ctypes.data, scales_b.ctypes.data, scales_a.shape[1], form[5] == "ue4m3")
    operands = operand(a, form[3] + packed), operand(b, form[4] + packed)
    return call("emu_multiply_scaled", *operands, c.view(np.float32), scales).view(np.uint32)


def plain(form: tuple, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The bits of D of a form of tensor_core_data.tcgen05_forms; B is (K, N)."""
    is_half = form[5] == "f16"
    rows = np.ascontiguousarray(b.T)
    floats = c.view(np.float16 if is_half else np.float32).astype(np.float32)
    result = multiply(operand(a, form[3]), operand(rows, form[4]), floats, Rule(25, is_half))
    return (
        np.where(np.isnan(result), 0x7FFF, result.astype(np.float16).view(np.uint16)).astype(np.uint16)
        if is_half
        else result.view(np.uint32)
    )


def in_containers(codes: np.ndarray, kind: str) -> np.ndarray:
    """Codes as an operand has them in bytes: e2m1 in the middle; the other bits of a byte are ignored."""
    noise = np.uint8(0xC3) if kind == "e2m1" else np.uint8(0xC0)
    if exact_products.WIDTH[kind] >= 8:
        return codes
    return codes << (2 if kind == "e2m1" else 0) | np.resize([0, noise], codes.shape).astype(np.uint8)


def codes(kind: str, shape: tuple, stream: np.random.Generator, wide: bool) -> np.ndarray:
    """Finite codes with exponents near one; if `wide`, all smaller ones too."""
    fraction, width = exact_products.FRACTION[kind], exact_products.WIDTH[kind]
    bias = exact_products.bias(kind)
    field = stream.integers(0 if wide else max(bias - 4, 0), bias + 3, shape)
    fractions, sign = stream.integers(0, 1 << fraction, shape), stream.integers(0, 2, shape)
    value = (sign << (width - 1) | field << fraction | fractions).astype(STORED[width])
    return value & np.uint32(0xFFFFE000) if kind == "tf32" else value


def negative(values: np.ndarray, kind: str, negated: bool) -> np.ndarray:
    return values ^ values.dtype.type(negated << (exact_products.WIDTH[kind] - 1))


def products(kinds: tuple, extents: tuple, stream: np.random.Generator, wide: bool, signs=(False, False), shift=0):
    """(given, expected) bits of D for random operands."""
    kind_a, kind_b, kind_d = kinds
    (m, n), k = extents, K[kind_a]
    a, b = codes(kind_a, (m, k), stream, wide), codes(kind_b, (n, k), stream, wide)
    d = codes(kind_d, (m, n), stream, wide)
    of_a, of_b = in_containers(a, kind_a), in_containers(b, kind_b)
    floats = d.view({"f32": np.float32, "f16": np.float16}[kind_d]).astype(np.float32)
    rule = Rule(25, kind_d == "f16", False, shift)
    result = multiply(operand(of_a, kind_a, signs[0]), operand(of_b, kind_b, signs[1]), floats, rule)
    given = result.astype(np.float16).view(np.uint16) if kind_d == "f16" else result.view(np.uint32)
    kept = exact_products.FRACTION[kind_d]
    left, right = negative(a, kind_a, signs[0]), negative(b, kind_b, signs[1]).T
    return given, exact_products.one_sum(left, right, d, kinds, 25, kept, shift)


def assert_equal_where_finite(given: np.ndarray, expected: np.ndarray, kind: str) -> None:
    infinity = {"f16": 0x7C00, "f32": 0x7F800000}[kind]
    finite = expected & infinity != infinity
    assert finite.mean() > 0.9
    assert np.array_equal(given[finite], expected[finite])


@pytest.mark.parametrize("result", ["f32", "f16"])
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_every_kind(pair, result):
    stream = np.random.default_rng(PAIRS.index(pair))
    for wide in (False, True):
        if (result, pair[0]) in (("f16", "bf16"), ("f16", "tf32")):
            continue  # no instruction has these
        given, expected = products((*pair, result), (32, 24), stream, wide)
        assert_equal_where_finite(given, expected, result)


@pytest.mark.parametrize("extents", [(32, 8), (64, 256), (128, 40), (128, 256)])
def test_every_extent_and_sign(extents):
    stream = np.random.default_rng(extents)
    for signs in itertools.product((False, True), repeat=2):
        given, expected = products(("e3m2", "e4m3", "f32"), extents, stream, False, signs)
        assert_equal_where_finite(given, expected, "f32")


@pytest.mark.parametrize("shift", [1, 8, 15])
@pytest.mark.parametrize("kinds", [("f16", "f16", "f32"), ("f16", "f16", "f16"), ("tf32", "tf32", "f32")], ids="-".join)
def test_scaled_accumulators(kinds, shift):
    """The scale is exact, also of an accumulator that would be subnormal after it."""
    stream = np.random.default_rng(shift)
    for wide in (False, True):
        given, expected = products(kinds, (64, 32), stream, wide, shift=shift)
        assert_equal_where_finite(given, expected, kinds[2])


def test_the_largest_products_all_of_one_sign():
    """32 products of almost 4 times 2 ** 25 are more than 32 bits hold."""
    a = np.full((32, 32), 0x7E, np.uint8)
    result = multiply(operand(a, "e4m3"), operand(a, "e4m3"), np.zeros((32, 32), np.float32), Rule(25))
    assert (result == 32 * 448.0**2).all()


@pytest.mark.parametrize("saturates", [False, True])
@pytest.mark.parametrize("pair", list(itertools.product(("s8", "u8"), repeat=2)), ids="-".join)
def test_integers(pair, saturates):
    stream = np.random.default_rng(saturates)
    types = {"s8": np.int8, "u8": np.uint8}
    a, b = (
        stream.integers(0, 256, (rows, 32)).astype(np.uint8).view(types[kind]) for kind, rows in zip(pair, (128, 48))
    )
    d = stream.integers(-(2**31), 2**31, (128, 48)).astype(np.int32)
    given = multiply(operand(a, pair[0]), operand(b, pair[1]), d, Rule(25, False, saturates))
    exact = a.astype(np.int64) @ b.astype(np.int64).T + d
    expected = np.clip(exact, -(2**31), 2**31 - 1) if saturates else exact
    assert np.array_equal(given, expected.astype(np.int32))


@pytest.mark.parametrize("kind", ["f16", "tf32", "e5m2"])
def test_sparse_sums(kind):
    """Each row of a sparse A has its own columns of B."""
    k = K[kind]
    stream = np.random.default_rng(k)
    a, b, d = (codes(each, shape, stream, True) for each, shape in
               ((kind, (64, k)), (kind, (24, 2 * k)), ("f32", (64, 24))))  # fmt: skip
    columns = np.sort(stream.permuted(np.tile(np.arange(2 * k, dtype=np.uint8), (64, 1)), axis=1)[:, :k])
    given = multiply(operand(a, kind, columns=columns), operand(b, kind), d.view(np.float32), Rule(25)).view(np.uint32)
    rows = [exact_products.one_sum(a[i : i + 1], b.T[columns[i]], d[i : i + 1], (kind, kind, "f32"), 25, 23)
            for i in range(64)]  # fmt: skip
    assert_equal_where_finite(given, np.concatenate(rows), "f32")


def test_sparse_integers():
    stream = np.random.default_rng(0)
    a, b = stream.integers(-128, 128, (32, 32)).astype(np.int8), stream.integers(-128, 128, (16, 64)).astype(np.int8)
    columns = np.sort(stream.permuted(np.tile(np.arange(64, dtype=np.uint8), (32, 1)), axis=1)[:, :32])
    given = multiply(operand(a, "s8", columns=columns), operand(b, "s8"), np.ones((32, 16), np.int32), Rule(25))
    dense = np.zeros((32, 64), np.int64)
    np.put_along_axis(dense, columns.astype(int), a.astype(np.int64), axis=1)
    assert np.array_equal(given, dense @ b.astype(np.int64).T + 1)
