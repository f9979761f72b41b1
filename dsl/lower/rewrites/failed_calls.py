"""A host function ends with the first launch that fails, and where a signal's handler raises in a loop."""

from __future__ import annotations

import itertools

from dsl.core.ir import mlir

_MAY_FAIL = "dsl_launch", "dsl_turn"
_NOT_EQUAL = 1  # of llvm.icmp's predicates


def return_after_failed_call(module: mlir.Operation) -> None:
    """After each call of `@dsl_launch` and `@dsl_turn`, return what it gave if that is not 0.

    The module is of the llvm dialect.
    """
    for block in {call.block: None for call in mlir.operations_named(module, "llvm.call") if _may_fail(call)}:
        _split(block)


def _may_fail(operation: mlir.Operation) -> bool:
    return operation.name == "llvm.call" and getattr(operation.attributes.get("callee"), "value", "") in _MAY_FAIL


def _split(block: mlir.Block) -> None:
    """Divide a block after each call that may fail."""
    current = block
    for operation, following in itertools.pairwise(list(block.operations)):
        if current is not block:
            current.append(following)
        if _may_fail(operation):
            current = _return_if_failed(operation.results[0], current, following)


def _return_if_failed(code: mlir.Value, block: mlir.Block, following: mlir.Operation) -> mlir.Block:
    """Return `code` if it is not 0; otherwise go on in a new block, which `following` is moved to."""
    with mlir.context:
        failed, after = block.create_after(), block.create_after()
    with mlir.building(failed) as build:
        build("llvm.return", [], [code])
    with mlir.building(following) as build:
        none = build("llvm.mlir.constant", [mlir.i32], attributes={"value": mlir.int_attr(0, mlir.i32)}).results[0]
        is_failed = build("llvm.icmp", [mlir.i1], [code, none], {"predicate": mlir.int_attr(_NOT_EQUAL)}).results[0]
        sizes = {"operandSegmentSizes": mlir.i32_array_attr([1, 0, 0])}
        build("llvm.cond_br", [], [is_failed], sizes, [failed, after])
    after.append(following)
    return after
