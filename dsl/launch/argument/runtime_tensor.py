"""Tensors of other libraries as arguments: `from_dlpack`, and which of their extents and strides are dynamic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dsl.core.errors import DSLUserCodeRuntimeError, DSLUserCodeTypeError
from dsl.core.number.dtypes import Numeric, NumericMeta
from dsl.core.number.pointer import AddressSpace
from dsl.launch.argument import dlpack
from dsl.launch.argument.abi import TensorType, alignment_of
from dsl.launch.argument.symbolic_int import SymInt


class RuntimeTensor:
    """A tensor of another library with the layout it shall have as an argument: static, until marked dynamic.

    `slots` are its type and the cells of memory that `__c_pointers__` gave of it, once it was asked: a program may
    write another address into the first one, and the next call takes it.
    """

    slots: tuple[Any, list] | None = None

    def __init__(self, source: Any, assumed_align: int | None, use_32bit_stride: bool):
        self.source = source
        self._view = dlpack.view(source)
        self.shape, self.stride = self.view.shape, self.view.strides
        self.memspace = AddressSpace.gmem
        self.assumed_align = alignment_of(assumed_align, self.view.dtype)
        self._shape: list[int | SymInt] = list(self.shape)
        self._stride: list[int | SymInt] = list(self.stride)
        self._stride_width = 32 if use_32bit_stride else 64
        self._type: TensorType | None = None

    @property
    def view(self) -> dlpack.View:
        if self.slots and self.slots[1][0].number != self._view.address:
            self._view = dlpack.moved(self._view, self.slots[1][0].number)
        return self._view

    @property
    def element_type(self) -> type[Numeric]:
        """The type that its elements are read as. Another type may be assigned, not wider;
        extents and strides stay, as upstream."""
        return self.view.dtype

    @element_type.setter
    def element_type(self, dtype: type[Numeric]) -> None:
        if not isinstance(dtype, NumericMeta) or dtype.storage_width > self.view.dtype.storage_width:
            raise DSLUserCodeTypeError(
                f"elements of {self.view.dtype} cannot be read as {dtype}",
                fix=f"assign a type of {self.view.dtype.width} bits or fewer",
            )
        self._view, self._type = replace(self.view, dtype=dtype), None

    dtype = element_type

    @property
    def data_ptr(self) -> int:
        return self.view.address

    @property
    def leading_dim(self) -> int | None:
        """The mode of stride 1 (the one with more than one element, where several have it)."""
        unit = [mode for mode, stride in enumerate(self.stride) if stride == 1]
        return next((mode for mode in unit if self.shape[mode] > 1), unit[0] if len(unit) == 1 else None)

    def argument_type(self) -> TensorType:
        """How it is passed: which extents and strides are static."""
        if self._type is None:
            self._type = TensorType(
                self.element_type,
                tuple(self._shape),
                tuple(self._stride),
                self.assumed_align,
                self.memspace,
                on_host=not getattr(self.source, "is_cuda", False),
            )
        return self._type

    def __repr__(self) -> str:
        return f"Tensor<{self.view.address:#x}@{self.memspace.name} o {self.argument_type().layout_text()}>"

    def mark_layout_dynamic(self, leading_dim: int | None = None) -> RuntimeTensor:
        """Make extents and strides dynamic, except the stride 1 of the leading mode and strides 0; returns self."""
        rank = len(self.shape)
        if leading_dim is not None:
            if not -rank <= leading_dim < rank:
                raise DSLUserCodeRuntimeError(
                    f"Expected leading_dim to be in range [0, {rank}) or [{-rank}, -1], but got {leading_dim}.",
                    fix="count modes from 0",
                )
            leading_dim %= rank
            if self.stride[leading_dim] != 1:
                raise DSLUserCodeRuntimeError(
                    f"Expected strides[leading_dim] == 1, but got {self.stride[leading_dim]}.",
                    fix=f"the strides are {self.stride}: name the mode of stride 1",
                )
        else:
            leading_dim = self.leading_dim
            if leading_dim is None and self.stride.count(1) > 1:
                raise DSLUserCodeRuntimeError(
                    "Can't deduce the leading dimension from layout (multiple dimensions have stride 1 but none has "
                    "size > 1), please specify leading_dim explicitly.",
                    fix="mark_layout_dynamic(leading_dim=...)",
                )
        for mode in range(rank):
            self._shape[mode] = SymInt(32)
            if mode != leading_dim and self.stride[mode] != 0:
                self._stride[mode] = SymInt(self._stride_width)
        self._type = None
        return self

    def mark_compact_shape_dynamic(
        self, mode: int, stride_order: Sequence[int] | None = None, divisibility: int = 1
    ) -> RuntimeTensor:
        """Make the extent of `mode` dynamic, a multiple of `divisibility`, and the strides that depend on it.

        `stride_order` lists the modes from the outermost (greatest stride) to the innermost, as torch's dim_order().
        Returns self.
        """
        rank = len(self.shape)
        if not 0 <= mode < rank:
            raise DSLUserCodeRuntimeError(
                f"Expected mode value to be in range [0, {rank}), but got {mode}.", fix="count modes from 0"
            )
        order = self._stride_order(stride_order)
        if self.shape[mode] % divisibility:
            raise DSLUserCodeRuntimeError(
                f"The shape({self.shape[mode]}) of mode({mode}) is not divisible by the divisibility({divisibility}).",
                fix="leave out divisibility, or give a divisor of the extent",
            )
        self._shape[mode] = SymInt(32, divisibility)
        stride, past = 1, False
        for inner in reversed(order):
            if past and self.stride[inner] != 0:
                self._stride[inner] = SymInt(self._stride_width, stride)
            extent = self._shape[inner]
            stride *= extent.divisibility if isinstance(extent, SymInt) else extent
            past = past or inner == mode
        self._type = None
        return self

    def _stride_order(self, stride_order: Sequence[int] | None) -> list[int]:
        rank = len(self.shape)
        deduced = sorted(range(rank), key=lambda mode: (-self.stride[mode], mode))
        if stride_order is None:
            return deduced
        order = list(stride_order)
        if sorted(order) != list(range(rank)):
            raise DSLUserCodeRuntimeError(
                f"Expected stride_order to be a permutation of range({rank}), got {order}.",
                fix="give each mode its place: (1, 0) is row-major",
            )
        strides = [self.stride[mode] for mode in order if self.shape[mode] != 1]
        if strides != sorted(strides, reverse=True):
            raise DSLUserCodeRuntimeError(
                "The stride_order is not consistent with the deduced stride_order.",
                fix=f"the strides are {self.stride}: stride_order={tuple(deduced)}",
            )
        return order


def from_dlpack(
    tensor_dlpack: Any,
    assumed_align: int | None = None,
    use_32bit_stride: bool = False,
    *,
    enable_tvm_ffi: bool = False,
    force_tf32: bool = False,
) -> RuntimeTensor:
    """A tensor of torch, numpy or any library with DLPack as an argument, without a copy; its layout is static."""
    if force_tf32:
        raise DSLUserCodeRuntimeError(
            "force_tf32 is not supported: TFloat32 has no element type here yet", fix="leave it out"
        )
    if not dlpack.is_tensor(tensor_dlpack):
        raise DSLUserCodeTypeError(
            f"from_dlpack takes a tensor, but {type(tensor_dlpack).__name__} does not support DLPack",
            fix="give a torch tensor or a numpy array",
        )
    source = dlpack.without_gradient(tensor_dlpack) if enable_tvm_ffi else tensor_dlpack
    return RuntimeTensor(source, assumed_align, use_32bit_stride)
