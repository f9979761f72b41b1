"""Tensor maps that a kernel writes: copied from an atom, changed to another tensor, and made visible to TMA.

PTX ISA: tensormap.replace, fence.proxy.tensormap, tensormap.cp_fenceproxy. A map is 128 bytes, aligned to 64.
"""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Int64, Numeric
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.gpu.memory import tma
from dsl.gpu.threads.sync import elect_one
from dsl.layout.int_tuple import flatten_to_tuple
from dsl.tile.tensor.tensor import Tensor
from dsl.tile.tma.tensor_map_words import MAP_BYTES, MOST_MODES
from dsl.tile.tma.tma import TmaAtom
from dsl.tile.tma.tma_copy import require_atom


def _require_map(pointer: Any, what: str, *spaces: AddressSpace) -> Pointer:
    if not isinstance(pointer, Pointer) or pointer.space not in spaces:
        shown = f"one in {pointer.space}" if isinstance(pointer, Pointer) else type_name(pointer)
        raise DSLUserCodeTypeError(
            f"{what} must be a pointer to a tensor map in {' or '.join(map(str, spaces))}, got {shown}",
            fix="128 bytes of an Int64 tensor, aligned to 128",
        )
    return pointer


_GLOBAL = (AddressSpace.gmem, AddressSpace.generic)


def copy_tensormap(tma_atom: TmaAtom, tensormap_ptr: Pointer) -> None:
    """Copy an atom's tensor map to memory, by every thread that gets there."""
    target = _require_map(tensormap_ptr, "tensormap_ptr", *_GLOBAL, AddressSpace.smem)
    source = require_atom(tma_atom).map.ir()
    step = mlir.vector(mlir.i64, 2)
    for index in range(MAP_BYTES // 16):
        part = mlir.load(mlir.gep(source, mlir.i8, 16 * index), step, 16)
        mlir.store(part, mlir.gep(target.address, mlir.i8, 16 * index), 16)


def update_tma_descriptor(tma_atom: TmaAtom, gmem_tensor: Tensor, tma_desc_ptr: Pointer) -> None:
    """Let the tensor map at `tma_desc_ptr` describe another tensor: its address, extents and strides; in one lane."""
    atom, target = require_atom(tma_atom), _require_map(tma_desc_ptr, "tma_desc_ptr", *_GLOBAL, AddressSpace.smem)
    shapes, strides = flatten_to_tuple(gmem_tensor.shape), flatten_to_tuple(gmem_tensor.stride)
    bytes_of = atom.value_type.storage_width // 8
    in_shared = target.space is AddressSpace.smem
    start = Int64(gmem_tensor.pointer().toint())
    with elect_one():
        tma.replace_in_map(target.address, "global_address", start, in_shared)
        for dimension in range(MOST_MODES):
            mode = atom.modes[dimension] if dimension < len(atom.modes) else None
            extent: Numeric | int = 1 if mode is None else shapes[mode]
            tma.replace_in_map(target.address, "global_dim", extent, in_shared, dimension)
            if dimension:
                stride = 0 if mode is None else Int64(strides[mode]) * bytes_of
                tma.replace_in_map(target.address, "global_stride", Int64(stride), in_shared, dimension - 1)


def fence_tma_desc_acquire(tma_desc_ptr: Pointer) -> None:
    """Let later copies by TMA see the tensor map that other threads released."""
    tma.fence_map_acquire(_require_map(tma_desc_ptr, "tma_desc_ptr", *_GLOBAL).address)


def fence_tma_desc_release() -> None:
    """Let those that acquire it see the tensor maps that this thread wrote."""
    tma.fence_map_release()


def cp_fence_tma_desc_release(tma_desc_global_ptr: Pointer, tma_desc_shared_ptr: Pointer) -> None:
    """Copy a tensor map from shared to global memory, and release it; all lanes of the warp."""
    to = _require_map(tma_desc_global_ptr, "tma_desc_global_ptr", *_GLOBAL)
    source = _require_map(tma_desc_shared_ptr, "tma_desc_shared_ptr", AddressSpace.smem)
    tma.copy_map_release(to.address, source.address)
