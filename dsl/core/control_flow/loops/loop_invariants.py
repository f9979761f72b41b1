"""After tracing: loops stop carrying what every trip leaves unchanged.

This waits for the end of the function, because erasing a block argument leaves the author's Python objects that still
hold it dangling; by then nothing of the author's runs any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dsl.core.control_flow.loops import register_loops
from dsl.core.control_flow.text import result_names
from dsl.core.ir import mlir
from dsl.core.ir.mlir import Block, Operation, Value


@dataclass
class Loop:
    """An scf.for or scf.while as traced: `leading` operands before the initial values, blocks from first to last.

    Each block's arguments end with the carried variables, and its terminator's operands too.
    """

    operation: Operation
    leading: list[Value]
    initial: list[Value]
    blocks: list[Block]
    terminators: list[Operation]
    attributes: dict = field(default_factory=dict)

    def simplify(self) -> None:
        """Rebuild the loop without the variables that its last block yields as they came."""
        for name, value in register_loops.annotation(self.operation).items():
            self.attributes[name] = self.operation.attributes[name] = value
        count = len(self.initial)
        arguments = _carried(self.blocks[-1].arguments, count)
        yielded = _carried(self.terminators[-1].operands, count)
        dropped = [k for k in range(count) if arguments[k] == yielded[k]]
        if not dropped:
            return
        kept = [k for k in range(count) if k not in dropped]
        initial = list(self.operation.operands)[len(self.leading) :]
        for k in dropped:
            self.operation.results[k].replace_all_uses_with(initial[k])
            for block in self.blocks:
                _carried(block.arguments, count)[k].replace_all_uses_with(initial[k])
        for terminator in self.terminators:
            self._shorten(terminator, kept, count)
        for block in self.blocks:
            first = len(block.arguments) - count
            for k in reversed(dropped):
                block.erase_argument(first + k)
        self._replace([initial[k] for k in kept], kept)

    def _shorten(self, terminator: Operation, kept: Sequence[int], count: int) -> None:
        operands = list(terminator.operands)
        carried = operands[len(operands) - count :]
        _insert_before(
            terminator, terminator.name, [], [*operands[: len(operands) - count], *(carried[k] for k in kept)]
        )
        terminator.erase()

    def _replace(self, initial: list[Value], kept: Sequence[int]) -> None:
        old = self.operation
        moved = _insert_before(
            old,
            old.name,
            [value.type for value in initial],
            [*list(old.operands)[: len(self.leading)], *initial],
            result_names.kept(self.attributes, kept),
            len(self.blocks),
        )
        for region, block in enumerate(self.blocks):
            block.append_to(moved.regions[region])
        for position, k in enumerate(kept):
            old.results[k].replace_all_uses_with(moved.results[position])
        old.erase()


def _carried(values: Sequence[Value], count: int) -> list[Value]:
    every = list(values)
    return every[len(every) - count :]


def _insert_before(
    anchor: Operation, name: str, results: list, operands: list[Value], attributes: dict | None = None, regions: int = 0
) -> Operation:
    return Operation.create(
        name,
        results=results,
        operands=operands,
        attributes=attributes,
        regions=regions,
        loc=anchor.location,
        ip=mlir.ir.InsertionPoint(anchor),
    )
