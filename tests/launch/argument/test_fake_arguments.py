"""Fake tensors: their layouts and alignment."""

import pytest

from dsl.core.number.dtypes import Float32
from dsl.launch.argument.fake_arguments import make_fake_compact_tensor, make_fake_tensor
from dsl.launch.argument.symbolic_int import sym_int, sym_int64


def layout(tensor) -> str:
    return tensor.argument_type().layout_text()


def test_fake_compact_tensors():
    n = sym_int(divisibility=4)
    fake = make_fake_compact_tensor
    assert layout(fake(Float32, (32, 8))) == "(32,8):(1,32)"
    assert layout(fake(Float32, (32, 8), stride_order=(1, 0))) == "(32,8):(8,1)"
    assert layout(fake(Float32, (4, 5, 6), stride_order=(2, 0, 1))) == "(4,5,6):(30,1,5)"
    assert layout(fake(Float32, (n, 8))) == "(?{div=4},8):(1,?{i64 div=4})"
    assert layout(fake(Float32, (8, n), stride_order=(1, 0), use_32bit_stride=True)) == "(8,?{div=4}):(?{div=4},1)"
    assert layout(make_fake_tensor(Float32, (sym_int(), 8), (sym_int64(), 1))) == "(?,8):(?{i64},1)"
    with pytest.raises(ValueError, match="must be empty or have same length as shape"):
        fake(Float32, (4, 5), stride_order=(0,))
