"""Ops of `nvvm` that NVIDIA's bindings have and MLIR's own do not. They take and give SSA values."""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Callable
from typing import Any

from dsl.core.errors import DSLUserCodeValueError, warn_not_portable
from dsl.core.ir import mlir
from dsl.core.number.dtypes import BFloat16, Float16, Float32, Float64, Int32, Int64, Numeric, Uint32, Uint64, numeric
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.gpu.arithmetic import math
from dsl.gpu.memory import atomic
from dsl.primitives import memory


class AtomicOpKind(enum.IntEnum):
    """The kind of an atomic operation. `U`: of unsigned integers, `F`: of floats."""

    AND, OR, XOR, CAS, EXCH, ADD, INC, DEC, MIN, MAX, UMIN, UMAX, FADD, SUB = range(14)


class MemOrderKind(enum.IntEnum):
    """The order of a memory operation."""

    WEAK, RELAXED, ACQUIRE, RELEASE, ACQ_REL, SC, MMIO, CONSTANT, VOLATILE = range(9)


class MemScopeKind(enum.IntEnum):
    """The threads that see a memory operation in order."""

    CTA, CLUSTER, GPU, SYS = range(4)


class ReductionOp(enum.IntEnum):
    """The kind of a reduction in memory."""

    AND, OR, XOR, ADD, INC, DEC, MIN, MAX = range(8)


class ReductionType(enum.IntEnum):
    """The type that a reduction takes its operands for."""

    B32, B64, U32, U64, S32, S64, F32, F64, F16, F16X2, BF16, BF16X2 = range(12)


class SharedSpace(enum.IntEnum):
    """Shared memory of this block, or of any in the cluster."""

    shared_cta, shared_cluster = range(2)


def _result_type_first(op: Callable[..., mlir.Value]) -> Callable[..., mlir.Value]:
    """Releases up to 4.3 were given the type of the result before the operands."""

    @functools.wraps(op)
    def call(*operands: Any, **more: Any) -> mlir.Value:
        if operands and isinstance(operands[0], mlir.Type):
            warn_not_portable(
                f"`nvvm.{op.__name__}` takes no type of the result today",
                "CALL_EXTRA_ARG",
                fix=f"nvvm.{op.__name__}(a, b)",
            )
            operands = operands[1:]
        return op(*operands, **more)

    return call


@_result_type_first
def fmax(a: Any, b: Any, *, c: Any = None, ftz=None, nan=None, abs=None, results=None, loc=None, ip=None) -> mlir.Value:
    """The larger of two f32.  PTX ISA: max."""
    return _extreme(math.fmax, a, b, c, ftz=bool(ftz), nan=bool(nan), abs=bool(abs))


@_result_type_first
def fmin(a: Any, b: Any, *, c: Any = None, ftz=None, nan=None, abs=None, results=None, loc=None, ip=None) -> mlir.Value:
    """The smaller of two f32.  PTX ISA: min."""
    return _extreme(math.fmin, a, b, c, ftz=bool(ftz), nan=bool(nan), abs=bool(abs))


def _extreme(of_two: Any, a: Any, b: Any, c: Any, **flags) -> mlir.Value:
    if c is not None:
        raise DSLUserCodeValueError(
            "max and min of three numbers need compute capability 10", fix="nest two of them", id="UNSUP_ARCH"
        )
    return of_two(Float32(a), Float32(b), **flags).ir()


_INTEGERS = {mlir.i32: (Int32, Uint32), mlir.i64: (Int64, Uint64)}
_FLOATS = {mlir.f32: Float32, mlir.f64: Float64, mlir.f16: Float16, mlir.bf16: BFloat16}


def atomicrmw(
    op: AtomicOpKind,
    ptr: Any,
    a: Any,
    *,
    b: Any = None,
    mem_order: MemOrderKind | None = None,
    syncscope: MemScopeKind | None = None,
    results=None,
    loc=None,
    ip=None,
) -> mlir.Value:
    """`*ptr = *ptr op a`; gives the old value.  PTX ISA: atom.

    Raises DSLUserCodeValueError for CAS, INC and DEC.
    """
    name = AtomicOpKind(op).name.lower()
    if name in ("cas", "inc", "dec"):
        raise DSLUserCodeValueError(
            f"nvvm.atomicrmw has no {name.upper()} here", fix="call cute.arch.atomic_cas", id="ATOMIC_TYPE"
        )
    unsigned = name in ("umin", "umax")
    name = name.removeprefix("u").removeprefix("f")
    value = numeric(a)
    kind = value.ir().type if value is not None else a.type
    dtype: type[Numeric] = _INTEGERS[kind][unsigned] if kind in _INTEGERS else _FLOATS[kind]
    sem = None if mem_order is None else MemOrderKind(mem_order).name.lower()
    scope = None if syncscope is None else MemScopeKind(syncscope).name.lower()
    return atomic.update(name, _pointer(dtype, ptr), dtype(a), sem, scope).ir()


def red(
    op: ReductionOp,
    type_: ReductionType,
    a: Any,
    b: Any,
    *,
    mem_order: MemOrderKind | None = None,
    mem_scope: MemScopeKind | None = None,
    shared_space: SharedSpace | None = None,
    cache_hint: Any = None,
    loc=None,
    ip=None,
) -> None:
    """`*a = *a op b`, without the old value, in order `RELAXED` or `RELEASE`.  PTX ISA: red.

    The kind of the pointer `a` decides which memory it is. `shared_space` is a parameter of earlier releases, whose
    pointers to shared memory may be of another block.
    """
    kind = ReductionType(type_).name.lower()
    if mem_order is None:
        raise DSLUserCodeValueError("nvvm.red needs an order", fix="mem_order=nvvm.MemOrderKind.RELAXED")
    at = _pointer(Int32, a)
    if shared_space is not None:
        warn_not_portable("`shared_space` of nvvm.red is of earlier releases", fix="a pointer of map_dsmem_ptr")
        if SharedSpace(shared_space) is SharedSpace.shared_cluster and at.space is AddressSpace.smem:
            at = Pointer(Int32, at.toint().ir(), AddressSpace.dsmem)
    scope = None if mem_scope is None else MemScopeKind(mem_scope).name.lower()
    name, order = ReductionOp(op).name.lower(), MemOrderKind(mem_order).name.lower()
    memory.red(name, kind, at, b, mem_order=order, mem_scope=scope, cache_hint=cache_hint)


def _pointer(dtype: type[Numeric], address: Any) -> Pointer:
    """A pointer at an address that is a pointer of the DSL or an SSA value of type `!llvm.ptr<space>`."""
    if isinstance(address, Pointer):
        return Pointer(dtype, address.address, address.space)
    space = re.search(r"<(\d+)>", str(address.type))
    return Pointer(dtype, address, AddressSpace(int(space[1])) if space else AddressSpace.generic)
