"""Argument types: what they read of a call, and what they rebuild while tracing."""

import warnings

import pytest
import torch

from dsl.core.number import dtypes
from dsl.core.number.dtypes import BFloat16
from dsl.launch.argument import abi
from dsl.launch.argument.fake_arguments import make_fake_stream
from dsl.launch.argument.kinds import typed
from dsl.launch.argument.signature import Signature


@pytest.mark.parametrize("dtype", [dtypes.Uint8, dtypes.Uint16, dtypes.Uint32, dtypes.Uint64])
def test_a_python_number_for_an_unsigned_parameter_is_signed_as_upstream(dtype):
    """Upstream 4.8.1: `200` for a Uint8 is an Int8 of -56, in jit functions, dataclass fields and kernels."""
    signed, most = getattr(dtypes, f"Int{dtype.width}"), 2**dtype.width - 1
    type_ = typed(5, dtype)
    assert type_ == abi.ScalarType(signed)
    assert typed(dtype(5), dtype).dtype is dtype and typed(signed(5), dtype).dtype is dtype
    binding = abi.Binding()
    assert type_.read(5, binding) == [5] and type_.read(-5, binding) == [-5]
    for _ in range(2):  # the warning comes once a place
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            values = [type_.read(number, binding) for number in (most, most)]
        assert values == [[-1], [-1]]
        assert [str(each.message) for each in caught] == [
            f"TYPE_INT_LITERAL_OUT_OF_RANGE: {most} for the {dtype} `argument` is passed as {signed}, as every Python "
            f"number is, and becomes -1: pass {dtype}({most})"
        ]


def test_bfloat16_travels_as_bits():
    slots, _ = Signature("f", ["x"], [typed(BFloat16(0))]).bind([1.5])
    assert slots == [0x3FC0]


def test_a_stream_of_the_environment_is_torchs_current_one(monkeypatch):
    stream = typed(make_fake_stream(use_tvm_ffi_env_stream=True))
    assert stream.read(None, None) == [0]
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: type("Stream", (), {"cuda_stream": 77}))
    assert stream.read(None, None) == [77]
