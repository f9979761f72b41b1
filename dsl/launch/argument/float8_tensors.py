"""Tensors of 8-bit floats out of torch tensors of bytes, as DLPack has no type for them."""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Float8E4M3FN, Float8E5M2, Numeric
from dsl.launch.argument.foreign_types import torch_dtype
from dsl.launch.argument.runtime_tensor import RuntimeTensor, from_dlpack


def is_fp8_dtype(dtype: type[Numeric]) -> bool:
    """Whether it is Float8E4M3FN or Float8E5M2."""
    return dtype in (Float8E4M3FN, Float8E5M2)


def create_cute_tensor_for_fp8(
    storage_tensor: Any,
    dtype: type[Numeric],
    leading_dim: int,
    source_f32_tensor: Any = None,
    assumed_align: int = 16,
    mark_dynamic_layout: bool = True,
) -> RuntimeTensor:
    """A tensor argument over `storage_tensor`, bytes where `dtype` is an 8-bit float; those take the values of
    `source_f32_tensor`, rounded. Raises DSLUserCodeTypeError where that is missing."""
    if is_fp8_dtype(dtype):
        if source_f32_tensor is None:
            raise DSLUserCodeTypeError(
                f"a tensor of {dtype} is made of bytes and of the numbers they shall hold",
                fix="source_f32_tensor=a_float32_tensor",
            )
        storage_tensor.copy_(source_f32_tensor.to(torch_dtype(dtype)).view(storage_tensor.dtype))
    tensor = from_dlpack(storage_tensor, assumed_align=assumed_align)
    tensor.element_type = dtype
    return tensor.mark_layout_dynamic(leading_dim=leading_dim) if mark_dynamic_layout else tensor
