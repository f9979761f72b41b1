"""The author's names of traced values: from the assignments of the source, by the place a value was computed at.

`x = a * b` names the value that the expression `a * b` came to, `i, j = f()` the values of the call in their order,
`x += y` the sum. Names only make text readable: a wrong one changes nothing.
"""

from __future__ import annotations

import ast
import functools
import linecache
import re

from dsl.analysis.mlir_reader import Value
from dsl.readable_cuda.statements import Compute, walk

RESERVED = frozenset(
    """
alignas alignof and asm auto bool break case catch char class const constexpr continue default delete do
double else enum explicit export extern false float for friend goto if inline int long mutable namespace new
not operator or private protected public register return short signed sizeof static struct switch template
this throw true try typedef typename union unsigned using virtual void volatile while xor threadIdx blockIdx
blockDim gridDim warpSize min max abs exp log sin cos pow sqrt floor ceil round trunc fma isnan isinf printf
floordiv bits_as Vector float2 float4 int2 int4 half main std signbit clock y0 y1 j0 j1 yn jn gamma index rint
fmin fmax div
""".split()
)


def of_values(statements: list) -> dict[Value, str]:
    """A name for each computed value that an assignment of the source gives one."""
    groups: dict[tuple, list[Value]] = {}
    consumed: set[Value] = set()
    elsewhere: set[Value] = set()  # used by operations at another place
    author_names: dict[Value, str] = {}
    for statement in walk(statements):
        place = statement.op.place if isinstance(statement, Compute) else None
        if not isinstance(statement, Compute) or place is None:
            continue
        op = statement.op
        key = (place.file, place.line, place.column)
        if op.name == "llvm.alloca":
            targets = assignments(place.file).get(key[1:], [])
            author_names.update((op.result, name) for name in targets if len(targets) == 1 and name)
            continue
        again = key[1:] in augmented(place.file)  # `x += y` of one trip after `x += y` of another
        elsewhere.update(operand for operand in op.operands if operand.op is not None and operand.op.place != place)
        consumed.update(
            operand
            for operand in op.operands
            if operand.op is not None and operand.op.place == place and not (again and operand.op.name == op.name)
        )
        groups.setdefault(key, []).extend(op.results)
    for (file, line, column), values in groups.items():
        targets = assignments(file).get((line, column))
        if not targets and (line, column) in domains(file):  # a loop that became a grid: a thread's own trip
            author_names.update(zip([value for value in values if value in elsewhere], domains(file)[line, column]))
        if not targets:
            continue
        roots = [value for value in values if value not in consumed and value.defining_op.name != "arith.constant"]
        if len(targets) == 1:
            names = targets * len(roots)
            if len(roots) > 1 and (line, column) not in augmented(file):
                roots = roots[-1:]
        else:
            names = [targets[k % len(targets)] for k in range(len(roots))] if len(roots) % len(targets) == 0 else []
        author_names.update((value, name) for value, name in zip(roots, names) if name)
    return author_names


@functools.lru_cache(maxsize=64)
def _nodes(file: str) -> tuple[ast.AST, ...]:
    """All nodes of a file's syntax tree; none for a file that cannot be read or parsed."""
    try:
        return tuple(ast.walk(ast.parse("".join(linecache.getlines(file)))))
    except (SyntaxError, ValueError):
        return ()


@functools.lru_cache(maxsize=64)
def assignments(file: str) -> dict[tuple[int, int], list[str]]:
    """The names that each assignment of a file binds ("" for other targets), by the place of its value."""
    targets_at: dict[tuple[int, int], list[str]] = {}
    for node in _nodes(file):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            targets = _names(node.targets[0])
            if isinstance(node.value, ast.Tuple) and len(node.value.elts) == len(targets):
                for value, name in zip(node.value.elts, targets):
                    targets_at[value.lineno, value.col_offset + 1] = [name]
            else:
                targets_at[node.value.lineno, node.value.col_offset + 1] = targets
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets_at[node.value.lineno, node.value.col_offset + 1] = _names(node.target)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):  # `a: T.f32[4]` declares an array
            targets_at[node.lineno, node.col_offset + 1] = _names(node.target)
        elif isinstance(node, ast.NamedExpr):
            targets_at[node.value.lineno, node.value.col_offset + 1] = _names(node.target)
    return {key: names for key, names in targets_at.items() if any(names)}


@functools.lru_cache(maxsize=64)
def domains(file: str) -> dict[tuple[int, int], list[str]]:
    """The loop variables of each `for`, by the place of its iterable."""
    return {
        (node.iter.lineno, node.iter.col_offset + 1): names
        for node in _nodes(file)
        if isinstance(node, ast.For) and all(names := _names(node.target))
    }


@functools.lru_cache(maxsize=64)
def counters(file: str) -> dict[tuple[int, int], str]:
    """The loop variable of each `for`, by where its range starts; of several of one `for`, where each stands."""
    loops = [node for node in _nodes(file) if isinstance(node, ast.For)]
    several = {
        (name.lineno, name.col_offset + 1): name.id
        for node in loops
        if isinstance(node.target, ast.Tuple)
        for name in node.target.elts
        if isinstance(name, ast.Name)
    }
    return several | {
        (node.iter.lineno, node.iter.col_offset + 1): node.target.id
        for node in loops
        if isinstance(node.target, ast.Name)
    }


@functools.lru_cache(maxsize=64)
def augmented(file: str) -> frozenset[tuple[int, int]]:
    """The places of the statements `x += y` of a file."""
    return frozenset((node.lineno, node.col_offset + 1) for node in _nodes(file) if isinstance(node, ast.AugAssign))


def _names(target: ast.expr) -> list[str]:
    if isinstance(target, ast.Name):
        return ["" if target.id == "_" else target.id]
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for item in target.elts for name in _names(item)]
    if isinstance(target, ast.Attribute):
        return [target.attr]
    return [""]


_EVERYWHERE = "everywhere"


class Namer:
    """Makes C++ names that are unique among nested scopes."""

    def __init__(self):
        self.taken: dict[str, list[tuple[tuple, frozenset]]] = {}

    def _is_free(self, name: str, scope: tuple, blocks: frozenset) -> bool:
        """Whether nothing of that name is declared in the same block, or hidden in a block where it is used."""
        for other_scope, used in self.taken.get(name, ()):
            inner, outer_used = (other_scope, blocks) if len(other_scope) >= len(scope) else (scope, used)
            shorter = min(len(other_scope), len(scope))
            if other_scope[:shorter] == scope[:shorter] and (
                len(other_scope) == len(scope) or not inner or inner[-1] in outer_used or _EVERYWHERE in outer_used
            ):
                return False
        return name not in RESERVED

    def fresh(
        self, wanted: str, fallback: str = "v", scope: tuple = (), blocks: frozenset = frozenset([_EVERYWHERE])
    ) -> str:
        """`wanted` as a C++ name, with a number where it is taken. `scope`: the blocks it is seen in, outer ones first;
        `blocks`: those that it is used in."""
        name = wanted.removeprefix("__dsl_")
        if wanted.startswith("__dsl_"):
            name = re.sub(r"_\d+$", "", name)
        name = re.sub(r"\W+", "_", name).strip("_") or fallback
        if name[0].isdigit():
            name = fallback + name
        chosen, number = name, 0
        while not self._is_free(chosen, scope, blocks):
            number += 1
            chosen = f"{name}_{number}"
        self.taken.setdefault(chosen, []).append((scope, blocks))
        return chosen
