"""Host functions over the constructs of Python that NVIDIA's front end accepts; both compilers print the same."""

import functools

import cutlass
import cutlass.cute as cute


class Context:
    def __enter__(self):
        return 5

    def __exit__(self, *error):
        return False


def undecorated(flag, n, count=4):
    """Plain Python where it is called from a jit function."""
    out = []
    for i in range(count):
        if flag and i % 2:
            continue
        out.append(n + i)
    else:
        out.append(n)
    i = 0
    while True:
        i += 1
        if i > 3:
            break
    for i in range(2):
        i = i * 10
    try:
        assert isinstance(out, list), "never"
        found = out[10]
    except IndexError:
        found = i
    kept = [v for v in out if v is not None and (flag or v is not n)]
    return kept, found, (1 if flag else 2)


def factorial(k):
    return 1 if k <= 1 else k * factorial(k - 1)


def fibonacci(k):
    if k < 2:
        return k
    return fibonacci(k - 1) + fibonacci(k - 2)


def counter():
    """A generator, a global and a nonlocal are Python's own in a helper."""
    global CALLS
    CALLS += 1
    seen = 0

    def bump():
        nonlocal seen
        seen += 1

    bump()
    bump()
    return seen + sum(x for x in numbers(3))


def numbers(count):
    for i in range(count):
        if i != 1:
            yield i


CALLS = 0
TWICE = lambda v, k=2: v * k if k else v


class Scale:
    factor = 3

    def __init__(self, offset, negative=False):
        self.offset = -offset if negative else offset

    def __call__(self, value):
        return value * self.factor + self.offset

    @classmethod
    def wide(cls):
        return cls(100) if cls.factor > 2 else None

    @staticmethod
    def pick(values, first):
        if first:
            return values[0]
        else:
            return values[-1]


class Negative(Scale):
    def __init__(self, offset):
        super().__init__(offset, negative=True)


@cute.jit
def helpers(n: cutlass.Int32):
    for flag in (True, False):
        kept, found, kind = undecorated(flag, n)
        cute.printf("undecorated %d %d %d %d", len(kept), kept[0], found, kind)
    kept, found, kind = functools.partial(undecorated, False, count=6)(n)
    cute.printf("partial %d %d %d", len(kept), found, kind)
    cute.printf("recursion %d %d", factorial(5), fibonacci(9))
    cute.printf("python %d", counter())
    cute.printf("lambda %d %d", TWICE(n), TWICE(n, 0))
    cute.printf("objects %d %d %d", Scale(1)(n), Scale.wide()(n), Negative(7)(n))
    cute.printf("static %d %d", Scale.pick((n, 1), True), Scale.pick((n, 1), False))


@cute.jit
def walrus(n: cutlass.Int32):
    k = cutlass.Int32(0)
    m = cutlass.Int32(0)
    while (m := n - k) > 2:
        if m == 5:
            k = k + 1
        k = k + m - 1
    if (j := n - 3) > 2:
        cute.printf("walrus if %d", j)
    values = [z := 3, z + 1]
    cute.printf("walrus %d %d %d %d", k, m, values[1], j)


@cute.jit
def statements(n: cutlass.Int32, k: cutlass.Constexpr):
    x = n
    del x
    values = [1, 2, 3]
    del values[0]
    if n > 2:
        t = n + 1
        cute.printf("del %d", t)
        del t
    match k:
        case 1:
            r = n
        case (a, b):
            r = n + a * b
        case {"x": v, **rest}:
            r = n * v + len(rest)
        case [1, *more]:
            r = n + len(more)
        case _:
            r = -n
    with Context() as c:
        if n > 2:
            n = n + c
    try:
        y = {}["k"]
    except KeyError as error:
        y = len(str(error))
    finally:
        n = n + 1
    import math

    if n > 2:
        import math as m2

        cute.printf("import %d", m2.floor(2.5))
    i = 0
    while cutlass.const_expr(i < 3):
        n = n + i
        i += 1
    cute.printf("statements %d %d %d %d %d %d", values[0], r, n, y, math.floor(2.5), i)


@cute.jit
def expressions(n: cutlass.Int32, none: cutlass.Constexpr):
    a = [n + i for i in range(3) if i != 1]
    b = {i: n * i for i in range(3)}
    c = tuple(x for x in (1, 2, 3))
    cute.printf("comprehensions %d %d %d %d %d", a[0], a[1], b[2], c[2], sum(i for i in range(4)))
    cute.printf("choices %d %d %d %d", min([n, 3]), max(n, 9, 4), n and 5, n or 5)
    cute.printf(
        "tests %d %d %d", cutlass.Int32(any([n > 2, n > 9])), cutlass.Int32(all([n > 2, n > 9])), cutlass.Int32(not n)
    )
    cute.printf("compare %d %d %d", cutlass.Int32(0 < n < 9), cutlass.Int32(n in (1, 7)), cutlass.Int32(n not in [7]))
    cute.printf("none %d %d", n if none is None else 0, 1 if none is not None else 2)
    cute.printf("ternary %d %d", n if n > 4 else 4, cutlass.Int64(n) if n > 4 else cutlass.Int64(4))


@cute.jit
def calls(n: cutlass.Int32, *args, k=3, **named):
    def inner(v, w=2):
        if v > 3:
            v = v * w
        return v

    def count_down(j):
        if cutlass.const_expr(j == 0):
            return 0
        return j + count_down(j - 1)

    first, *rest = (n, 1, 2)
    pick = lambda *x, y=2: x[0] + y
    cute.printf("stars %d %d %d %d %d %d", first, rest[0], rest[1], k, named["z"], args[0])
    cute.printf("nested %d %d %d %d", inner(n), inner(n, w=3), count_down(4), pick(n, 3))
    xs, d = [n, n], {"a": n}
    for i in range(3):
        xs[0] += i
        d["a"] = d["a"] * 2
    cute.printf("containers %d %d", xs[0], d["a"])


def attempt(function, *arguments):
    """Print the class of what `function` raises while it is compiled: Python's own exceptions stay."""
    try:
        function(*arguments)
    except Exception as error:
        print(type(error).__name__, str(error))


def unsupported(dtype):
    if dtype is cutlass.Float16:
        return 1
    raise TypeError("no kernel for this type")


@cute.jit
def static_raise(n: cutlass.Int32):
    for i in range(n):
        unsupported(cutlass.Int32)


@cute.jit
def static_assert(n: cutlass.Int32, k: cutlass.Constexpr):
    if n > 2:
        assert k == 2, "k is two"


@cute.jit
def const_raise(n: cutlass.Int32, bad: cutlass.Constexpr):
    if cutlass.const_expr(bad):
        raise ValueError("bad configuration")


for number in (0, 1, 3, 7, 12):
    helpers(number)
    walrus(number)
    expressions(number, None)
    expressions(number, 1)
    calls(number, 8, k=4, z=9)
    for choice in (1, (2, 3), {"x": 4, "y": 5}, [1, 2, 3], "s"):
        statements(number, choice)
attempt(static_raise, 3)
attempt(static_assert, 3, 3)
attempt(static_assert, 3, 2)
attempt(const_raise, 3, True)
attempt(const_raise, 3, False)
