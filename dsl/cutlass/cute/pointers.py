"""`cute.make_ptr` and `cute.recast_ptr`, for values inside a traced function."""

from __future__ import annotations

from dsl.core import pointer
from dsl.core.dtypes import Numeric
from dsl.core.errors import DSLUserCodeError
from dsl.core.pointer import AddressSpace, Pointer


def make_ptr(dtype: type[Numeric], value, mem_space: AddressSpace = AddressSpace.generic, *,
             assumed_align: int | None = None) -> Pointer:
    """A pointer at the integer address `value`."""
    return pointer.from_address(dtype, value, mem_space, assumed_align or 0)


def recast_ptr(ptr: Pointer, swizzle_=None, dtype: type[Numeric] | None = None) -> Pointer:
    """`ptr` as a pointer to `dtype`; the address stays."""
    if swizzle_ is not None:
        raise DSLUserCodeError("recast_ptr with a swizzle is not part of this compiler yet", id="UNSUPPORTED_NAME",
                               fix="leave out the swizzle")
    return ptr.recast(dtype or ptr.dtype)
