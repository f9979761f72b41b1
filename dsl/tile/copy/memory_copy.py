"""Copies between registers and memory whose atom defines who else sees the memory, and how caches treat it.

CuTe DSL documentation: CopyG2ROp, CopyR2GOp, CopyS2ROp, CopyR2SOp. PTX ISA: ld, st.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Numeric
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.core.phrase import shown
from dsl.gpu.memory import access
from dsl.gpu.memory.access import CacheEvictionPriority
from dsl.tile.copy.atom import CopyUniversalOp, LoadCacheMode
from dsl.tile.vector.mlir_vector import extract, from_elements


class MemoryOrder(enum.Enum):
    """In which order others see an access."""

    WEAK, RELAXED, ACQUIRE, RELEASE, ACQ_REL, SC, MMIO, CONSTANT, VOLATILE = range(9)


class MemoryScope(enum.Enum):
    """The threads that the order is for."""

    CTA, CLUSTER, GPU, SYS = range(4)


class L2PrefetchSize(enum.Enum):
    """How much around an address is brought into the L2 cache."""

    NONE, RESERVED, SIZE_64B, SIZE_128B, SIZE_256B = range(5)


class SharedSpace(enum.Enum):
    """Shared memory of this block, or of the cluster."""

    CTA, CLUSTER = range(2)


_SIZES = {
    L2PrefetchSize.SIZE_64B: ".L2::64B",
    L2PrefetchSize.SIZE_128B: ".L2::128B",
    L2PrefetchSize.SIZE_256B: ".L2::256B",
}
_PRIORITIES = {
    CacheEvictionPriority.EVICT_NORMAL: "",
    CacheEvictionPriority.EVICT_FIRST: ".L1::evict_first",
    CacheEvictionPriority.EVICT_LAST: ".L1::evict_last",
    CacheEvictionPriority.EVICT_UNCHANGED: ".L1::evict_unchanged",
    CacheEvictionPriority.NO_ALLOCATE: ".L1::no_allocate",
}
_KINDS: dict[str, type] = {
    "memory_order": MemoryOrder,
    "memory_scope": MemoryScope,
    "shared_space": SharedSpace,
    "l1c_evict_priority": CacheEvictionPriority,
    "l2_prefetch_size": L2PrefetchSize,
    "load_cache_mode": LoadCacheMode,
    "invariant": bool,
}
_ANY = ("memory_order", "memory_scope", "shared_space")


@dataclass(frozen=True)
class MemoryCopy(CopyUniversalOp):
    """A copy with one side in `memory` and the other in registers; `settings` come from the atom."""

    settings: tuple[tuple[str, Any], ...] = ()

    memory: ClassVar[AddressSpace]
    taken: ClassVar[tuple[str, ...]] = _ANY
    orders: ClassVar[tuple[MemoryOrder, ...]]

    def with_settings(self, settings: dict[str, Any]) -> MemoryCopy:
        for name, value in settings.items():
            if name not in self.taken:
                raise DSLUserCodeTypeError(
                    f"an atom of {type(self).__name__} has no parameter `{name}`",
                    id="CALL_UNEXPECTED_KWARG",
                    fix=f"it has num_bits_per_copy, {', '.join(self.taken)}",
                )
            if not isinstance(value, _KINDS[name]):
                raise DSLUserCodeTypeError(
                    f"{name} must be of {_KINDS[name].__name__}, got {shown(value)}",
                    fix=f"cute.nvgpu.{_KINDS[name].__name__}" if name != "invariant" else "True or False",
                )
        made = replace(self, settings=tuple(sorted(settings.items())))
        made.modifiers()
        return made

    def check(self, dtype: type[Numeric], bits: int) -> None:
        super().check(dtype, bits)
        if bits > 128 and self.modifiers():
            raise DSLUserCodeValueError(
                f"an access with modifiers moves at most 128 bits, got {bits}", fix="num_bits_per_copy=128"
            )

    def modifiers(self) -> str:
        """The modifiers after `ld` or `st`; "" for an ordinary access."""
        given = dict(self.settings)
        order = given.get("memory_order", MemoryOrder.WEAK)
        known = (MemoryOrder.WEAK, MemoryOrder.CONSTANT, MemoryOrder.VOLATILE, *self.orders)
        if order not in known:
            raise DSLUserCodeValueError(
                f"memory_order of {type(self).__name__} must be one of {', '.join(each.name for each in known)}, got "
                f"{order.name}",
                fix=f"MemoryOrder.{self.orders[-1].name}",
            )
        cache = given.get("load_cache_mode", LoadCacheMode.ALWAYS)
        behind = "" if cache is LoadCacheMode.ALWAYS else f".{cache.value}"
        behind += ".nc" if given.get("invariant") else ""
        if behind and order not in (MemoryOrder.WEAK, MemoryOrder.CONSTANT):
            raise DSLUserCodeValueError(
                f"load_cache_mode and invariant are for accesses without an order, but memory_order is {order.name}",
                fix="leave one out",
            )
        behind += _PRIORITIES[given.get("l1c_evict_priority", CacheEvictionPriority.EVICT_NORMAL)]
        behind += _SIZES.get(given.get("l2_prefetch_size", L2PrefetchSize.NONE), "")
        before = ".volatile" if order is MemoryOrder.VOLATILE else ""
        if order in self.orders:
            before = f".{order.name.lower()}.{given.get('memory_scope', MemoryScope.CTA).name.lower()}"
        space = ".global" if self.memory is AddressSpace.gmem else ".shared::cta"
        if given.get("shared_space") is SharedSpace.CLUSTER and self.memory is AddressSpace.smem:
            return f"{before}.shared::cluster{behind}"
        return f"{before}{space}{behind}" if before or behind else ""

    def move(self, src: Pointer, dst: Pointer, count: int) -> None:
        place, register = (src, dst) if self.loads else (dst, src)
        if place.space is not self.memory or register.space is not AddressSpace.rmem:
            raise DSLUserCodeTypeError(
                f"{type(self).__name__} copies {self._ways()}, got {src.space.name} to {dst.space.name}",
                fix="CopyUniversalOp copies between any memories",
            )
        if not (modifiers := self.modifiers()):
            super().move(src, dst, count)
            return
        bits, word_bits = count * src.dtype.storage_width, 64 if src.dtype.storage_width == 64 else 32
        alignment_bytes = min(register.alignment_bytes, bits // 8)
        if self.loads:
            words = access.load_words(place, modifiers, bits, word_bits)
            mlir.store(words[0] if len(words) == 1 else from_elements(words), register.address, alignment_bytes)
            return
        type_ = {8: mlir.i8, 16: mlir.i16, 32: mlir.i32, 64: mlir.i64}[min(bits, word_bits)]
        parts = bits // min(bits, word_bits)
        value = mlir.load(register.address, type_ if parts == 1 else mlir.vector(type_, parts), alignment_bytes)
        access.store_words(place, modifiers, [value] if parts == 1 else [extract(value, i) for i in range(parts)])

    def _ways(self) -> str:
        return f"{self.memory.name} to rmem" if self.loads else f"rmem to {self.memory.name}"


@dataclass(frozen=True)
class CopyG2ROp(MemoryCopy):
    """A load from global memory."""

    memory = AddressSpace.gmem
    taken = (*_ANY, "l1c_evict_priority", "l2_prefetch_size", "load_cache_mode", "invariant")
    orders = (MemoryOrder.RELAXED, MemoryOrder.ACQUIRE)


@dataclass(frozen=True)
class CopyS2ROp(MemoryCopy):
    """A load from shared memory."""

    memory = AddressSpace.smem
    orders = (MemoryOrder.RELAXED, MemoryOrder.ACQUIRE)


@dataclass(frozen=True)
class CopyR2GOp(MemoryCopy):
    """A store to global memory."""

    memory = AddressSpace.gmem
    taken = (*_ANY, "l1c_evict_priority")
    orders = (MemoryOrder.RELAXED, MemoryOrder.RELEASE)
    loads = False


@dataclass(frozen=True)
class CopyR2SOp(MemoryCopy):
    """A store to shared memory."""

    memory = AddressSpace.smem
    orders = (MemoryOrder.RELAXED, MemoryOrder.RELEASE)
    loads = False
