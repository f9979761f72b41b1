"""Arguments and values of qd.static; static_assert, static_print, lists."""

import quadrants as qd


def static_of_static():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        for i in qd.static(qd.static(range(3))):
            r += i
        return r

    return k()


def name_bound_by_static_is_static():
    @qd.kernel
    def k() -> qd.i32:
        n = qd.static(3)
        r = 0
        for i in qd.static(range(n)):
            r += i
        return r

    return k()


def two_values_swap():
    a, b = qd.field(qd.i32, shape=()), qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        x, y = qd.static(a, b)
        x[None] = 1
        y[None] = 2

    k()
    return [a[None], b[None]]


def python_scope():
    return [qd.static(3), qd.static([1, 2]), qd.static(1, 2)]


def and_or_give_operands():
    @qd.kernel
    def k() -> qd.i32:
        return qd.static(5 and 7) * 100 + qd.static(0 or 9)

    return k()


def in_and_not_in():
    @qd.kernel
    def k(m: qd.template()) -> qd.i32:
        r = 0
        if qd.static(m in (1, 2)):
            r += 1
        if qd.static(m not in [2, 3]):
            r += 2
        return r

    return [k(1), k(2), k(3), k(4)]


def in_outside_static():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        r = 0
        if n in (1, 2):
            r = 1
        return r

    return k(1)


def python_floordiv_and_mod():
    @qd.kernel
    def k() -> qd.i32:
        return qd.static(-7 // 2) * 10 + qd.static(-7 % 5)

    return k()


def ternary_static_condition():
    @qd.kernel
    def k(c: qd.template()) -> qd.i32:
        return 5 if qd.static(c) else 6

    return [k(True), k(0)]


def static_assert_holds_and_not():
    @qd.kernel
    def k(n: qd.template()):
        qd.static_assert(n > 2, "n is too small")

    k(3)
    k(1)


def static_assert_of_run_time_value():
    @qd.kernel
    def k(n: qd.i32):
        qd.static_assert(n > 2, "n")

    k(3)


def static_print_prints_at_compile_time():
    @qd.kernel
    def k(n: qd.template()):
        qd.static_print("n is", n, n + 1)

    k(3)
    k(3)


def variable_of_static_branch_is_unknown_afterwards():
    @qd.kernel
    def k() -> qd.i32:
        if qd.static(True):
            a = 3
        return a

    return k()


def static_field_shape():
    x = qd.field(qd.i32, shape=(3, 5))

    @qd.kernel
    def k() -> qd.i32:
        r = 0
        for i in qd.static(range(x.shape[1])):
            r += i
        return r * 10 + qd.static(x.shape[0])

    return k()


def list_comprehension():
    @qd.kernel
    def k() -> qd.i32:
        xs = [i * i for i in range(4)]
        return xs[1] + xs[2] + xs[3]

    return k()


def list_with_run_time_index():
    @qd.kernel
    def k(i: qd.i32) -> qd.i32:
        xs = [1, 2, 3]
        return xs[i]

    return k(1)


def captured_value_is_frozen():
    class Box:
        n = 1

    n = 1

    @qd.kernel
    def k() -> qd.i32:
        return n

    first = k()
    n = 2
    return [first, k()]
