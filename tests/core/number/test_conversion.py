"""Conversions in kernels and in host functions, against numpy and torch."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from dsl.core.errors import DSLUserCodeError
from dsl.core.number import dtypes, float_formats
from dsl.cutlass import Constexpr, cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.launch import session

TORCH = {name: getattr(torch, name.lower().replace("float8", "float8_")) for name in ("Float8E4M3FN", "Float8E5M2")}
TORCH |= {"Float16": torch.float16, "BFloat16": torch.bfloat16, "Float32": torch.float32}
GREATEST = {"Float8E4M3FN": 448.0, "Float8E5M2": 57344.0}
NUMBERS = [
    0.0,
    -0.0,
    1.0,
    1.0625,
    1.1875,
    464.0,
    480.0,
    1e9,
    -1e9,
    2.0**-9,
    2.0**-10,
    3 * 2.0**-11,
    2.0**-17,
    61440.0,
    float("inf"),
    float("-inf"),
    float("nan"),
    0.1,
    -0.3,
    300.7,
]


@pytest.fixture(autouse=True)
def emulator():
    yield session.start("emulator")
    session.stop()


@cute.kernel
def kernel(dtype: Constexpr, a: cute.Tensor, b: cute.Tensor):
    i = cute.arch.thread_idx()[0]
    b[i] = a[i].to(dtype)


@cute.jit
def in_kernel(dtype: Constexpr, a: cute.Tensor, b: cute.Tensor):
    kernel(dtype, a, b).launch(grid=1, block=a.shape[0])


@cute.jit
def on_host(dtype: Constexpr, a: cute.Tensor, b: cute.Tensor):
    for i in range(a.shape[0]):
        b[i] = a[i].to(dtype)


def numbers() -> torch.Tensor:
    generator = torch.Generator().manual_seed(5)
    return torch.cat([torch.tensor(NUMBERS), torch.randn(236, generator=generator) * 100])


@pytest.mark.parametrize("place", [in_kernel, on_host])
@pytest.mark.parametrize("name", GREATEST)
@pytest.mark.parametrize("source", ["Float32", "Float16", "BFloat16"])
def test_to_8_bits_saturates(place, name, source):
    x = numbers().to(TORCH[source])
    got = torch.zeros(len(x), dtype=torch.uint8).view(TORCH[name])
    place(getattr(dtypes, name), from_dlpack(x), from_dlpack(got))
    expected = x.float().clamp(-GREATEST[name], GREATEST[name]).to(TORCH[name]).view(torch.uint8)
    expected = torch.where(x.isnan(), 0x7F, expected)
    assert got.view(torch.uint8).tolist() == expected.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("place", [in_kernel, on_host])
@pytest.mark.parametrize("name", GREATEST)
@pytest.mark.parametrize("target", ["Float32", "Float16", "BFloat16"])
def test_every_8_bit_value_converts_exactly(place, name, target):
    codes = torch.arange(256, dtype=torch.int32).to(torch.uint8).view(TORCH[name])
    got = torch.zeros(256, dtype=TORCH[target])
    place(getattr(dtypes, target), from_dlpack(codes), from_dlpack(got))
    torch.testing.assert_close(got, codes.to(TORCH[target]), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("place", [in_kernel, on_host])
def test_integers_extend_with_a_sign_where_both_types_have_one(place):
    x, got = np.array([-7, 5, 127, -128], np.int8), np.zeros(4, np.uint32)
    place(dtypes.Uint32, from_dlpack(x), from_dlpack(got))
    assert got.tolist() == [249, 5, 127, 128]
    wide = np.zeros(4, np.int64)
    place(dtypes.Int64, from_dlpack(x), from_dlpack(wide))
    assert wide.tolist() == x.tolist()


@pytest.mark.parametrize("name", ["Float8E8M0FNU", "Float8E4M3", "Float8E4M3B11FNUZ"])
def test_a_storage_type_converts_to_nothing(name):
    x = np.zeros(4, np.float32)
    with pytest.raises(DSLUserCodeError, match=f"Unsupported destination float type: {name}"):
        in_kernel(getattr(dtypes, name), from_dlpack(x), from_dlpack(x))


@pytest.mark.parametrize("name", ["Int4", "Float4E2M1FN", "Float6E2M3FN"])
def test_a_type_narrower_than_a_byte_has_no_elements(name):
    @cute.jit
    def make(dtype: Constexpr):
        cute.make_rmem_tensor(4, dtype)[0]

    with pytest.raises(DSLUserCodeError, match=f"Sub-byte scalar dereference not supported for type {name}"):
        make(getattr(dtypes, name))


@pytest.mark.slow
@settings(max_examples=300)
@given(st.floats(allow_nan=False), st.sampled_from(sorted(TORCH)))
def test_a_literal_rounds_as_torch_does(number, name):
    form = float_formats.FORMATS[name]
    bits = torch.tensor(number, dtype=torch.float64).to(TORCH[name]) if name in ("Float16", "Float32") else None
    if bits is None:  # torch rounds twice on the way from double: start from its float
        number = float(torch.tensor(number, dtype=torch.float32))
        limit = GREATEST.get(name)
        bits = torch.tensor(min(max(number, -limit), limit) if limit else number).to(TORCH[name])
    width = bits.element_size() * 8
    raw = int(bits.view({8: torch.uint8, 16: torch.int16, 32: torch.int32}[width])) & ((1 << width) - 1)
    assert form.encode(number, saturate=name in GREATEST) == raw
    assert form.decode(raw) == float(bits.double())


def test_upstreams_literals():
    """The bytes NVIDIA's compiler stores for Float8E4M3FN(1.3), Float8E4M3FN(1e30) and the sum of two Float16."""
    assert dtypes.Float8E4M3FN.constant_of(1.3) == 58 and dtypes.Float8E4M3FN.constant_of(1e30) == 127
    total = dtypes.Float16(0.1) + dtypes.Float16(0.2)
    assert float_formats.FORMATS["Float16"].encode(total.value) == 0x34CD
