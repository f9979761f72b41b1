"""After tracing: loops that index a register tensor by their variable are unrolled whole.

Registers have no addresses: a tensor is in registers only if each index is a number. LLVM promotes it once the loop is
unrolled, and would not unroll it for that. A loop that is not unrolled keeps the tensor in local memory, which is
global memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from dsl.core.ir import mlir
from dsl.core.ir.mlir import Block, Operation, Value

MOST_OPERATIONS = 1 << 14  # of all trips together: above that the code would take long to compile and to fetch
_ANNOTATION = "llvm.loop_annotation"


def annotation(loop: Operation) -> dict:
    """The attributes that unroll an scf.for of known bounds whose variable indexes a register tensor; none if the
    author chose how to unroll it."""
    if loop.name != "scf.for" or _ANNOTATION in loop.attributes:
        return {}
    trips, block = _number(loop.operands[1]), loop.regions[0].blocks[0]  # every loop is traced from 0, by 1
    if trips is None or trips * _size(block) > MOST_OPERATIONS or not _indexes_registers(block):
        return {}
    with mlir.context:
        return {_ANNOTATION: mlir.ir.Attribute.parse("#llvm.loop_annotation<unroll = <full = true>>")}


def _size(block: Block) -> int:
    """How many operations a block becomes once the loops in it that are to be unrolled whole are."""
    size = 0
    for each in block.operations:
        operation = each.operation
        trips = 1
        if operation.name == "scf.for" and "full = true" in str(operation.attributes.get(_ANNOTATION, "")):
            trips = _number(operation.operands[1]) or 1
        size += 1 + trips * sum(_size(inner) for region in operation.regions for inner in region.blocks)
    return size


def _operations(block: Block) -> Iterator[Operation]:
    """The operations of a block and of all blocks in them, in their order."""
    for operation in block.operations:
        yield operation.operation
        for region in operation.operation.regions:
            for inner in region.blocks:
                yield from _operations(inner)


def _indexes_registers(block: Block) -> bool:
    """Whether an address in a register tensor depends on the variable of the loop whose body this is."""
    dependent = {block.arguments[0]}
    for operation in _operations(block):
        operands = list(operation.operands)
        if any(operand in dependent for operand in operands):
            dependent.update(operation.results)
            if operation.name == "llvm.getelementptr" and _is_register(operands[0]):
                return True
    return False


def _is_register(pointer: Value) -> bool:
    definition = _definition(pointer)
    while definition is not None and definition.name in ("llvm.getelementptr", "llvm.addrspacecast"):
        definition = _definition(definition.operands[0])
    return definition is not None and definition.name == "llvm.alloca"


def _number(value: Value) -> int | None:
    definition = _definition(value)
    if definition is None or definition.name != "arith.constant":
        return None
    return mlir.ir.IntegerAttr(definition.attributes["value"]).value


def _definition(value: Value) -> Operation | None:
    """The operation that gives a value; None for an argument of a block."""
    return None if isinstance(value.owner, Block) else value.owner.operation
