"""print in kernels: formats, separators, vectors, f-strings."""

import quadrants as qd


def integers():
    @qd.kernel
    def k(a: qd.i32):
        print("a =", a, -a)

    k(3)


def floats():
    @qd.kernel
    def k(a: qd.f32, b: qd.f64):
        print(a, b, a * 2)

    k(1.5, 0.1)


def every_integer_type():
    @qd.kernel
    def k(a: qd.i32):
        print(qd.cast(a, qd.i8), qd.cast(a, qd.u8), qd.cast(a, qd.i16), qd.cast(a, qd.u16))
        print(qd.cast(a, qd.u32), qd.cast(a, qd.i64), qd.cast(a, qd.u64))

    k(-2)


def sep_and_end():
    @qd.kernel
    def k(a: qd.i32):
        print(a, a + 1, sep="; ", end="!\n")
        print(a, end="")
        print(a)

    k(1)


def nothing():
    @qd.kernel
    def k():
        print()
        print("x")

    k()


def vectors_and_matrices():
    @qd.kernel
    def k():
        print(qd.Vector([1, 2, 3]))
        print(qd.Matrix([[1.0, 2.0], [3.0, 4.0]]))
        print("v:", qd.Vector([1.5, 2.5]), "end")

    k()


def f_string():
    @qd.kernel
    def k(a: qd.i32):
        print(f"a is {a} and {a + 1}")

    k(5)


def f_string_with_format():
    @qd.kernel
    def k(a: qd.f32, b: qd.i32):
        print(f"{a:.2f} {b:d} {b:x}")

    k(3.14159, 255)


def str_format():
    @qd.kernel
    def k(a: qd.i32):
        print("a is {} and {}".format(a, a * 2))

    k(5)


def booleans():
    @qd.kernel
    def k(a: qd.i32):
        print(a > 1, a > 5, True)

    k(3)


def percent_and_braces():
    @qd.kernel
    def k(a: qd.i32):
        print("100% {} done", a)

    k(1)


def in_order_in_a_serial_loop():
    @qd.kernel
    def k():
        qd.loop_config(serialize=True)
        for i in range(4):
            print("i", i)

    k()


def strings_and_constants():
    name = "captured"

    @qd.kernel
    def k():
        print("a", "b", 3, 2.5)
        print(name)

    k()


def extreme_floats():
    @qd.kernel
    def k(a: qd.f32):
        print(a, -a, a - a, a * 1e-30)

    k(float("inf"))


def large_and_small_floats():
    @qd.kernel
    def k(a: qd.f32, b: qd.f32):
        print(a, b)

    k(1e10, 1e-10)


def print_in_a_func():
    @qd.func
    def f(a):
        print("in f", a)
        return a

    @qd.kernel
    def k() -> qd.i32:
        return f(2)

    return k()


def list_and_tuple():
    @qd.kernel
    def k(a: qd.i32):
        print([a, 1], (a, 2))

    k(7)
