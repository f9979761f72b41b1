"""The statements that traced kernels become on their way to CUDA C++, and what is asked of ops and statements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dsl.analysis.mlir_reader import Op, Value

_PURE = ("arith.", "math.", "vector.", "ub.")
_PURE_LLVM = {
    "llvm.getelementptr",
    "llvm.load",
    "llvm.mlir.poison",
    "llvm.mlir.undef",
    "llvm.mlir.zero",
    "llvm.mlir.constant",
    "llvm.mlir.addressof",
    "llvm.addrspacecast",
    "llvm.ptrtoint",
    "llvm.inttoptr",
    "llvm.bitcast",
    "llvm.extractvalue",
    "llvm.insertvalue",
}
_PURE_CALLS = (
    "fma",
    "fabs",
    "sqrt",
    "floor",
    "ceil",
    "trunc",
    "round",
    "rint",
    "nearbyint",
    "copysign",
    "fpto",
    "ctpop",
    "ctlz",
    "cttz",
    "bitreverse",
    "is.fpclass",
    "umul",
    "smul",
    "fshl",
    "fshr",
    "minnum",
    "maxnum",
    "minimum",
    "maximum",
    "exp",
    "log",
    "sin",
    "cos",
    "pow",
    "abs",
    "smin",
    "smax",
    "umin",
    "umax",
    "nvvm.read.ptx.sreg.tid",
    "nvvm.read.ptx.sreg.ntid",
    "nvvm.read.ptx.sreg.ctaid",
    "nvvm.read.ptx.sreg.nctaid",
    "nvvm.read.ptx.sreg.laneid",
    "nvvm.read.ptx.sreg.warpsize",
    "nvvm.read.ptx.sreg.cluster",
    "nvvm.f",
    "nvvm.add",
    "nvvm.mul",
    "nvvm.div",
    "nvvm.rcp",
    "nvvm.sqrt",
    "nvvm.rsqrt",
    "nvvm.ex2",
    "nvvm.lg2",
    "nvvm.sin",
    "nvvm.cos",
    "nvvm.ff",
    "nvvm.d2",
    "nvvm.e4m3",
    "nvvm.e5m2",
)


def is_pure(op: Op) -> bool:
    """Whether an op only computes: it may be left out, or computed where its value is used. A load counts as one."""
    if op.name == "llvm.call_intrinsic":
        return op.callee.startswith(_PURE_CALLS)
    return op.name.startswith(_PURE) or op.name in _PURE_LLVM


@dataclass
class Compute:
    """An op with its operands as they are on this path."""

    op: Op


@dataclass
class Copies:
    """Variables that get their values all at once."""

    pairs: list[tuple[Value, Value]]


@dataclass
class Branch:
    """`if`; `joined`: the variable of each value in which its arms meet."""

    condition: Value
    then: list
    orelse: list
    op: Op
    joined: list[Value] = field(default_factory=list)


@dataclass
class Loop:
    """`variable` counts (`bounds`: start, stop and step), or `test` decides, after the statements of `head`."""

    op: Op
    body: list
    variables: list[Value]
    variable: Value | None = None
    bounds: tuple[Value, ...] = ()
    head: list = field(default_factory=list)
    test: Value | None = None
    leaves: list[Value] = field(default_factory=list)


@dataclass
class Jump:
    """break, continue or return."""

    word: str


def names_of(op: Op) -> list[str]:
    """The author's names of an op's results, "" for one without."""
    text = op.attributes.get("dsl.names", "")
    names = text.split(",") if text else []
    return names + [""] * (len(op.results) - len(names))


def constant_of(value: Value) -> Any:
    """The number of a constant, None for what is none."""
    op = value.op
    return op.attributes["value"] if op is not None and op.name == "arith.constant" else None


def walk(statements: list) -> Iterator:
    """All statements, outer ones first."""
    for statement in statements:
        yield statement
        if isinstance(statement, Branch):
            yield from walk(statement.then)
            yield from walk(statement.orelse)
        elif isinstance(statement, Loop):
            yield from walk(statement.head)
            yield from walk(statement.body)


def reads_all(statement) -> list[Value]:
    """The values that a statement itself reads, a loop's test among them."""
    if isinstance(statement, Compute):
        return statement.op.operands
    if isinstance(statement, Copies):
        return [source for _, source in statement.pairs]
    if isinstance(statement, Branch):
        return [statement.condition]
    if isinstance(statement, Loop):
        return [*statement.bounds, *([statement.test] if statement.test is not None else [])]
    return []
