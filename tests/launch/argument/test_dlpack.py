"""Tensors of other libraries read through DLPack."""

import numpy as np
import pytest
import torch

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number import dtypes
from dsl.core.number.dtypes import BFloat16, Boolean, Float32, Int32, Int64, Uint8
from dsl.launch.argument import dlpack
from dsl.launch.argument.runtime_tensor import from_dlpack


@pytest.mark.parametrize(
    "name, dtype",
    [
        ("bool", Boolean),
        ("int8", dtypes.Int8),
        ("uint8", Uint8),
        ("int16", dtypes.Int16),
        ("int32", Int32),
        ("int64", Int64),
        ("float16", dtypes.Float16),
        ("bfloat16", BFloat16),
        ("float32", Float32),
        ("float64", dtypes.Float64),
    ],
)
def test_element_types(name, dtype):
    assert from_dlpack(torch.zeros(4, dtype=getattr(torch, name))).element_type is dtype
    if name != "bfloat16":
        assert from_dlpack(np.zeros(4, name)).element_type is dtype


def test_complex_tensor_is_refused_by_name():
    with pytest.raises(DSLUserCodeTypeError, match="a tensor of complex64 has no element type here"):
        from_dlpack(torch.zeros(4, dtype=torch.complex64))


def test_view_knows_the_whole_storage():
    for base in (torch.zeros(8, 8), np.zeros((8, 8), np.float32)):
        view = dlpack.view(base[2:, ::2])
        assert view.shape == (6, 4) and view.strides == (8, 2)
        assert view.storage == (view.address - 64, 256)
    reversed_rows = dlpack.view(np.zeros((4, 4), np.int8)[::-1])
    assert reversed_rows.strides == (-4, 1) and reversed_rows.storage == (reversed_rows.address - 12, 16)
