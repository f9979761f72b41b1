"""Atomic operations: augmented assignment, the named ones, what they return, what they refuse."""

import quadrants as qd


def add_to_a_field_in_parallel():
    x = qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        for i in range(1000):
            x[None] += 1

    k()
    return x[None]


def add_floats_in_parallel():
    x = qd.field(qd.f32, shape=())

    @qd.kernel
    def k():
        for i in range(512):
            x[None] += 0.5

    k()
    return x[None]


def subtract_in_parallel():
    x = qd.field(qd.i32, shape=())

    @qd.kernel
    def k():
        for i in range(100):
            x[None] -= i

    k()
    return x[None]


def bits_in_parallel():
    x = qd.field(qd.i32, shape=3)
    x[1] = -1

    @qd.kernel
    def k():
        for i in range(8):
            x[0] |= 1 << i
            x[1] &= ~(1 << i)
            x[2] ^= 1 << i

    k()
    return x.to_numpy()


def histogram():
    x = qd.field(qd.i32, shape=7)

    @qd.kernel
    def k():
        for i in range(1000):
            x[i % 7] += 1

    k()
    return x.to_numpy()


def local_of_the_kernel_in_parallel():
    @qd.kernel
    def k() -> qd.i32:
        s = 0
        for i in range(1000):
            s += 1
        return s

    return k()


def local_minimum_and_maximum():
    @qd.kernel
    def k() -> qd.i32:
        low = 1000
        high = -1000
        for i in range(100):
            qd.atomic_min(low, i * 7 % 31 - 5)
            qd.atomic_max(high, i * 7 % 31 - 5)
        return low * 1000 + high

    return k()


def add_returns_the_old_value():
    x, old = qd.field(qd.i32, shape=()), qd.field(qd.i32, shape=())
    x[None] = 5

    @qd.kernel
    def k():
        old[None] = qd.atomic_add(x[None], 3)

    k()
    return [x[None], old[None]]


def every_named_one_returns_the_old_value():
    x, old = qd.field(qd.i32, shape=8), qd.field(qd.i32, shape=8)
    for i in range(8):
        x[i] = 12

    @qd.kernel
    def k():
        for _ in range(1):
            old[0] = qd.atomic_add(x[0], 5)
            old[1] = qd.atomic_sub(x[1], 5)
            old[2] = qd.atomic_min(x[2], 5)
            old[3] = qd.atomic_max(x[3], 50)
            old[4] = qd.atomic_and(x[4], 10)
            old[5] = qd.atomic_or(x[5], 3)
            old[6] = qd.atomic_xor(x[6], 10)
            old[7] = qd.atomic_exchange(x[7], 99)

    k()
    return [x.to_numpy(), old.to_numpy()]


def mul_in_a_loop():
    x, old = qd.field(qd.i32, shape=()), qd.field(qd.i32, shape=())
    x[None] = 3

    @qd.kernel
    def k():
        for i in range(1):
            old[None] = qd.atomic_mul(x[None], 5)

    k()
    return [x[None], old[None]]


def mul_in_parallel():
    x = qd.field(qd.i32, shape=())
    x[None] = 1

    @qd.kernel
    def k():
        for i in range(10):
            qd.atomic_mul(x[None], 2)

    k()
    return x[None]


def mul_outside_a_loop():
    x = qd.field(qd.i32, shape=())
    x[None] = 3

    @qd.kernel
    def k():
        qd.atomic_mul(x[None], 5)

    k()
    return x[None]


def compare_and_swap():
    x, old = qd.field(qd.i32, shape=2), qd.field(qd.i32, shape=2)
    x[0] = 4
    x[1] = 4

    @qd.kernel
    def k():
        old[0] = qd.atomic_cas(x[0], 4, 9)
        old[1] = qd.atomic_cas(x[1], 5, 9)

    k()
    return [x.to_numpy(), old.to_numpy()]


def min_and_max_of_floats():
    x = qd.field(qd.f32, shape=2)

    @qd.kernel
    def k():
        for i in range(20):
            qd.atomic_min(x[0], -i * 0.5)
            qd.atomic_max(x[1], i * 0.25)

    k()
    return x.to_numpy()


def min_and_max_of_unsigned():
    x = qd.field(qd.u32, shape=2)
    x[0] = 4000000000

    @qd.kernel
    def k():
        for i in range(3):
            qd.atomic_min(x[0], qd.u32(3000000000))
            qd.atomic_max(x[1], qd.u32(3500000000))

    k()
    return x.to_numpy()


def add_of_i64_and_f64():
    x, y = qd.field(qd.i64, shape=()), qd.field(qd.f64, shape=())

    @qd.kernel
    def k():
        for i in range(100):
            x[None] += qd.i64(1) << 33
            y[None] += qd.f64(0.125)

    k()
    return [x[None], y[None]]


def unique_tickets():
    n, seen = qd.field(qd.i32, shape=()), qd.field(qd.i32, shape=200)

    @qd.kernel
    def k():
        for i in range(200):
            t = qd.atomic_add(n[None], 1)
            seen[t] += 1

    k()
    return [n[None], seen.to_numpy()]


def or_of_a_float():
    x = qd.field(qd.f32, shape=())

    @qd.kernel
    def k():
        x[None] |= 1

    k()


def and_of_a_float_by_name():
    x = qd.field(qd.f32, shape=())

    @qd.kernel
    def k():
        qd.atomic_and(x[None], 1)

    k()


def cas_of_a_float():
    x = qd.field(qd.f32, shape=())

    @qd.kernel
    def k():
        qd.atomic_cas(x[None], 0.0, 1.0)

    k()
    return x[None]


def target_is_an_expression():
    @qd.kernel
    def k(a: qd.i32):
        qd.atomic_add(a + 1, 2)

    k(1)


def target_is_a_literal():
    @qd.kernel
    def k():
        qd.atomic_add(1, 2)

    k()


def target_is_an_argument():
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        qd.atomic_add(a, 2)
        return a

    return k(1)


def add_a_vector():
    x = qd.Vector.field(3, qd.i32, shape=())

    @qd.kernel
    def k():
        for i in range(10):
            x[None] += qd.Vector([1, 2, i])

    k()
    return x.to_numpy()


def add_to_a_component():
    x = qd.Vector.field(3, qd.f32, shape=2)

    @qd.kernel
    def k():
        for i in range(10):
            x[i % 2][1] += 1.5

    k()
    return x.to_numpy()


def add_to_an_ndarray():
    a = qd.ndarray(qd.i32, shape=4)

    @qd.kernel
    def k(a: qd.types.ndarray()):
        for i in range(100):
            a[i % 4] += i

    k(a)
    return a.to_numpy()


def multiply_assign_in_serial():
    x = qd.field(qd.i32, shape=())
    x[None] = 1

    @qd.kernel
    def k():
        qd.loop_config(serialize=True)
        for i in range(1, 6):
            x[None] *= i

    k()
    return x[None]


def local_in_a_parallel_body_is_private():
    x = qd.field(qd.i32, shape=8)

    @qd.kernel
    def k():
        for i in range(8):
            s = 0
            for j in range(i):
                s += j
            x[i] = s

    k()
    return x.to_numpy()


def result_used_in_an_expression():
    x = qd.field(qd.i32, shape=())

    @qd.kernel
    def k() -> qd.i32:
        a = qd.atomic_add(x[None], 4) + x[None] * 10
        return a

    return k()


def local_add_returns_the_old_value():
    @qd.kernel
    def k() -> qd.i32:
        a = 3
        b = qd.atomic_add(a, 4)
        return a * 10 + b

    return k()


def result_of_a_float_target_takes_its_type():
    x, old = qd.field(qd.f32, shape=()), qd.field(qd.f32, shape=())
    x[None] = 1.5

    @qd.kernel
    def k():
        old[None] = qd.atomic_add(x[None], 2)

    k()
    return [x[None], old[None]]
