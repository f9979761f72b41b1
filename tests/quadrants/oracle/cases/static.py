"""qd.static: if and for, which branch is looked at, what run-time values make of it."""

import quadrants as qd


def if_takes_one_branch():
    @qd.kernel
    def k(mode: qd.template()) -> qd.i32:
        r = 0
        if qd.static(mode == 1):
            r = 10
        else:
            r = 20
        return r

    return [k(1), k(2), k(1)]


def if_dead_branch_is_not_looked_at():
    @qd.kernel
    def k() -> qd.i32:
        r = 1
        if qd.static(False):
            r = no_such_name + 1
        return r

    return k()


def if_dead_branch_may_hold_unsupported_syntax():
    @qd.kernel
    def k() -> qd.i32:
        r = 1
        if qd.static(0):
            try:
                r = 2
            except ValueError:
                r = 3
        return r

    return k()


def elif_chain():
    @qd.kernel
    def k(n: qd.template()) -> qd.i32:
        r = 0
        if qd.static(n == 0):
            r = 5
        elif qd.static(n == 1):
            r = 6
        else:
            r = 7
        return r

    return [k(0), k(1), k(2)]


def if_string_and_none():
    @qd.kernel
    def k(mode: qd.template(), flag: qd.template()) -> qd.i32:
        r = 0
        if qd.static(mode == "fast"):
            r += 1
        if qd.static(flag is None):
            r += 2
        return r

    return [k("fast", None), k("slow", 3), k("fast", 1)]


def not_static_is_decided():
    flag = True

    @qd.kernel
    def k() -> qd.i32:
        r = 1
        if not qd.static(flag):
            r = 2
        return r

    return k()


def not_static_dead_branch_is_looked_at():
    flag = True

    @qd.kernel
    def k() -> qd.i32:
        r = 1
        if not qd.static(flag):
            r = no_such_name
        return r

    return k()


def and_of_two_statics_dead_branch():
    @qd.kernel
    def k() -> qd.i32:
        r = 1
        if qd.static(False) and qd.static(True):
            r = no_such_name
        return r

    return k()


def static_of_run_time_argument():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        r = 0
        if qd.static(n == 1):
            r = 1
        return r

    return k(1)


def static_of_local():
    @qd.kernel
    def k() -> qd.i32:
        a = 1
        r = 0
        if qd.static(a):
            r = 1
        return r

    return k()


def static_range_of_run_time_value():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        r = 0
        for i in qd.static(range(n)):
            r += i
        return r

    return k(3)


def static_of_dict():
    table = {"a": 1}

    @qd.kernel
    def k() -> qd.i32:
        t = qd.static(table)
        return t["a"]

    return k()


def static_of_str():
    @qd.kernel
    def k() -> qd.i32:
        s = qd.static("x")
        return 1

    return k()


def static_of_dict_element():
    table = {"a": 4}

    @qd.kernel
    def k() -> qd.i32:
        return qd.static(table["a"])

    return k()


def for_range_unrolls():
    x = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in qd.static(range(4)):
            x[i] = i * i

    k()
    return x.to_numpy()


def for_range_with_step():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        for i in qd.static(range(1, 10, 3)):
            r = r * 10 + i
        return r

    return k()


def for_range_backwards():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        for i in qd.static(range(3, 0, -1)):
            r = r * 10 + i
        return r

    return k()


def for_list_of_values():
    values = [3, 1.5, True]

    @qd.kernel
    def k() -> qd.f32:
        r = 0.0
        for v in qd.static(values):
            r += v
        return r

    return k()


def for_tuple():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        for v in qd.static((4, 5, 6)):
            r = r * 10 + v
        return r

    return k()


def for_enumerate():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        for i, v in qd.static(enumerate([7, 8, 9])):
            r += (i + 1) * v
        return r

    return k()


def for_zip():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        for a, b in qd.static(zip([1, 2, 3], [4, 5, 6])):
            r += a * b
        return r

    return k()


def for_map_and_filter():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        for a in qd.static(filter(bool, [1, 0, 2])):
            r = r * 10 + a
        for a in qd.static(map(abs, [-3, 4])):
            r = r * 10 + a
        return r

    return k()


def for_ndrange():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        for i, j in qd.static(qd.ndrange(2, (1, 3))):
            r = r * 100 + i * 10 + j
        return r

    return k()


def for_nested():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        for i in qd.static(range(3)):
            for j in qd.static(range(i)):
                r = r * 100 + i * 10 + j
        return r

    return k()


def for_fields():
    a, b = qd.field(qd.i32, shape=()), qd.field(qd.f32, shape=())

    @qd.kernel
    def k():
        for i, f in qd.static(enumerate([a, b])):
            f[None] = i + 1.5

    k()
    return [a[None], b[None]]


def for_functions():
    @qd.func
    def twice(x):
        return x * 2

    @qd.func
    def square(x):
        return x * x

    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        r = 0
        for f in qd.static((twice, square)):
            r = r * 100 + f(n)
        return r

    return k(5)


def for_getattr():
    class Pair:
        x = 3
        y = 4

    pair = Pair()

    @qd.kernel
    def k() -> qd.i32:
        r = 0
        for name in qd.static(("x", "y")):
            r = r * 10 + getattr(pair, name)
        return r

    return k()


def for_target_is_unknown_afterwards():
    @qd.kernel
    def k() -> qd.i32:
        for i in qd.static(range(3)):
            pass
        return i

    return k()


def for_target_cannot_be_assigned():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        for i in qd.static(range(3)):
            i = 5
            r += i
        return r

    return k()


def for_break_under_static_if():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        for i in qd.static(range(5)):
            if qd.static(i == 3):
                break
            r += 1
        return r

    return k()


def for_continue_under_static_if():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        for i in qd.static(range(5)):
            if qd.static(i == 3):
                continue
            r += i
        return r

    return k()


def for_break_under_run_time_if():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        r = 0
        for i in qd.static(range(5)):
            if n == i:
                break
            r += 1
        return r

    return k(2)


def for_continue_under_run_time_if():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        r = 0
        for i in qd.static(range(5)):
            if n == i:
                continue
            r += 1
        return r

    return k(2)
