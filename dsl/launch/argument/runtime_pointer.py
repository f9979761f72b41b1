"""Addresses as arguments: `make_ptr` and `nullptr`."""

from __future__ import annotations

import ctypes
from typing import Any

from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.number.dtypes import Numeric
from dsl.core.number.pointer import AddressSpace
from dsl.core.phrase import shown
from dsl.launch.argument.abi import PointerType, alignment_of


class RuntimePointer:
    """An address as an argument. `slots`: see RuntimeTensor."""

    slots: tuple[Any, list] | None = None

    def __init__(self, dtype: type[Numeric], address: int, space: AddressSpace, alignment_bytes: int):
        self.dtype = self.element_type = self.value_type = dtype
        self._address, self.memspace, self.alignment_bytes = address, space, alignment_bytes

    @property
    def address(self) -> int:
        return self.slots[1][0].number if self.slots else self._address

    def argument_type(self) -> PointerType:
        return PointerType(self.dtype, self.memspace, self.alignment_bytes)

    def toint(self) -> int:
        return self.address

    @property
    def _pointer(self) -> int:
        """The address, as upstream's own programs read it to free what is there."""
        return self.address

    def __repr__(self) -> str:
        return f"Ptr<{self.address:#018x}@{self.memspace.name}>"


def make_ptr(
    dtype: type[Numeric],
    value: int | Any,
    mem_space: AddressSpace = AddressSpace.generic,
    assumed_align: int | None = None,
) -> RuntimePointer:
    """A typed pointer from an address or a ctypes pointer; its address must have the alignment that is assumed."""
    if isinstance(value, ctypes._Pointer):
        value = ctypes.cast(value, ctypes.c_void_p).value or 0
    if isinstance(value, bool) or not isinstance(value, int):
        raise DSLUserCodeTypeError(
            f"Expect int or ctypes.POINTER for value but got type(value)={shown(type(value))}",
            fix="give the address as an int: `tensor.data_ptr()`",
        )
    alignment_bytes = alignment_of(assumed_align, dtype)
    if value % alignment_bytes:
        raise DSLUserCodeValueError(
            f"pointer must be {alignment_bytes} bytes aligned, got {value:#x}",
            fix="assume a smaller alignment: assumed_align=",
        )
    return RuntimePointer(dtype, value, AddressSpace(mem_space), alignment_bytes)


def nullptr(
    dtype: type[Numeric], mem_space: AddressSpace = AddressSpace.generic, assumed_align: int | None = None
) -> RuntimePointer:
    """The null pointer as an argument."""
    return make_ptr(dtype, 0, mem_space, assumed_align)
