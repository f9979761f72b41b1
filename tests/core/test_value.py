"""Operators: the type of every operator and pair of types is upstream's; static folding is numpy's arithmetic."""

import json
import operator
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsl.core import dtypes, mlir, value
from dsl.core.dtypes import Boolean, Float16, Float32, Int8, Int32, Int64, Uint8, Uint32


def our_type(name: str, a: str, b: str) -> str:
    literals = {"int": 1, "float": 1.0, "bool": True}
    module = mlir.Module()
    types = [getattr(dtypes, t) for t in (a, b) if t not in literals]
    _, block = module.function("f", [t.mlir_type() for t in types])
    with mlir.inside(block):
        arguments = iter(block.arguments)
        x, y = (literals[t] if t in literals else getattr(dtypes, t)(next(arguments)) for t in (a, b))
        return type(value.operate(name, x, y)).__name__


def test_promotion_is_upstreams():
    """nvidia-cutlass-dsl itself is asked, in a process of its own."""
    script = Path(__file__).with_name("upstream_promotion.py")
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120,
                         env={**os.environ, "CUTE_DSL_ARCH": "sm_90a"})
    assert run.returncode == 0, run.stderr
    theirs = json.loads(run.stdout.splitlines()[-1])
    assert len(theirs) == 900
    differing = {case: (our_type(*case.split()), expected) for case, expected in theirs.items()
                 if our_type(*case.split()) != expected}
    assert not differing


@given(st.integers(-2**70, 2**70), st.sampled_from(["int8", "uint8", "int32", "uint32", "int64", "uint64"]))
def test_integers_wrap(number, name):
    dtype = getattr(dtypes, name.capitalize())
    wrapped = np.array(number & (2**64 - 1), np.uint64).astype(name)
    assert dtype(number).value == int(wrapped)


@given(st.floats(allow_nan=False), st.sampled_from(["float16", "float32"]))
def test_floats_round_to_nearest_even(number, name):
    with np.errstate(over="ignore"):
        assert getattr(dtypes, name.capitalize())(number).value == float(np.dtype(name).type(number))


@given(st.integers(-2**31, 2**31 - 1), st.integers(-2**31, 2**31 - 1),
       st.sampled_from(["add", "sub", "mul", "and", "or", "xor"]))
def test_static_arithmetic_wraps_like_numpy(a, b, name):
    with np.errstate(over="ignore"):
        expected = getattr(operator, name + "_" if name in ("and", "or") else name)(np.int32(a), np.int32(b))
    assert value.operate(name, Int32(a), Int32(b)).value == int(expected)


@given(st.integers(-2**31, 2**31 - 1), st.integers(-2**31, 2**31 - 1).filter(bool))
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
    assert value.maximum(3, 2.0) == 3 and type(value.maximum(3, 2.0)) is int
    assert type(value.minimum(Int32(2), 2.5)) is Float32


def test_select_promotes():
    assert type(value.select(Boolean(True), Int32(1), Float32(2.0))) is Float32
    assert type(value.select(Boolean(True), Int64(1), 2)) is Int64
    assert value.select(True, Float16(1.0), Float16(2.0)).value == 1.0


def test_bitwise_on_floats_is_refused():
    with pytest.raises(TypeError, match="`&` needs integers, and one side is Float32"):
        Float32(1.0) & 1
