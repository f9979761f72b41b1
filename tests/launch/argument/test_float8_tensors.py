"""Tensors of 8-bit floats over torch's bytes: the bytes are torch's own conversion."""

import pytest
import torch

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Float8E4M3, Float8E4M3FN, Float8E5M2, Float16
from dsl.launch.argument.float8_tensors import create_cute_tensor_for_fp8, is_fp8_dtype


def test_which_types_are_meant():
    assert [is_fp8_dtype(dtype) for dtype in (Float8E4M3FN, Float8E5M2, Float8E4M3, Float16)] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("dtype, theirs", [(Float8E4M3FN, torch.float8_e4m3fn), (Float8E5M2, torch.float8_e5m2)])
def test_bytes_are_torchs_conversion(dtype, theirs):
    numbers = torch.linspace(-400, 400, 64).reshape(8, 8)
    storage = torch.zeros(8, 8, dtype=torch.uint8)
    made = create_cute_tensor_for_fp8(storage, dtype, 1, numbers)
    assert torch.equal(storage, numbers.to(theirs).view(torch.uint8)) and made.element_type is dtype


def test_other_types_keep_their_memory():
    storage = torch.arange(8, dtype=torch.float16)
    assert create_cute_tensor_for_fp8(storage, Float16, 0, mark_dynamic_layout=False).element_type is Float16
    assert storage.tolist() == list(range(8))


def test_numbers_are_needed():
    with pytest.raises(DSLUserCodeTypeError) as error:
        create_cute_tensor_for_fp8(torch.zeros(8, dtype=torch.uint8), Float8E5M2, 0)
    assert error.value.fix == "source_f32_tensor=a_float32_tensor"
