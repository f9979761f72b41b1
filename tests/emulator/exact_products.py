"""Sums of tensor cores in whole numbers: the rules of arXiv 2511.10909, written without a floating-point operation.

`d(form, gpu_model, a, b, c)` takes and gives bits. A term is a whole number times a power of two; all terms of a sum
are truncated to a multiple of the same power of two, added, and rounded once.
"""

from __future__ import annotations

import numpy as np

FRACTION = {"f16": 10, "bf16": 7, "f32": 23, "tf32": 23, "e4m3": 3, "e5m2": 2, "e2m3": 3, "e3m2": 2, "e2m1": 1}
WIDTH = {"f16": 16, "bf16": 16, "f32": 32, "tf32": 32, "e4m3": 8, "e5m2": 8, "e2m3": 6, "e3m2": 6, "e2m1": 4}
ZERO_EXPONENT = -126  # what a zero counts as, of every type
KEPT_BITS = {"a100": 24, "l40s": 24, "h100": 25, "b200": 25, "rtx5090": 25}
FP8_KEPT_BITS = {"a100": 13, "l40s": 13, "rtx5090": 25}  # of `mma`; the others make it of f16
SPLITTING = ("a100", "l40s")
_8_BITS = ("e4m3", "e5m2")


def bias(kind: str) -> int:
    return (1 << (WIDTH[kind] - 2 - FRACTION[kind])) - 1


def parts(bits: np.ndarray, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """(significands, exponents): a value is significand * 2 ** (exponent - fraction bits); all are finite."""
    bits = bits.astype(np.int64)
    if kind == "tf32":
        bits &= ~0x1FFF
    fraction = FRACTION[kind]
    field = bits >> fraction & (1 << (WIDTH[kind] - 1 - fraction)) - 1
    significand = (bits & (1 << fraction) - 1) | (field != 0).astype(np.int64) << fraction
    exponent = np.where(significand == 0, ZERO_EXPONENT, np.maximum(field, 1) - bias(kind))
    return np.where(bits >> (WIDTH[kind] - 1) & 1, -significand, significand), exponent


def _shifted(values: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Shifted left, or right towards zero."""
    size = np.abs(values) << np.clip(left, 0, 40) >> np.clip(-left, 0, 62)
    return np.sign(values) * size


def _encoded(values: np.ndarray, exponents: np.ndarray, kind: str, kept: int, nearest: bool) -> np.ndarray:
    """The bits of values * 2 ** exponents, with `kept` fraction bits, to nearest even or towards zero."""
    fraction, least = FRACTION[kind], 1 - bias(kind)
    largest = (1 << (WIDTH[kind] - 1 - fraction)) - 1
    out = []
    for value, exponent in zip(values.ravel().tolist(), exponents.ravel().tolist(), strict=True):
        size, sign = abs(value), int(value < 0)
        top = max(size.bit_length() - 1 + exponent, least)
        drop = top - kept - exponent  # the last bit kept is worth 2 ** (top - kept)
        whole = size << -drop if drop <= 0 else size >> drop
        rest = 0 if drop <= 0 else size - (whole << drop)
        if nearest and drop > 0 and (2 * rest, whole & 1) > (1 << drop, 0):
            whole += 1
        whole <<= fraction - kept
        field = top + bias(kind) if whole >> fraction else 0
        code = whole + (max(field - 1, 0) << fraction) if size else 0
        code = min(code, largest << fraction)
        out.append(code | (sign << (WIDTH[kind] - 1) if code else 0))
    return np.array(out, np.uint64).reshape(values.shape)


def one_sum(a: np.ndarray, b: np.ndarray, c: np.ndarray, kinds: tuple, bits: int, kept: int, shift=0, scales=(0, 0)):
    """One sum of all products of A (m, k) and B (k, n) and C (m, n) times 2 ** -shift; `scales`: their exponents,
    (m, 1) of A and (1, n) of B."""
    kind_a, kind_b, kind_d = kinds
    (sa, ea), (sb, eb), (sc, ec) = parts(a, kind_a), parts(b, kind_b), parts(c, kind_d)
    ea, eb, ec = ea + scales[0], eb + scales[1], np.where(sc == 0, ec, ec - shift)
    product, exponent = sa[:, :, None] * sb[None], ea[:, :, None] + eb[None]
    greatest = np.maximum(exponent.max(axis=1), ec)
    total = _shifted(sc, bits + ec - FRACTION[kind_d] - greatest)
    scale = FRACTION[kind_a] + FRACTION[kind_b]
    total = total + _shifted(product, bits + exponent - scale - greatest[:, None]).sum(axis=1)
    return _encoded(total, greatest - bits, kind_d, kept, nearest=kind_d == "f16")


def d(form: tuple, gpu_model: str, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The bits of D of `mma`, or of `wgmma` if m is 64, for finite operands whose sums are finite."""
    m, _, k, kind_a, kind_b, kind_d = form
    bits, kept = KEPT_BITS[gpu_model], FRACTION[kind_d]
    kinds = (kind_a, kind_b, kind_d)
    if kind_a in _8_BITS:
        if m != 64 and gpu_model not in FP8_KEPT_BITS:
            return _as_halves(a, b, c, kinds, bits)
        bits = 13 if m == 64 else FP8_KEPT_BITS[gpu_model]
        kept = min(kept, bits)
    splits = gpu_model in SPLITTING and k * WIDTH[kind_a] == 256
    for ks in np.split(np.arange(k), 2 if splits else 1):
        c = _then(c, one_sum(a[:, ks], b[ks], c, kinds, bits, kept), kind_d)
    return c.astype({16: np.uint16, 32: np.uint32}[WIDTH[kind_d]])


def _as_halves(a, b, c, kinds: tuple, bits: int) -> np.ndarray:
    """8-bit floats on Hopper's `mma`: as two sums of f16 from zero, to which C is then added, rounded to nearest.
    Such a sum is +0 where it is zero, so that no sum of zeros is -0."""
    kind_d = kinds[2]
    total = np.zeros_like(c)
    a, b = (_widened(each, kind) for each, kind in zip((a, b), kinds))
    for half in range(2):
        ks = [k for k in range(a.shape[1]) if k % 4 // 2 == half]
        halves = ("f16", "f16", kind_d)
        total = _then(total, one_sum(a[:, ks], b[ks], total, halves, bits, FRACTION[kind_d]), kind_d)
    (s, e), (sc, ec) = parts(total, kind_d), parts(c, kind_d)
    least = np.minimum(e, ec)
    both = [[int(x) << int(up) for x, up in zip(v.ravel(), (w - least).ravel())] for v, w in ((s, e), (sc, ec))]
    exact = np.array([x + y for x, y in zip(*both)], object).reshape(c.shape)
    added = _encoded(exact, least - FRACTION[kind_d], kind_d, FRACTION[kind_d], nearest=True)
    return _then(total, added, kind_d).astype(c.dtype)


def _then(before: np.ndarray, after: np.ndarray, kind: str) -> np.ndarray:
    """A sum that starts from another one: an infinity stays."""
    infinity = (1 << (WIDTH[kind] - 1)) - (1 << FRACTION[kind])
    return np.where((before.astype(np.uint64) & np.uint64(infinity)) == infinity, before.astype(np.uint64), after)


def _widened(bits: np.ndarray, kind: str) -> np.ndarray:
    significand, exponent = parts(bits, kind)
    return _encoded(significand, exponent - FRACTION[kind], "f16", 10, nearest=True)
