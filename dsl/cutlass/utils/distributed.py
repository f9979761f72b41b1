"""`cutlass.utils.distributed`: what kernels of several GPUs count with; here are those of ordinary memory."""

from __future__ import annotations

from typing import Any

from dsl.core.diagnosis.author_traceback import guard as _guard
from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Int32
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import Pointer
from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.gpu import atomic
from dsl.primitives import memory

__all__ = ["atomicAdd", "red_add1"]


def atomicAdd(dst_ptr: Pointer, val: Any) -> Int32:
    """Add to the Int32 at `dst_ptr`, as all GPUs see it; gives the old value.  PTX ISA: atom."""
    return Int32(atomic.update("add", _counter("atomicAdd", dst_ptr), Int32(val), "relaxed", "sys"))


def red_add1(lock_ptr: Pointer, *, order: str, scope: str) -> None:
    """Add 1 to the Int32 at `lock_ptr`; `order` is relaxed or release, `scope` cta, cluster, gpu or sys.

    PTX ISA: red.
    """
    memory.red("add", "s32", _counter("red_add1", lock_ptr), Int32(1), mem_order=order, mem_scope=scope)


def _counter(name: str, pointer: Any) -> Pointer:
    if not isinstance(pointer, Pointer):
        raise DSLUserCodeTypeError(f"{name} takes a pointer, got {type_name(pointer)}", fix="tensor.iterator + i")
    return pointer if pointer.dtype is Int32 else pointer.recast(Int32)


__getattr__ = _refuser("cutlass.utils.distributed")

_guard(globals())
