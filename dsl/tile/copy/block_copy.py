"""Copies of whole tiles by a block, which partition the tensors themselves."""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.number.operators import type_name
from dsl.core.phrase import shown
from dsl.layout import Layout
from dsl.tile.copy.algorithm import copy
from dsl.tile.tensor.modes import filter_zeros
from dsl.tile.tensor.tensor import Tensor
from dsl.tile.tma.tma import TmaAtom
from dsl.tile.tma.tma_copy import tma_partition


def block_copy(
    tiled_copy: Any, src: Tensor, dst: Tensor, *, tma_multicast: dict[str, Any] | None = None, **options: Any
) -> None:
    """Copy by TMA between tensors whose first mode is the tile; `options` as for `cute.copy`.

    `tma_multicast` names a cluster and its dimension ("M" or "N") along which the blocks load the same tile. Here each
    of them loads it for itself: what arrives, and how many bytes each mbarrier counts, is the same.

    CuTe DSL documentation: cutlass.block.block_copy.
    """
    if not isinstance(tiled_copy, TmaAtom):
        raise DSLUserCodeTypeError(
            f"block_copy takes an atom of TMA, got {type_name(tiled_copy)}",
            fix="the atom of cpasync.make_tiled_tma_atom; cute.copy takes the others",
        )
    if tma_multicast is not None:
        _check_multicast(tiled_copy, tma_multicast)
    smem, gmem = (dst, src) if tiled_copy.op.loads else (src, dst)
    parts = tma_partition(tiled_copy, 0, Layout(1, 0), smem, gmem)
    smem, gmem = map(filter_zeros, parts)
    copy(tiled_copy, *((gmem, smem) if tiled_copy.op.loads else (smem, gmem)), **options)


def _check_multicast(atom: TmaAtom, asked: dict[str, Any]) -> None:
    shape, dimension = asked.get("cluster_shape"), asked.get("multicast_dim")
    is_shape = isinstance(shape, tuple) and len(shape) == 2 and all(type(extent) is int for extent in shape)
    if not is_shape or dimension not in ("M", "N"):
        raise DSLUserCodeError(
            f"tma_multicast must name a cluster's shape and a dimension of it, got {shown(shape)} and "
            f"{shown(dimension)}",
            fix='{"cluster_shape": (2, 1), "multicast_dim": "M"}',
        )
    if asked.get("use_2cta_mma_inst"):
        raise DSLUserCodeError(
            "products of two blocks (use_2cta_mma_inst) are of Blackwell",
            id="UNSUPPORTED_NAME",
            fix="leave use_2cta_mma_inst out",
        )
    if not atom.op.loads or atom.op.multicasts:
        raise DSLUserCodeError(
            f"tma_multicast is for loads whose atom does not multicast by itself, got {type(atom.op).__name__}",
            fix="cpasync.CopyBulkTensorTileG2SOp()",
        )
