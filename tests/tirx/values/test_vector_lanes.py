"""T.vectorized: vector accesses where the trips are lanes, else the trips one after another; vector types.

Modules tested here: dsl/tirx/memory/buffer.py.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies

from dsl.core import trace
from dsl.core.errors import DSLUserCodeError, DSLWarning
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Int32
from dsl.tirx.script import tirx as T
from dsl.tirx.values import divisor


def accesses(ptx: str) -> list[str]:
    """The accesses of global memory in PTX: `ld.v4.b32`."""
    found = re.findall(r"\b(ld|st)\.global(?:\.nc)?((?:\.v\d)?\.\w+)", ptx)
    return [a + b for a, b in found]


def test_lanes_are_one_access(run, ptx, no_warnings):
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.device_entry()
        tx = T.thread_id([16])
        for i in T.vectorized(4):
            t = A[tx * 4 + i] * 2.0
            B[tx * 4 + i] = T.max(t, 9.0) + A[3] + i

    assert accesses(ptx(main)) == ["ld.v4.b32", "ld.b32", "st.v4.b32"]
    a = np.arange(64, dtype=np.float32)
    np.testing.assert_array_equal(run(main, a, a)[1], np.maximum(a * 2, 9) + 3 + np.arange(64) % 4)


def test_halves_and_two_dimensions(run, ptx, no_warnings):
    @T.prim_func
    def main(A: T.Buffer((8, 16), "float16"), B: T.Buffer((8, 16), "float32")):
        T.device_entry()
        tx, ty = T.thread_id([2, 8])
        for i in T.vectorized(8):
            B[ty, tx * 8 + i] = T.float32(A[ty, tx * 8 + i]) + 1

    assert accesses(ptx(main)) == ["ld.v4.b32", "st.v4.b32", "st.v4.b32"]
    a = np.arange(128, dtype=np.float16).reshape(8, 16)
    np.testing.assert_array_equal(run(main, a, np.zeros((8, 16), np.float32))[1], a.astype(np.float32) + 1)


def test_trips_that_are_not_lanes_run_one_after_another(run):
    with pytest.warns(DSLWarning, match="VECTORIZED_ONE_BY_ONE"):

        @T.prim_func
        def main(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32"), n: T.int32):
            T.device_entry()
            tx = T.thread_id([1])
            for i in T.vectorized(4):
                if i == 2:
                    break  # leaves the loop: two elements are written
                B[i] = A[i]
            s = 0
            for i in T.vectorized(4):
                s += A[i]  # carried
            B[10] = s
            for i in T.vectorized(3):
                B[20 + i] = A[i]
            for i in T.vectorized(4):
                B[24 + i * 2] = A[i]  # a gap
            for i in T.vectorized(4):
                B[n + i] = A[i]  # alignment unknown
            for i in T.vectorized(0, 8, step=2):
                B[40 + i] = A[i]
            for i in T.vectorized(4):
                if A[i] > 2:
                    B[50 + i] = 1
            for i in T.vectorized(4):
                B[56 + i] = B[60 - i] + 1  # read and written

    a = np.arange(1, 65, dtype=np.int32)
    b = np.zeros(64, np.int32)
    made = run(main, a, b, 33)[1]
    b[:2], b[10], b[20:23], b[24:32:2], b[33:37], b[40:48:2], b[52:54] = a[:2], 10, a[:3], a[:4], a[:4], a[:8:2], 1
    for i in range(4):
        b[56 + i] = b[60 - i] + 1
    np.testing.assert_array_equal(made, b)


@pytest.mark.parametrize(
    "words, reason",
    [
        ("s += A[i]", "a register is carried from trip to trip"),
        ("A[0] = 1.0", "it stores one element in all trips"),
        ("A[i * 2] = 1.0", "the elements of its trips are not side by side"),
        ("A[i] = A[i + 4]", "it loads and stores the same memory at different places"),
        ("A[n + i] = 0.0", "it is not known that its accesses are at multiples of 16 bytes"),
        ("A[i] = i // 2", "its variable is used in other ways than sums and multiples"),
        ("T.cuda.atomic_add(A.ptr_to([0]), 1.0)", "it calls atomic_add"),
    ],
)
def test_why_there_are_no_lanes(words, reason, tmp_path):
    source = f"""
from dsl.tirx.script import tirx as T
@T.prim_func
def main(A: T.Buffer((64,), "float32"), n: T.int32):
    T.device_entry()
    tx = T.thread_id([1])
    s: T.float32 = 0
    for i in T.vectorized(4):
        {words}
    A[32] = s
"""
    file = tmp_path / "author.py"
    file.write_text(source)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        exec(compile(source, str(file), "exec"), {"__name__": "author"})
    assert [str(w.message) for w in found] == [f"VECTORIZED_ONE_BY_ONE: T.vectorized is not made of vectors: {reason}"]


def test_an_unaligned_vector_is_an_error():
    with pytest.raises(DSLUserCodeError, match="VECTOR_UNALIGNED"):

        @T.prim_func
        def loop(A: T.Buffer((64,), "float32")):
            T.device_entry()
            tx = T.thread_id([8])
            for i in T.vectorized(4):
                A[tx * 4 + 1 + i] = 0.0

    with pytest.raises(DSLUserCodeError, match="VECTOR_UNALIGNED"):

        @T.prim_func
        def load(A: T.Buffer((64,), "float32")):
            T.device_entry()
            tx = T.thread_id([8])
            A.vstore([tx * 4], A.vload([tx * 4 + 2], dtype="float32x4"))


def test_vload_vstore_and_vector_types(run, ptx, no_warnings):
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), O: T.Buffer((64,), "float32"), H: T.Buffer((16,), "float32x2")):
        T.device_entry()
        tx = T.thread_id([16])
        v = T.alloc_local((1,), "float32x4")
        v[0] = A.vload([tx * 4], dtype="float32x4")
        w = v[0] * 2.0
        if tx > 7:
            w = w + T.Broadcast(T.float32(1), 4)
        O.vstore([tx * 4], w)
        H[tx] = H[tx] + 1.0
        O[0:4] = O[4:8]

    assert "ld.v4.b32" in accesses(ptx(main)) and "st.v2.b32" in accesses(ptx(main))
    a = np.arange(64, dtype=np.float32)
    _, o, h = run(main, a, a, np.zeros((16, 2), np.float32))
    np.testing.assert_array_equal(o[4:], (a * 2 + (np.arange(64) > 31))[4:])
    np.testing.assert_array_equal(h, np.ones((16, 2)))


EXPRESSIONS = strategies.recursive(
    strategies.one_of(strategies.integers(-40, 40), strategies.just("x"), strategies.just("y")),
    lambda inner: strategies.tuples(strategies.sampled_from("+ - * << &".split()), inner, inner),
    max_leaves=8,
)


def _value(expression, x, y):
    if not isinstance(expression, tuple):
        return {"x": x, "y": y}.get(expression, expression)
    sign, a, b = expression[0], *(_value(part, x, y) for part in expression[1:])
    if sign == "<<":
        return a << (abs(expression[2]) % 4 if isinstance(expression[2], int) else 2)
    return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "&": lambda: a & b}[sign]()


@settings(max_examples=150, deadline=None)
@given(EXPRESSIONS, strategies.integers(-50, 50), strategies.integers(-50, 50))
def test_known_facts_about_a_number_hold_for_its_value(expression, x, y):
    """residue's law: value = residue + a multiple of divisor, for values that do not wrap."""
    value = _value(expression, x, y)
    if abs(value) >= 1 << 30:
        return
    found = []

    def body():
        block = mlir.current_block()
        names = [Int32(mlir.load(block.owner.regions[0].blocks[0].arguments[0], mlir.i32, 4)) for _ in "xy"]
        found.append(divisor.residue(_value(expression, *names)))

    trace.trace_host("f", body, [])
    known, rest = found[0]
    assert value == rest if known == 0 else (value - rest) % known == 0
