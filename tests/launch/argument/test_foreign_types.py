"""The types of numpy and torch for each numeric type: one element of each holds the same numbers."""

import numpy as np
import pytest
import torch

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number import dtypes
from dsl.core.number.dtypes import BFloat16, Float8E4M3FN, Int4, Numeric
from dsl.launch.argument.foreign_types import numpy_dtype, torch_dtype

NAMED = [
    dtype
    for dtype in vars(dtypes).values()
    if isinstance(dtype, type) and issubclass(dtype, Numeric) and dtype.numpy_name
]


def test_numpys_and_torchs_types_hold_the_same_numbers():
    assert len(NAMED) >= 12
    for dtype in NAMED:
        theirs, tensor = np.array([1], numpy_dtype(dtype)), torch.ones(1, dtype=torch_dtype(dtype))
        assert theirs.itemsize * 8 == dtype.storage_width and dtype.numpy_dtype is numpy_dtype(dtype)
        assert tensor.numpy().dtype == theirs.dtype


def test_types_that_only_torch_has():
    assert numpy_dtype(BFloat16) is None and torch_dtype(BFloat16) is torch.bfloat16
    assert torch_dtype(Float8E4M3FN) is torch.float8_e4m3fn


def test_a_type_that_torch_has_not(monkeypatch):
    monkeypatch.delattr(torch, "int4", raising=False)
    with pytest.raises(DSLUserCodeTypeError) as error:
        torch_dtype(Int4)
    assert (
        error.value.message == "Int4 is not supported by torch" and error.value.fix == "view its bytes as torch.uint8"
    )
