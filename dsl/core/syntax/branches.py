"""An `if` with its `elif`s as calls of a hook: some arms are closures side by side, and the next ones inside the last.

A closure inside another for each arm would take Python's compiler quadratic time. Side by side each is reached from all
before it, and control_flow.mutable_state looks through what an arm reaches: so there are few.
"""

from __future__ import annotations

import ast
from typing import Any

from dsl.core.syntax.assigned_names import assigned_in
from dsl.core.syntax.liveness import Placed

SIDE_BY_SIDE = 8

_Arm = tuple[ast.If, dict[str, Placed], list[str]]  # the statement, what it assigns, and what of that it carries


def rewritten(rewriter: Any, node: ast.If, around: str) -> list[ast.stmt]:
    """`then_1, else_1 = closures; x, y = if_(test, then_1, else_1, (x, y), places)`, where `else_1` asks for the next
    arm: `x = if_(test_2, then_2, else_2, (x,), places)`. `around`: the kind of statement that an arm is."""
    chain = _chain(rewriter, node)
    outer, calls, blocks = rewriter.around, [], []
    for depth, (arm, assigned, names) in enumerate(chain):
        rewriter.around = (*outer, *(around,) * depth)
        rewriter._warn_of_lambdas(arm, assigned)
        then, orelse = rewriter._fresh("then"), rewriter._fresh("else")
        calls.append(rewriter._branch(arm, then, orelse, names, assigned))
        blocks.append((then, orelse, rewriter._block(arm.body, around)))
    last = rewriter._block(chain[-1][0].orelse, around)
    rewriter.around = outer
    result: list[ast.stmt] = []
    for position in reversed(range(len(chain))):
        (arm, _, names), (then, orelse, body) = chain[position], blocks[position]
        closures: list[ast.stmt] = [rewriter._closure(then, names, body), rewriter._closure(orelse, names, last)]
        result += rewriter._located(arm, closures)
        last = rewriter._located(arm, [rewriter._assign(names, calls[position])])
    return [*result, *last]


def _chain(rewriter: Any, node: ast.If) -> list[_Arm]:
    """The `if` and the `elif`s whose arms can be arms of the same branch.

    An arm reads what the statements around it carry and it does not from the function: that must have a value there.
    """
    chain = [_arm(rewriter, node)]
    while len(chain) < SIDE_BY_SIDE:
        orelse, before = chain[-1][0].orelse, set(chain[-1][2])
        inner = orelse[0] if len(orelse) == 1 else None
        if not isinstance(inner, ast.If) or not rewriter._is_dynamic(inner):
            return chain
        arm = _arm(rewriter, inner)
        may_lack = (before - set(arm[2])) & (rewriter.suspects | rewriter.deleted)
        if may_lack or any(isinstance(part, ast.NamedExpr) for part in ast.walk(inner.test)):
            return chain
        chain.append(arm)
    return chain


def _arm(rewriter: Any, node: ast.If) -> _Arm:
    assigned = assigned_in([*node.body, *node.orelse], rewriter.assignments)
    return node, assigned, rewriter._carried(node, assigned)
