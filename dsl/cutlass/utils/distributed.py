"""`cutlass.utils.distributed`: counters for kernels of several GPUs; here only the counters in ordinary memory."""

from __future__ import annotations

from typing import Any

from dsl.core.diagnosis.author_traceback import guard as _guard
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Int32
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import Pointer
from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.gpu.memory import atomic
from dsl.gpu.threads import spin_lock
from dsl.primitives import memory

__all__ = [
    "atomicAdd",
    "red_add1",
    "spin_lock_atom_cas_acquire_wait",
    "spin_lock_atom_cas_relaxed_wait",
    "spin_lock_ld_lt_relaxed_wait",
]


def atomicAdd(dst_ptr: Pointer, val: Any) -> Int32:
    """Add to the Int32 at `dst_ptr`, as all GPUs see it; gives the old value.  PTX ISA: atom."""
    return Int32(atomic.update("add", _counter("atomicAdd", dst_ptr), Int32(val), "relaxed", "sys"))


def red_add1(lock_ptr: Pointer, *, order: str, scope: str) -> None:
    """Add 1 to the Int32 at `lock_ptr`; `order` is relaxed or release, `scope` cta, cluster, gpu or sys.

    PTX ISA: red.
    """
    memory.red("add", "s32", _counter("red_add1", lock_ptr), Int32(1), mem_order=order, mem_scope=scope)


def spin_lock_atom_cas_acquire_wait(lock_ptr: Pointer, *, expected_val: Any, reset_val: Any, scope: str) -> None:
    """Wait until the Int32 at `lock_ptr` is `expected_val`, and write `reset_val`; then what was written before the
    count is seen. `scope` is gpu or sys.
    """
    lock = _counter("spin_lock_atom_cas_acquire_wait", lock_ptr)
    spin_lock.swapped(lock, expected_val, reset_val, "acquire", scope)


def spin_lock_atom_cas_relaxed_wait(lock_ptr: Pointer, *, expected_val: Any, reset_val: Any, scope: str) -> None:
    """As spin_lock_atom_cas_acquire_wait, for the count alone."""
    lock = _counter("spin_lock_atom_cas_relaxed_wait", lock_ptr)
    spin_lock.swapped(lock, expected_val, reset_val, "relaxed", scope)


def spin_lock_ld_lt_relaxed_wait(lock_ptr: Pointer, *, expected_val: Any, scope: str) -> None:
    """Wait until the Int32 at `lock_ptr` is `expected_val` or more; `scope` is gpu or sys."""
    spin_lock.reached(_counter("spin_lock_ld_lt_relaxed_wait", lock_ptr), expected_val, scope)


def _counter(name: str, pointer: Any) -> Pointer:
    if not isinstance(pointer, Pointer):
        raise DSLUserCodeTypeError(f"{name} takes a pointer, got {type_name(pointer)}", fix="tensor.iterator + i")
    return pointer if pointer.dtype is Int32 else pointer.recast(Int32)


__getattr__ = _refuser("cutlass.utils.distributed")

_guard(globals())
