"""Copies of boxes of tensors, and of bytes, between global and shared memory.
PTX ISA: cp.async.bulk, cp.async.bulk.tensor.

A box of an im2col map is a column of pixels: loads and prefetches take an offset, an Int16, of each of W, H and D that
the tensor has; stores and reductions take none.

Operands are addresses, as values or numbers: `smem` and `barrier` in shared memory (for a copy to another block, in its
shared memory), `tensor_map` of 128 bytes. `coords`: an Int32 a dimension, first the dimension of contiguous elements.
`policy`: of the L2 cache, an Int64. `mask`, a bit a block: it goes to the same place of these blocks of the cluster,
and completes at their barriers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dsl.core import trace
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Int16, Int32, Int64
from dsl.gpu.inline import ptx


def _coordinates(first: int, coords: Sequence[Any]) -> tuple[str, str, list[Int32]]:
    """`{$n, ...}`, their constraints, and the operands."""
    numbers = ", ".join(f"${first + i}" for i in range(len(coords)))
    return f"{{{numbers}}}", ",r" * len(coords), [Int32(each) for each in coords]


def _issue(
    name: str,
    target: str,
    operands: list,
    constraints: str,
    coords: Sequence[Any],
    extra: list,
    offsets: Sequence[Any] | None = None,
) -> None:
    """One instruction; in `target` {coords} becomes the coordinates, followed by `offsets`, if there are any.

    `extra`: (qualifier, letter, value) after both.
    """
    text, coord_constraints, numbers = _coordinates(len(operands), coords)
    letters, values = constraints + coord_constraints, [*operands, *numbers]
    target = target.replace("{coords}", text)
    if offsets is not None:
        target += f", {{{', '.join(f'${len(values) + i}' for i in range(len(offsets)))}}}"
        letters, values = letters + ",h" * len(offsets), [*values, *map(Int16, offsets)]
    target += "".join(f", ${len(values) + i}" for i in range(len(extra)))
    letters += "".join(f",{letter}" for _, letter, _ in extra)
    qualifiers = "".join(qualifier for qualifier, _, _ in extra)
    ptx(f"{name}{qualifiers} {target};", None, letters, *values, *(value for _, _, value in extra))


def _blocks(mask: Any) -> list:
    return [] if mask is None else [(".multicast::cluster", "h", Int16(mask))]


def _hint(policy: Any) -> list:
    return [] if policy is None else [(".L2::cache_hint", "l", Int64(policy))]


def load_box(
    smem: Any,
    tensor_map: Any,
    coords: Sequence[Any],
    barrier: Any,
    policy: Any = None,
    mask: Any = None,
    pixel_offsets: Sequence[Any] | None = None,
) -> None:
    """Copy a box into shared memory; its bytes complete at `barrier`."""
    mode = "tile" if pixel_offsets is None else "im2col"
    _issue(
        f"cp.async.bulk.tensor.{len(coords)}d.shared::cluster.global.{mode}.mbarrier::complete_tx::bytes",
        "[$0], [$1, {coords}], [$2]",
        [smem, tensor_map, barrier],
        "r,l,r",
        coords,
        _blocks(mask) + _hint(policy),
        pixel_offsets,
    )


def _stored(is_column: bool) -> str:
    return "im2col_no_offs" if is_column else "tile"


def store_box(
    tensor_map: Any, coords: Sequence[Any], smem: Any, policy: Any = None, *, is_column: bool = False
) -> None:
    """Copy a box out of shared memory; part of this thread's open bulk group."""
    _issue(
        f"cp.async.bulk.tensor.{len(coords)}d.global.shared::cta.{_stored(is_column)}.bulk_group",
        "[$0, {coords}], [$1]",
        [tensor_map, smem],
        "l,r",
        coords,
        _hint(policy),
    )


def reduce_box(
    tensor_map: Any, coords: Sequence[Any], smem: Any, operation: str, policy: Any = None, *, is_column: bool = False
) -> None:
    """Reduce a box of shared memory into global memory; part of this thread's open bulk group.

    `operation`: add, min, max, inc, dec, and, or, xor.  PTX ISA: cp.reduce.async.bulk.tensor.
    """
    _issue(
        f"cp.reduce.async.bulk.tensor.{len(coords)}d.global.shared::cta.{operation}.{_stored(is_column)}.bulk_group",
        "[$0, {coords}], [$1]",
        [tensor_map, smem],
        "l,r",
        coords,
        _hint(policy),
    )


def prefetch_box(
    tensor_map: Any, coords: Sequence[Any], policy: Any = None, pixel_offsets: Sequence[Any] | None = None
) -> None:
    """Bring a box of a tensor into the L2 cache.  PTX ISA: cp.async.bulk.prefetch.tensor."""
    _issue(
        f"cp.async.bulk.prefetch.tensor.{len(coords)}d.L2.global.{'tile' if pixel_offsets is None else 'im2col'}",
        "[$0, {coords}]",
        [tensor_map],
        "l",
        coords,
        _hint(policy),
        pixel_offsets,
    )


def replace_in_map(
    tensor_map: mlir.Value, name: str, value: Any, in_shared: bool, dimension: int | None = None
) -> None:
    """Write one field of a tensor map in memory.  PTX ISA: tensormap.replace."""
    trace.kernel().need("sm_90a", "changes a tensor map")
    space, letter = ("shared::cta", "r") if in_shared else ("global", "l")
    wide = name != "global_dim"
    text = "" if dimension is None else f" {dimension},"
    ptx(
        f"tensormap.replace.tile.{name}.{space}.b1024.b{64 if wide else 32} [$0],{text} $1;",
        None,
        f"{letter},{'l' if wide else 'r'}",
        tensor_map,
        (Int64 if wide else Int32)(value),
    )


def fence_map_acquire(tensor_map: mlir.Value) -> None:
    """Order copies by a tensor map of 128 bytes after those that released it.  PTX ISA: fence.proxy.tensormap."""
    ptx("fence.proxy.tensormap::generic.acquire.gpu [$0], 128;", None, "l", tensor_map)


def fence_map_release() -> None:
    """Order writes of tensor maps before those that acquire them.  PTX ISA: fence.proxy.tensormap."""
    ptx("fence.proxy.tensormap::generic.release.gpu;", None, "")


def copy_map_release(target: mlir.Value, source: mlir.Value) -> None:
    """Copy a tensor map from shared to global memory, and release it.  PTX ISA: tensormap.cp_fenceproxy."""
    ptx(
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [$0], [$1], 128;",
        None,
        "l,r",
        target,
        source,
    )


def prefetch_map(tensor_map: mlir.Value) -> None:
    """Bring a tensor map into the cache.  PTX ISA: prefetch.tensormap."""
    ptx("prefetch.tensormap [$0];", None, "l", tensor_map)


def load_bytes(smem: Any, source: Any, n_bytes: Any, barrier: Any, policy: Any = None, mask: Any = None) -> None:
    """Copy `n_bytes`, a multiple of 16, into shared memory; they complete at `barrier`."""
    _issue(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
        "[$0], [$1], $2, [$3]",
        [smem, source, Int32(n_bytes), barrier],
        "r,l,r,r",
        (),
        _blocks(mask) + _hint(policy),
    )


def send_bytes(smem: Any, source: Any, n_bytes: Any, barrier: Any) -> None:
    """Copy `n_bytes`, a multiple of 16, to shared memory of the cluster; they complete at `barrier`."""
    _issue(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
        "[$0], [$1], $2, [$3]",
        [smem, source, Int32(n_bytes), barrier],
        "r,r,r,r",
        (),
        [],
    )


def store_bytes(target: Any, smem: Any, n_bytes: Any, policy: Any = None) -> None:
    """Copy `n_bytes`, a multiple of 16, out of shared memory; part of this thread's open bulk group."""
    _issue(
        "cp.async.bulk.global.shared::cta.bulk_group",
        "[$0], [$1], $2",
        [target, smem, Int32(n_bytes)],
        "l,r,r",
        (),
        _hint(policy),
    )
