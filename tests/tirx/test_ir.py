"""Equal structure: names and places do not count, what is computed does."""

import pytest

import dsl.tirx as tvm
from dsl.tirx import ir
from dsl.tirx.script import tirx as T


def adding(number):
    @T.prim_func
    def one(A: T.Buffer((32,), "int32")):
        T.device_entry()
        tx = T.thread_id([32])
        A[tx] = A[tx] + number

    return one


@T.prim_func
def other(B: T.Buffer((32,), "int32")):
    T.device_entry()

    lane = T.thread_id([32])
    B[lane] = B[lane] + 1


def test_names_and_places_do_not_count():
    assert ir.structural_equal(adding(1), other) and "dsl.names" not in ir.structural_text(other)


def test_different_computations_are_not_equal():
    assert not ir.structural_equal(adding(1), adding(2))
    with pytest.raises(ValueError, match="StructuralEqual check failed: the first is"):
        ir.assert_structural_equal(adding(1), adding(2))


def test_modules_are_equal_function_by_function():
    one, two = tvm.IRModule({"a": adding(1)}), tvm.IRModule({"b": adding(1)})
    ir.assert_structural_equal(one, tvm.IRModule({"a": other}))
    with pytest.raises(ValueError, match=r"functions \['a'\] and \['b'\]"):
        ir.assert_structural_equal(one, two)
