"""Threads that meet and shuffles between lanes, by TVM's portable names."""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.number.dtypes import Numeric, Uint32, is_dynamic, numeric
from dsl.core.phrase import shown
from dsl.gpu.threads import sync, warp
from dsl.gpu.threads.registers import activemask
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.values.effects import noted
from dsl.tirx.values.promotion import instead_of

__all__ = [
    "tvm_storage_sync",
    "tvm_warp_activemask",
    "tvm_warp_shuffle",
    "tvm_warp_shuffle_down",
    "tvm_warp_shuffle_up",
    "tvm_warp_shuffle_xor",
]


@noted
def tvm_storage_sync(scope: str) -> None:
    """Wait for all threads of the block ("shared"), or of the warp ("warp")."""
    if scope not in ("shared", "shared.dyn", "warp"):
        raise DSLUserCodeValueError(f"no threads meet over {shown(scope)}", fix='"shared" or "warp"', id="STORAGE_SYNC")
    (sync.sync_warp if scope == "warp" else sync.sync_threads)()


def _segment(width: Any) -> int:
    number = numeric(width)
    if number is None or is_dynamic(number) or int(number.value) not in (1, 2, 4, 8, 16, 32):
        raise DSLUserCodeValueError(
            "the width of a shuffle is 1, 2, 4, 8, 16 or 32, known while compiling", id="SHUFFLE_WIDTH", fix="width=32"
        )
    return (32 - int(number.value)) << 8


def shuffle(kind: str, mask: Any, value: Any, operand: Any, width: Any = 32) -> Any:
    """`value` of another lane.  PTX ISA: shfl.sync. CUDA C++ Programming Guide: Warp Shuffle Functions."""
    if numeric(value) is None:
        raise DSLUserCodeTypeError(
            f"a shuffle moves a number, got {type_name(value)}", id="OPERAND_TYPE", fix=instead_of(value)
        )
    clamp = _segment(width) | (0 if kind == "up" else 31)
    return warp.shuffle_sync_op(value, operand, Uint32(numeric(mask)), clamp, kind)


@noted
def tvm_warp_shuffle(mask: Any, value: Any, warp_id: Any, width: Any = 32, warp_size: Any = 32) -> Any:
    """`value` of lane `warp_id` of the segment."""
    return shuffle("idx", mask, value, warp_id, width)


@noted
def tvm_warp_shuffle_up(mask: Any, value: Any, offset: Any, width: Any = 32, warp_size: Any = 32) -> Any:
    """`value` of the lane `offset` below."""
    return shuffle("up", mask, value, offset, width)


@noted
def tvm_warp_shuffle_down(mask: Any, value: Any, offset: Any, width: Any = 32, warp_size: Any = 32) -> Any:
    """`value` of the lane `offset` above."""
    return shuffle("down", mask, value, offset, width)


@noted
def tvm_warp_shuffle_xor(mask: Any, value: Any, lane_mask: Any, width: Any = 32, warp_size: Any = 32) -> Any:
    """`value` of the lane whose number is this one's xor `lane_mask`."""
    return shuffle("bfly", mask, value, lane_mask, width)


@noted
def tvm_warp_activemask() -> Numeric:
    """The lanes that run together."""
    return activemask()
