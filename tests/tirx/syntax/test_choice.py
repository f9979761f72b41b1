"""Choices: only the chosen one is evaluated; `and`, `or`, `not` and Select agree with numpy."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeTypeError
from dsl.tirx.script import tirx as T
from dsl.tirx.syntax import choice


def test_python_decides_by_values_known_while_compiling():
    seen = []
    assert choice.if_then_else(True, lambda: 1, lambda: seen.append("no")) == 1
    assert choice.ifexp(0, lambda: seen.append("no"), lambda: "text") == "text"
    assert choice.and_([], lambda: seen.append("no")) == [] and choice.or_("x", lambda: seen.append("no")) == "x"
    assert choice.not_([]) is True and seen == []


def test_indices_past_the_end_are_not_read(run):
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), O: T.Buffer((5, 32), "int32")):
        T.device_entry()
        tx = T.thread_id([32])
        O[0, tx] = T.if_then_else(tx < 8, A[tx], -1)
        O[1, tx] = A[tx] if tx < 8 else -2
        O[2, tx] = T.if_then_else(tx < 8 and A[tx] > 3, 1, 0)
        O[3, tx] = T.if_then_else(tx >= 8 or A[tx] > 3, 1, 0)
        O[4, tx] = T.Select(not (tx < 8), tx * 2, tx)

    a = np.array([5, 1, 7, 3, 4, 0, 9, 2], np.int32)
    out = run(main, a, np.zeros((5, 32), np.int32))[1]
    tx = np.arange(32)
    inside, value = tx < 8, np.pad(a, (0, 24))
    wanted = [
        np.where(inside, value, -1),
        np.where(inside, value, -2),
        inside & (value > 3),
        ~inside | (value > 3),
        np.where(inside, tx, tx * 2),
    ]
    np.testing.assert_array_equal(out, wanted)


def text_or_number(A: T.Buffer((32,), "float32")):
    T.device_entry()
    tx = T.thread_id([32])
    A[tx] = T.if_then_else(A[tx] > 0.5, 1, "text")


def decided_by_text(A: T.Buffer((32,), "float32")):
    T.device_entry()
    tx = T.thread_id([32])
    A[tx] = T.if_then_else("text", 1, 2)


def selects_text(A: T.Buffer((32,), "float32")):
    T.device_entry()
    tx = T.thread_id([32])
    A[tx] = T.Select(A[tx] > 0.5, 1, "text")


def and_of_a_float(A: T.Buffer((32,), "float32")):
    T.device_entry()
    tx = T.thread_id([32])
    if A[tx] and tx > 3:
        A[tx] = 0.0


@pytest.mark.parametrize(
    "function, id",
    [
        (text_or_number, "CHOICE_TYPE"),
        (decided_by_text, "BRANCH_TYPE"),
        (selects_text, "CHOICE_TYPE"),
        (and_of_a_float, "BRANCH_FLOAT"),
    ],
)
def test_wrong_choices_are_refused(function, id):
    with pytest.raises(DSLUserCodeTypeError) as error:
        T.prim_func(function)
    assert error.value.id == id and error.value.fix
