"""Copies between global and shared memory.  PTX ISA: Data Movement and Conversion Instructions."""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.number.dtypes import Int32, Numeric, is_dynamic, static_int
from dsl.core.number.operators import type_name
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.core.phrase import Phrase
from dsl.gpu.inline import intrinsic


def cp_async(dst: Pointer, src: Pointer, nbytes: int, src_bytes=None, cache: str = "ca") -> None:
    """Copy `src_bytes` of `nbytes` (4, 8, 16) global -> shared and fill the rest with zeros, asynchronously.

    `cache` is ca (all levels) or cg (L2 only, 16 bytes).  PTX ISA: cp.async. Raises DSLUserCodeError for another size.
    """
    legal = (16,) if cache == "cg" else (4, 8, 16)
    if nbytes not in legal:
        raise DSLUserCodeError(
            f"cp.async.{cache} copies {' or '.join(map(str, legal))} bytes, got {nbytes}",
            fix=f"num_bits_per_copy={legal[-1] * 8}",
        )
    if src.space != AddressSpace.gmem or dst.space != AddressSpace.smem:
        raise DSLUserCodeError(
            f"cp.async copies gmem to smem, got {src.space.name} to {dst.space.name}",
            fix="use a CopyUniversalOp atom for other memory",
        )
    size = () if src_bytes is None else (Int32(src_bytes),)
    intrinsic(f"nvvm.cp.async.{cache}.shared.global.{nbytes}{'.s' if size else ''}", None, dst, src, *size)


def cp_async_commit_group() -> None:
    """Close a group of cp.async.  PTX ISA: cp.async.commit_group."""
    intrinsic("nvvm.cp.async.commit.group", None)


def cp_async_wait_group(n: int) -> None:
    """Wait until at most `n` of the latest groups are in flight; `n` is static.  PTX ISA: cp.async.wait_group."""
    intrinsic("nvvm.cp.async.wait.group", None, static_count(n))


def cp_async_bulk_commit_group() -> None:
    """Close a group of this thread's bulk copies to global memory.  PTX ISA: cp.async.bulk.commit_group."""
    intrinsic("nvvm.cp.async.bulk.commit.group", None)


def cp_async_bulk_wait_group(group: int, *, read: bool | None = None) -> None:
    """Wait until at most `group` of the latest bulk groups are in flight; `read`: until their sources have been read.

    `group` is static.  PTX ISA: cp.async.bulk.wait_group.
    """
    intrinsic(f"nvvm.cp.async.bulk.wait.group{'.read' if read else ''}", None, static_count(group))


def static_count(count: Any) -> Int32:
    """A number of groups: part of the instruction."""
    if not isinstance(count, int) and (not isinstance(count, Numeric) or is_dynamic(count)):
        raise DSLUserCodeTypeError(
            Phrase("number of groups must be known while compiling, got {count}", count=type_name(count)),
            fix="write the number: 0 waits for all of them",
            id="PHASE_REQUIRES_CONSTANT",
        )
    if (number := static_int(count)) is not None and number < 0:
        raise DSLUserCodeValueError(
            f"number of groups must be at least 0, got {number}",
            fix="write 0 to wait for all of them",
            id="GROUP_COUNT",
        )
    return Int32(count)
