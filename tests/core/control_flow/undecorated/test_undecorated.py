"""Undecorated functions return the same as in Python, whether their arguments are static or dynamic.

Modules tested here: dsl/core/control_flow/hooks.py, dsl/core/control_flow/undecorated/undecorated_statements.py.
"""

import dataclasses
import functools
import inspect
import warnings

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dsl.cutlass as cutlass
from dsl.core.control_flow.undecorated.undecorated import Helpers
from dsl.core.errors import DSLUserCodeError, PortabilityWarning
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.cutlass.grammar import UNDECORATED

pytestmark = pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")


def clamp(x, low, high):
    if x < low:
        return low
    elif x > high:
        return high
    return x


def collatz(x):
    steps = 0
    while x > 1:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        steps += 1
        if steps > 40:
            break
    return steps


def count(n, x):
    total = 0
    for i in range(n):
        if i == 3:
            continue
        if i > 6 and x > 2:
            break
        total = total + i * x
    else:
        total += 1000
    return total


def last_trip(n, x):
    i = -1
    for i in range(n):
        if i * 2 > x:
            break
        i = i + 100
    return i


def unrolled(k, x):
    """Of four trips of Python's own, a dynamic test leaves some."""
    found, i = 0, 9
    for i in range(4):
        if i > x:
            break
        found = found + k
    return found * 100 + i


def logic(a, b):
    return (
        (a and b)
        + 10 * (b or a)
        + (100 if not a else 200)
        + (1000 if 0 < a < b < 9 else 0)
        + (max(a, b, 3) - min(a, 2))
    )


def nested(a, b):
    def inner(v):
        if v > b:
            return clamp(v, 0, 50)
        return -v

    return inner(a) + (lambda v: v if v > 3 else 3)(b)


def recursive(k, x):
    if k == 0:
        return x
    return recursive(k - 1, x + k if x > 2 else x - k)


class Counter:
    scale = 2

    def __init__(self, start):
        self.value = start if start > 1 else 1
        if start > 4:
            self.value += 10

    def __call__(self, x):
        return self.value * self.scale if x > 1 else x

    @classmethod
    def of(cls, x):
        return cls(x) if x is not None else None

    @staticmethod
    def sign(x):
        return 1 if x > 0 else -1


class Shifted(Counter):
    def __init__(self, start):
        super().__init__(start + 1)


def objects(a, b):
    return Counter(a)(b) + Counter.of(b).value * 3 + Counter.sign(a) + Shifted(a)(a)


def wrapped(function):
    @functools.wraps(function)
    def call(*arguments, **named):
        return function(*arguments, **named)

    return call


@wrapped
def decorated_plainly(a, *, b=1):
    return a if a > b else b


def partials(a, b):
    return functools.partial(clamp, low=0)(a, high=b) + decorated_plainly(a, b=b)


TWICE, THRICE = lambda v: v * 2 if v > 1 else 0, lambda v: v * 3 if v > 1 else 1


def lambdas(a, b):
    return TWICE(a) + 100 * THRICE(b)


class Source:
    def __init__(self, x):
        self.x, self.taken = x, 0

    def take(self):
        self.taken += 1
        self.x = self.x - 2
        return self.x


def changing_tests(a, b):
    source, total, k = Source(a), 0, 0
    while source.take() > b:
        total = total + source.x
    while k < 3 and source.take() is not None:
        k += 1
    return total * 100 + source.taken + (source.x if source.x > 0 else -source.x)


def callbacks(a, b):
    return functools.reduce(largest, [a, b, 4]) + sum(map(doubled, [a, b])) + len(list(filter(None, [0, 1])))


def largest(a, b):
    return a if a > b else b


def doubled(x):
    return x * 2 if x > 2 else x


HELPERS = [
    lambda a, b: clamp(a, 0, b),
    lambda a, b: collatz(a),
    count,
    last_trip,
    unrolled,
    logic,
    nested,
    lambda a, b: recursive(3, a),
    objects,
    partials,
    lambdas,
    callbacks,
    changing_tests,
]


@pytest.mark.slow
@pytest.mark.parametrize("helper", HELPERS, ids=lambda helper: inspect.getsource(helper).split("(")[0].strip()[:20])
def test_every_mix_of_static_and_dynamic_arguments_is_pythons(helper):
    @cute.jit
    def both(a: cutlass.Int32, b: cutlass.Int32):
        return helper(a, b)

    @cute.jit
    def left(a: cutlass.Int32, b: cutlass.Constexpr):
        return helper(a, b)

    @cute.jit
    def right(a: cutlass.Constexpr, b: cutlass.Int32):
        return helper(a, b)

    @cute.jit
    def neither(a: cutlass.Constexpr, b: cutlass.Constexpr):
        return helper(a, b)

    @settings(max_examples=8, deadline=None, database=None)
    @given(st.integers(0, 12), st.integers(0, 12))
    def check(a, b):
        expected = helper(a, b)
        for function in (both, left, right, neither):
            assert int(function(a, b)) == expected, function.__name__

    check()


def test_a_loop_of_pythons_own_makes_python_integers():
    def kinds(n):
        return [type(i) for i in range(n)], sum(1 for i in range(n) if i)

    @cute.jit
    def program(x: cutlass.Int32):
        assert kinds(3) == ([int, int, int], 2)
        found = []
        outside(found, 2)
        assert found == [0, 1, "end"]

    program(1)


def outside(found, n):
    for i in range(n):
        found.append(i)
    else:
        found.append("end")


def generator(n):
    for i in range(n):
        yield i


def with_global():
    global SEEN
    SEEN += 1
    return SEEN


SEEN = 0


def test_functions_that_cannot_become_closures_stay_python():
    helpers = Helpers(UNDECORATED)
    for function in (generator, with_global, len, str, inspect.getsource, dict, type("Plain", (), {})):
        assert helpers.callee(function) is function
    for method in ("x".upper, [].append, pytest.raises):
        assert helpers.callee(method) == method
    namespace = {}
    exec("def made(x):\n    return 1 if x else 2\n", namespace)  # without source
    assert helpers.callee(namespace["made"]) is namespace["made"]


def test_it_is_rewritten_once():
    helpers = Helpers(UNDECORATED)
    first, second = helpers.callee(clamp), helpers.callee(clamp)
    assert first is not clamp and first.__code__ is second.__code__
    assert helpers.callee(first) is first
    assert first.__globals__ is clamp.__globals__ and first.__name__ == "clamp"


def test_a_class_inside_a_compiled_function():
    @cute.jit
    def program(n: cutlass.Int32):
        class Total:
            def __init__(self):
                self.value = 0

            def add(self, x):
                if x > 2:
                    self.value = self.value + x

        total = Total()
        for i in range(n):
            total.add(i)
        return total.value

    assert program(6) == 3 + 4 + 5


def kernel_helper(t, out, first=0):
    if t > first:
        out[t] = inlined(t)
    for i in range(2):
        if t == i:
            out[t] = out[t] + 100


@cute.jit
def inlined(x: cutlass.Int32):
    if x > 2:
        x = x * 2
    return x


class Scaling:
    """Kernels and host functions that are methods, with a plain method between them."""

    def __init__(self, factor):
        self.factor = factor

    @cute.jit
    def __call__(self, out: cute.Tensor, n: cutlass.Int32):
        self.launched(out, n, 4)

    def launched(self, out, n, threads):
        if n > 2:
            self.kernel(out, n).launch(grid=1, block=threads)

    @cute.kernel
    def kernel(self, out: cute.Tensor, n: cutlass.Int32):
        t, _, _ = cute.arch.thread_idx()
        kernel_helper(t, out)
        self.store(out, t, n)

    def store(self, out, t, n):
        if t < n:
            out[t] = out[t] + (t * self.factor if self.factor else t)


def test_helpers_between_kernels_and_host_functions():
    out = np.zeros(4, np.int32)
    Scaling(10)(from_dlpack(out), 3)
    assert out.tolist() == [100, 111, 22, 6]
    Scaling(10)(from_dlpack(out), 2)  # nothing is launched
    assert out.tolist() == [100, 111, 22, 6]


def test_python_raises_for_static_arguments_inside_a_dynamic_loop():
    def pick(dtype):
        if dtype is cutlass.Float16:
            return 1
        raise TypeError("no kernel for this type")

    @cute.jit
    def program(n: cutlass.Int32):
        for _ in range(n):
            pick(cutlass.Int32)

    with pytest.raises(TypeError, match="^no kernel for this type$"):
        program(0)


@pytest.mark.filterwarnings("default::dsl.core.errors.PortabilityWarning")
def test_one_warning_a_helper_and_none_for_static_arguments():
    def twice(x):
        if x > 1:
            x = x - 1
        if x > 2:
            x = x - 1
        return x

    @cute.jit
    def static():
        return twice(7)

    @cute.jit
    def dynamic(n: cutlass.Int32):
        cute.printf("{}", twice(n) + twice(n + 1))

    with warnings.catch_warnings():
        warnings.simplefilter("error", PortabilityWarning)
        assert static() == 5
    with pytest.warns(PortabilityWarning) as caught:
        dynamic(7)
    first = inspect.getsourcelines(twice)[1] + 1
    assert {(str(w.message), w.lineno) for w in caught} == {
        (
            "`twice` is not decorated and decides by a dynamic value: NVIDIA's compiler rejects that "
            "(PHASE_DYNAMIC_TO_STATIC_BOOL)",
            first,
        )
    }


def test_the_same_is_an_error_where_such_warnings_are():
    def choose(x):
        return 1 if x > 1 else 2

    @cute.jit
    def program(n: cutlass.Int32):
        return choose(n)

    with warnings.catch_warnings(), pytest.raises(DSLUserCodeError) as caught:
        warnings.simplefilter("error", PortabilityWarning)
        program(3)
    assert (
        [line for line in str(caught.value).split("\n")[1:] if not line.startswith("tests")]
        == """\
    return 1 if x > 1 else 2
           ^^^^^^^^^^^^^^^^^ `choose` is not decorated and decides by a dynamic value, which NVIDIA's compiler rejects
    return choose(n)
           ^^^^^^^^^ `choose` is called here
fix: decorate it with @cute.jit""".split("\n")
    )


def test_post_init_of_a_dataclass_decides_by_value_too():
    @dataclasses.dataclass
    class Clamped:
        value: object
        above: object = 0

        def __post_init__(self):
            if self.value > 5:
                self.value, self.above = 5, self.value - 5

    @cute.jit
    def program(n: cutlass.Int32):
        made, static = Clamped(n), Clamped(9)
        return made.value, made.above, static.value, vars(static) == {"value": 5, "above": 4}

    assert program(3) == (3, 0, 5, True) and program(8) == (5, 3, 5, True)
