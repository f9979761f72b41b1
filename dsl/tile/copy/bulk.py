"""Bulk copies of bytes between global and shared memory, and to shared memory of another block: one instruction for
each run that is contiguous on both sides.

CuTe DSL documentation: cute.nvgpu.cpasync, CopyBulkG2SOp, CopyBulkG2SMulticastOp, CopyBulkS2SOp and CopyBulkS2GOp.
No thread is elected: who gets there copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, warn_not_portable
from dsl.core.number.dtypes import Numeric
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace, Pointer, element_name
from dsl.gpu.memory import tma
from dsl.gpu.memory.dsmem import map_dsmem_ptr
from dsl.gpu.threads import mbarrier
from dsl.layout import ComposedLayout, Layout
from dsl.layout.int_tuple import text, wrap
from dsl.tile.tensor.constant import Constant, CopyOp
from dsl.tile.tensor.element_address import element_iterator, static_size
from dsl.tile.tensor.modes import group_modes
from dsl.tile.tensor.tensor import Tensor

LEAST_BITS = 128


class BulkOp(CopyOp):
    """A copy of bytes between two memories. `needs`: the keywords that `copy` takes with it, and what each is for."""

    source = destination = AddressSpace.smem
    needs: ClassVar[dict[str, str]] = {}

    def atom_of(self, value_type: type[Numeric], bits: int) -> BulkAtom:
        return BulkAtom(self, value_type, _checked(value_type, bits))


_BARRIER = {"mbar_ptr": "the mbarrier that tells when it is there"}


@dataclass(frozen=True)
class CopyBulkG2SOp(BulkOp):
    """cp.async.bulk from global to shared memory; its bytes complete at an mbarrier."""

    source = AddressSpace.gmem
    needs: ClassVar = _BARRIER


@dataclass(frozen=True)
class CopyBulkG2SMulticastOp(BulkOp):
    """The same to the same place of several blocks of the cluster; the bytes complete at the mbarrier of each."""

    source = AddressSpace.gmem
    needs: ClassVar = {**_BARRIER, "mcast_mask": "the blocks it is for, a bit a block"}


@dataclass(frozen=True)
class CopyBulkS2SOp(BulkOp):
    """cp.async.bulk from shared memory to the same or another place in a block of the cluster."""

    needs: ClassVar = {**_BARRIER, "cta_rank": "the rank of the block it is for"}


@dataclass(frozen=True)
class CopyBulkS2GOp(BulkOp):
    """cp.async.bulk from shared to global memory, in a bulk group."""

    destination = AddressSpace.gmem


def _checked(value_type: type[Numeric], bits: int) -> int:
    if bits and (bits % LEAST_BITS or bits % value_type.storage_width):
        raise DSLUserCodeError(
            f"a bulk copy moves a multiple of {LEAST_BITS} bits, whole elements of {value_type}, got {bits}",
            fix="leave num_bits_per_copy out: it copies as much as is contiguous",
        )
    return bits


@dataclass(frozen=True)
class BulkAtom(Constant):
    """Bulk copies of `num_bits_per_copy`, or of as much as is contiguous where that is 0."""

    op: BulkOp
    value_type: type[Numeric]
    num_bits_per_copy: int

    @property
    def count(self) -> int:
        """The elements of one copy; 1 where that is open."""
        return self.num_bits_per_copy // self.value_type.storage_width or 1

    @property
    def layout_src_tv(self) -> Layout:
        return Layout((1, self.count), (0, 0 if self.count == 1 else 1))

    layout_dst_tv = layout_src_tv

    def __str__(self) -> str:
        return (
            f"Copy Atom\n  ThrID:         1:0\n  TV Layout Src: {self.layout_src_tv}\n"
            f"  TV Layout Dst: {self.layout_dst_tv}\n  Value type:    {element_name(self.value_type)}"
        )


def group_bulk_copy_modes(src: Tensor, dst: Tensor) -> tuple[Tensor, Tensor]:
    """Both tensors with all their modes as one, so that one atom copies them."""
    return tuple(group_modes(t, 0, lay.rank(t)) for t in (src, dst))


def copy_runs(
    atom: BulkAtom,
    src: Tensor,
    dst: Tensor,
    mbar_ptr: Pointer | None = None,
    mcast_mask: Any = None,
    cta_rank: Any = None,
    cache_policy: Any = None,
) -> None:
    """Copy run by run. Into shared memory it takes the mbarrier at which the bytes complete; see `BulkOp.needs`."""
    for side, tensor, space in (("source", src, atom.op.source), ("destination", dst, atom.op.destination)):
        _check_side(side, tensor, space, atom)
    _check_given(atom.op, {"mbar_ptr": mbar_ptr, "mcast_mask": mcast_mask, "cta_rank": cta_rank})
    if [lay.size(mode) for mode in wrap(src.shape)] != [lay.size(mode) for mode in wrap(dst.shape)]:
        raise DSLUserCodeError(
            f"a bulk copy needs as many elements in each mode, got a source of {text(src.shape)} and a "
            f"destination of {text(dst.shape)}",
            fix="tile both with the same tiler",
        )
    together = lay.max_common_vector(src.layout, dst.layout)
    count = atom.count if atom.num_bits_per_copy else together
    n_bytes = count * atom.value_type.storage_width // 8
    if together % count or n_bytes * 8 % LEAST_BITS:
        raise DSLUserCodeError(
            f"a bulk copy moves a multiple of 16 contiguous bytes, but {src.layout} and {dst.layout} have "
            f"{together * atom.value_type.storage_width // 8} contiguous bytes on both sides",
            fix="copy it with CopyUniversalOp, or lay both out alike",
        )
    for start in range(0, lay.size(src), count):
        source, target = element_iterator(src, start), element_iterator(dst, start)
        if atom.op.destination is AddressSpace.gmem:
            tma.store_bytes(target.address, source.address, n_bytes, cache_policy)
        elif atom.op.source is AddressSpace.gmem:
            barrier = mbarrier.address_of(mbar_ptr)
            tma.load_bytes(target.address, source.address, n_bytes, barrier, cache_policy, mcast_mask)
        else:
            there = map_dsmem_ptr(target, cta_rank)
            tma.send_bytes(there.address, source.address, n_bytes, _barrier_in_cluster(mbar_ptr))


def _barrier_in_cluster(mbar_ptr: Any) -> Any:
    """The address of an mbarrier of this block, or of another by map_dsmem_ptr."""
    if isinstance(mbar_ptr, Pointer) and mbar_ptr.space is AddressSpace.dsmem:
        warn_not_portable(
            "the mbarrier of a bulk copy between blocks is a pointer to dsmem",
            fix="mbar_ptr=cute.make_ptr(Int64, cute.arch.map_dsmem_ptr(barrier, rank).toint(), cute.AddressSpace.smem)",
        )
        return mbar_ptr.address
    return mbarrier.address_of(mbar_ptr)


def _check_given(op: BulkOp, given: dict[str, Any]) -> None:
    for name, value in given.items():
        if name in op.needs and value is None:
            raise DSLUserCodeError(
                f"a bulk copy into shared memory by {type(op).__name__} needs {op.needs[name]}",
                fix="cute.copy(atom, src, dst, " + ", ".join(f"{each}=..." for each in op.needs) + ")",
                id="TMA_BARRIER" if name == "mbar_ptr" else "TMA_MULTICAST",
            )
        if name not in op.needs and name != "mbar_ptr" and value is not None:
            raise DSLUserCodeError(
                f"{type(op).__name__} takes no {name}",
                fix="CopyBulkG2SMulticastOp takes mcast_mask, CopyBulkS2SOp cta_rank",
            )


def _check_side(side: str, tensor: Any, space: AddressSpace, atom: BulkAtom) -> None:
    if not isinstance(tensor, Tensor) or tensor.pointer().space != space:
        where = f" in {tensor.memspace.name}" if isinstance(tensor, Tensor) else ""
        raise DSLUserCodeTypeError(
            f"{side} of this bulk copy must be a tensor in {space.name}, got {type_name(tensor)}{where}",
            fix="CopyBulkG2SOp copies gmem to smem, CopyBulkS2GOp smem to gmem, CopyBulkS2SOp smem to smem",
        )
    static_size(tensor, "a bulk copy")
    if isinstance(tensor.layout, ComposedLayout):
        raise DSLUserCodeError(
            f"a bulk copy moves bytes as they are, but the {side} has the layout {tensor.layout}",
            fix="a tensor without a swizzle; TMA swizzles (make_tiled_tma_atom)",
        )
    if tensor.element_type.storage_width != atom.value_type.storage_width:
        raise DSLUserCodeTypeError(
            f"the atom copies {atom.value_type}, but the {side} holds {tensor.element_type}",
            fix=f"make the atom with {tensor.element_type}",
        )
    if tensor.pointer().proven_alignment_bytes % 16:
        raise DSLUserCodeError(
            f"the {side} of a bulk copy must start at a multiple of 16 bytes, but is only known to start at "
            f"a multiple of {tensor.pointer().proven_alignment_bytes}",
            id="TMA_ALIGNMENT",
            fix="from_dlpack(tensor, assumed_align=16), or byte_alignment=16",
        )
