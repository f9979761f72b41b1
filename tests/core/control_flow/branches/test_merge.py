"""An arm that ends with `return`: what it has changed, nothing reads, so it may change anything."""

import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import cute

pytestmark = pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")


def a_longer_list(n):
    xs = [n]
    if n > 1:
        xs.append(3)
        return xs[0] * 100 + xs[1]
    return n + len(xs)


def a_shorter_list_in_a_loop(n):
    xs, total = [n, 7], 0
    for i in range(5):
        if i == n:
            xs.pop()
            xs[0] += 1000
            return xs[0] + total
        total += xs[1] + i
    return total + xs[0]


def a_new_key(n):
    d = {}
    if n > 1:
        d["k"] = n
        return d["k"] * 100
    return n + len(d)


def another_type(n):
    x = 1
    if n > 1:
        x = [n, 2]
        return x[0] + x[1]
    elif n == 1:
        x = None
        return 77
    return x + n


def an_object(n):
    class Box:
        value, tag = n, "a"

    box = Box()
    if n > 1:
        box.value = (n, n)
        box.tag = "b"
        return box.value[0] + 1
    box.value += 5
    return box.value if box.tag == "a" else 0


def the_list_itself(n):
    xs = [n, 1]
    if n > 1:
        xs[0] += 10
        return xs
    xs[1] += 5
    return xs


def in_an_inlined_function(n):
    def inner(k):
        x = 1
        if k > 1:
            x = (k, k)
            return x[0] * 3
        return x + k

    return inner(n) * 10 + inner(n - 1)


@pytest.mark.parametrize(
    "program",
    [
        a_longer_list,
        a_shorter_list_in_a_loop,
        a_new_key,
        another_type,
        an_object,
        the_list_itself,
        in_an_inlined_function,
    ],
    ids=lambda program: program.__name__,
)
def test_the_other_path_does_not_see_it(program):
    program.__annotations__["n"] = cutlass.Int32
    compiled = cute.jit(program)
    for n in (-3, 0, 1, 2, 4, 9):
        assert compiled(n) == program(n)


@pytest.mark.parametrize("value, dtype", [(300, cutlass.Uint8), (-1, cutlass.Uint8), (1 << 40, cutlass.Int32)])
def test_a_static_integer_does_not_take_a_type_that_cannot_hold_it(value, dtype):
    @cute.jit
    def branch(n: cutlass.Int32):
        x = dtype(n)
        if n > 1:
            x = value
        return x

    @cute.jit
    def index(n: cutlass.Int32):
        xs = [dtype(n), value]
        return xs[n]

    with pytest.raises(cutlass.DSLUserCodeError) as error:
        branch(3)
    assert error.value.message == f"`x` is Python int on one path and {dtype.__name__} on another"
    with pytest.raises(cutlass.DSLUserCodeError):
        index(1)


def test_a_static_integer_takes_the_type_of_the_other_path():
    @cute.jit
    def branch(n: cutlass.Int32):
        x = cutlass.Uint8(n)
        if n > 1:
            x = 255
        return x

    assert (branch(1), branch(2)) == (1, 255)


def test_a_caller_may_read_changes_of_an_inlined_function():
    def change(xs, n):
        if n > 1:
            xs.append(n)
            return 1
        return 2

    @cute.jit
    def host(n: cutlass.Int32):
        xs = [n]
        return change(xs, n) + len(xs)

    with pytest.raises(cutlass.DSLUserCodeError, match="`xs` holds 1 items on one path and 2 on another"):
        host(3)
