"""ndrange, grouped, struct-for over fields and ndarrays."""

import numpy as np
import quadrants as qd


def ndrange_two_axes():
    x = qd.field(qd.i32, shape=(3, 4))

    @qd.kernel
    def k():
        for i, j in qd.ndrange(3, 4):
            x[i, j] = i * 10 + j

    k()
    return x.to_numpy()


def ndrange_with_bounds():
    x = qd.field(qd.i32, shape=(5, 5))

    @qd.kernel
    def k():
        for i, j in qd.ndrange((1, 3), (2, 5)):
            x[i, j] = i * 10 + j

    k()
    return x.to_numpy()


def ndrange_negative_bounds():
    x = qd.field(qd.i32, shape=(4, 3))

    @qd.kernel
    def k():
        for i, j in qd.ndrange((-2, 2), 3):
            x[i + 2, j] = i * 10 + j

    k()
    return x.to_numpy()


def ndrange_empty():
    x = qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        for i, j in qd.ndrange((3, 1), 4):
            x[None] += 1
        for i, j in qd.ndrange(0, 4):
            x[None] += 1

    k()
    return x[None]


def ndrange_one_axis():
    x = qd.field(qd.i32, shape=5)

    @qd.kernel
    def k():
        for i in qd.ndrange(5):
            x[i] = i

    k()
    return x.to_numpy()


def ndrange_one_axis_bounds():
    x = qd.field(qd.i32, shape=5)

    @qd.kernel
    def k():
        for i in qd.ndrange((2, 4)):
            x[i] = i

    k()
    return x.to_numpy()


def ndrange_three_axes():
    x = qd.field(qd.i32, shape=(2, 3, 4))

    @qd.kernel
    def k():
        for i, j, m in qd.ndrange(2, 3, 4):
            x[i, j, m] = i * 100 + j * 10 + m

    k()
    return x.to_numpy()


def ndrange_of_run_time_values():
    x = qd.field(qd.i32, shape=(4, 4))

    @qd.kernel
    def k(n: qd.i32, m: qd.i32):
        for i, j in qd.ndrange(n, (1, m)):
            x[i, j] = 1

    k(2, 3)
    return x.to_numpy()


def ndrange_of_field_shape():
    x = qd.field(qd.i32, shape=(2, 3))

    @qd.kernel
    def k():
        for i, j in qd.ndrange(*x.shape):
            x[i, j] = i + j

    k()
    return x.to_numpy()


def ndrange_too_few_targets():
    @qd.kernel
    def k():
        for i in qd.ndrange(2, 3):
            pass

    k()


def ndrange_too_many_targets():
    @qd.kernel
    def k():
        for i, j, m in qd.ndrange(2, 3):
            pass

    k()


def ndrange_of_floats():
    @qd.kernel
    def k():
        for i, j in qd.ndrange(2.5, 3):
            pass

    k()


def ndrange_of_a_triple():
    @qd.kernel
    def k():
        for i in qd.ndrange((1, 2, 3)):
            pass

    k()


def ndrange_order_when_serial():
    x, n = qd.field(qd.i32, shape=6), qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        qd.loop_config(serialize=True)
        for i, j in qd.ndrange(2, 3):
            x[n[None]] = i * 10 + j
            n[None] += 1

    k()
    return x.to_numpy()


def ndrange_axes_order_when_serial():
    x, n = qd.field(qd.i32, shape=6), qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        qd.loop_config(serialize=True)
        for i, j in qd.ndrange(2, 3, axes=(1, 0)):
            x[n[None]] = i * 10 + j
            n[None] += 1

    k()
    return x.to_numpy()


def ndrange_axes_wrong():
    @qd.kernel
    def k():
        for i, j in qd.ndrange(2, 3, axes=(0, 0)):
            pass

    k()


def ndrange_nested_serial():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        if True:
            for i, j in qd.ndrange(2, 2):
                r = r * 100 + i * 10 + j
        return r

    return k()


def ndrange_break_in_serial():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        if True:
            for i, j in qd.ndrange(3, 3):
                if i == 1:
                    break
                r += 1
        return r

    return k()


def ndrange_continue():
    x = qd.field(qd.i32, shape=(3, 3))

    @qd.kernel
    def k():
        for i, j in qd.ndrange(3, 3):
            if i == j:
                continue
            x[i, j] = 1

    k()
    return x.to_numpy()


def ndrange_in_python():
    return [list(pair) for pair in qd.ndrange(2, (1, 3))]


def ndrange_kept_in_a_name():
    x = qd.field(qd.i32, shape=(2, 2))

    @qd.kernel
    def k():
        r = qd.ndrange(2, 2)
        for i, j in r:
            x[i, j] = 5

    k()
    return x.to_numpy()


def grouped_ndrange():
    x = qd.field(qd.i32, shape=(2, 3))

    @qd.kernel
    def k():
        for p in qd.grouped(qd.ndrange(2, 3)):
            x[p] = p[0] * 10 + p[1]

    k()
    return x.to_numpy()


def grouped_field():
    x = qd.field(qd.i32, shape=(2, 3))

    @qd.kernel
    def k():
        for p in qd.grouped(x):
            x[p] = p[0] * 10 + p[1]

    k()
    return x.to_numpy()


def grouped_field_neighbour():
    x = qd.field(qd.i32, shape=(4, 4))
    y = qd.field(qd.i32, shape=(4, 4))

    @qd.kernel
    def k():
        for p in qd.grouped(x):
            x[p] = p[0] * 4 + p[1]
        for p in qd.grouped(y):
            if p[0] > 0:
                y[p] = x[p - qd.Vector([1, 0])] + p.x + p.y

    k()
    return y.to_numpy()


def grouped_sum_of_parts():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        for p in qd.grouped(qd.ndrange((1, 3), (2, 4))):
            r += p.sum()
        return r

    return k()


def grouped_static_ndrange():
    @qd.kernel
    def k() -> qd.i32:
        r = 0
        for p in qd.static(qd.grouped(qd.ndrange(2, 2))):
            r = r * 100 + p[0] * 10 + p[1]
        return r

    return k()


def grouped_range():
    @qd.kernel
    def k():
        for p in qd.grouped(range(3)):
            pass

    k()


def struct_for_one_axis():
    x = qd.field(qd.i32, shape=5)

    @qd.kernel
    def k():
        for i in x:
            x[i] = i * 2

    k()
    return x.to_numpy()


def struct_for_two_axes():
    x = qd.field(qd.i32, shape=(2, 3))

    @qd.kernel
    def k():
        for i, j in x:
            x[i, j] = i * 10 + j

    k()
    return x.to_numpy()


def struct_for_wrong_number_of_targets():
    x = qd.field(qd.i32, shape=(2, 3))

    @qd.kernel
    def k():
        for i in x:
            pass

    k()


def struct_for_template():
    x, y = qd.field(qd.i32, shape=3), qd.field(qd.f32, shape=2)

    @qd.kernel
    def k(f: qd.template()):
        for i in f:
            f[i] = i + 1

    k(x)
    k(y)
    return [x.to_numpy(), y.to_numpy()]


def struct_for_ndarray():
    a = qd.ndarray(qd.i32, shape=(2, 3))

    @qd.kernel
    def k(a: qd.types.ndarray()):
        for i, j in a:
            a[i, j] = i * 10 + j

    k(a)
    return a.to_numpy()


def struct_for_numpy_grouped():
    a = np.zeros((2, 3), np.int32)

    @qd.kernel
    def k(a: qd.types.ndarray()):
        for p in qd.grouped(a):
            a[p] = p[0] * 10 + p[1]

    k(a)
    return a


def struct_for_vector_field():
    x = qd.Vector.field(2, qd.i32, shape=3)

    @qd.kernel
    def k():
        for i in x:
            x[i] = qd.Vector([i, i * 2])

    k()
    return x.to_numpy()


def struct_for_with_break():
    x = qd.field(qd.i32, shape=5)

    @qd.kernel
    def k():
        for i in x:
            if i == 2:
                break

    k()


def struct_for_zero_dimensions():
    x = qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        for p in qd.grouped(x):
            x[p] = 3

    k()
    return x[None]


def struct_for_inside_an_if():
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k(c: qd.i32):
        if c:
            for i in x:
                x[i] = i + 1

    k(1)
    return x.to_numpy()


def struct_for_in_a_loop():
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        for t in range(2):
            for i in x:
                x[i] += 1

    k()
    return x.to_numpy()
