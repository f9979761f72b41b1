"""Facts about an integer while compiling: value = residue + a multiple of divisor, read off the ops that made it.

The law: x * c is a multiple of c, sums add, shifts multiply by powers of two, masks clear low bits.
"""

from __future__ import annotations

import math
from typing import Any

from dsl.core.ir import mlir
from dsl.core.number.dtypes import Numeric, is_dynamic
from dsl.tirx.values.promotion import number_of

_MOST = 1 << 20
_DEPTH = 24


def residue(value: Any) -> tuple[int, int]:
    """(divisor, residue) of a number: divisor 0 where it is known (and is the residue), 1 where nothing is."""
    number = number_of(value)
    if not is_dynamic(number):
        return 0, int(number.value)
    return _of(number.value, 0)


def is_multiple(value: Any, of: int) -> bool | None:
    """Whether a number is a multiple of `of`; None where that is not known."""
    divisor, rest = residue(value)
    common = math.gcd(divisor, of)
    if divisor == 0 or common == of:
        return rest % of == 0
    return False if rest % common else None


def op_of(value: mlir.Value) -> mlir.Operation | None:
    """The op that defines a value, None for an argument."""
    owner = value.owner
    owner = getattr(owner, "operation", owner)
    return owner if isinstance(owner, mlir.Operation) else None


def constant(value: mlir.Value) -> int | None:
    """The integer of a constant, None for other values."""
    op = op_of(value)
    if op is None or op.name != "arith.constant":
        return None
    attribute = op.attributes["value"]
    return attribute.value if isinstance(attribute, mlir.ir.IntegerAttr) else None


def _normal(divisor: int, rest: int) -> tuple[int, int]:
    divisor = abs(divisor)
    return divisor, rest % divisor if divisor else rest


def _of(value: mlir.Value, depth: int) -> tuple[int, int]:
    op = op_of(value)
    if op is None or depth > _DEPTH:
        return 1, 0
    if op.name == "arith.constant":
        number = constant(value)
        return (1, 0) if number is None else (0, number)
    if op.name in ("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast"):
        return _of(op.operands[0], depth + 1)
    if op.name not in _RULES:
        return 1, 0
    multiple = _RULES[op.name](*(_of(operand, depth + 1) for operand in op.operands))
    return multiple if multiple[0] <= _MOST else (1, 0)


def _sum(sign: int):
    def rule(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return _normal(math.gcd(a[0], b[0]), a[1] + sign * b[1])

    return rule


def _product(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return _normal(math.gcd(a[0] * b[0], math.gcd(a[0] * b[1], b[0] * a[1])), a[1] * b[1])


def _shifted(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return (a[0] << b[1], a[1] << b[1]) if b[0] == 0 and 0 <= b[1] < 20 else (1, 0)


def _masked(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    low = b[1] & -b[1] if b[0] == 0 and b[1] else 1
    return _normal(low, 0)


_RULES = {
    "arith.addi": _sum(1),
    "arith.subi": _sum(-1),
    "arith.muli": _product,
    "arith.shli": _shifted,
    "arith.andi": _masked,
}


def key(value: Any) -> Any:
    """A key that is equal for two numbers computed in the same way."""
    number = number_of(value)
    return int(number.value) if not is_dynamic(number) else _key(number.value, 0)


def _key(value: mlir.Value, depth: int) -> Any:
    op = op_of(value)
    if op is None or not op.name.startswith("arith.") or depth > _DEPTH:
        return hash(value)
    inner = tuple(_key(operand, depth + 1) for operand in op.operands)
    return op.name, "" if op.name != "arith.constant" else str(op.attributes["value"]), inner


def difference(a: Any, b: Any) -> int | None:
    """a - b where both are the same sum up to a constant; None where that is not seen."""
    left, right = (_sum_of(number_of(value)) for value in (a, b))
    rest = {term: left.get(term, 0) - right.get(term, 0) for term in left | right}
    constant_part = rest.pop(None, 0)
    return None if any(rest.values()) else constant_part


def _sum_of(number: Numeric) -> dict[Any, int]:
    """An integer as a sum: the factor of each term, and the constant for None."""
    return _terms(number.value, 1, 0) if is_dynamic(number) else {None: int(number.value)}


def _terms(value: mlir.Value, factor: int, depth: int) -> dict[Any, int]:
    if (number := constant(value)) is not None:
        return {None: factor * number}
    op = op_of(value)
    if op is None or op.name not in ("arith.addi", "arith.subi", "arith.muli") or depth > _DEPTH:
        return {_key(value, 0): factor}
    left, right = op.operands
    if op.name == "arith.muli":
        scale = constant(right)
        return {_key(value, 0): factor} if scale is None else _terms(left, factor * scale, depth + 1)
    parts = _terms(left, factor, depth + 1), _terms(right, factor if op.name == "arith.addi" else -factor, depth + 1)
    return {term: sum(part.get(term, 0) for part in parts) for term in parts[0] | parts[1]}


def root(address: mlir.Value) -> Any:
    """The address that an address was computed from."""
    op = op_of(address)
    while op is not None and op.name in ("llvm.getelementptr", "llvm.addrspacecast"):
        address = op.operands[0]
        op = op_of(address)
    return hash(address)
