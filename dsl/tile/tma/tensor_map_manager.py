"""Tensor maps of a persistent kernel's own, changed from tile to tile: in global memory, or in shared memory first.

CuTe DSL documentation: cutlass.utils, TensorMapManager.
"""

from __future__ import annotations

import enum
from typing import Any

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Int64
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.gpu.memory import copy
from dsl.gpu.threads import index, sync, warp
from dsl.tile.pipeline.sync import when
from dsl.tile.tensor.tensor import Tensor
from dsl.tile.tma.tensor_map import (
    copy_tensormap,
    cp_fence_tma_desc_release,
    fence_tma_desc_acquire,
    fence_tma_desc_release,
    update_tma_descriptor,
)
from dsl.tile.tma.tma import TmaAtom

_ALIGNMENT_BYTES = 128


class TensorMapUpdateMode(enum.Enum):
    """The memory in which a tensor map is changed."""

    GMEM = 1
    SMEM = 2

    def __repr__(self) -> str:
        return f"<TensorMapUpdateMode.{self.name}: {self.value}>"


class TensorMapManager:
    """Makes, changes and publishes tensor maps of `bytes_per_tensormap`; one warp does it, the others wait."""

    def __init__(self, tensormap_update_mode: TensorMapUpdateMode, bytes_per_tensormap: int):
        if not isinstance(tensormap_update_mode, TensorMapUpdateMode):
            raise DSLUserCodeTypeError(
                f"mode must be TensorMapUpdateMode.GMEM or .SMEM, got {type_name(tensormap_update_mode)}",
                fix="TensorMapUpdateMode.SMEM",
            )
        self.tensormap_update_mode, self.bytes_per_tensormap = tensormap_update_mode, bytes_per_tensormap

    def get_tensormap_ptr(self, ptr: Pointer, address_space: AddressSpace = AddressSpace.gmem) -> Pointer:
        """A pointer to the tensor map at `ptr` in global memory, for copies; a generic one if asked."""
        if address_space not in (AddressSpace.gmem, AddressSpace.generic):
            raise DSLUserCodeTypeError(
                f"a tensor map for copies is in gmem, or generic, got {address_space}", fix="AddressSpace.generic"
            )
        address = mlir.result("llvm.inttoptr", mlir.ptr(address_space), ptr.toint().ir())
        return Pointer(Int64, address, address_space, _ALIGNMENT_BYTES)

    def init_tensormap_from_atom(self, copy_atom: TmaAtom, dst_ptr: Pointer, warp_id: int) -> None:
        """Warp `warp_id` copies an atom's tensor map to `dst_ptr`."""

        def initialise() -> None:
            with sync.elect_one():
                copy_tensormap(copy_atom, dst_ptr)

        when(_warp() == warp_id, initialise)

    def fence_tensormap_initialization(self) -> None:
        """Let copies see the maps that were made: after it, and a barrier between warps."""
        if self.tensormap_update_mode is TensorMapUpdateMode.GMEM:
            fence_tma_desc_release()
        sync.sync_warp()

    def update_tensormap(
        self,
        tensor_gmem: tuple[Tensor, ...],
        tma_copy_atom: tuple[TmaAtom, ...],
        tensormap_gmem_ptr: tuple[Pointer, ...],
        warp_id: int,
        tensormap_smem_ptr: tuple[Pointer, ...],
    ) -> None:
        """Warp `warp_id` lets the maps describe other tensors, and releases them, once its stores have been read."""
        in_shared = self.tensormap_update_mode is TensorMapUpdateMode.SMEM

        def update() -> None:
            if in_shared:
                for atom, tensor, place in zip(tma_copy_atom, tensor_gmem, tensormap_smem_ptr):
                    update_tma_descriptor(atom, tensor, place)
            with sync.elect_one():
                copy.cp_async_bulk_commit_group()
                copy.cp_async_bulk_wait_group(0, read=True)
            sync.sync_warp()
            if in_shared:
                for place, source in zip(tensormap_gmem_ptr, tensormap_smem_ptr):
                    cp_fence_tma_desc_release(place, source)
                return
            for atom, tensor, place in zip(tma_copy_atom, tensor_gmem, tensormap_gmem_ptr):
                update_tma_descriptor(atom, tensor, place)
            sync.sync_warp()
            fence_tma_desc_release()

        when(_warp() == warp_id, update)

    def fence_tensormap_update(self, tensormap_ptr: Pointer) -> None:
        """Let later copies see the map that the warp released."""
        fence_tma_desc_acquire(tensormap_ptr)


def _warp() -> Any:
    return warp.make_warp_uniform(index.warp_idx())
