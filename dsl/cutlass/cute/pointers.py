"""`cute.make_ptr` and `cute.recast_ptr`, for values inside a traced function."""

from __future__ import annotations

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number import pointer
from dsl.core.number.dtypes import Numeric
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.layout import Swizzle
from dsl.tile.tensor.tensor import require_swizzle


def make_ptr(
    dtype: type[Numeric],
    value,
    mem_space: AddressSpace = AddressSpace.generic,
    *,
    assumed_align: int | None = None,
    swizzle_: Swizzle | None = None,
) -> Pointer:
    """A pointer at the integer address `value`, or another pointer's address; `swizzle_` is one of byte addresses."""
    require_swizzle("make_ptr", swizzle_)
    if isinstance(value, Pointer):
        value = value.toint()
    return pointer.from_address(dtype, value, mem_space, assumed_align or 0).swizzled(swizzle_)


def recast_ptr(ptr: Pointer, swizzle_=None, dtype: type[Numeric] | None = None) -> Pointer:
    """`ptr` as a pointer to `dtype` with the swizzle `swizzle_` of byte addresses, or with none; the address stays."""
    require_swizzle("recast_ptr", swizzle_)
    if not isinstance(ptr, Pointer):
        raise DSLUserCodeTypeError(
            f"recast_ptr takes a pointer, got {type_name(ptr)}", fix="give `tensor.iterator`, or use recast_tensor"
        )
    if not (dtype is None or (isinstance(dtype, type) and issubclass(dtype, Numeric))):
        raise DSLUserCodeTypeError(
            f"recast_ptr needs a numeric type, got {type_name(dtype)}", fix="dtype=cutlass.Int32, for example"
        )
    return ptr.recast(dtype or ptr.dtype).swizzled(swizzle_)
