"""Shared memory of another block of the cluster.  PTX ISA: mapa, st.async."""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Int32, numeric
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.core.phrase import Phrase
from dsl.gpu.inline import ptx

_WORDS = (1, 2, 4)  # that one st.async writes


def map_dsmem_ptr(smem_ptr: Pointer, cta_rank_in_cluster: Any) -> Pointer:
    """The same place in block `cta_rank_in_cluster` of the cluster, a pointer to `dsmem`.  PTX ISA: mapa.

    Raises DSLUserCodeTypeError if `smem_ptr` is not a pointer to shared memory.
    """
    place = _place(smem_ptr, cta_rank_in_cluster)
    there = mlir.result("llvm.inttoptr", mlir.ptr(AddressSpace.dsmem), place.ir())
    return Pointer(smem_ptr.dtype, there, AddressSpace.dsmem, smem_ptr.alignment_bytes)


def store_async_dsmem(smem_ptr: Pointer, value: Any, mbar_ptr: Pointer, peer_cta_rank: Any) -> None:
    """Write one, two or four numbers, as Int32, at `smem_ptr` of block `peer_cta_rank`; the mbarrier at `mbar_ptr`
    there counts their bytes.  PTX ISA: st.async.

    Raises DSLUserCodeTypeError for other values, and for pointers that are not to shared memory.
    """
    values = list(value) if isinstance(value, tuple) else [value]
    numbers = [numeric(each) for each in values]
    if len(values) not in _WORDS or any(each is None or type(each).is_packed for each in numbers):
        raise DSLUserCodeTypeError(
            Phrase("store_async_dsmem writes 1, 2 or 4 numbers, got {value}", value=type_name(value)),
            fix="give one number, or a tuple of 2 or 4",
        )
    words = [Int32(each) for each in numbers]
    store_words(_place(smem_ptr, peer_cta_rank), words, _place(mbar_ptr, peer_cta_rank))


def store_words(place: Int32, words: list[Int32], barrier: Int32) -> None:
    """Write one, two or four words in the cluster's shared memory; the mbarrier of that block counts their bytes."""
    vector = f".v{len(words)}" if len(words) > 1 else ""
    names = ", ".join(f"${2 + i}" for i in range(len(words)))
    ptx(
        f"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes{vector}.b32 "
        f"[$0], {'{' + names + '}' if vector else names}, [$1];",
        None,
        ",".join("r" * (2 + len(words))),
        place,
        barrier,
        *words,
    )


def _place(pointer: Any, rank: Any) -> Int32:
    """The address in shared::cluster of a block's shared memory."""
    if not isinstance(pointer, Pointer) or pointer.space is not AddressSpace.smem:
        raise DSLUserCodeTypeError(
            Phrase("a pointer to shared memory is needed, got {pointer}", pointer=type_name(pointer)),
            fix=Phrase("smem.allocate_array(cutlass.Int32, 32)", "IN_CUTE"),
            id="DSMEM_POINTER",
        )
    return ptx("mapa.shared::cluster.u32 $0, $1, $2;", Int32, "=r,r,r", pointer.toint(), Int32(rank))
