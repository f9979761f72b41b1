"""Asynchronous copies: of 4 to 16 bytes a thread, of bytes in bulk, and of boxes of tensors (TMA).

PTX ISA: cp.async, cp.async.bulk, cp.async.bulk.tensor, cp.reduce.async.bulk, prefetch, tensormap.replace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dsl.core.errors import DSLUserCodeValueError
from dsl.core.number.dtypes import Int32, Int64
from dsl.core.number.pointer import AddressSpace
from dsl.core.phrase import shown
from dsl.gpu.memory import copy, tma
from dsl.primitives.enums import (
    CpReduceOp,
    CpReduceType,
    EvictPriority,
    LoadCacheModifier,
    MemScope,
    TensormapField,
    TensormapSpace,
    TMALoadMode,
    TMARedux,
    TMAStoreMode,
)  # fmt: skip
from dsl.primitives.operands import hint, needs_blackwell, pointer, run, shared, static, word

_GMEM, _SMEM = AddressSpace.gmem, AddressSpace.smem


def cp_async_shared_global(dst: Any, src: Any, size: int, modifier: Any, *, cp_size: Any = None) -> None:
    """Copy `size` (4, 8, 16) bytes global -> shared; of those `cp_size` are read and the rest zeros.

    `modifier` is ca, or cg for 16 bytes.  PTX ISA: cp.async.
    """
    name = word(modifier, LoadCacheModifier, "modifier")
    if name not in ("ca", "cg"):
        raise DSLUserCodeValueError(f"modifier of cp.async must be ca or cg, got {name}", fix='"cg" copies 16 bytes')
    copy.cp_async(pointer(dst, _SMEM), pointer(src, _GMEM), static(size, "size"), cp_size, name)


cp_async_commit_group, cp_async_wait_group = copy.cp_async_commit_group, copy.cp_async_wait_group
cp_async_bulk_commit_group = copy.cp_async_bulk_commit_group
cp_async_bulk_wait_group = copy.cp_async_bulk_wait_group


# --- bytes ----------------------------------------------------------------------------------------------------------


def _size(size: Any) -> Int32:
    """A number of bytes, a multiple of 16."""
    if isinstance(size, int) and (size <= 0 or size % 16):
        raise DSLUserCodeValueError(
            f"size of a bulk copy must be a multiple of 16 bytes, got {shown(size)}", fix="size=16, 32, 48, ..."
        )
    return Int32(size)


def cp_async_bulk_shared_cluster_global(
    dst_mem: Any, src_mem: Any, mbar: Any, size: Any, *, multicast_mask: Any = None, l2_cache_hint: Any = None
) -> None:
    """Copy `size` bytes global -> shared, also to the blocks of `multicast_mask`; they complete at `mbar`."""
    source = pointer(src_mem, _GMEM).toint()
    tma.load_bytes(shared(dst_mem), source, _size(size), shared(mbar), l2_cache_hint, multicast_mask)


def cp_async_bulk_global_shared_cta(
    dst_mem: Any, src_mem: Any, size: Any, *, l2_cache_hint: Any = None, byte_mask: Any = None
) -> None:
    """Copy `size` bytes shared -> global; part of this thread's open bulk group."""
    if byte_mask is not None:
        raise needs_blackwell("a bulk copy with a byte_mask")
    source = pointer(src_mem, _SMEM).toint()
    tma.store_bytes(pointer(dst_mem, _GMEM).toint(), source, _size(size), l2_cache_hint)


def cp_async_bulk_shared_cluster_shared_cta(dst_mem: Any, src_mem: Any, mbar: Any, size: Any) -> None:
    """Copy `size` bytes to another block's shared memory; they complete at `mbar`, a barrier of that block."""
    run(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];",
        None, shared(dst_mem), pointer(src_mem, _SMEM).toint(), _size(size), shared(mbar),
    )  # fmt: skip


def cp_async_bulk_prefetch(src_mem: Any, size: Any, *, l2_cache_hint: Any = None) -> None:
    """Bring `size` bytes into the L2 cache."""
    hinted, last, policy = hint(l2_cache_hint, 2)
    at = pointer(src_mem, _GMEM).toint()
    run(f"cp.async.bulk.prefetch.L2.global{hinted} [$0], $1{last};", None, at, _size(size), *policy)


def cp_reduce_async_bulk_global_shared_cta(
    dst: Any, src: Any, size: Any, *, op: Any = CpReduceOp.ADD, type: Any = CpReduceType.BF16, noftz: bool = False,
    l2_cache_hint: Any = None,
) -> None:  # fmt: skip
    """Combine `size` bytes of shared memory into global memory; part of this thread's open bulk group."""
    hinted, last, policy = hint(l2_cache_hint, 3)
    kind = word(type, CpReduceType, "type of a reduction")
    rounding = ".noftz" if noftz or (kind in ("f16", "bf16") and op == "add") else ""
    run(
        f"cp.reduce.async.bulk.global.shared::cta.bulk_group{hinted}.{word(op, CpReduceOp, 'op')}{rounding}.{kind} "
        f"[$0], [$1], $2{last};",
        None, pointer(dst, _GMEM).toint(), pointer(src, _SMEM).toint(), _size(size), *policy,
    )  # fmt: skip


# --- boxes of tensors -----------------------------------------------------------------------------------------------


def _map(tma_descriptor: Any) -> Int64:
    """The generic address of a tensor map."""
    return Int64(pointer(tma_descriptor).tospace(AddressSpace.generic).toint())


def _coordinates(coordinates: Any) -> Sequence[Any]:
    if not isinstance(coordinates, (tuple, list)) or not 1 <= len(coordinates) <= 5:
        raise DSLUserCodeValueError(
            "coordinates of a box must be 1 to 5 numbers, first the dimension of contiguous elements",
            fix="a tuple with an element offset for each dimension of the tensor map, e.g. (x, y)",
        )
    return coordinates


_OF_BLACKWELL = ("im2col_w", "im2col_w_128", "tile_gather4", "tile_scatter4")


def _is_column(mode: Any, known: Any, coordinates: Sequence[Any]) -> bool:
    """Whether a copy is in mode `im2col`, and not `tile`."""
    name = "tile" if mode is None else word(mode, known, "mode")
    if name in _OF_BLACKWELL:
        raise needs_blackwell(f"a copy of a box in mode {name}")
    if name == "im2col" and len(coordinates) < 3:
        raise DSLUserCodeValueError(
            f"a copy in mode im2col takes 3 to 5 coordinates, got {len(coordinates)}",
            fix="(channel, w, n), (channel, w, h, n) or (channel, w, h, d, n)",
        )
    return name == "im2col"


def _pixel_offsets(mode: Any, coordinates: Sequence[Any], offsets: Any) -> Sequence[Any] | None:
    """The offsets of a load in mode im2col; None in mode `tile`."""
    wanted = len(coordinates) - 2 if (is_column := _is_column(mode, TMALoadMode, coordinates)) else 0
    given = () if offsets is None else offsets
    if not isinstance(given, (tuple, list)) or len(given) != wanted:
        raise DSLUserCodeValueError(
            f"im2col_offsets must be {wanted} numbers for {len(coordinates)} coordinates in mode "
            f"{'im2col' if is_column else 'tile'}, got {shown(offsets)}",
            fix="an offset of W, H and D, as there are, and mode=prims.TMALoadMode.IM2COL",
        )
    return given if is_column else None


def cp_async_bulk_tensor_shared_cta_global(
    dst_mem: Any, tma_descriptor: Any, coordinates: Sequence[Any], mbar: Any, im2col_offsets: Any = None, *,
    l2_cache_hint: Any = None, mode: Any = None,
) -> None:  # fmt: skip
    """Copy a box into this block's shared memory; its bytes complete at `mbar`."""
    at = _coordinates(coordinates)
    offsets = _pixel_offsets(mode, at, im2col_offsets)
    tma.load_box(shared(dst_mem), _map(tma_descriptor), at, shared(mbar), l2_cache_hint, None, offsets)


def cp_async_bulk_tensor_shared_cluster_global(
    dst_mem: Any, tma_descriptor: Any, coordinates: Sequence[Any], mbar: Any, im2col_offsets: Any = (), *,
    multicast_mask: Any = None, l2_cache_hint: Any = None, mode: Any = None, group: Any = None,
) -> None:  # fmt: skip
    """Copy a box into the shared memory of this block, or of each in `multicast_mask`; its bytes complete there."""
    if group is not None:
        raise needs_blackwell("a copy for a group of two blocks")
    at, barrier = _coordinates(coordinates), shared(mbar)
    offsets = _pixel_offsets(mode, at, im2col_offsets)
    tma.load_box(shared(dst_mem), _map(tma_descriptor), at, barrier, l2_cache_hint, multicast_mask, offsets)


def cp_async_bulk_tensor_global_shared_cta(
    tma_descriptor: Any, src_mem: Any, coordinates: Sequence[Any], *, l2_cache_hint: Any = None, mode: Any = None
) -> None:
    """Copy a box out of shared memory; part of this thread's open bulk group."""
    at, source = _coordinates(coordinates), pointer(src_mem, _SMEM).toint()
    is_column = _is_column(mode, TMAStoreMode, at)
    tma.store_box(_map(tma_descriptor), at, source, l2_cache_hint, is_column=is_column)


def cp_async_bulk_tensor_reduce(
    tma_descriptor: Any, src_mem: Any, red_kind: Any, coordinates: Sequence[Any], *, mode: Any = None,
    l2_cache_hint: Any = None,
) -> None:  # fmt: skip
    """Combine a box of shared memory into the tensor; part of this thread's open bulk group."""
    name = word(red_kind, TMARedux, "red_kind")
    at, source = _coordinates(coordinates), pointer(src_mem, _SMEM).toint()
    is_column = _is_column(mode, TMAStoreMode, at)
    tma.reduce_box(_map(tma_descriptor), at, source, name, l2_cache_hint, is_column=is_column)


def cp_async_bulk_tensor_prefetch(
    tma_descriptor: Any, coordinates: Sequence[Any], im2col_offsets: Any = (), *, mode: Any = None,
    l2_cache_hint: Any = None,
) -> None:  # fmt: skip
    """Bring a box of the tensor into the L2 cache."""
    at = _coordinates(coordinates)
    tma.prefetch_box(_map(tma_descriptor), at, l2_cache_hint, _pixel_offsets(mode, at, im2col_offsets))


_FIELD_TYPES = {"global_address": ("b64", Int64), "global_stride": ("b64", Int64)}
_OF_DIMENSION = ("box_dim", "global_dim", "global_stride", "element_stride")
_NUMBERED = ("elemtype", "interleave_layout", "swizzle_mode", "swizzle_atomicity", "fill_mode")


def tensormap_replace(
    field: Any, addr: Any, *, new_value: Any = None, ord: int | None = None, new_value_attr: Any = None,
    keep_oob_fetch_window: bool = False,
) -> None:  # fmt: skip
    """Change one field of a tensor map in memory; `ord` is the dimension.  PTX ISA: tensormap.replace."""
    name = word(field, TensormapField, "field")
    at = pointer(addr, AddressSpace.generic, _GMEM, _SMEM)
    space = {_GMEM: ".global", _SMEM: ".shared::cta"}.get(at.space, "")
    kind, dtype = _FIELD_TYPES.get(name, ("b32", Int32))
    text = f"tensormap.replace.tile.{name}{space}.b1024.{kind} [$0], "
    if name in _NUMBERED:
        number = [*type(new_value_attr).__members__.values()].index(new_value_attr)
        run(f"{text}{number};", None, at.toint())
        return
    if new_value is None or (name in _OF_DIMENSION) != (ord is not None):
        raise DSLUserCodeValueError(
            f"{name} of a tensor map takes new_value{' and ord, its dimension' if name in _OF_DIMENSION else ' alone'}",
            fix="new_value=2, ord=1" if name in _OF_DIMENSION else "new_value=2",
        )
    place = f"{static(ord, 'ord')}, " if name in _OF_DIMENSION else ""
    run(f"{text}{place}$1;", None, at.toint(), dtype(new_value))


def tensormap_cp_fenceproxy(dst: Any, src: Any, size: Any, scope: Any) -> None:
    """Copy a tensor map of 128 bytes from shared to global memory, and release it to `scope`; by a whole warp.
    PTX ISA: tensormap.cp_fenceproxy."""
    if static(size, "size") != 128:
        raise DSLUserCodeValueError(f"a tensor map has 128 bytes, got size {shown(size)}", fix="size=128")
    run(
        f"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.{word(scope, MemScope, 'scope')}"
        ".sync.aligned [$0], [$1], 128;",
        None, pointer(dst, _GMEM).toint(), pointer(src, _SMEM).toint(),
    )  # fmt: skip


# --- prefetches -----------------------------------------------------------------------------------------------------


def prefetch_tensormap(addr: Any, *, space: Any = TensormapSpace.CONST) -> None:
    """Bring a tensor map into the cache.  PTX ISA: prefetch.tensormap."""
    word(space, TensormapSpace, "space")
    run("prefetch.tensormap [$0];", None, _map(addr))


def prefetch_l1(addr: Any) -> None:
    """Bring the line of an address into the L1 cache.  PTX ISA: prefetch."""
    run("prefetch.global.L1 [$0];", None, pointer(addr, _GMEM).toint())


def prefetch_l2(addr: Any, *, evict_priority: Any = None) -> None:
    """Bring the line of an address into the L2 cache.  PTX ISA: prefetch."""
    if evict_priority is not None:
        evict_priority = word(evict_priority, EvictPriority, "evict_priority")
    how = "" if evict_priority is None else f"::evict_{evict_priority}"
    run(f"prefetch.global.L2{how} [$0];", None, pointer(addr, _GMEM).toint())


def prefetchu(addr: Any) -> None:
    """Bring the line of an address into the uniform cache.  PTX ISA: prefetchu."""
    run("prefetchu.L1 [$0];", None, _map(addr))
