"""Operands of T's functions: their common dtype, vectors lane by lane, and values that are not operands."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeTypeError
from dsl.core.number.dtypes import Float32, Int8, Int32
from dsl.tirx.script import tirx as T
from dsl.tirx.values.elementwise import elementwise, together


def test_operands_get_their_common_dtype():
    assert [type(number) for number in together("f", Int8(1), Int32(2))] == [Int32, Int32]
    assert [(type(n), n.value) for n in together("f", Int32(3), Float32(0.5))] == [(Float32, 3.0), (Float32, 0.5)]
    with pytest.raises(DSLUserCodeTypeError) as error:
        together("f", Int32(1), "x")
    assert error.value.message.startswith("T.f takes numbers, got ") and error.value.id == "OPERAND_TYPE"


def test_numbers_alone_call_the_function_once():
    seen = []
    assert elementwise(lambda *operands: seen.append(operands) or "once", 1, 2) == "once" and seen == [(1, 2)]


def test_vectors_are_computed_lane_by_lane(run):
    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), O: T.Buffer((2, 4), "float32")):
        T.device_entry()
        T.thread_id([1])
        v = A.vload([0], dtype="float32x4")
        O.vstore([0, 0], T.max(v, 2.5))
        O.vstore([1, 0], T.abs(v))

    a = np.array([-1.0, 2.0, 3.0, -4.0], np.float32)
    out = run(main, a, np.zeros((2, 4), np.float32))[1]
    np.testing.assert_array_equal(out, [np.maximum(a, 2.5), np.abs(a)])
