"""Edge values of forms for which the PTX ISA defines more than IEEE 754 does."""

import numpy as np

F, D = np.float32, np.float64


def same(given: np.ndarray, expected: list) -> None:
    """Equal bits; any NaN for a NaN."""
    expected = np.array(expected, given.dtype)
    raw = {2: np.uint16, 4: np.uint32, 8: np.uint64}[given.itemsize]
    agree = (given.view(raw) == expected.view(raw)) | (np.isnan(given) & np.isnan(expected))
    assert agree.all(), (given, expected)


def test_a_divisor_above_2_to_126_gives_zero(machine):
    """PTX ISA 9.7.3.8: for 2^126 < |b| < 2^128 div.approx gives 0, or NaN where a is infinite."""
    largest = np.finfo(F).max
    a = np.array([1.0, -1.0, 1.0, largest, np.inf, 2.0**126, 1.0, np.nan, 0.0, np.inf], F)
    b = np.array([2.0**126, 2.0**127, -(2.0**127), largest, 2.0**127, 2.0**126, np.inf, 2.0**127, 2.0**127, 1.0], F)
    expected = [2.0**-126, -0.0, -0.0, 0.0, np.nan, 1.0, 0.0, np.nan, 0.0, np.inf]
    for name in ("div.approx.f32", "div.approx.ftz.f32"):
        same(machine.each(f"{name} %d, %a, %b;", a, b, out=F), expected)
    with np.errstate(all="ignore"):
        same(machine.each("div.full.f32 %d, %a, %b;", a, b, out=F), list(a / b))


def test_approximations_in_double_precision_have_32_bits(machine):
    """PTX ISA 9.7.3.14, 9.7.3.17: the upper 32 bits of the operand, the upper 32 of the result; subnormals are zeros."""
    x = np.array([3.0, np.pi, 1e-310, -1e-310, 0.0, -0.0, np.inf, 2.0**1023, np.nan, 1e300], D)
    upper = (x.view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view(D)
    for name, function in (("rcp", lambda v: 1 / v), ("rsqrt", lambda v: 1 / np.sqrt(v))):
        given = machine.each(f"{name}.approx.ftz.f64 %d, %a;", x, out=D)
        assert not (given.view(np.uint64) & np.uint64(0xFFFFFFFF)).any()
        with np.errstate(all="ignore"):
            flushed = np.where(np.abs(upper) < np.finfo(D).tiny, np.copysign(0.0, upper), upper)
            exact = function(flushed)
            exact = np.where(np.abs(exact) < np.finfo(D).tiny, np.copysign(0.0, exact), exact)
        finite = np.isfinite(exact)
        assert (np.isfinite(given) == finite).all() and (np.isnan(given) == np.isnan(exact)).all()
        np.testing.assert_allclose(given[finite], exact[finite], rtol=2.0**-20)
        same(given[~finite], list(exact[~finite]))


def test_ftz_of_a_conversion_is_of_single_precision(machine):
    subnormal = np.array([1, 0x3FF, 0x8001, 0x0400, 0x7C00], np.uint16)
    given = machine.each("cvt.ftz.f32.f16 %d, %a;", subnormal, out=F)
    same(given, list(subnormal.view(np.float16).astype(F)))
    tiny = np.array([1, 0x7FFFFF, 0x80000001, 0x00800000], np.uint32)
    assert machine.each("cvt.ftz.f64.f32 %d, %a;", tiny.view(F), out=D).tolist() == [0.0, 0.0, -0.0, 2.0**-126]


def test_tf32_saturates_when_told(machine):
    x = np.array([0x7F7FFFFF, 0xFF7FFFFF, 0x7F7FE000, 0x7F7FEFFF, 0x7F7FF000, 0x7F800000, 0x3F801000], np.uint32)
    plain = machine.each("cvt.rna.tf32.f32 %d, %a;", x.view(F), out=np.uint32)
    assert [hex(v) for v in plain] == [
        "0x7f800000", "0xff800000", "0x7f7fe000", "0x7f7fe000", "0x7f800000", "0x7f800000", "0x3f802000",
    ]  # fmt: skip
    saturated = machine.each("cvt.rna.satfinite.tf32.f32 %d, %a;", x.view(F), out=np.uint32)
    assert [hex(v) for v in saturated] == [
        "0x7f7fe000", "0xff7fe000", "0x7f7fe000", "0x7f7fe000", "0x7f7fe000", "0x7f7fe000", "0x3f802000",
    ]  # fmt: skip


def test_relu_of_minus_zero_is_zero_in_every_form(machine):
    minus_zero = np.array([0x8000, 0x8000, 0xBC00, 0x3C00, 0x7E00], np.uint16)
    one, zero = np.full(5, 0x3C00, np.uint16), np.full(5, 0x8000, np.uint16)
    fma = machine.each("fma.rn.relu.f16 %d, %a, %b, %c;", minus_zero, one, zero, out=np.uint16)
    floats = minus_zero.view(np.float16).astype(F)
    cvt = machine.each("cvt.rn.relu.f16.f32 %d, %a;", floats, out=np.uint16)
    assert fma.tolist() == cvt.tolist() == [0, 0, 0, 0x3C00, 0x7FFF]
