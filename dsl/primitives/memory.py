"""Memory that other threads see: atomic operations, loads and stores with an order, addresses in a cluster.

PTX ISA: atom, red, ld, st, mapa, cvta.
"""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.number.dtypes import BFloat16, Float16, Float32, Float64, Int32, Int64, Numeric, Uint32, Uint64, numeric
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace
from dsl.gpu.inline import CONSTRAINTS, ptx
from dsl.gpu.memory import access, atomic
from dsl.gpu.threads import index
from dsl.primitives.array import Array
from dsl.primitives.enums import AtomicOp, CvtaSpace, MemOrder, MemScope, ReductionOp, ReductionType
from dsl.primitives.operands import SPACES, pointer, refuse, run, word
from dsl.primitives.pointer import RawPointer, inttoptr
from dsl.primitives.vector import Vector

_TYPES = {
    "s32": Int32, "u32": Uint32, "b32": Uint32, "s64": Int64, "u64": Uint64, "b64": Uint64, "f32": Float32,
    "f64": Float64, "f16": Float16, "bf16": BFloat16,
}  # fmt: skip


def red(
    op: Any, type_: Any, a: Any, b: Any, *, mem_order: Any = None, mem_scope: Any = None, shared_space: Any = None,
    cache_hint: Any = None,
) -> None:  # fmt: skip
    """`*a = *a op b`, without the old value.  PTX ISA: red."""
    name, kind = word(op, ReductionOp, "op"), word(type_, ReductionType, "type of a reduction")
    order = "relaxed" if mem_order is None else word(mem_order, MemOrder, "mem_order")
    scope = "gpu" if mem_scope is None else word(mem_scope, MemScope, "mem_scope")
    if order not in ("relaxed", "release"):
        raise DSLUserCodeValueError(
            f"mem_order of a reduction must be relaxed or release, got {order}", fix='mem_order="relaxed"'
        )
    if cache_hint is not None:
        raise refuse("red with a cache_hint")
    at = pointer(a, *SPACES)
    if isinstance(b, Vector):
        value: Any = b.bitcast(Int32)[0]
    else:
        value = _TYPES[kind](b) if kind in _TYPES else Int32(b)
    letter = "r" if kind.endswith("x2") else CONSTRAINTS[value.ir().type]
    rounding = ".noftz" if "16" in kind else ""
    space = SPACES[at.space]
    address = "r" if "shared" in space else "l"
    ptx(f"red.{order}.{scope}{space}.{name}{rounding}.{kind} [$0], $1;", None, f"{address},{letter}", at.toint(), value)


def atomicrmw(
    op: Any, ptr: Any, a: Any, *, b: Any = None, mem_order: Any = None, syncscope: Any = None, space: Any = None,
    results: Any = None,
) -> Numeric:  # fmt: skip
    """`*ptr = *ptr op a`; the old value. `cas` stores `b` where the old value is `a`.  PTX ISA: atom."""
    name, at, number = word(op, AtomicOp, "op"), pointer(ptr, *SPACES), numeric(a)
    if number is None:
        raise DSLUserCodeTypeError(f"an atomic operation takes a number, got {type_name(a)}", fix="Int32(x)")
    dtype = at.dtype if isinstance(a, (bool, int, float)) else type(number)
    at = at if at.dtype is dtype else at.recast(dtype)
    sem = None if mem_order is None else word(mem_order, MemOrder, "mem_order")
    scope = None if syncscope is None else word(syncscope, MemScope, "syncscope")
    if name == "cas":
        return atomic.compare_and_swap(at, a, b, sem, scope)
    if name in ("inc", "dec"):
        raise refuse(f"atomicrmw of {name}")
    return atomic.update(name, at, dtype(number), sem, scope)


def mapa(addr: Any, cta_rank: Any, *, addrspace: int = 7) -> Any:
    """The place of an address of shared memory in block `cta_rank` of the cluster.  PTX ISA: mapa."""
    at = pointer(addr, AddressSpace.smem, AddressSpace.dsmem)
    place = run("mapa.shared::cluster.u32 $0, $1, $2;", Int32, at.toint(), Int32(cta_rank))
    there = inttoptr(place, AddressSpace.dsmem, at.dtype)
    return Array.at(there, addr.shape, addr.strides, addr.align) if isinstance(addr, Array) else there


def cluster_ctarank() -> Int32:
    """The block's rank in its cluster.  PTX ISA: %cluster_ctarank."""
    return index.block_idx_in_cluster()


_SPACES = {"global": AddressSpace.gmem, "shared": AddressSpace.smem, "shared::cta": AddressSpace.smem,
           "shared::cluster": AddressSpace.dsmem, "local": AddressSpace.rmem, "const": AddressSpace.cmem}  # fmt: skip


def cvta_to(addr: Any, space: Any, *, size: Any = None) -> Any:
    """A generic address as one of `space`.  PTX ISA: cvta.to."""
    name = word(space, CvtaSpace, "space")
    if name not in _SPACES:
        raise refuse(f"cvta_to of {name}")
    return pointer(addr).tospace(_SPACES[name])


def load_ext(
    addr: Any, *, dtype: Any = None, count: int | None = None, l2_cache_hint: Any = None, order: Any = None,
    scope: Any = None, prefetch: Any = None, evict: Any = None, cache_modifier: Any = None, shared_space: Any = None,
    unified: bool | None = None,
) -> Any:  # fmt: skip
    """The number (or `count` of them) at an address, with an order or a cache's policy.  PTX ISA: ld."""
    at = pointer(addr)
    at = at if dtype is None else RawPointer.of(at.recast(dtype))
    if l2_cache_hint is not None or unified:
        raise refuse("load_ext with l2_cache_hint or unified")
    words = _access(order, scope, evict, cache_modifier)
    if prefetch is not None:
        words["level_prefetch_size"] = prefetch.value
    if count is None:
        return access.load(at, at.dtype, **words)
    if any(each is not None for each in words.values()):
        return Vector.from_elements([access.load(at + i, at.dtype, **words) for i in range(count)], at.dtype)
    return at.load(count=count)


def store_ext(
    value: Any, addr: Any, *, l2_cache_hint: Any = None, order: Any = None, scope: Any = None, evict: Any = None,
    cache_modifier: Any = None, shared_space: Any = None,
) -> None:  # fmt: skip
    """Write a number or a Vector, with an order or a cache's policy.  PTX ISA: st."""
    if l2_cache_hint is not None:
        raise refuse("store_ext with l2_cache_hint")
    at, words = pointer(addr), _access(order, scope, evict, cache_modifier)
    if isinstance(value, Vector) and all(each is None for each in words.values()):
        at.store(value)
        return
    for place, each in enumerate(value.to_elements() if isinstance(value, Vector) else (value,)):
        access.store(at + place, each, **words)


_EVICTIONS = {"noallocate": "evict_no_allocate"}


def _access(order: Any, scope: Any, evict: Any, cache_modifier: Any) -> dict[str, Any]:
    """The keywords of dsl.gpu.memory.access for upstream's words."""
    order = None if order in (None, MemOrder.WEAK) else word(order, MemOrder, "order")
    evict = None if evict is None else getattr(evict, "value", evict)
    return {
        "sem": order,
        "scope": None if scope is None else word(scope, MemScope, "scope"),
        "level1_eviction_priority": evict and _EVICTIONS.get(evict, f"evict_{evict}"),
        "cop": None if cache_modifier is None else getattr(cache_modifier, "value", cache_modifier),
    }
