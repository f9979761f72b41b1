"""break and continue in parallel and serial loops, what loop_config and the loop variable may be."""

import quadrants as qd


def break_in_a_parallel_loop():
    @qd.kernel
    def k():
        for i in range(10):
            if i == 3:
                break

    k()


def break_in_a_parallel_loop_under_static_if():
    @qd.kernel
    def k():
        if qd.static(True):
            for i in range(10):
                if i == 3:
                    break

    k()


def break_in_a_parallel_loop_of_an_unrolled_one():
    @qd.kernel
    def k():
        for j in qd.static(range(2)):
            for i in range(10):
                if i == 3:
                    break

    k()


def break_in_a_parallel_loop_of_a_func():
    @qd.func
    def f():
        for i in range(10):
            if i == 3:
                break

    @qd.kernel
    def k():
        f()

    k()


def break_in_a_serial_loop():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        qd.loop_config(serialize=True)
        for i in range(10):
            if i == 3:
                break
            r += 1
        return r

    return k()


def break_under_an_if_is_serial():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        if True:
            for i in range(10):
                if i == 4:
                    break
                r += 1
        return r

    return k()


def break_of_the_inner_loop():
    x = qd.field(qd.i32, shape=5)

    @qd.kernel
    def k():
        for i in range(5):
            for j in range(10):
                if j == i:
                    break
                x[i] += 1

    k()
    return x.to_numpy()


def continue_in_a_parallel_loop():
    x = qd.field(qd.i32, shape=6)

    @qd.kernel
    def k():
        for i in range(6):
            if i % 2 == 0:
                continue
            x[i] = i

    k()
    return x.to_numpy()


def continue_of_the_inner_loop():
    x = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        for i in range(4):
            for j in range(5):
                if j == i:
                    continue
                x[i] += j

    k()
    return x.to_numpy()


def continue_after_nested_if():
    x = qd.field(qd.i32, shape=12)

    @qd.kernel
    def k():
        for i in range(12):
            if i > 2:
                if i % 3 == 0:
                    continue
                else:
                    x[i] = 1
            x[i] += 2

    k()
    return x.to_numpy()


def break_then_loop_variable_is_unknown():
    @qd.kernel
    def k() -> qd.i32:
        for i in range(3):
            pass
        return i

    return k()


def loop_variable_hides_a_name():
    @qd.kernel
    def k():
        i = 3
        for i in range(3):
            pass

    k()


def loop_variable_used_twice_in_sequence():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        for i in range(3):
            r += i
        for i in range(4):
            r += i
        return r

    return k()


def loop_variable_of_the_outer_loop_again():
    @qd.kernel
    def k():
        for i in range(3):
            for i in range(3):
                pass

    k()


def loop_variable_is_assigned():
    @qd.kernel
    def k():
        for i in range(3):
            i = 5

    k()


def for_else():
    @qd.kernel
    def k():
        for i in range(3):
            pass
        else:
            pass

    k()


def loop_over_a_list():
    @qd.kernel
    def k():
        for i in [1, 2, 3]:
            pass

    k()


def loop_over_a_number():
    @qd.kernel
    def k():
        for i in 5:
            pass

    k()


def loop_over_strings():
    @qd.kernel
    def k():
        for i in "abc":
            pass

    k()


def loop_config_unknown_option():
    @qd.kernel
    def k():
        qd.loop_config(no_such_option=1)
        for i in range(3):
            pass

    k()


def loop_config_block_dim():
    x = qd.field(qd.i32, shape=300)

    @qd.kernel
    def k():
        qd.loop_config(block_dim=64)
        for i in range(300):
            x[i] = i

    k()
    return [x[0], x[64], x[299]]


def loop_config_parallelize():
    x = qd.field(qd.i32, shape=30)

    @qd.kernel
    def k():
        qd.loop_config(parallelize=2)
        for i in range(30):
            x[i] = i

    k()
    return x[29]


def loop_config_name():
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        qd.loop_config(name="fill")
        for i in range(3):
            x[i] = 7

    k()
    return x.to_numpy()


def underscore_targets():
    x = qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        for _ in range(5):
            x[None] += 1
        for _ in range(5):
            for _ in range(2):
                x[None] += 1

    k()
    return x[None]


def big_grid():
    x = qd.field(qd.i32, shape=100000)

    @qd.kernel
    def k() -> qd.i32:
        for i in range(100000):
            x[i] = i % 7
        s = 0
        for i in range(100000):
            s += x[i]
        return s

    return k()


def zero_iterations_at_top_level():
    x = qd.field(qd.i32, shape=2)

    @qd.kernel
    def k(n: qd.i32):
        for i in range(n):
            x[0] = 1
        x[1] = 1

    k(0)
    return x.to_numpy()


def func_with_loop_in_a_parallel_loop():
    x = qd.field(qd.i32, shape=5)

    @qd.func
    def total(n):
        s = 0
        for j in range(n):
            if j == 3:
                break
            s += j + 1
        return s

    @qd.kernel
    def k():
        for i in range(5):
            x[i] = total(i)

    k()
    return x.to_numpy()
