"""Loads and stores of several contiguous elements at once."""

from __future__ import annotations

from dsl.core.ir import mlir
from dsl.core.number.pointer import AddressSpace, Pointer, span_bytes
from dsl.tile.tensor import packed

_WIDEST_BYTES = 16  # an access reads or writes


def _vector_type(pointer: Pointer, count: int) -> mlir.Type:
    element = pointer.dtype.storage_type()
    if pointer.dtype.is_packed:
        packed.check_copy(pointer, count)
        count = span_bytes(pointer.dtype, count)
    return element if count == 1 else mlir.vector(element, count)


def _access_bytes(pointer: Pointer, count: int) -> int:
    """The alignment an access may rely on: what is known of the pointer, at most the size of the access.

    In shared memory, at most the size of the widest: LLVM makes one access of neighbours there, whose alignment a
    swizzle hides from it.
    """
    size_bytes = span_bytes(pointer.dtype, count)
    most = _WIDEST_BYTES if pointer.space is AddressSpace.smem else size_bytes & -size_bytes
    return min(pointer.alignment_bytes, most)


def load_vector(pointer: Pointer, count: int) -> mlir.Value:
    """`count` contiguous elements as stored in memory: a Boolean is a byte, elements of parts of one are bytes."""
    return mlir.load(pointer.address, _vector_type(pointer, count), _access_bytes(pointer, count))


def store_vector(pointer: Pointer, value: mlir.Value) -> None:
    """Store what load_vector read, or a vector of as many elements of the same type."""
    count = value.type.shape[0] if isinstance(value.type, mlir.ir.VectorType) else 1
    if pointer.dtype.is_packed:
        packed.check_copy(pointer, count := count * 8 // pointer.dtype.storage_width)
    mlir.store(value, pointer.address, _access_bytes(pointer, count))
