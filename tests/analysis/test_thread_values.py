"""The values in each thread: the rules by operation."""

from __future__ import annotations

import pytest

from dsl.analysis.mlir_reader import Block, Op, Value
from dsl.analysis.thread_values import UNIFORM, AtLeast, AtMost, OneOf, Shifted, ThreadValues

THREADS = 4
NUMBERS, CONSTANT = [0, 1, 2, 3], [2, 2, 2, 2]
SHIFTED = Shifted((0, 1, 2, 3))


def _result(name: str, types: str, *operands, attributes: dict | None = None):
    """The value of an op in `THREADS` threads; `types`: the type of its operands and of its result."""
    values = ThreadValues((THREADS, 1, 1))
    operand_type, result_type = types.split()
    function = Op("llvm.func", [], [], {}, None)
    arguments = [Value(operand_type, Block(function), index) for index in range(len(operands))]
    values.values.update(zip(arguments, operands))
    return values.of(Op(name, arguments, [result_type], attributes or {}, None).result)


ADDED, SHIFTED_BY_2, LESS = [2, 3, 4, 5], Shifted((2, 3, 4, 5)), Shifted((-2, -1, 0, 1))
BINARY = [
    ("arith.addi", NUMBERS, CONSTANT, ADDED),
    ("arith.addi", SHIFTED, CONSTANT, SHIFTED_BY_2),
    ("arith.addi", CONSTANT, SHIFTED, SHIFTED_BY_2),
    ("arith.addi", UNIFORM, NUMBERS, SHIFTED),
    ("arith.addi", UNIFORM, SHIFTED, SHIFTED),
    ("arith.addi", UNIFORM, UNIFORM, UNIFORM),
    ("arith.addi", UNIFORM, CONSTANT, UNIFORM),
    ("arith.addi", SHIFTED, SHIFTED, None),
    ("arith.addi", NUMBERS, None, None),
    ("arith.subi", SHIFTED, CONSTANT, LESS),
    ("arith.subi", UNIFORM, SHIFTED, None),  # the shared part is subtracted
    ("arith.subi", NUMBERS, SHIFTED, None),
    ("arith.muli", SHIFTED, CONSTANT, Shifted((0, 2, 4, 6))),
    ("arith.muli", SHIFTED, NUMBERS, None),
    ("arith.muli", UNIFORM, CONSTANT, UNIFORM),
    ("arith.remui", NUMBERS, CONSTANT, [0, 1, 0, 1]),
    ("arith.remui", UNIFORM, CONSTANT, UNIFORM),
    ("arith.remui", SHIFTED, CONSTANT, None),
]


def test_integers_of_two_operands():
    for name, a, b, expected in BINARY:
        assert _result(name, "i32 i32", a, b) == expected, (name, a, b)


CONDITIONS = [
    ("arith.andi", [1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]),
    ("arith.andi", [1, 0, 1, 0], UNIFORM, AtMost(0b0101)),
    ("arith.andi", [1, 0, 1, 0], None, AtMost(0b0101)),
    ("arith.andi", UNIFORM, None, None),
    ("arith.andi", OneOf((0b0011, 0b1100)), [1, 0, 1, 0], OneOf((0b0001, 0b0100))),
    ("arith.andi", OneOf((0b0011, 0b1100)), None, None),
    ("arith.ori", [1, 0, 1, 0], None, AtLeast(0b0101)),
    ("arith.ori", UNIFORM, UNIFORM, UNIFORM),
    ("arith.ori", AtMost(1), None, None),
    ("arith.xori", AtMost(0b0101), [1] * 4, AtLeast(~0b0101)),
    ("arith.xori", AtLeast(0b0101), [1] * 4, AtMost(~0b0101)),
    ("arith.xori", UNIFORM, [1] * 4, UNIFORM),
    ("arith.xori", UNIFORM, [0] * 4, UNIFORM),
    ("arith.xori", OneOf((1, 2)), [1] * 4, None),
]


def test_conditions_of_two_operands():
    for name, a, b, expected in CONDITIONS:
        assert _result(name, "i1 i1", a, b) == expected, (name, a, b)


EQUAL = [
    (NUMBERS, CONSTANT, [0, 0, 1, 0]),
    (UNIFORM, CONSTANT, UNIFORM),
    (UNIFORM, NUMBERS, OneOf((1, 2, 4, 8))),
    (SHIFTED, CONSTANT, OneOf((1, 2, 4, 8))),
    (Shifted((0, 0, 1, 1)), UNIFORM, OneOf((0b0011, 0b1100))),
    (SHIFTED, NUMBERS, None),
    (SHIFTED, SHIFTED, None),
    (None, CONSTANT, None),
]


def test_equality_parts_the_threads_into_classes():
    for a, b, expected in EQUAL:
        assert _result("arith.cmpi", "i32 i1", a, b, attributes={"predicate": 0}) == expected, (a, b)


@pytest.mark.parametrize("name", ["llvm.load", "llvm.call", "scf.while"])
def test_results_of_memory_and_loops_are_not_known(name):
    assert _result(name, "i32 i32", UNIFORM) is None


def test_an_operation_without_a_rule_keeps_what_threads_share():
    assert _result("arith.addf", "f32 f32", UNIFORM, UNIFORM) is UNIFORM
    assert _result("arith.addf", "f32 f32", UNIFORM, None) is None
