"""Mistakes that a kernel refuses: statements, names, scopes, calls, and the classes of the errors."""

import quadrants as qd
from options import options


def no_such_name():
    @qd.kernel
    def k() -> qd.i32:
        return nothing_of_this_name

    return k()


def used_before_assignment():
    @qd.kernel
    def k() -> qd.i32:
        a = b
        b = 1
        return a

    return k()


def name_of_a_branch():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        if n:
            a = 1
        return a

    return k(1)


def name_of_a_loop_body():
    @qd.kernel
    def k() -> qd.i32:
        for i in range(2):
            a = i
        return a

    return k()


def augmented_assignment_of_an_unknown_name():
    @qd.kernel
    def k() -> qd.i32:
        a += 1
        return a

    return k()


def try_statement():
    @qd.kernel
    def k():
        try:
            a = 1
        except ValueError:
            pass

    k()


def raise_statement():
    @qd.kernel
    def k():
        raise ValueError("x")

    k()


def with_statement():
    @qd.kernel
    def k():
        with open("x") as f:
            pass

    k()


def import_statement():
    @qd.kernel
    def k():
        import math  # noqa: F401

    k()


def del_statement():
    @qd.kernel
    def k():
        a = 1
        del a

    k()


def global_statement():
    @qd.kernel
    def k():
        global total
        total = 1

    k()


def lambda_expression():
    @qd.kernel
    def k() -> qd.i32:
        f = lambda a: a
        return f(1)

    return k()


def yield_expression():
    @qd.kernel
    def k():
        yield 1

    k()


def set_literal():
    @qd.kernel
    def k():
        a = {1, 2}

    k()


def class_statement():
    @qd.kernel
    def k():
        class A:
            pass

    k()


def generator_expression():
    @qd.kernel
    def k():
        a = (i for i in range(3))

    k()


def match_statement():
    @qd.kernel
    def k(n: qd.i32):
        match n:
            case 1:
                pass

    k(1)


def starred_assignment():
    @qd.kernel
    def k():
        a, *b = 1, 2, 3

    k()


def unpacking_of_wrong_length():
    @qd.kernel
    def k():
        a, b = 1, 2, 3

    k()


def assignment_to_a_call():
    @qd.kernel
    def k():
        a = 1
        a.x = 2

    k()


def assignment_to_a_field():
    x = qd.field(qd.i32, shape=3)

    @qd.kernel
    def k():
        x = 3

    k()
    return x.to_numpy()


def assignment_of_a_list_element():
    @qd.kernel
    def k() -> qd.i32:
        a = [1, 2]
        a[0] = 5
        return a[0]

    return k()


def call_of_no_function():
    @qd.kernel
    def k():
        a = 1
        a()

    k()


def attribute_that_is_not():
    @qd.kernel
    def k():
        qd.no_such_function(1)

    k()


def attribute_of_a_number():
    @qd.kernel
    def k(a: qd.i32) -> qd.i32:
        return a.real

    return k(1)


def string_in_a_kernel():
    @qd.kernel
    def k() -> qd.i32:
        a = "text"
        return 1

    return k()


def string_plus_number():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        return n + "text"

    return k(1)


def none_plus_number():
    nothing = None

    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        return n + nothing

    return k(1)


def subscript_of_a_number():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        return n[0]

    return k(1)


def matrix_multiplication_of_numbers():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        return n @ n

    return k(1)


def kernel_in_a_kernel():
    @qd.kernel
    def inner():
        pass

    @qd.kernel
    def k():
        inner()

    k()


def python_function_in_a_kernel():
    def plus(a, b):
        return a + b

    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        return plus(n, 2)

    return k(1)


def slice_of_a_field():
    x = qd.field(qd.i32, shape=4)

    @qd.kernel
    def k():
        x[0:2] = 1

    k()


def multiple_targets():
    @qd.kernel
    def k() -> qd.i32:
        a = b = 3
        b += 1
        return a * 10 + b

    return k()


def tuple_assignment_swaps():
    @qd.kernel
    def k() -> qd.i32:
        a, b = 1, 2
        a, b = b, a
        return a * 10 + b

    return k()


def walrus():
    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        r = 0
        if (m := n + 1) > 2:
            r = m
        return r

    return [k(1), k(5)]


def pass_and_docstring():
    @qd.kernel
    def k() -> qd.i32:
        """A docstring."""
        pass
        return 1

    return k()


def ellipsis_statement():
    @qd.kernel
    def k() -> qd.i32:
        ...
        return 1

    return k()


@options(random_seed=2)  # in a separate group: it ends what qd.init made
def unknown_init_option():
    qd.init(arch=qd.cpu, no_such_option=1)


def error_classes():
    return [
        [base.__name__ for base in getattr(qd, name).__mro__]
        for name in (
            "QuadrantsCompilationError",
            "QuadrantsSyntaxError",
            "QuadrantsNameError",
            "QuadrantsTypeError",
            "QuadrantsRuntimeError",
            "QuadrantsAssertionError",
            "QuadrantsRuntimeTypeError",
        )
    ]


def caught_by_its_python_class():
    @qd.kernel
    def k() -> qd.i32:
        return nothing_of_this_name

    try:
        k()
    except NameError:
        return "NameError"


def after_an_error_other_kernels_run():
    @qd.kernel
    def bad():
        no_such_name_either()

    @qd.kernel
    def good() -> qd.i32:
        return 3

    try:
        bad()
    except qd.QuadrantsCompilationError:
        pass
    return good()


def the_same_error_twice():
    @qd.kernel
    def bad():
        no_such_name_either()

    found = []
    for _ in range(2):
        try:
            bad()
        except qd.QuadrantsCompilationError as error:
            found.append(type(error).__name__)
    return found
