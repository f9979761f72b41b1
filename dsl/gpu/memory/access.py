"""Loads, stores and prefetches that define who else sees the memory, and how caches treat it.
PTX ISA: ld, st, prefetch."""

from __future__ import annotations

import enum
from typing import Any

from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import arithmetic, mlir
from dsl.core.number.dtypes import Boolean, Numeric, NumericMeta, is_dynamic, numeric
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace, Pointer, as_pointer
from dsl.core.phrase import Phrase, shown
from dsl.gpu.inline import CONSTRAINTS, ptx, raw_ptx

_SCOPES = (None, "gpu", "cta", "cluster", "sys")
_LEVEL1 = {
    "evict_normal": ".L1::evict_normal",
    "evict_first": ".L1::evict_first",
    "evict_last": ".L1::evict_last",
    "evict_no_allocate": ".L1::no_allocate",
    "evict_unchanged": ".L1::evict_unchanged",
    None: "",
}
_LEVEL2 = {"size_64b": ".L2::64B", "size_128b": ".L2::128B", "size_256b": ".L2::256B", None: ""}
_CARRIERS = {8: mlir.i16, 16: mlir.i16, 32: mlir.i32, 64: mlir.i64}


class CacheEvictionPriority(enum.Enum):
    """The priority with which a cache keeps or evicts data."""

    EVICT_NORMAL, EVICT_FIRST, EVICT_LAST, EVICT_UNCHANGED, NO_ALLOCATE = range(5)


def load(
    ptr: Pointer,
    dtype: type[Numeric],
    *,
    sem: str | None = None,
    scope: str | None = None,
    level1_eviction_priority: str | None = None,
    cop: str | None = None,
    ss: str | None = None,
    level_prefetch_size: str | None = None,
) -> Numeric:
    """The `dtype` at `ptr`. `sem` is relaxed or acquire and needs a `scope` (gpu, cta, cluster, sys); `cop` is ca, cg,
    cs, lu or cv, `ss` (of shared memory) cta.  PTX ISA: ld
    """
    if not isinstance(dtype, NumericMeta) or dtype.is_packed or dtype.width > 64:
        raise DSLUserCodeTypeError(
            Phrase("load reads one number of up to 64 bits, got {got!r}", got=dtype),
            fix=Phrase("load several as a tensor: `cute.make_tensor(ptr, 4).load()`", "IN_CUTE"),
        )
    ptr = as_pointer(ptr, dtype)
    modifiers = _order("load", ptr, sem, ("relaxed", "acquire"), scope, cop, ("ca", "cg", "cs", "lu", "cv"), ss)
    modifiers += _known(level1_eviction_priority, _LEVEL1, "level1_eviction_priority")
    modifiers += _known(level_prefetch_size, _LEVEL2, "level_prefetch_size")
    width, carrier = dtype.storage_width, _CARRIERS[dtype.storage_width]
    value = raw_ptx(
        f"ld{modifiers}.b{width} $0, [$1];", carrier, f"={CONSTRAINTS[carrier]},{_letter(ptr)}", ptr.toint().ir()
    )
    if dtype is Boolean:
        return Boolean(
            arithmetic.compare(
                "ne",
                arithmetic.binary("and", value, mlir.constant(255, value.type), False),
                mlir.constant(0, value.type),
                False,
            )
        )
    if width == 8:
        value = mlir.result("arith.trunci", mlir.i8, value)
    return dtype(value if value.type == dtype.carrier else mlir.result("arith.bitcast", dtype.carrier, value))


def store(
    ptr: Pointer,
    val: Any,
    *,
    level1_eviction_priority: str | None = None,
    cop: str | None = None,
    ss: str | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> None:
    """Write `val`, in its own type, at `ptr`. `sem` is relaxed or release and needs a `scope`;
    `cop` is wb, cg, cs or wt.

    PTX ISA: st
    """
    number = numeric(val)
    if number is None or type(number).is_packed or type(number).width > 64:
        raise DSLUserCodeTypeError(
            Phrase("store writes one number of up to 64 bits, got {val}", val=type_name(val)),
            fix=Phrase("store several as a tensor: `cute.make_tensor(ptr, 4).store(values)`", "IN_CUTE"),
        )
    ptr = as_pointer(ptr, type(number))
    modifiers = _order("store", ptr, sem, ("relaxed", "release"), scope, cop, ("wb", "cg", "cs", "wt"), ss)
    modifiers += _known(level1_eviction_priority, _LEVEL1, "level1_eviction_priority")
    dtype = type(number)
    carrier, value = _CARRIERS[dtype.storage_width], number.ir()
    if value.type != carrier:
        narrow = isinstance(value.type, mlir.ir.IntegerType)
        value = mlir.result("arith.extui" if narrow else "arith.bitcast", carrier, value)
    ptx(
        f"st{modifiers}.b{dtype.storage_width} [$0], $1;",
        None,
        f"{_letter(ptr)},{CONSTRAINTS[carrier]}",
        ptr.toint().ir(),
        value,
    )


def load_words(ptr: Pointer, modifiers: str, bits: int, word_bits: int = 32) -> list[mlir.Value]:
    """The value at `ptr`: an integer of 8 or 16 bits, or one, two or four words of 32 or 64.

    `modifiers` as PTX writes them. PTX ISA: each element of a vector is a separate access.
    """
    width = min(bits, word_bits)
    count, carrier = bits // width, _CARRIERS[width]
    results = ["=" + CONSTRAINTS[carrier]] * count
    if count > 1:
        names = ", ".join(f"${i}" for i in range(count))
        text = f"ld{modifiers}.v{count}.b{width} {{{names}}}, [${count}];"
        whole = raw_ptx(text, mlir.struct(*[carrier] * count), ",".join([*results, _letter(ptr)]), ptr.toint().ir())
        return [mlir.field(whole, i, carrier) for i in range(count)]
    text = f"ld{modifiers}.b{width} $0, [$1];"
    value = raw_ptx(text, carrier, f"{results[0]},{_letter(ptr)}", ptr.toint().ir())
    return [mlir.result("arith.trunci", mlir.i8, value) if width == 8 else value]


def store_words(ptr: Pointer, modifiers: str, words: list[mlir.Value]) -> None:
    """Write what load_words gives."""
    if len(words) > 1:
        names, letter = ", ".join(f"${1 + i}" for i in range(len(words))), CONSTRAINTS[words[0].type]
        text = f"st{modifiers}.v{len(words)}.b{words[0].type.width} [$0], {{{names}}};"
        ptx(text, None, ",".join([_letter(ptr), *letter * len(words)]), ptr.toint().ir(), *words)
        return
    bits = words[0].type.width
    carrier = _CARRIERS[bits]
    value = mlir.result("arith.extui", carrier, words[0]) if bits == 8 else words[0]
    text = f"st{modifiers}.b{bits} [$0], $1;"
    ptx(text, None, f"{_letter(ptr)},{CONSTRAINTS[carrier]}", ptr.toint().ir(), value)


def _letter(ptr: Pointer) -> str:
    return "r" if ptr.space is AddressSpace.smem else "l"


def _order(
    what: str,
    ptr: Pointer,
    sem: str | None,
    sems: tuple,
    scope: str | None,
    cop: str | None,
    cops: tuple,
    ss: str | None,
) -> str:
    """Order, scope, space and cache operation, as PTX writes them."""
    if not isinstance(ptr, Pointer) or ptr.space not in (AddressSpace.gmem, AddressSpace.smem, AddressSpace.generic):
        raise DSLUserCodeTypeError(
            Phrase("{what} needs a pointer to global or shared memory, got {ptr}", what=what, ptr=type_name(ptr)),
            fix=Phrase("cute.arch.{what}(tensor.iterator + i, ...)", "IN_CUTE", what=what),
        )
    for word, values, name in (
        (sem, (None, *sems), "sem"),
        (scope, _SCOPES, "scope"),
        (cop, (None, *cops), "cop"),
        (ss, (None, "cta", "cluster"), "ss"),
    ):
        if word not in values:
            raise DSLUserCodeValueError(
                f"{name} of a {what} must be one of {', '.join(values[1:])}, got {shown(word)}",
                fix=f'{name}="{values[1]}"',
            )
    if sem is not None and scope is None:
        raise DSLUserCodeValueError(f'sem="{sem}" needs the scope of the threads it is for', fix='scope="gpu"')
    if sem is not None and cop is not None:
        raise DSLUserCodeValueError(
            f'cop="{cop}" is for accesses without an order, but sem is "{sem}"', fix="leave one out"
        )
    if ss is not None and ptr.space is not AddressSpace.smem:
        raise DSLUserCodeValueError(
            f"ss is for shared memory, but the pointer is to {ptr.space} memory", fix="leave ss out"
        )
    if ss == "cluster":
        raise DSLUserCodeValueError(
            'ss="cluster" is not part of this compiler yet',
            id="UNSUPPORTED_NAME",
            fix=Phrase("see docs/cute.md", "IN_CUTE"),
        )
    space = {AddressSpace.gmem: ".global", AddressSpace.smem: ".shared", AddressSpace.generic: ""}[ptr.space]
    return (f".{sem}.{scope}" if sem else "") + space + (f".{cop}" if cop else "")


def _known(word: str | None, words: dict, name: str) -> str:
    if word not in words:
        raise DSLUserCodeValueError(
            f"{name} must be one of {', '.join(filter(None, words))}, got {shown(word)}",
            fix=f'{name}="{next(iter(words))}"',
        )
    return words[word]


def prefetch(
    addr: Pointer,
    *,
    cache_level: str | None = None,
    evict_priority: CacheEvictionPriority | None = None,
    predicate: Any = None,
    tensormap: bool | None = None,
    uniform: bool | None = None,
    in_param_space: bool | None = None,
) -> None:
    """Bring the line of `addr` into a cache, "L1" (the default) or "L2"; `evict_priority` is of L2.
    PTX ISA: prefetch"""
    if tensormap or uniform or in_param_space:
        raise DSLUserCodeValueError(
            "prefetch of tensor maps and of the uniform cache needs a generic pointer",
            fix="cpasync.prefetch_descriptor(tma_atom)",
        )
    if not isinstance(addr, Pointer) or addr.space not in (AddressSpace.gmem, AddressSpace.generic):
        raise DSLUserCodeTypeError(
            Phrase("prefetch needs a pointer to global memory, got {addr}", addr=type_name(addr)),
            fix=Phrase("cute.arch.prefetch(tensor.iterator)", "IN_CUTE"),
        )
    level = cache_level or "L1"
    if level not in ("L1", "L2") or evict_priority not in (
        None,
        CacheEvictionPriority.EVICT_LAST,
        CacheEvictionPriority.EVICT_NORMAL,
    ):
        raise DSLUserCodeValueError(
            f"prefetch fills L1 or L2, got {shown(cache_level)}, {shown(evict_priority)}", fix='cache_level="L2"'
        )
    priority = "" if evict_priority is None else f"::{evict_priority.name.lower()}"
    space = ".global" if addr.space is AddressSpace.gmem else ""
    text, operands, constraints = f"prefetch{space}.{level}{priority} [$0];", [addr.toint()], "l"
    if predicate is not None and is_dynamic(numeric(predicate)):
        text, constraints = f"@$1 {text}", "l,b"
        operands.append(Boolean(predicate))
    elif predicate is not None and not predicate:
        return
    ptx(text, None, constraints, *operands)
