"""Traced MLIR text read into plain Python objects: what uniformity and cuda_text walk.

A module holds `llvm.func` kernels whose control flow is scf: every region has one block. Ops are those that tracing
makes; nothing is interpreted here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dsl.core.ir import mlir
from dsl.span import Span

_NO_ATTRIBUTES: dict = {}


class Value:
    """An SSA value: its MLIR type as text, the op or block that defines it, its index there."""

    __slots__ = ("type", "owner", "index")

    def __init__(self, type_: str, owner: Op | Block, index: int):
        self.type, self.owner, self.index = type_, owner, index

    @property
    def op(self) -> Op | None:
        """The op that computes it, None for a block argument."""
        return self.owner if isinstance(self.owner, Op) else None

    @property
    def defining_op(self) -> Op:
        """The op that computes a value that is not a block argument."""
        assert isinstance(self.owner, Op)
        return self.owner


class Op:
    """An op: name, operands, results, attributes as Python numbers and texts, blocks (one a region), its place."""

    __slots__ = ("name", "operands", "results", "attributes", "blocks", "place", "block")

    def __init__(
        self,
        name: str,
        operands: list[Value],
        types: list[str],
        attributes: dict,
        place: Span | None,
        block: Block | None = None,
    ):
        self.name, self.operands, self.attributes, self.place = name, operands, attributes, place
        self.results = [Value(type_, self, index) for index, type_ in enumerate(types)]
        self.blocks: list[Block] = []
        self.block = block

    @property
    def result(self) -> Value:
        return self.results[0]

    @property
    def callee(self) -> str:
        """The intrinsic (without `llvm.`) or function that a call calls; "" for other ops."""
        if self.name == "llvm.call_intrinsic":
            return self.attributes["intrin"].removeprefix("llvm.")
        return self.attributes.get("callee", "").removeprefix("@") if self.name == "llvm.call" else ""

    def walk(self) -> Iterator[Op]:
        """The op and all ops inside it, in order."""
        yield self
        for block in self.blocks:
            for op in block.ops:
                yield from op.walk()


class Block:
    """The one block of a region."""

    __slots__ = ("arguments", "ops", "owner")

    def __init__(self, owner: Op):
        self.owner = owner
        self.arguments: list[Value] = []
        self.ops: list[Op] = []


@dataclass
class Module:
    """The kernels of a module; its globals and declarations by symbol, the texts among them as bytes."""

    kernels: list[Op] = field(default_factory=list)
    globals: dict[str, Op] = field(default_factory=dict)
    declared: dict[str, Op] = field(default_factory=dict)


def read(mlir_text: str) -> Module:
    """Parse a traced device module. Raises the bindings' MLIRError for text that is not MLIR."""
    with mlir.context:
        parsed = mlir.ir.Module.parse(mlir_text)
    reader, module = _Reader(), Module()
    for operation in parsed.operation.regions[0].blocks[0].operations:
        op = reader.op(operation.operation, None)
        symbol = op.attributes.get("sym_name", "")
        if op.name == "llvm.func":
            (module.kernels.append(op) if op.blocks else module.declared.update({symbol: op}))
        else:
            module.globals[symbol] = op
    return module


class _Reader:
    def __init__(self):
        self.values: dict[Any, Value] = {}
        self.types: dict[Any, str] = {}
        self.places: dict[tuple, Span] = {}

    def op(self, operation, block: Block | None) -> Op:
        results = operation.results
        op = Op(
            operation.name,
            [self.values[operand] for operand in operation.operands],
            [self._type(result.type) for result in results],
            _attributes(operation),
            self._place(operation),
            block,
        )
        for result, value in zip(results, op.results):
            self.values[result] = value
        for region in operation.regions:
            blocks = list(region.blocks)
            inner_blocks = [self._block(inner, op) for inner in blocks]
            op.blocks += _in_one(inner_blocks) if len(inner_blocks) > 1 and _follow_each_other(blocks) else inner_blocks
        return op

    def _block(self, parsed, owner: Op) -> Block:
        block = Block(owner)
        for index, argument in enumerate(parsed.arguments):
            value = self.values[argument] = Value(self._type(argument.type), block, index)
            block.arguments.append(value)
        for operation in parsed.operations:
            block.ops.append(self.op(operation.operation, block))
        return block

    def _type(self, type_) -> str:
        cached = self.types.get(type_)
        if cached is None:
            cached = self.types[type_] = str(type_)
        return cached

    def _place(self, operation) -> Span | None:
        at = mlir.without_calls(operation.location)
        file = getattr(at, "filename", None)
        if file is None:
            return None
        key = (str(file), at.start_line, at.start_col)
        cached = self.places.get(key)
        if cached is None:
            cached = self.places[key] = Span(*key)
        return cached


def _follow_each_other(blocks: list) -> bool:
    """Whether each block of a function only goes on to the next."""
    for block, after in zip(blocks, blocks[1:]):
        ops = list(block.operations)
        last = ops[-1].operation
        if last.name != "llvm.br" or len(last.operands) or last.successors[0] != after:
            return False
    return True


def _in_one(blocks: list[Block]) -> list[Block]:
    """One block with the ops of blocks that follow each other."""
    first = blocks[0]
    for block in blocks[1:]:
        first.ops.pop()
        first.ops += block.ops
    return [first]


# Attributes that do not change the meaning of an op here.
_LEFT_OUT = frozenset(
    (
        "overflowFlags",
        "fastmathFlags",
        "fastmath",
        "op_bundle_sizes",
        "operandSegmentSizes",
        "CConv",
        "linkage",
        "unnamed_addr",
        "visibility_",
        "ordering",
        "TailCallKind",
    )
)


def _attributes(operation) -> dict:
    attributes = operation.attributes
    if not len(attributes):
        return _NO_ATTRIBUTES
    table = {}
    for name in attributes:
        if name not in _LEFT_OUT:
            attribute = attributes[name]
            value = getattr(attribute, "value", None)
            table[name] = value if isinstance(value, (int, float, str)) else _of(attribute)
    return table


def _of(attribute) -> Any:
    if isinstance(attribute, (mlir.ir.DenseI32ArrayAttr, mlir.ir.DenseI64ArrayAttr)):
        return tuple(attribute)
    return str(attribute)
