"""`a ** b` on SSA values of one type."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dsl.core.ir import arithmetic, mlir
from dsl.core.ir.mlir import Value


def loop(initial: Sequence[Value], test: Callable[..., Value], body: Callable[..., Sequence[Value]]) -> list[Value]:
    """While `test(*values)`: values = body(*values). The values after it."""
    types = [value.type for value in initial]
    op = mlir.op("scf.while", types, list(initial), regions=2)
    before, after = (region.blocks.append(*types, arg_locs=[op.location] * len(types)) for region in op.regions)
    with mlir.inside(before):
        mlir.op("scf.condition", [], [test(*before.arguments), *before.arguments])
    with mlir.inside(after):
        mlir.op("scf.yield", [], list(body(*after.arguments)))
    return list(op.results)


def integer(base: Value, exponent: Value, signed: bool) -> Value:
    """By squaring, wrapping. A negative exponent gives 0, except for 1 and -1;
    0 to a negative power is all ones, as x // 0."""

    def constant(number: int) -> Value:
        return mlir.constant(number, base.type)

    def step(result: Value, square: Value, rest: Value) -> tuple[Value, Value, Value]:
        odd = arithmetic.compare("ne", arithmetic.binary("and", rest, constant(1), False), constant(0), False)
        return (
            arithmetic.select(odd, arithmetic.binary("mul", result, square, signed), result),
            arithmetic.binary("mul", square, square, signed),
            mlir.result("arith.shrui", base.type, rest, constant(1)),
        )

    if base.type.width == 1:
        return arithmetic.binary("or", base, arithmetic.binary("xor", exponent, constant(-1), False), False)
    rest = exponent
    if signed:
        negative = arithmetic.compare("lt", exponent, constant(0), True)
        rest = arithmetic.select(negative, arithmetic.binary("and", exponent, constant(1), True), exponent)
    power = loop(
        [constant(1), base, rest], lambda _, __, left: arithmetic.compare("ne", left, constant(0), False), step
    )[0]
    if not signed:
        return power
    unit = arithmetic.compare("lt", arithmetic.binary("add", base, constant(1), True), constant(3), False)  # -1, 0 or 1
    is_zero = arithmetic.compare("eq", base, constant(0), True)
    inverse = arithmetic.select(is_zero, constant(-1), arithmetic.select(unit, power, constant(0)))
    return arithmetic.select(negative, inverse, power)
