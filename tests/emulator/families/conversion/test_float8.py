"""cvt to and from pairs of narrow floats: every code, and numbers on and next to the ties.

e4m3x2 and e5m2x2 are compared with torch's float8 types; e2m3x2, e3m2x2 and e2m1x2 with numbers of the OCP formats,
computed here from exponent and fraction.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.emulator.conftest import HEADER_100, Machine

TORCH = {"e4m3x2": torch.float8_e4m3fn, "e5m2x2": torch.float8_e5m2}
GREATEST = {"e4m3x2": 448.0, "e5m2x2": 57344.0}
PAIRS = ("e4m3x2", "e5m2x2")


def numbers(kind: str) -> torch.Tensor:
    """Every value of the format, the midpoints between neighbours, floats next to both, and special ones."""
    values = torch.arange(128, dtype=torch.uint8).view(TORCH[kind]).float()
    values = values[values.isfinite()].double()
    middles = (values[1:] + values[:-1]) / 2
    special = torch.tensor([1e-30, 464.0, 465.0, 61440.0, 61439.0, 65520.0, 1e5, 3e38])
    exact = torch.cat([values, middles, special]).float()
    beside = [torch.nextafter(exact, torch.tensor(limit)) for limit in (float("inf"), 0.0)]
    exact = torch.cat([exact, *beside, torch.tensor([float("inf"), float("nan")])])
    return torch.cat([exact, -exact])


def expected(values: torch.Tensor, kind: str, relu: bool = False) -> np.ndarray:
    """To nearest even by torch, saturated by hand; NaN is 0x7f."""
    bounded = values.clamp(0.0 if relu else -GREATEST[kind], GREATEST[kind])
    codes = bounded.to(TORCH[kind]).view(torch.uint8)
    if relu:
        codes = torch.where(values > 0, codes, 0)
    return torch.where(values.isnan(), 0x7F, codes).to(torch.uint8).numpy()


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("kind", PAIRS)
def test_from_f32(machine, ptxas, kind, relu):
    high = numbers(kind)
    low = high.flip(0).contiguous()
    name = f"cvt.rn.satfinite{'.relu' * relu}.{kind}.f32"
    operands = [v.numpy().view(np.uint32) for v in (high, low)]
    got = machine.each(f"{name} %d, %a, %b;", *operands, out=np.uint16)
    np.testing.assert_array_equal(got >> 8, expected(high, kind, relu))
    np.testing.assert_array_equal(got & 0xFF, expected(low, kind, relu))
    ptxas(machine.each_ptx(f"{name} %d, %a, %b;", [o.dtype for o in operands], np.dtype(np.uint16)))


@pytest.mark.parametrize("kind", PAIRS)
def test_from_f16x2(machine, kind):
    low = torch.arange(1 << 16, dtype=torch.int32).to(torch.uint16).view(torch.float16)
    high = low.flip(0).contiguous()
    packed = (high.view(torch.uint16).numpy().astype(np.uint32) << 16) | low.view(torch.uint16).numpy()
    got = machine.each(f"cvt.rn.satfinite.{kind}.f16x2 %d, %a;", packed, out=np.uint16)
    np.testing.assert_array_equal(got & 0xFF, expected(low.float(), kind))
    np.testing.assert_array_equal(got >> 8, expected(high.float(), kind))


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("kind", PAIRS)
def test_to_f16x2(machine, kind, relu):
    codes = np.arange(1 << 16, dtype=np.uint16)
    got = machine.each(f"cvt.rn{'.relu' * relu}.f16x2.{kind} %d, %a;", codes, out=np.uint32)
    for shift, part in ((0, codes & 0xFF), (8, codes >> 8)):
        wanted = torch.from_numpy(part.astype(np.uint8)).view(TORCH[kind]).to(torch.float16)
        if relu:
            wanted = torch.where(wanted > 0, wanted, torch.where(wanted.isnan(), wanted, 0.0).half())
        bits = torch.where(wanted.isnan(), 0x7FFF, wanted.view(torch.int16).int() & 0xFFFF)
        np.testing.assert_array_equal((got >> (2 * shift)) & 0xFFFF, bits.numpy())


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("kind", PAIRS)
def test_from_bf16x2(kind, relu):
    low = torch.arange(1 << 16, dtype=torch.int32).to(torch.uint16).view(torch.bfloat16)
    high = low.flip(0).contiguous()
    packed = (high.view(torch.uint16).numpy().astype(np.uint32) << 16) | low.view(torch.uint16).numpy()
    machine = Machine(header=HEADER_100.replace("9.0", "9.1"))
    got = machine.each(f"cvt.rn.satfinite{'.relu' * relu}.{kind}.bf16x2 %d, %a;", packed, out=np.uint16)
    np.testing.assert_array_equal(got & 0xFF, expected(low.float(), kind, relu))
    np.testing.assert_array_equal(got >> 8, expected(high.float(), kind, relu))


def test_without_satfinite_it_is_refused(machine):
    with pytest.raises(Exception, match="the emulator has no such form, `.satfinite` is missing"):
        machine.each("cvt.rn.e4m3x2.f32 %d, %a, %b;", *[np.zeros(1, np.uint32)] * 2, out=np.uint16)


FINITE = {"e2m3x2": (2, 3, 1), "e3m2x2": (3, 2, 3), "e2m1x2": (2, 1, 1)}  # exponent bits, fraction bits, bias


def finite_values(kind: str) -> np.ndarray:
    """The numbers of the codes without a sign.  OCP Microscaling Formats 1.0, section 5.3."""
    exponent_bits, fraction_bits, bias = FINITE[kind]
    codes = np.arange(1 << (exponent_bits + fraction_bits))
    exponent, fraction = codes >> fraction_bits, (codes & ((1 << fraction_bits) - 1)) / (1 << fraction_bits)
    return np.where(exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias))


def nearest_code(numbers: np.ndarray, kind: str) -> np.ndarray:
    """The code of the nearest value, of two the even one; a NaN is the greatest, without a sign."""
    values = finite_values(kind)
    distance = np.abs(np.minimum(np.abs(numbers.astype(np.float64)), values[-1])[:, None] - values)
    best = distance.min(axis=1, keepdims=True)
    codes = (
        np.where(distance == best, np.arange(len(values)) + 1000 * (np.arange(len(values)) % 2), 9999).min(axis=1)
        % 1000
    )
    signed = np.where(np.signbit(numbers), codes + len(values), codes)
    return np.where(np.isnan(numbers), len(values) - 1, signed)


def pair_of(high: np.ndarray, low: np.ndarray, kind: str) -> np.ndarray:
    return high << (4 if kind == "e2m1x2" else 8) | low


@pytest.mark.parametrize("kind", FINITE)
def test_finite_formats_from_f32(machine_100, ptxas, kind):
    values = finite_values(kind)
    exact = np.concatenate([values, (values[1:] + values[:-1]) / 2, [values[-1] * 1.01, 1e30, np.inf, 1e-30]]).astype(
        np.float32
    )
    beside = [np.nextafter(exact, np.float32(limit)) for limit in (np.inf, 0)]
    high = np.concatenate([exact, *beside, [np.float32(np.nan)]])
    high = np.concatenate([high, -high[:-1]])
    low = high[::-1].copy()
    code = f"cvt.rn.satfinite.{kind}.f32 pair, %a, %b;"
    code = "{ .reg .b8 pair; " + code + " cvt.u16.u8 %d, pair; }" if kind == "e2m1x2" else code.replace("pair", "%d")
    operands = [numbers.view(np.uint32) for numbers in (high, low)]
    got = machine_100.each(code, *operands, out=np.uint16)
    wanted = pair_of(nearest_code(high, kind), nearest_code(low, kind), kind)
    np.testing.assert_array_equal(got, wanted)
    ptx = machine_100.each_ptx(code, [o.dtype for o in operands], np.dtype(np.uint16))
    ptxas(HEADER_100 + ptx, "sm_100a")


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("source", ["f16x2", "bf16x2"])
@pytest.mark.parametrize("kind", FINITE)
def test_finite_formats_from_halves(kind, source, relu):
    """Every half."""
    low = np.arange(1 << 16, dtype=np.uint32)
    high = low[::-1]
    code = f"cvt.rn.satfinite{'.relu' * relu}.{kind}.{source} pair, %a;"
    code = "{ .reg .b8 pair; " + code + " cvt.u16.u8 %d, pair; }" if kind == "e2m1x2" else code.replace("pair", "%d")
    got = Machine(header=HEADER_100.replace("9.0", "9.1")).each(code, high << 16 | low, out=np.uint16)
    for shift, half in ((4 if kind == "e2m1x2" else 8, high), (0, low)):
        if source == "f16x2":
            values = half.astype(np.uint16).view(np.float16).astype(np.float32)
        else:
            values = (half.astype(np.uint32) << 16).view(np.float32)
        if relu:
            values = np.where(values < 0, np.float32(0), np.abs(values))
        np.testing.assert_array_equal(got >> shift & (15 if kind == "e2m1x2" else 255), nearest_code(values, kind))


@pytest.mark.parametrize("kind", FINITE)
def test_finite_formats_to_f16x2(machine_100, kind):
    values = finite_values(kind)
    both = np.concatenate([values, -values]).astype(np.float16).view(np.uint16).astype(np.uint32)
    low = np.arange(len(both)).repeat(len(both))
    high = np.tile(np.arange(len(both)), len(both))
    code = f"cvt.rn.f16x2.{kind} %d, pair;"
    code = "{ .reg .b8 pair; cvt.u8.u16 pair, %a; " + code + " }" if kind == "e2m1x2" else code.replace("pair", "%a")
    got = machine_100.each(code, pair_of(high, low, kind).astype(np.uint16), out=np.uint32)
    np.testing.assert_array_equal(got, both[high] << 16 | both[low])
