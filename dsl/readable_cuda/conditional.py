"""Branches that stand for an expression (`a if c else b`, `if_then_else`) as C++'s `?:`,
which evaluates one side too."""

from __future__ import annotations

from dsl.readable_cuda.statements import Branch, Compute, Copies, Loop, is_pure, reads_all, walk
from dsl.readable_cuda.variables import TRANSPARENT

_WORDS = ("the conditional expression", "the choice", "the condition of the loop")


def as_expressions(statements: list) -> list:
    """`statements` with an expression for each branch that does nothing but choose one value."""
    reads: dict = {}
    for statement in walk(statements):
        for value in reads_all(statement):
            reads[value] = reads.get(value, 0) + 1
    return _converted(statements, reads)


def _converted(statements: list, reads: dict) -> list:
    out: list = []
    for statement in statements:
        if isinstance(statement, Branch):
            statement.then, statement.orelse = (_converted(arm, reads) for arm in (statement.then, statement.orelse))
            out += _choice(statement, reads) or [statement]
            continue
        if isinstance(statement, Loop):
            statement.head, statement.body = (_converted(part, reads) for part in (statement.head, statement.body))
        out.append(statement)
    return out


def _choice(branch: Branch, reads: dict) -> list | None:
    if len(branch.joined) != 1 or branch.joined[0].defining_op.attributes["name"] not in _WORDS:
        return None
    (chosen,), sources, computed = branch.joined, [], []
    for arm in (branch.then, branch.orelse):
        if not arm or not isinstance(arm[-1], Copies) or [target for target, _ in arm[-1].pairs] != [chosen]:
            return None
        for statement in arm[:-1]:
            if not isinstance(statement, Compute) or not is_pure(statement.op):
                return None
            if statement.op.name not in TRANSPARENT and reads.get(statement.op.result, 0) != 1:
                return None
        sources.append(arm[-1].pairs[0][1])
        computed += arm[:-1]
    op = chosen.defining_op
    op.name, op.operands, op.attributes = "arith.select", [branch.condition, *sources], {"choice": True}
    return [*computed, Compute(op)]
