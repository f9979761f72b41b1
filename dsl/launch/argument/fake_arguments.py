"""Arguments known by their type only: what is compiled for them is later called with real ones."""

from __future__ import annotations

from collections.abc import Sequence

from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.number.dtypes import Numeric
from dsl.core.number.pointer import AddressSpace
from dsl.core.phrase import shown
from dsl.launch.argument.abi import StreamType, TensorType, alignment_of
from dsl.launch.argument.symbolic_int import SymInt


class FakeTensor:
    """A tensor known by its type only; what is compiled for it is later called with real ones."""

    def __init__(self, type_: TensorType):
        self._type = type_
        self.element_type = self.dtype = type_.dtype
        self.shape, self.stride, self.memspace = type_.shape, type_.stride, type_.space

    def argument_type(self) -> TensorType:
        return self._type

    def __repr__(self) -> str:
        return f"FakeTensor<{self.dtype}, {self.shape}, {self.stride}>"


def make_fake_tensor(
    dtype: type[Numeric],
    shape: Sequence[int | SymInt],
    stride: Sequence[int | SymInt],
    *,
    memspace: AddressSpace = AddressSpace.gmem,
    assumed_align: int | None = None,
) -> FakeTensor:
    """A fake tensor of explicit strides."""
    shape, stride = tuple(shape), tuple(stride)
    if len(shape) != len(stride):
        raise DSLUserCodeValueError(
            f"shape {shape} has rank {len(shape)}, but stride {stride} has rank {len(stride)}",
            fix="give one stride an extent",
        )
    for leaf in shape + stride:
        if isinstance(leaf, bool) or not isinstance(leaf, (int, SymInt)):
            raise DSLUserCodeTypeError(
                f"an extent or stride must be an int or a sym_int(), got {shown(leaf)}",
                fix="write an int, or sym_int() for one that is known at run time",
            )
    return FakeTensor(TensorType(dtype, shape, stride, alignment_of(assumed_align, dtype), AddressSpace(memspace)))


def make_fake_compact_tensor(
    dtype: type[Numeric],
    shape: Sequence[int | SymInt],
    *,
    stride_order: Sequence[int] | None = None,
    memspace: AddressSpace = AddressSpace.gmem,
    assumed_align: int | None = None,
    use_32bit_stride: bool = False,
) -> FakeTensor:
    """A fake tensor without gaps. `stride_order[mode]` ranks the strides, 0 the smallest: (1, 0) is row-major.

    The default is column-major, as upstream.
    """
    shape = tuple(shape)
    order = tuple(range(len(shape))) if stride_order is None else tuple(stride_order)
    if len(order) != len(shape):
        raise DSLUserCodeValueError(
            f"stride_order ({order}) must be empty or have same length as shape ({shape}).",
            fix="give each mode its place: (1, 0) is row-major",
        )
    if sorted(order) != list(range(len(shape))):
        raise DSLUserCodeValueError(
            f"stride_order must be a permutation of range({len(shape)}), got ({order})",
            fix="give each mode its place: (1, 0) is row-major",
        )
    stride: list[int | SymInt] = [0] * len(shape)
    step: int | SymInt = 1
    for mode in sorted(range(len(shape)), key=lambda mode: order[mode]):
        stride[mode], extent = step, shape[mode]
        if isinstance(step, int) and isinstance(extent, int):
            step *= extent
        else:
            divisors = [part.divisibility if isinstance(part, SymInt) else part for part in (step, extent)]
            step = SymInt(32 if use_32bit_stride else 64, divisors[0] * divisors[1])
    return make_fake_tensor(dtype, shape, stride, memspace=memspace, assumed_align=assumed_align)


class FakeStream:
    """A stream known by its type only."""

    def __init__(self, from_environment: bool):
        self.from_environment = from_environment

    def argument_type(self) -> StreamType:
        return StreamType(self.from_environment)

    def __repr__(self) -> str:
        return "FakeStream"


def make_fake_stream(*, use_tvm_ffi_env_stream: bool = False) -> FakeStream:
    """A placeholder for a CUstream; with `use_tvm_ffi_env_stream` the call takes none and uses the current one."""
    return FakeStream(use_tvm_ffi_env_stream)
