"""Operators: every operator and pair of types has the same type as upstream; static folding is numpy's arithmetic."""

import json
import operator
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dsl.core.number import dtypes, operators
from dsl.core.number.dtypes import Boolean, Float16, Float32, Int8, Int32, Int64, Uint8, Uint32
from tests import fork_server

TABLE = Path(__file__).parents[1] / "operator_table.json"


def run_table(*compiler: str, **variables: str) -> dict:
    env = {**os.environ, "CUTE_DSL_ARCH": "sm_90a"} | variables
    run = fork_server.run([*compiler, str(TABLE.with_suffix(".py"))], env=env)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout[run.stdout.index("{") :])


def differing(recorded: dict, found: dict) -> dict:
    """The differences of two tables, by row, except upstream's refusals of static results that need wrapping."""
    rows = {}
    for kind, table in recorded.items():
        assert table.keys() == found[kind].keys()
        for name, row in table.items():
            row, ours = (cells.split() if isinstance(cells, str) else cells for cells in (row, found[kind][name]))
            assert len(row) == len(ours)
            wrong = [(place, a, b) for place, (a, b) in enumerate(zip(row, ours)) if a != b and a != "overflow"]
            rows |= {(kind, name): wrong} if wrong else {}
    return rows


@pytest.mark.slow
def test_types_and_values_of_operators_are_those_recorded_of_upstream():
    recorded = json.loads(TABLE.read_text())
    cells = [len(row.split() if isinstance(row, str) else row) for table in recorded.values() for row in table.values()]
    assert sum(cells) > 20_000
    assert differing(recorded, run_table("-m", "dsl")) == {}


@pytest.mark.slow
def test_the_recorded_table_is_what_upstream_gives(libgcc_13):
    assert run_table(**libgcc_13) == json.loads(TABLE.read_text())


@pytest.mark.filterwarnings("ignore::dsl.core.errors.DSLWarning")
@given(st.integers(-(2**63), 2**64 - 1), st.sampled_from(["int8", "uint8", "int32", "uint32", "int64", "uint64"]))
def test_integers_wrap(number, name):
    dtype = getattr(dtypes, name.capitalize())
    wrapped = np.array(number & (2**64 - 1), np.uint64).astype(name)
    assert dtype(number).value == int(wrapped)


@pytest.mark.filterwarnings("ignore::dsl.core.errors.DSLWarning")
@given(st.floats(allow_nan=False), st.sampled_from(["float16", "float32"]))
def test_floats_round_to_nearest_even_when_they_become_code(number, name):
    dtype = getattr(dtypes, name.capitalize())
    assert dtype(number).value == number
    with np.errstate(over="ignore"):
        assert dtype.constant_of(number) == float(np.dtype(name).type(number))


@given(
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**31), 2**31 - 1),
    st.sampled_from(["add", "sub", "mul", "and", "or", "xor"]),
)
def test_static_arithmetic_wraps_like_numpy(a, b, name):
    with np.errstate(over="ignore"):
        expected = getattr(operator, name + "_" if name in ("and", "or") else name)(np.int32(a), np.int32(b))
    assert operators.operate(name, Int32(a), Int32(b)).value == int(expected)


@given(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1).filter(bool))
def test_static_division_and_modulo_are_pythons(a, b):
    quotient, remainder = Int32(a) // Int32(b), Int32(a) % Int32(b)
    assert quotient.value == int(np.array(a // b, np.int64).astype(np.int32))
    assert remainder.value == a % b


def test_static_values_stay_static():
    assert (Int32(3) + 4).value == 7 and type(Int32(3) + 4) is Int32
    assert (Float32(1.5) * 2).value == 3.0
    assert bool(Int32(3) < 4) is True
    assert -Int8(-128) == -128
    assert (~Uint8(1)).value == 254
    assert (Uint32(2**31) >> 1).value == 2**30
    assert type(Uint32(5) + 1) is Uint32


def test_min_and_max_of_python_numbers_are_pythons():
    assert operators.maximum(3, 2.0) == 3 and type(operators.maximum(3, 2.0)) is int
    assert type(operators.minimum(Int32(2), 2.5)) is Float32


def test_select_promotes():
    assert type(operators.select(Boolean(True), Int32(1), Float32(2.0))) is Float32
    assert type(operators.select(Boolean(True), Int64(1), 2)) is Int64
    assert operators.select(True, Float16(1.0), Float16(2.0)).value == 1.0


def test_bitwise_on_floats_is_refused():
    with pytest.raises(TypeError, match="`&` needs integers, got Float32"):
        Float32(1.0) & 1


def test_a_constant_past_int64_is_a_constant(check):
    from dsl.core.number.pointer import Pointer

    def program(x: dtypes.Uint64, p: Pointer):
        # CHECK: arith.constant -1 : i64
        # CHECK: arith.constant -9223372036854775808 : i64
        p.store(Int32((x ^ -1) + dtypes.Uint64(2**63)))

    check(program)
