"""range loops: bounds, order, parallel and serial, tasks in order."""

import quadrants as qd


def range_one_argument():
    x = qd.field(qd.i32, shape=6)

    @qd.kernel
    def k():
        for i in range(6):
            x[i] = i + 1

    k()
    return x.to_numpy()


def range_two_arguments():
    x = qd.field(qd.i32, shape=6)

    @qd.kernel
    def k():
        for i in range(2, 5):
            x[i] = i

    k()
    return x.to_numpy()


def range_three_arguments():
    x = qd.field(qd.i32, shape=6)

    @qd.kernel
    def k():
        for i in range(0, 6, 2):
            x[i] = i

    k()
    return x.to_numpy()


def range_empty_and_negative():
    @qd.kernel
    def k(lo: qd.i32, hi: qd.i32) -> qd.i32:
        r = 0
        for i in range(lo, hi):
            r += i * 10 + 1
        return r

    return [k(3, 3), k(5, 2), k(-3, 1)]


def range_of_no_argument():
    @qd.kernel
    def k():
        for i in range():
            pass

    k()


def range_bound_is_float():
    @qd.kernel
    def k(n: qd.f32) -> qd.i32:
        r = 0
        for i in range(n):
            r += 1
        return r

    return k(3.7)


def range_bound_is_i64():
    @qd.kernel
    def k(n: qd.i64) -> qd.i32:
        r = 0
        for i in range(n):
            r += 1
        return r

    return k(3)


def range_bound_is_read_once():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        if True:
            n = 3
            for i in range(n):
                n = 10
                r += 1
        return r

    return k()


def bound_in_a_field():
    n, x = qd.field(qd.i32, shape=()), qd.field(qd.i32, shape=8)
    n[None] = 5

    @qd.kernel
    def k():
        for i in range(n[None]):
            x[i] = 1

    k()
    return x.to_numpy()


def nested_loops():
    x = qd.field(qd.i32, shape=(3, 4))

    @qd.kernel
    def k():
        for i in range(3):
            for j in range(4):
                x[i, j] = i * 10 + j

    k()
    return x.to_numpy()


def triangular_bounds():
    x = qd.field(qd.i32, shape=5)

    @qd.kernel
    def k():
        for i in range(5):
            for j in range(i):
                x[i] += j

    k()
    return x.to_numpy()


def sum_into_a_local_of_the_kernel():
    @qd.kernel
    def k() -> qd.i32:
        s = 0
        for i in range(1000):
            s += i
        return s

    return k()


def tasks_are_ordered():
    x, y = qd.field(qd.i32, shape=64), qd.field(qd.i32, shape=64)

    @qd.kernel
    def k():
        for i in range(64):
            x[i] = i
        for i in range(64):
            y[i] = x[63 - i]
        for i in range(64):
            x[i] = y[i] * 2

    k()
    return [x[0], x[10], x[63]]


def serial_statements_between_tasks():
    x, t = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        t[None] = 3
        for i in range(8):
            x[i] = t[None] + i
        t[None] = x[7]
        for i in range(8):
            x[i] += t[None]

    k()
    return x.to_numpy()


def local_crosses_tasks():
    x = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        a = n * 2
        for i in range(4):
            x[i] = a + i
        a = a + 1
        for i in range(4):
            x[i] += a
        return a

    return [k(5), x.to_numpy()]


def serial_by_loop_config():
    x = qd.field(qd.i32, shape=10)

    @qd.kernel
    def k():
        qd.loop_config(serialize=True)
        for i in range(1, 10):
            x[i] = x[i - 1] + i

    k()
    return x.to_numpy()


def serial_under_an_if():
    x = qd.field(qd.i32, shape=10)

    @qd.kernel
    def k(c: qd.i32):
        if c:
            for i in range(1, 10):
                x[i] = x[i - 1] + i

    k(1)
    return x.to_numpy()
