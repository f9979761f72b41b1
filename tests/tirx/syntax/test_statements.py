"""Branches and loops of T against plain Python, including errors of TVM 0.26 (continue in unroll, break in grid).

Modules tested here: dsl/tirx/syntax/grammar.py, dsl/tirx/syntax/statement_names.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from dsl.tirx.script import tirx as T

pytestmark = pytest.mark.usefixtures("no_warnings")


def test_the_page_if(run):
    @T.prim_func
    def main(A: T.Buffer((256,), "float32")):
        T.device_entry()
        bx = T.cta_id([1])
        tx = T.thread_id([256])
        if tx < 128:
            A[tx] = A[tx] * T.float32(2.0)
        else:
            A[tx] = A[tx] + T.float32(1.0)

    a = np.arange(256, dtype=np.float32)
    np.testing.assert_array_equal(run(main, a)[0], np.where(a < 128, a * 2, a + 1))


def test_the_page_if_then_else(run):
    @T.prim_func
    def main(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
        T.device_entry()
        tx = T.thread_id([256])
        B[tx] = T.if_then_else(A[tx] > T.float32(0), A[tx], T.float32(0))

    a = np.random.default_rng(0).standard_normal(256).astype(np.float32)
    np.testing.assert_array_equal(run(main, a, a)[1], np.maximum(a, 0))


def test_the_page_grid_and_while(run):
    @T.prim_func
    def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
        T.device_entry()
        tx = T.thread_id([1])
        for i, j in T.grid(8, 8):
            B[i, j] = T.max(A[i, j], T.float32(0.0))
        k: T.int32 = 0
        while k < 64:
            A[k // 8, k % 8] = A[k // 8, k % 8] + T.float32(1.0)
            k += 1

    a = np.random.default_rng(1).standard_normal((8, 8)).astype(np.float32)
    left, right = run(main, a, a)
    np.testing.assert_array_equal(left, a + 1)
    np.testing.assert_array_equal(right, np.maximum(a, 0))


def test_elif_and_or_not_and_chains(run):
    @T.prim_func
    def main(O: T.Buffer((64,), "int32"), n: T.int32):
        T.device_entry()
        tx = T.thread_id([64])
        if (tx < 8 and tx != 3) or tx == n:
            O[tx] = 1
        elif not (10 <= tx < 20):
            O[tx] = 2
        elif tx % 2 == 0:
            O[tx] = 3
        else:
            pass

    want = [
        1 if (t < 8 and t != 3) or t == 40 else 2 if not 10 <= t < 20 else 3 if t % 2 == 0 else 0 for t in range(64)
    ]
    np.testing.assert_array_equal(run(main, np.zeros(64, np.int32), 40)[0], want)


def test_elements_that_are_not_chosen_are_not_loaded(run):
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), O: T.Buffer((16,), "float32")):
        T.device_entry()
        tx = T.thread_id([16])
        O[tx] = T.if_then_else(tx < 8, A[tx], 0.0) + (A[tx] if tx < 8 else 1)
        if tx < 8 and A[tx] > 3:
            O[tx] += 100
        if tx >= 8 or A[tx] > 5:
            O[tx] += 1000

    a, t = np.arange(8, dtype=np.float32), np.arange(16)
    want = np.where(t < 8, 2.0 * np.minimum(t, 7), 1.0)
    want = want + 100 * ((t < 8) & (t > 3)) + 1000 * ((t >= 8) | (t > 5))
    np.testing.assert_array_equal(run(main, a, np.zeros(16, np.float32))[1], want)


def test_select_evaluates_both(run):
    @T.prim_func
    def main(O: T.Buffer((16,), "float32")):
        T.device_entry()
        tx = T.thread_id([16])
        O[tx] = T.Select(tx > 7, 7, 2.5)

    np.testing.assert_array_equal(run(main, np.zeros(16, np.float32))[0], np.where(np.arange(16) > 7, 7, 2.5))


def test_a_python_bool_is_decided_while_compiling(run):
    def kernel(wide):
        @T.prim_func
        def main(O: T.Buffer((4,), "float32")):
            T.device_entry()
            tx = T.thread_id([4])
            if wide:
                scale = T.float32(8)
                name = "wide"
            else:
                scale = T.float32(2)
            O[tx] = tx * scale  # bound in the branch that Python took

        return main

    for wide, scale in ((True, 8), (False, 2)):
        np.testing.assert_array_equal(run(kernel(wide), np.zeros(4, np.float32))[0], np.arange(4) * scale)


# --- loops -----------------------------------------------------------------------------------------------------------


def test_serial_with_start_step_and_unroll(run):
    @T.prim_func
    def main(O: T.Buffer((6, 32), "int32"), n: T.int32):
        T.device_entry()
        tx = T.thread_id([1])
        for i in T.serial(3, 17, step=4):
            O[0, i] = i
        for i in T.serial(8, unroll=True):
            O[1, i] = i
        for i in T.serial(n, unroll=False):
            O[2, i] = i
        for i in range(20, 3, -5):
            O[3, i] = i
        for i in T.parallel(4):
            O[4, i] = i
        for i in T.unroll(1, 16, step=3):
            O[5, i] = i

    want = np.zeros((6, 32), np.int32)
    for row, values in enumerate((range(3, 17, 4), range(8), range(11), range(20, 3, -5), range(4), range(1, 16, 3))):
        for i in values:
            want[row, i] = i
    np.testing.assert_array_equal(run(main, np.zeros((6, 32), np.int32), 11)[0], want)


def test_break_and_continue_in_serial(run):
    @T.prim_func
    def main(A: T.Buffer((9,), "int32")):
        T.device_entry()
        tx = T.thread_id([32])
        idx = T.alloc_buffer((1,), "int32", scope="local")
        idx[0] = 0
        for i in T.serial(3):
            if i == 0:
                idx[0] += 1
                continue
            for j in T.serial(3):
                A[idx[0]] = i * 10 + j
                idx[0] += 1
                if j == 1:
                    break

    np.testing.assert_array_equal(run(main, np.zeros(9, np.int32))[0], [0, 10, 11, 20, 21, 0, 0, 0, 0])


def test_continue_in_unroll_goes_on_with_the_next_copy(run):
    @T.prim_func
    def main(A: T.Buffer((3, 8), "int32")):
        T.device_entry()
        tx = T.thread_id([1])
        for i in range(3):
            for j in T.unroll(8):
                if j == i * 2:
                    continue
                if j == 6:
                    break
                A[i, j] = i * 10 + j + 1

    want = np.zeros((3, 8), np.int32)
    for i in range(3):
        for j in range(8):
            if j == i * 2:
                continue
            if j == 6:
                break
            want[i, j] = i * 10 + j + 1
    np.testing.assert_array_equal(run(main, np.zeros((3, 8), np.int32))[0], want)


@pytest.mark.parametrize("where", [(0, 0), (2, 3), (7, 7), (9, 9)])
def test_break_in_grid_leaves_all_its_loops(run, where):
    @T.prim_func
    def main(A: T.Buffer((8, 8), "int32"), m: T.int32, n: T.int32):
        T.device_entry()
        tx = T.thread_id([1])
        for i, j in T.grid(8, (1, 7)):
            if i == m and j == n:
                break
            if j == 5:
                continue
            A[i, j] = 1
        else:
            A[0, 0] = 7

    want = np.zeros((8, 8), np.int32)
    for point in ((i, j) for i in range(8) for j in range(1, 8)):
        if point == where:
            break
        want[point] = point[1] != 5
    else:
        want[0, 0] = 7
    np.testing.assert_array_equal(run(main, np.zeros((8, 8), np.int32), *where)[0], want)


def test_else_of_loops(run):
    @T.prim_func
    def main(A: T.Buffer((3,), "int32"), n: T.int32):
        T.device_entry()
        tx = T.thread_id([1])
        for i in range(10):
            if i == n:
                break
        else:
            A[0] = 1
        k: T.int32 = 0
        while k < 5:
            k += 1
            if k == n:
                break
        else:
            A[1] = 1
        for i in T.unroll(4):
            if i == n:
                break
        else:
            A[2] = 1

    for n in (3, 4, 30):
        want = [n >= 10, not 1 <= n <= 5, n >= 4]
        np.testing.assert_array_equal(run(main, np.zeros(3, np.int32), n)[0], np.array(want, np.int32))


def test_return_0_and_thread_return_leave_the_kernel(run):
    @T.prim_func
    def main(A: T.Buffer((32,), "int32")):
        T.device_entry()
        tx = T.thread_id([32])
        for i in range(4):
            if tx == i:
                return 0
        A[tx] = 1
        if tx > 20:
            T.thread_return()
        A[tx] = 2

    t = np.arange(32)
    np.testing.assert_array_equal(run(main, np.zeros(32, np.int32))[0], np.where(t < 4, 0, np.where(t > 20, 1, 2)))


def test_thread_binding(run):
    @T.prim_func
    def main(A: T.Buffer((4, 32), "int32")):
        T.device_entry()
        for bx in T.thread_binding(4, thread="blockIdx.x"):
            for tx in T.thread_binding(32, thread="threadIdx.x"):
                A[bx, tx] = bx * 100 + tx

    np.testing.assert_array_equal(
        run(main, np.zeros((4, 32), np.int32))[0], np.arange(4)[:, None] * 100 + np.arange(32)
    )


# --- registers -------------------------------------------------------------------------------------------------------


def test_a_register_keeps_its_dtype_and_is_not_an_alias(run):
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), O: T.Buffer((8,), "float32")):
        T.device_entry()
        tx = T.thread_id([8])
        n = 0
        for i in range(5):
            n += i * 2
        c = A[tx]
        d = c
        d = d + 1.0
        half: T.let = n * 2
        acc: T.f32[2, 4]
        for i, j in T.grid(2, 4):
            acc[i, j] = c + i * 4 + j
        t: T.float32 = 0
        for i, j in T.grid(2, 4):
            t += acc[i, j]
        O[tx] = t + half + d * 1000 + c * 100000

    a = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(run(main, a, a)[1], 8 * a + 28 + 40 + (a + 1) * 1000 + a * 100000)


def test_a_name_bound_in_a_loop_begins_again_each_trip(run):
    @T.prim_func
    def main(O: T.Buffer((4,), "float32")):
        T.device_entry()
        tx = T.thread_id([1])
        for i in range(4):
            x = 1
            if i > 1:
                x = x + i
            O[i] = x
        x = 2.5  # another register
        O[0] = x

    np.testing.assert_array_equal(run(main, np.zeros(4, np.float32))[0], [2.5, 1, 3, 4])
