"""cvt to and from powers of two, against numbers in f64, where every one of them is exact."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.conftest import HEADER_100

POWERS = 2.0 ** (np.arange(255) - 127.0)
NAN = 0xFF


def numbers() -> np.ndarray:
    """The powers, floats next to them, the ends of f32, special ones, random ones; and all with a sign."""
    exact = np.concatenate([POWERS, [0.0, np.inf, np.nan, 2.0**-149, 3.4028234e38]]).astype(np.float32)
    beside = [np.nextafter(exact, np.float32(limit)) for limit in (np.inf, 0)]
    wild = np.random.default_rng(2).integers(0, 2**31, 500, dtype=np.uint32).view(np.float32)
    every = np.concatenate([exact, *beside, wild])
    return np.concatenate([every, -every])


def expected(values: np.ndarray, mode: str, saturates: bool) -> np.ndarray:
    """The code of the greatest power that is not above the size, or of the least that is not below."""
    size = np.abs(values.astype(np.float64))
    above = np.searchsorted(POWERS, size, side="left")  # of the least power >= size; 255 if there is none
    below = np.maximum(np.searchsorted(POWERS, size, side="right") - 1, 0)
    codes = np.where(np.isinf(size), 255, below if mode == "rz" else above)
    codes = np.minimum(codes, 254) if saturates else codes
    return np.where(np.isnan(size), NAN, codes)


@pytest.mark.parametrize("saturates", [False, True])
@pytest.mark.parametrize("mode", ["rz", "rp"])
def test_from_f32(machine_100, ptxas, mode, saturates):
    high = numbers()
    low = high[::-1].copy()
    code = f"cvt.{mode}{'.satfinite' * saturates}.ue8m0x2.f32 %d, %a, %b;"
    operands = [each.view(np.uint32) for each in (high, low)]
    got = machine_100.each(code, *operands, out=np.uint16)
    np.testing.assert_array_equal(got >> 8, expected(high, mode, saturates))
    np.testing.assert_array_equal(got & 0xFF, expected(low, mode, saturates))
    text = machine_100.each_ptx(code, [each.dtype for each in operands], np.dtype(np.uint16))
    for target in ("sm_100a", "sm_103a", "sm_120a"):
        ptxas(HEADER_100.replace("sm_100a", target) + text, target)


@pytest.mark.parametrize("saturates", [False, True])
@pytest.mark.parametrize("mode", ["rz", "rp"])
def test_from_bf16x2(machine_100, mode, saturates):
    """Every bf16."""
    low = np.arange(1 << 16, dtype=np.uint32)
    high = low[::-1]
    code = f"cvt.{mode}{'.satfinite' * saturates}.ue8m0x2.bf16x2 %d, %a;"
    got = machine_100.each(code, high << 16 | low, out=np.uint16)
    for shift, half in ((8, high), (0, low)):
        values = (half.astype(np.uint32) << 16).view(np.float32)
        np.testing.assert_array_equal(got >> shift & 0xFF, expected(values, mode, saturates))


def test_to_bf16x2(machine_100):
    codes = np.arange(1 << 16, dtype=np.uint16)
    got = machine_100.each("cvt.rn.bf16x2.ue8m0x2 %d, %a;", codes, out=np.uint32)
    exact = (POWERS.astype(np.float32).view(np.uint32) >> 16).tolist() + [0x7FFF]
    for shift, half in ((16, codes >> 8), (0, codes & 0xFF)):
        np.testing.assert_array_equal(got >> shift & 0xFFFF, np.array(exact)[half])
