"""Float formats: bits and roundings are numpy's and torch's where those have the type, the OCP tables' elsewhere."""

import math
import struct

import numpy as np
import pytest
import torch

from dsl.core.number.float_formats import FORMATS, round_to

TORCH = {
    "Float16": torch.float16,
    "BFloat16": torch.bfloat16,
    "Float8E5M2": torch.float8_e5m2,
    "Float8E4M3FN": torch.float8_e4m3fn,
}


@pytest.mark.parametrize("name", TORCH)
def test_every_code_has_the_value_that_torch_gives(name):
    form, dtype = FORMATS[name], TORCH[name]
    width = form.sign_bit + 1
    codes = range(0, 1 << width, 1 if width == 8 else 17)
    holder = torch.uint8 if width == 8 else torch.int16
    raw = torch.tensor([code - (1 << 16) if width == 16 and code >> 15 else code for code in codes], dtype=holder)
    for code, theirs in zip(codes, raw.view(dtype).to(torch.float64).tolist()):
        ours = form.decode(code)
        assert struct.pack("d", ours) == struct.pack("d", theirs) or (math.isnan(ours) and math.isnan(theirs)), code
        if not math.isnan(ours):
            assert form.encode(ours) == code


@pytest.mark.parametrize("name", TORCH)
def test_rounding_is_torchs(name):
    values = np.random.default_rng(0).normal(size=2000) * np.logspace(-12, 6, 2000)
    values = values.astype(np.float32).astype(np.float64)
    theirs = torch.tensor(values, dtype=torch.float32).to(TORCH[name]).to(torch.float64).tolist()
    greatest = FORMATS[name].decode(
        FORMATS[name].greatest_code
    )  # what is past it torch's releases take in their own ways
    for value, other in zip(values.tolist(), theirs):
        assert abs(value) >= greatest or round_to(value, name) == other, value


def test_small_formats_have_the_numbers_of_the_ocp_tables():
    assert [FORMATS["Float4E2M1FN"].decode(code) for code in range(16)] == [
        *(0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0),
        *(-0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0),
    ]
    assert FORMATS["Float6E3M2FN"].decode(0b011111) == 28.0 and FORMATS["Float6E2M3FN"].decode(0b011111) == 7.5
    assert FORMATS["Float8E4M3FN"].decode(0x7E) == 448.0 and math.isnan(FORMATS["Float8E4M3FN"].decode(0x7F))
    assert FORMATS["Float8E8M0FNU"].decode(0) == 2.0**-127 and FORMATS["Float8E8M0FNU"].decode(254) == 2.0**127


def test_past_the_greatest_number():
    assert FORMATS["Float8E5M2"].encode(1e9) == 0x7C  # infinity
    assert FORMATS["Float8E5M2"].encode(1e9, saturate=True) == 0x7B
    assert FORMATS["Float8E4M3FN"].encode(1e9) == 0x7F  # NaN
    assert FORMATS["Float8E4M3FN"].encode(-math.inf, saturate=True) == 0xFE
    assert FORMATS["Float4E2M1FN"].encode(-100.0) == 0xF
    assert FORMATS["Float8E4M3B11FNUZ"].encode(math.nan) == 0x80 == FORMATS["Float8E4M3B11FNUZ"].nan_code
    assert FORMATS["Float8E4M3B11FNUZ"].encode(-1e-30) == 0  # no -0
    assert round_to(1e39, "Float32") == math.inf and round_to(16777217.0, "Float32") == 16777216.0
