"""qd.func and qd.real_func: arguments, returns, recursion."""

import quadrants as qd


def func_by_value():
    @qd.func
    def f(a):
        a = a + 1
        return a

    @qd.kernel
    def k() -> qd.i32:
        x = 3
        y = f(x)
        return x * 10 + y

    return k()


def func_by_template_reference():
    @qd.func
    def f(a: qd.template()):
        a = a + 1

    @qd.kernel
    def k() -> qd.i32:
        x = 3
        f(x)
        return x

    return k()


def func_defaults_and_keywords():
    @qd.func
    def f(a, b=5, c=7):
        return a * 100 + b * 10 + c

    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        return f(n) * 1000 + f(n, c=1)

    return k(1)


def func_annotated_argument_casts():
    @qd.func
    def f(a: qd.i32) -> qd.f32:
        return a / 2

    @qd.kernel
    def k() -> qd.f32:
        return f(3.9)

    return k()


def func_returns_a_tuple():
    @qd.func
    def f(a):
        return a + 1, a * 2.5

    @qd.kernel
    def k(n: qd.i32) -> qd.f32:
        x, y = f(n)
        return x + y

    return k(2)


def func_returns_nothing():
    x = qd.field(qd.i32, shape=())

    @qd.func
    def f(a):
        x[None] = a

    @qd.kernel
    def k():
        f(4)

    k()
    return x[None]


def func_return_in_a_run_time_if():
    @qd.func
    def f(a):
        if a > 0:
            return 1
        return 2

    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        return f(n)

    return k(1)


def func_return_in_a_loop():
    @qd.func
    def f(a):
        for i in range(a):
            return i
        return 0

    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        return f(n)

    return k(1)


def func_return_under_static_if():
    @qd.func
    def f(a, c: qd.template()):
        if qd.static(c):
            return a + 1
        return a + 2

    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        return f(n, True) * 10 + f(n, False)

    return k(1)


def func_static_recursion():
    @qd.func
    def power(x, n: qd.template()):
        r = 1
        if qd.static(n > 0):
            r = x * power(x, n - 1)
        return r

    @qd.kernel
    def k(x: qd.i32) -> qd.i32:
        return power(x, 5)

    return k(3)


def func_from_python():
    @qd.func
    def f(a):
        return a

    return f(1)


def func_wrong_number_of_arguments():
    @qd.func
    def f(a, b):
        return a + b

    @qd.kernel
    def k() -> qd.i32:
        return f(1)

    return k()


def func_unknown_keyword():
    @qd.func
    def f(a):
        return a

    @qd.kernel
    def k() -> qd.i32:
        return f(1, z=2)

    return k()


def func_twice_with_its_own_locals():
    @qd.func
    def f(a):
        t = a * 2
        t += 1
        return t

    @qd.kernel
    def k() -> qd.i32:
        return f(1) * 100 + f(f(2))

    return k()


def func_of_vectors():
    @qd.func
    def reflect(v, n):
        return v - 2 * v.dot(n) * n

    @qd.kernel
    def k() -> qd.f32:
        r = reflect(qd.Vector([1.0, -1.0]), qd.Vector([0.0, 1.0]))
        return r[0] * 10 + r[1]

    return k()


def func_calls_a_kernel():
    @qd.kernel
    def inner():
        pass

    @qd.kernel
    def k():
        inner()

    k()


def real_func_returns_early_and_recurses():
    @qd.real_func
    def fib(n: qd.i32) -> qd.i32:
        if n < 2:
            return n
        return fib(n - 1) + fib(n - 2)

    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        return fib(n)

    return [k(1), k(10)]


def nested_function_in_a_kernel():
    @qd.kernel
    def k() -> qd.i32:
        def f(a):
            return a

        return f(1)

    return k()
