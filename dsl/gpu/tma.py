"""Copies of boxes of tensors, and of bytes, between global and shared memory.
PTX ISA: cp.async.bulk, cp.async.bulk.tensor.

`tensor_map`: a pointer to 128 bytes that the host made; `coords`:
an Int32 a dimension, that of contiguous elements first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dsl.core.ir import mlir
from dsl.core.number.dtypes import Int32, Int64
from dsl.core.number.pointer import Pointer
from dsl.gpu import mbarrier
from dsl.gpu.inline import ptx


def _coordinates(first: int, coords: Sequence[Any]) -> tuple[str, str, list[Int32]]:
    """`{$n, ...}`, their constraints, and the operands."""
    numbers = ", ".join(f"${first + i}" for i in range(len(coords)))
    return f"{{{numbers}}}", ",r" * len(coords), [Int32(each) for each in coords]


def load_box(smem: Pointer, tensor_map: mlir.Value, coords: Sequence[Any], barrier: Pointer, policy=None) -> None:
    """Copy a box into shared memory; its bytes complete at `barrier`. `policy`: of the L2 cache, an Int64."""
    text, constraints, numbers = _coordinates(3, coords)
    hint = ".L2::cache_hint" if policy is not None else ""
    last = f", ${3 + len(coords)}" if policy is not None else ""
    ptx(
        f"cp.async.bulk.tensor.{len(coords)}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{hint} "
        f"[$0], [$1, {text}], [$2]{last};",
        None,
        f"r,l,r{constraints}{',l' if last else ''}",
        smem.address,
        tensor_map,
        mbarrier.address_of(barrier),
        *numbers,
        *([Int64(policy)] if last else []),
    )


def store_box(tensor_map: mlir.Value, coords: Sequence[Any], smem: Pointer, policy=None) -> None:
    """Copy a box out of shared memory; part of this thread's open bulk group."""
    text, constraints, numbers = _coordinates(2, coords)
    hint = ".L2::cache_hint" if policy is not None else ""
    last = f", ${2 + len(coords)}" if policy is not None else ""
    ptx(
        f"cp.async.bulk.tensor.{len(coords)}d.global.shared::cta.tile.bulk_group{hint} [$0, {text}], [$1]{last};",
        None,
        f"l,r{constraints}{',l' if last else ''}",
        tensor_map,
        smem.address,
        *numbers,
        *([Int64(policy)] if last else []),
    )


def prefetch_map(tensor_map: mlir.Value) -> None:
    """Bring a tensor map into the cache.  PTX ISA: prefetch.tensormap."""
    ptx("prefetch.tensormap [$0];", None, "l", tensor_map)


def load_bytes(smem: Pointer, source: Pointer, n_bytes: int, barrier: Pointer) -> None:
    """Copy `n_bytes`, a multiple of 16, into shared memory; they complete at `barrier`."""
    ptx(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];",
        None,
        "r,l,r,r",
        smem.address,
        source.address,
        Int32(n_bytes),
        mbarrier.address_of(barrier),
    )


def store_bytes(target: Pointer, smem: Pointer, n_bytes: int) -> None:
    """Copy `n_bytes`, a multiple of 16, out of shared memory; part of this thread's open bulk group."""
    ptx(
        "cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], $2;",
        None,
        "l,r,r",
        target.address,
        smem.address,
        Int32(n_bytes),
    )
