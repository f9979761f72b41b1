"""Tensors of torch to test with: made with numbers of a kind, and passed as arguments of types torch may not have.

CuTe DSL documentation: cutlass.torch. A matrix has the modes (mode0, mode1, l), l the outermost in memory.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.number.dtypes import Numeric
from dsl.core.phrase import shown
from dsl.launch.argument.foreign_types import torch_dtype
from dsl.launch.argument.runtime_tensor import RuntimeTensor, from_dlpack

if TYPE_CHECKING:
    import torch


class TensorInitType(enum.Enum):
    """The numbers of a new tensor: none in particular, one, integers of a range, of a normal distribution."""

    SKIP = "skip"
    SCALAR = "scalar"
    RANDOM = "random"
    GAUSSIAN = "gaussian"


@dataclass
class RandomInitConfig:
    """Integers from `min_val` up to `max_val`, without it."""

    min_val: int = -2
    max_val: int = 2


@dataclass
class ScalarInitConfig:
    """One number."""

    value: float = 0.0


@dataclass
class GaussianInitConfig:
    """`scale` times numbers of a normal distribution."""

    mean: float = 0.0
    std: float = 1.0
    scale: float = 1.0


_CONFIGS: dict[TensorInitType, type] = {
    TensorInitType.SKIP: type(None),
    TensorInitType.SCALAR: ScalarInitConfig,
    TensorInitType.RANDOM: RandomInitConfig,
    TensorInitType.GAUSSIAN: GaussianInitConfig,
}


def create_and_permute_torch_tensor(
    shape: tuple[int, ...],
    dtype: torch.dtype,
    permute_order: tuple[int, ...] | None = None,
    init_type: TensorInitType = TensorInitType.RANDOM,
    init_config: Any = None,
    device: Any = None,
) -> torch.Tensor:
    """A tensor of `shape` in memory whose modes are then put into `permute_order`.

    Raises DSLUserCodeValueError for an `init_config` of another `init_type`.
    """
    import torch

    config_class = _CONFIGS.get(init_type)
    if config_class is None:
        raise DSLUserCodeTypeError(
            f"init_type must be a TensorInitType, got {shown(init_type)}", fix="TensorInitType.RANDOM"
        )
    config = config_class() if init_config is None else init_config
    if init_type is not TensorInitType.SKIP and not isinstance(config, config_class):
        raise DSLUserCodeValueError(
            f"init_config of {init_type.name} must be a {config_class.__name__}, got {shown(config)}",
            fix=f"init_config={config_class.__name__}()",
        )
    if init_type is TensorInitType.RANDOM:
        numbers = torch.empty(shape, dtype=torch.int32, device=device).random_(config.min_val, config.max_val)
    elif init_type is TensorInitType.GAUSSIAN:
        numbers = torch.empty(shape, dtype=torch.float32, device=device).normal_(config.mean, config.std) * config.scale
    elif init_type is TensorInitType.SCALAR:
        numbers = torch.full(shape, config.value, dtype=torch.float32, device=device)
    else:
        numbers = torch.empty(shape, dtype=dtype, device=device)
    numbers = numbers.to(dtype)
    return numbers if permute_order is None else numbers.permute(permute_order)


def matrix(
    l: int,  # noqa: E741 - upstream's name
    mode0: int,
    mode1: int,
    is_mode0_major: bool,
    cutlass_dtype: type[Numeric],
    init_type: TensorInitType = TensorInitType.RANDOM,
    init_config: Any = None,
    device: Any = None,
) -> torch.Tensor:
    """(mode0, mode1, l) whose first or second mode is contiguous. Types of less than 16 bits that torch cannot count
    in are kept as int8."""
    import torch

    shape, order = ((l, mode1, mode0), (2, 1, 0)) if is_mode0_major else ((l, mode0, mode1), (1, 2, 0))
    if init_config is None and init_type is TensorInitType.RANDOM and not _is_signed(cutlass_dtype):
        init_config = RandomInitConfig(0, 4)
    dtype = torch.int8 if _is_narrow(cutlass_dtype) else torch_dtype(cutlass_dtype)
    return create_and_permute_torch_tensor(shape, dtype, order, init_type, init_config, device)


def _is_narrow(dtype: type[Numeric]) -> bool:
    return dtype.is_float and dtype.width < 16


def _is_signed(dtype: type[Numeric]) -> bool:
    return dtype.is_float or dtype.signed


def get_leading_dim(torch_tensor: torch.Tensor) -> int:
    """The contiguous mode. Raises DSLUserCodeError if there is none, or if this is not a tensor of torch."""
    import torch

    if not isinstance(torch_tensor, torch.Tensor):
        raise DSLUserCodeTypeError(
            f"get_leading_dim takes a torch tensor, got {shown(torch_tensor)}",
            fix="`leading_dim` of a tensor of the DSL is the mode of stride 1 in its layout",
        )
    for mode, stride in enumerate(torch_tensor.stride()):
        if stride == 1:
            return mode
    raise DSLUserCodeValueError(
        f"the tensor has no mode of stride 1, its strides are {torch_tensor.stride()}", fix="make it contiguous"
    )


def cute_tensor_like(
    data_ref: torch.Tensor,
    cutlass_dtype: type[Numeric],
    is_dynamic_layout: bool,
    assumed_align: int | None = None,
    enable_tvm_ffi: bool = False,
) -> tuple[RuntimeTensor, torch.Tensor]:
    """A tensor on the device with the numbers of `data_ref` as `cutlass_dtype`: as an argument, and of torch."""
    import torch

    narrow = _is_narrow(cutlass_dtype)
    kept = torch.uint8 if narrow else torch_dtype(cutlass_dtype)
    on_device = torch.empty_strided(data_ref.shape, data_ref.stride(), dtype=kept, device="cuda")
    if not narrow:
        on_device.copy_(data_ref)
    argument = from_dlpack(on_device, assumed_align=assumed_align, enable_tvm_ffi=enable_tvm_ffi)
    argument.element_type = cutlass_dtype
    if is_dynamic_layout:
        argument = argument.mark_layout_dynamic(leading_dim=get_leading_dim(data_ref))
    if narrow:
        _write(data_ref.to(torch.float32), argument)
        on_device = on_device.view(torch_dtype(cutlass_dtype))
    return argument, on_device


def convert_cute_tensor(
    f32_torch_tensor: torch.Tensor,
    cute_tensor: RuntimeTensor,
    dtype: type[Numeric],
    is_dynamic_layout: bool = True,
    enable_tvm_ffi: bool = False,
) -> RuntimeTensor:
    """`cute_tensor`, which takes the numbers of `f32_torch_tensor`, rounded, if its type has less than 16 bits."""
    if _is_narrow(dtype):
        _write(f32_torch_tensor, cute_tensor)
    return cute_tensor


def convert(src: Any, dst: Any) -> None:
    """Write the numbers of one tensor argument into another of the same shape, rounded to its type."""
    for tensor, name in ((src, "src"), (dst, "dst")):
        if not isinstance(tensor, RuntimeTensor) or not hasattr(tensor.source, "copy_"):
            raise DSLUserCodeTypeError(
                f"{name} of convert must be a tensor argument over one of torch, got {type(tensor).__name__}",
                fix="from_dlpack(a_torch_tensor)",
            )
    _write(_of_torch(src), dst)


def _of_torch(argument: RuntimeTensor) -> torch.Tensor:
    """The tensor of torch that an argument is over, as its elements are read."""
    return argument.source.view(torch_dtype(argument.element_type))


def _write(numbers: torch.Tensor, argument: RuntimeTensor) -> None:
    """Rounded to the nearest, and to the largest finite number where they are too large, as the device converts."""
    import torch

    target = _of_torch(argument)
    numbers = numbers.to(device=target.device, dtype=torch.float32)
    if _is_narrow(argument.element_type):
        most = torch.finfo(target.dtype).max
        numbers = numbers.clamp(-most, most)
    target.copy_(numbers.to(target.dtype))
