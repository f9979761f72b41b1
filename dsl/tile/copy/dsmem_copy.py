"""Copies from registers to the shared memory of another block: a thread's vectors, whose bytes complete at an mbarrier
there. PTX ISA: st.async."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.number.dtypes import Int32, Numeric
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.gpu.memory.dsmem import store_words
from dsl.layout import Layout
from dsl.tile.copy.atom import VectorOp
from dsl.tile.tensor.tensor import Tensor
from dsl.tile.vector.mlir_vector import extract
from dsl.tile.vector.vector import load_vector

_BITS = (32, 64, 128)  # that one st.async writes


@dataclass(frozen=True)
class CopyDsmemStoreOp(VectorOp):
    """Store a vector of registers at a pointer of `map_dsmem_ptr`: `cute.copy(atom, src, dst, mbar_ptr=)`."""

    loads = False
    zero_fills = False

    def layouts(self, dtype: type[Numeric], bits: int) -> tuple[Layout, Layout]:
        layout = Layout((1, bits // dtype.storage_width), (0, 1))
        return layout, layout

    def check(self, dtype: type[Numeric], bits: int) -> None:
        if bits not in _BITS or bits % dtype.storage_width:
            raise DSLUserCodeError(
                f"CopyDsmemStoreOp copies 32, 64 or 128 bits, whole elements of {dtype}, got {bits}",
                fix="num_bits_per_copy=128 copies the most",
            )

    def move(self, src: Pointer, dst: Pointer, count: int) -> None:
        raise DSLUserCodeError(
            "a copy to another block's shared memory needs the mbarrier there that tells when it has come",
            fix="cute.copy(atom, src, dst, mbar_ptr=cute.arch.map_dsmem_ptr(barrier, rank))",
        )


@dataclass(frozen=True)
class _Signalling(CopyDsmemStoreOp):
    """The same, for one mbarrier."""

    barrier: Pointer

    def move(self, src: Pointer, dst: Pointer, count: int) -> None:
        words = count * src.dtype.storage_width // 32
        vector = load_vector(src.recast(Int32), words)
        parts = [vector] if words == 1 else [extract(vector, i) for i in range(words)]
        store_words(dst.toint(), [Int32(part) for part in parts], self.barrier.toint())


def signalling(op: CopyDsmemStoreOp, src: Any, dst: Any, mbar_ptr: Any) -> CopyDsmemStoreOp:
    """The operation with its mbarrier. Raises DSLUserCodeTypeError where an operand is in another memory."""
    for side, tensor, space in (("source", src, AddressSpace.rmem), ("destination", dst, AddressSpace.dsmem)):
        if not isinstance(tensor, Tensor) or tensor.pointer().space != space:
            where = f" in {tensor.memspace.name}" if isinstance(tensor, Tensor) else ""
            raise DSLUserCodeTypeError(
                f"{side} of a copy to another block must be a tensor in {space.name}, got {type_name(tensor)}{where}",
                fix="it goes from registers to `cute.make_tensor(cute.arch.map_dsmem_ptr(pointer, rank), layout)`",
            )
    if mbar_ptr is None:
        return op
    if not isinstance(mbar_ptr, Pointer) or mbar_ptr.space is not AddressSpace.dsmem:
        raise DSLUserCodeTypeError(
            f"mbar_ptr of a copy to another block must point to dsmem, got {_shown(mbar_ptr)}",
            fix="mbar_ptr=cute.arch.map_dsmem_ptr(barrier, rank), of the same block",
        )
    return _Signalling(mbar_ptr)


def _shown(value: Any) -> str:
    return f"a pointer to {value.space.name}" if isinstance(value, Pointer) else type_name(value)
