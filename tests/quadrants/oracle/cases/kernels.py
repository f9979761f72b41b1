"""Results and arguments of kernels: casts, tuples, templates and specialisation, data_oriented."""

import quadrants as qd


def return_is_cast():
    @qd.kernel
    def k(a: qd.f32) -> qd.i32:
        return a

    return [k(2.9), k(-2.9)]


def return_without_annotation():
    @qd.kernel
    def k():
        return 1

    return k()


def annotation_without_return():
    @qd.kernel
    def k() -> qd.i32:
        a = 1

    return k()


def return_nothing():
    @qd.kernel
    def k():
        return

    return k()


def return_twice():
    @qd.kernel
    def k() -> qd.i32:
        return 1
        return 2

    return k()


def return_in_a_run_time_if():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        if n:
            return 1
        return 2

    return k(1)


def return_in_a_parallel_loop():
    @qd.kernel
    def k() -> qd.i32:
        for i in range(3):
            return i
        return 2

    return k()


def return_under_static_if():
    @qd.kernel
    def k(c: qd.template()) -> qd.i32:
        if qd.static(c):
            return 1
        else:
            return 2

    return [k(True), k(False)]


def return_a_tuple():
    @qd.kernel
    def k(a: qd.i32) -> (qd.i32, qd.f32):
        return a + 1, a * 0.5

    return k(3)


def return_every_type():
    @qd.kernel
    def a() -> qd.i8:
        return -3

    @qd.kernel
    def b(n: qd.i32) -> qd.u8:
        return n

    @qd.kernel
    def c(n: qd.i32) -> qd.u64:
        return n

    @qd.kernel
    def d(n: qd.f32) -> qd.f16:
        return n

    @qd.kernel
    def e() -> qd.f64:
        return qd.f64(1) / 3

    return [a(), b(300), c(-1), d(0.1), e()]


def return_bool_annotation():
    @qd.kernel
    def k(a: qd.i32) -> bool:
        return a > 2

    return [k(1), k(3)]


def too_few_values_returned():
    @qd.kernel
    def k() -> (qd.i32, qd.i32):
        return 1

    return k()


def template_numbers_specialise():
    @qd.kernel
    def k(n: qd.template()) -> qd.i32:
        qd.static_print("compiled for", n)
        return n + 1

    return [k(1), k(2), k(1), k(2)]


def template_one_and_true():
    @qd.kernel
    def k(n: qd.template()) -> qd.f32:
        return n / 2

    return [k(1), k(True), k(1.0)]


def template_annotation_spellings():
    @qd.kernel
    def a(n: qd.template) -> qd.i32:
        return n

    @qd.kernel
    def b(n: qd.Template) -> qd.i32:
        return n

    return [a(3), b(4)]


def template_string_and_tuple():
    @qd.kernel
    def k(s: qd.template(), t: qd.template()) -> qd.i32:
        r = 0
        if qd.static(s == "a"):
            r = t[0]
        else:
            r = t[1]
        return r

    return [k("a", (3, 4)), k("b", (3, 4))]


def template_dtype():
    x = qd.field(qd.f64, shape=())

    @qd.kernel
    def k(t: qd.template()):
        x[None] = qd.cast(2.75, t)

    k(qd.i32)
    first = x[None]
    k(qd.f32)
    return [first, x[None]]


def template_function():
    @qd.func
    def inc(a):
        return a + 1

    @qd.func
    def dec(a):
        return a - 1

    @qd.kernel
    def k(f: qd.template(), n: qd.i32) -> qd.i32:
        return f(n)

    return [k(inc, 5), k(dec, 5)]


def template_list():
    @qd.kernel
    def k(n: qd.template()) -> qd.i32:
        return n[0]

    return k([1, 2])


def template_numpy_array():
    import numpy as np

    @qd.kernel
    def k(n: qd.template()) -> qd.i32:
        return n[0]

    return k(np.zeros(3, np.int32))


def template_ndarray():
    @qd.kernel
    def k(n: qd.template()) -> qd.i32:
        return n[0]

    return k(qd.ndarray(qd.i32, shape=3))


def parameter_without_annotation():
    @qd.kernel
    def k(a) -> qd.i32:
        return a

    return k(1)


def parameter_with_default():
    @qd.kernel
    def k(a: qd.i32 = 3) -> qd.i32:
        return a

    return k()


def star_args():
    @qd.kernel
    def k(*a: qd.i32) -> qd.i32:
        return 1

    return k(1)


def annotation_of_no_type():
    @qd.kernel
    def k(a: "no type") -> qd.i32:  # noqa: F722
        return a

    return k(1)


def data_oriented_class():
    @qd.data_oriented
    class Counter:
        def __init__(self, n):
            self.n = n
            self.x = qd.field(qd.i32, shape=n)

        @qd.func
        def value(self, i):
            return i * self.n

        @qd.kernel
        def fill(self, add: qd.i32):
            for i in self.x:
                self.x[i] = self.value(i) + add

    a, b = Counter(3), Counter(2)
    a.fill(1)
    b.fill(5)
    return [a.x.to_numpy(), b.x.to_numpy()]


def data_oriented_static_member():
    @qd.data_oriented
    class Model:
        def __init__(self, fast):
            self.fast = fast

        @qd.kernel
        def run(self) -> qd.i32:
            r = 0
            if qd.static(self.fast):
                r = 1
            else:
                r = 2
            return r

    return [Model(True).run(), Model(False).run(), Model(True).run()]


def data_oriented_member_changes():
    @qd.data_oriented
    class Model:
        def __init__(self):
            self.n = 1

        @qd.kernel
        def run(self) -> qd.i32:
            return self.n

    model = Model()
    first = model.run()
    model.n = 2
    return [first, model.run()]


def data_oriented_static_method():
    @qd.data_oriented
    class Maths:
        @staticmethod
        @qd.func
        def twice(a):
            return a * 2

        @qd.kernel
        def run(self, a: qd.i32) -> qd.i32:
            return self.twice(a)

    return Maths().run(4)


def kernel_method_without_data_oriented():
    class Plain:
        @qd.kernel
        def run(self) -> qd.i32:
            return 1

    return Plain().run()


def data_oriented_inheritance():
    @qd.data_oriented
    class Base:
        def __init__(self):
            self.a = 3

        @qd.kernel
        def run(self) -> qd.i32:
            return self.a + self.more()

        @qd.func
        def more(self):
            return 10

    @qd.data_oriented
    class Child(Base):
        @qd.func
        def more(self):
            return 20

    return [Base().run(), Child().run()]


def float_literal_returned_as_integer():
    @qd.kernel
    def k() -> qd.i32:
        return 2.5

    return k()


def integer_literal_returned_as_float():
    @qd.kernel
    def k() -> qd.f32:
        return 2

    return k()
