"""if, elif, ternaries, comparisons, chains, and/or/not."""

import numpy as np
import quadrants as qd


def if_elif_else():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        r = 0
        if n < 0:
            r = -1
        elif n == 0:
            r = 5
        else:
            r = 1
        return r

    return [k(-4), k(0), k(9)]


def if_on_an_integer():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        r = 0
        if n:
            r = 1
        return r

    return [k(0), k(2), k(-1), k(256)]


def if_on_i64_beyond_32_bits():
    @qd.kernel
    def k(n: qd.i64) -> qd.i32:
        r = 0
        if n:
            r = 1
        return r

    return [k(0), k(1 << 40)]


def if_on_a_float():
    @qd.kernel
    def k(n: qd.f32) -> qd.i32:
        r = 0
        if n:
            r = 1
        return r

    return k(0.5)


def if_on_a_vector():
    @qd.kernel
    def k() -> qd.i32:
        v = qd.Vector([1, 2])
        r = 0
        if v:
            r = 1
        return r

    return k()


def variable_of_both_branches_is_unknown_afterwards():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        if n:
            a = 1
        else:
            a = 2
        return a

    return k(1)


def assigned_before_and_in_a_branch():
    @qd.kernel
    def k(n: qd.i32) -> qd.f32:
        a = 1.5
        if n:
            a = 2
        return a

    return [k(1), k(0)]


def ternary():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        return 10 if n > 2 else 20

    return [k(1), k(3)]


def ternary_promotes():
    @qd.kernel
    def k(n: qd.i32) -> qd.f32:
        return 1 if n else 2.5

    return [k(1), k(0)]


def ternary_guards_a_load():
    x = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k(i: qd.i32) -> qd.i32:
        return x[i] if i < 4 else -1

    return [k(0), k(100000000)]


def ternary_evaluates_both_calls():
    n = qd.field(qd.i32, shape=())

    @qd.func
    def f():
        n[None] += 1
        return 5

    @qd.kernel
    def k(c: qd.i32) -> qd.i32:
        return f() if c else f()

    return [k(1), n[None]]


def select_scalar():
    @qd.kernel
    def k(c: qd.i32) -> qd.f32:
        return qd.select(c, 1.5, 2)

    return [k(1), k(0), k(2)]


def select_vector():
    @qd.kernel
    def k() -> qd.i32:
        v = qd.select(qd.Vector([1, 0]), qd.Vector([3, 4]), qd.Vector([5, 6]))
        return v[0] * 10 + v[1]

    return k()


def comparisons():
    @qd.kernel
    def k(a: qd.i32, b: qd.i32) -> qd.i32:
        return (a < b) * 1 + (a <= b) * 10 + (a > b) * 100 + (a >= b) * 1000 + (a == b) * 10000 + (a != b) * 100000

    return [k(1, 2), k(2, 2), k(3, 2)]


def comparison_of_unsigned_and_signed():
    @qd.kernel
    def k(a: qd.u32, b: qd.i32) -> qd.i32:
        return (a < b) * 1 + (a > b) * 10

    return [k(1, -1), k(1, 2)]


def comparison_of_int_and_float():
    @qd.kernel
    def k(a: qd.i32, b: qd.f32) -> qd.i32:
        return (a < b) * 1 + (a == b) * 10

    return [k(1, 1.5), k(16777217, 16777216.0)]


def comparison_with_nan():
    @qd.kernel
    def k(a: qd.f32) -> qd.i32:
        return (a == a) * 1 + (a != a) * 10 + (a < 1.0) * 100 + (a >= 1.0) * 1000

    return k(float("nan"))


def chained_comparison():
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        r = 0
        if 1 < a < 5:
            r += 1
        if 1 < a <= 5 != 3:
            r += 10
        return r

    return [k(1), k(3), k(5), k(6)]


def chain_evaluates_the_middle_once():
    n = qd.field(qd.i32, shape=())

    @qd.func
    def f():
        n[None] += 1
        return 3

    @qd.kernel
    def k() -> qd.i32:
        r = 0
        if 1 < f() < 5:
            r = 1
        return r

    return [k(), n[None]]


def and_or_give_operands():
    @qd.kernel
    def k(a: qd.i32, b: qd.i32) -> qd.i32:
        return (a and b) * 100 + (a or b)

    return [k(5, 7), k(0, 7), k(5, 0), k(0, 0)]


def and_of_three():
    @qd.kernel
    def k(a: qd.i32, b: qd.i32, c: qd.i32) -> qd.i32:
        r = 0
        if a and b and c:
            r += 1
        if a or b or c:
            r += 10
        return r

    return [k(1, 1, 1), k(1, 0, 1), k(0, 0, 0)]


def and_guards_a_load():
    x = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k(i: qd.i32) -> qd.i32:
        r = 0
        if i < 4 and x[i] == 0:
            r = 1
        return r

    return [k(0), k(100000000)]


def or_calls_the_func_on_the_right():
    n = qd.field(qd.i32, shape=())

    @qd.func
    def f():
        n[None] += 1
        return 1

    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        r = 0
        if a or f():
            r = 1
        return r

    return [k(1), n[None]]


def not_of_things():
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        return (not a) * 1 + (not (a > 2)) * 10

    return [k(0), k(1), k(3)]


def and_of_floats():
    @qd.kernel
    def k(a: qd.f32, b: qd.f32) -> qd.f32:
        return a and b

    return k(1.5, 2.5)


def bool_locals():
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        t = a > 1
        u = a > 2
        return (t and u) * 1 + (t or u) * 10 + (t & u) * 100 + (t | u) * 1000 + (t ^ u) * 10000

    return [k(1), k(2), k(3)]


def bool_return():
    @qd.kernel
    def k(a: qd.i32) -> qd.u1:
        return a > 1

    return [k(1), k(2)]


def bool_plus_bool():
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        return (a > 0) + (a > 0)

    return k(1)


def true_and_false_literals():
    @qd.kernel
    def k() -> qd.i32:
        a = True
        b = False
        return a * 10 + b

    return k()


def is_none_in_static():
    @qd.kernel
    def k(a: qd.template()) -> qd.i32:
        r = 0
        if qd.static(a is None):
            r = 1
        if qd.static(a is not None):
            r += 2
        return r

    return [k(None), k(1)]


def is_at_run_time():
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        r = 0
        if a is True:
            r = 1
        return r

    return k(1)


def comparison_of_vectors():
    @qd.kernel
    def k() -> qd.i32:
        v = qd.Vector([1, 5]) < qd.Vector([2, 4])
        return v[0] * 10 + v[1]

    return k()


def nested_ifs_in_parallel():
    x = qd.field(qd.i32, shape=8)

    @qd.kernel
    def k():
        for i in range(8):
            if i > 1:
                if i > 4:
                    x[i] = 2
                elif i == 3:
                    x[i] = 9
            else:
                x[i] = 1

    k()
    return x.to_numpy()


def numpy_bool_captured():
    flag = np.bool_(True)

    @qd.kernel
    def k() -> qd.i32:
        r = 0
        if qd.static(flag):
            r = 1
        return r

    return k()
