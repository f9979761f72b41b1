"""The types of numpy and torch that hold a numeric type's values;
numpy's is the attribute `numpy_dtype` of each type."""

from __future__ import annotations

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Numeric, NumericMeta
from dsl.core.phrase import shown

_TORCH = {
    "Boolean": "bool",
    "Int4": "int4",
    "TFloat32": "float32",
    "BFloat16": "bfloat16",
    "Float8E5M2": "float8_e5m2",
    "Float8E4M3FN": "float8_e4m3fn",
    "Float8E4M3B11FNUZ": "float8_e4m3fnuz",
    "Float8E8M0FNU": "float8_e8m0fnu",
    "Float4E2M1FN": "float4_e2m1fn_x2",
}


def numpy_dtype(dtype: type[Numeric]) -> type | None:
    """numpy's scalar type of the same values, None where it has none."""
    if dtype.numpy_name is None:
        return None
    import numpy

    return getattr(numpy, dtype.numpy_name)


def torch_dtype(dtype: type[Numeric]):
    """torch's element type. Raises DSLUserCodeTypeError where it has none."""
    import torch

    dtype_of_torch = getattr(torch, _TORCH.get(dtype.__name__, dtype.__name__.lower()), None)
    if not isinstance(dtype_of_torch, torch.dtype):
        raise DSLUserCodeTypeError(f"{shown(dtype)} is not supported by torch", fix="view its bytes as torch.uint8")
    return dtype_of_torch


setattr(NumericMeta, "numpy_dtype", property(numpy_dtype))  # noqa: B010 - an attribute of every numeric type
