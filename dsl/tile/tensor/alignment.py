"""Whether an access is aligned, and if not: what is not known to be aligned, and what makes it so."""

from __future__ import annotations

from typing import Any

from dsl.core.errors import DSLUserCodeError
from dsl.core.ir import mlir, zero_bits
from dsl.core.number.pointer import Pointer, element_bytes
from dsl.core.state import in_kernel, this_thread
from dsl.layout.int_tuple import flatten_to_tuple, is_constant
from dsl.tile.tensor.tensor import Tensor


def check_alignment(start: Pointer, what: str, wanted_bytes: int, side: str) -> None:
    """Raise DSLUserCodeError unless `start` is known to be a multiple of `wanted_bytes`."""
    known_bytes = start.proven_alignment_bytes
    if known_bytes >= wanted_bytes:
        return
    causes = _causes(start, wanted_bytes)
    raise DSLUserCodeError(
        f"{what} needs addresses that are multiples of {wanted_bytes} bytes, but the addresses of the {side} are only "
        f"known to be multiples of {known_bytes}" + "".join(f"; {cause}" for cause, _ in causes),
        fix="; ".join(dict.fromkeys(fix for _, fix in causes))
        or f"assumed_align={wanted_bytes} where the tensor is made, byte_alignment={wanted_bytes} where it is "
        "allocated; offsets keep it where their static strides are multiples",
    )


def _causes(start: Pointer, wanted_bytes: int) -> list[tuple[str, str]]:
    """The values that are not known to be aligned, and what makes them so."""
    elements = max(wanted_bytes // element_bytes(start.dtype), 1) if not start.dtype.is_packed else wanted_bytes
    lacking = zero_bits.lacking(start.address, wanted_bytes.bit_length() - 1)
    return list(dict.fromkeys(_cause(value, start, wanted_bytes, elements) for value in lacking))


def _cause(value: mlir.Value, start: Pointer, wanted_bytes: int, elements: int) -> tuple[str, str]:
    name = this_thread.functions[-1].argument_of(value) if in_kernel() else None
    argument = this_thread.functions[-1].arguments.get(name) if name else None
    if str(value.type).startswith("!llvm.ptr"):
        return _cause_in_memory(name, argument, wanted_bytes, start.proven_alignment_bytes)
    known = 1 << zero_bits.known(value)
    if isinstance(argument, Tensor):
        mode = _contiguous_mode(argument)
        return (
            f"a stride of `{name}` is dynamic, and only known to be a multiple of {known}",
            f"`.mark_compact_shape_dynamic(mode={mode}, divisibility={elements})` of it, if they are multiples of "
            f"{elements}",
        )
    return (
        f"`{name}` is only known to be a multiple of {known}"
        if name
        else f"an offset is only known to be a multiple of {known}",
        f"if it is a multiple of {elements}, declare it: `cute.assume({name or 'offset'}, divby={elements})`",
    )


def _cause_in_memory(name: str | None, argument: Any, wanted_bytes: int, known_bytes: int) -> tuple[str, str]:
    if isinstance(argument, Tensor):
        return (
            f"`{name}` is only known to start at a multiple of {argument.pointer().alignment_bytes} bytes",
            f"`from_dlpack(t, assumed_align={wanted_bytes})` where `{name}` is made",
        )
    if isinstance(argument, Pointer):
        return (
            f"`{name}` is only known to be a multiple of {argument.alignment_bytes} bytes",
            f"`make_ptr(..., assumed_align={wanted_bytes})` where `{name}` is made",
        )
    return (
        f"a static offset or its allocation leaves a multiple of {known_bytes} bytes",
        f"`byte_alignment={wanted_bytes}` where it is allocated, static offsets that are multiples of {wanted_bytes} "
        f"bytes, or num_bits_per_copy={known_bytes * 8}",
    )


def _contiguous_mode(tensor: Tensor) -> int:
    """The mode whose elements follow one another."""
    strides = flatten_to_tuple(tensor.stride)
    return next((mode for mode, stride in enumerate(strides) if is_constant(stride, 1)), 0)
