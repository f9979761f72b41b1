"""The kernel's dynamic shared memory as one region: where it starts, and how a place in it is aligned."""

from __future__ import annotations

import math
import re

from dsl.core import trace
from dsl.core.ir import mlir
from dsl.core.number.pointer import AddressSpace

REGION = "__dynamic_shmem__0"
REGION_ALIGNMENT_BYTES = 1024
_SCALAR = re.compile(r"b?[if](\d+)")
_DYNAMIC = -(1 << 31)  # how llvm.getelementptr writes that an index is an operand


def region_start() -> mlir.Value:
    """The address of the kernel's dynamic shared memory."""
    module = trace.kernel().module
    module.declare(
        REGION,
        f"llvm.mlir.global external @{REGION}() {{addr_space = 3 : i32, alignment = "
        f"{REGION_ALIGNMENT_BYTES} : i64}} : !llvm.array<0 x i8>",
    )
    return mlir.result("llvm.mlir.addressof", mlir.ptr(AddressSpace.smem), global_name=mlir.symbol_attr(REGION))


def placement_bytes(address: mlir.Value) -> int:
    """The alignment in bytes of an address at a known offset from the region's start; 1 for any other address."""
    place, made = 0, _made(address)
    while made is not None and made.name == "llvm.getelementptr":
        element, indices = (
            _SCALAR.fullmatch(str(made.attributes["elem_type"].value)),
            made.attributes["rawConstantIndices"],
        )
        if element is None or indices[0] == _DYNAMIC:
            return 1
        place += indices[0] * int(element[1]) // 8
        made = _made(made.operands[0])
    if made is None or made.name != "llvm.mlir.addressof" or made.attributes["global_name"].value != REGION:
        return 1
    return math.gcd(place, REGION_ALIGNMENT_BYTES)


def _made(value: mlir.Value) -> mlir.Operation | None:
    """The operation that gives a value; None for an argument of a block."""
    return None if isinstance(value.owner, mlir.Block) else value.owner.operation
