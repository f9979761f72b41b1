"""Names that become their values, and those that do not because something else could be meant."""

import pytest

from dsl.reduction.passes.passes import named
from dsl.reduction.program import Program


def after(name, source):
    """The program after all edits of a pass together."""
    program = Program(source)
    edits = [edit for edit in named(name)[1].edits(program) if edit.changes]
    return program.apply(edits) if edits else source


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("def f(x):\n    y = x\n    return y + y\n", "def f(x):\n    return x + x\n"),
        ("x = g()\ny = x\nh(y, y)\n", "x = g()\nh(x, x)\n"),
        ("def f(x):\n    y = x\n    def g():\n        return y\n    return g\n", "def f(x):\n    def g():\n        return x\n    return g\n"),
        ("for i in r:\n    x = g(i)\n    y = x\n    h(y, y)\n", "for i in r:\n    x = g(i)\n    h(x, x)\n"),
        ("import m\ny = m\ny.f(y)\n", "import m\nm.f(m)\n"),
    ],
)  # fmt: skip
def test_a_name_of_a_name_becomes_it(source, left):
    assert after("aliases", source) == left


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n    y = x\n    x = 2\n    return y + y\n",
        "def f(x):\n    y = x\n    x += 2\n    return y + y\n",
        "def f(x):\n    y = x\n    y = y + 1\n    return y\n",
        "for i in r:\n    x = g(i)\n    if i == 0:\n        y = x\n    h(y, y)\n",  # x of a later trip
        "for i in r:\n    if i:\n        h(y, y)\n    x = g(i)\n    y = x\n",  # y of the trip before
        "def f(x):\n    y = x\n    def g(x):\n        return y + x\n    return g(y)\n",  # another x
        "def f(x):\n    y = x\n    return lambda x: y + x\n",
        "def f(x):\n    y = x\n    return [y + x for x in r]\n",
        "x = 1\ny = x\ndef f():\n    global x\n    x = 2\nf()\nh(y, y)\n",
        "class C:\n    y = x\n    z = y\n",
        "x = 1\ny = x\nprint(f'{y}')\n",
    ],
)
def test_a_name_stays_if_the_other_one_may_mean_something_else(source):
    assert after("aliases", source) == source


IN_CLASS = """\
class C:
    def __init__(self, n):
        self.n = n
    def f(self):
        m = self.n
        return m + m
"""


def test_a_name_of_an_attribute_becomes_it():
    assert after("aliases", IN_CLASS) == IN_CLASS.replace("        m = self.n\n", "").replace(
        "m + m", "self.n + self.n"
    )


def test_an_attribute_of_a_name_becomes_it_in_one_function():
    source = "class C:\n    def f(self, n):\n        self.n = n\n        return self.n + self.n\n"
    left = "class C:\n    def f(self, n):\n        return n + n\n"
    assert after("aliases", source) == left


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("__init__", "set"),  # with `f` calling `set` below
        ("class C:", "class C(B):"),  # the base class may set it
        ("class C:\n", "class C:\n    n = 3\n"),
        ("self.n = n", "self.n = n; self.n += 1"),
    ],
)
def test_a_name_of_an_attribute_stays_if_it_may_be_set_between(old, new):
    source = IN_CLASS.replace("return m + m", "self.set(3); return m + m").replace(old, new)
    assert after("aliases", source) == source


def test_an_attribute_that_another_function_reads_is_not_a_name():
    assert after("aliases", IN_CLASS.replace("m = self.n", "m = 1")) == IN_CLASS.replace("m = self.n", "m = 1")


def test_a_chain_of_names_goes_name_by_name():
    source = "def f(x):\n    y = x\n    z = y\n    return z + z\n"
    first = after("aliases", source)
    assert first == "def f(x):\n    z = x\n    return z + z\n"
    assert after("aliases", first) == "def f(x):\n    return x + x\n"


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("def f(x, y):\n    a, b = x, g(y)\n    return a + a + b + b\n", "def f(x, y):\n    b = g(y)\n    return x + x + b + b\n"),
        ("a, b = 1, g()\nh(a, a, b, b)\n", "b = g()\nh(1, 1, b, b)\n"),
        ("a, b = g(), h()\nk(b, b)\n", "b = h()\nk(b, b)\n"),
        ("(a,) = (g(),)\nh(a, a)\n", "a = g()\nh(a, a)\n"),
    ],
)  # fmt: skip
def test_an_element_that_is_unpacked_becomes_its_value(source, left):
    assert after("elements", source) == left


@pytest.mark.parametrize(
    "source",
    [
        "def f(a, b):\n    a, b = b, a\n    return a, b\n",
        "a, *b = x, y\nh(a)\n",
        "a, b = x, y\na = 2\nb = 3\nh(a, b)\n",
        "a[0], b[0] = x, y\n",
    ],
)
def test_an_element_stays_if_it_may_mean_something_else(source):
    assert after("elements", source) == source


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("def f():\n    t, _, _ = thread_idx()\n    return t\n", "def f():\n    return thread_idx()[0]\n"),
        ("def f(x):\n    _, t = x or y\n    return t\n", "def f(x):\n    return (x or y)[1]\n"),
        ("def f():\n    t, u = g()\n    return t + u\n", None),
        ("def f():\n    t, u = g()\n    return t + t\n", None),
        ("def f():\n    t, u = g()\n    for i in r:\n        h(t)\n", None),
        ("def f():\n    t, *u = g()\n    return t\n", None),
    ],
)
def test_the_one_element_that_is_read_goes_where_it_is_read(source, left):
    assert after("single-uses", source) == (left or source)


KERNEL = """\
@cute.kernel
def f(n, t):
    first = t // 32 == 0
    if first:
        a(n)
    if first:
        b(n)
"""


def test_a_short_value_of_a_kernel_is_computed_where_it_is_read():
    left = KERNEL.replace("    first = t // 32 == 0\n", "").replace("if first", "if (t // 32 == 0)")
    assert after("short-values", KERNEL) == left


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@cute.kernel\n", ""),  # of tensors, which may be changed in between
        ("t // 32 == 0", "g(t) == 0"),
        ("t // 32 == 0", "t[0] == 0"),
        ("a(n)", "t = a(n)"),
        ("a(n)", "first = a(n)"),
        ("t // 32 == 0", "t_of_all_threads_of_the_block // 32 == 0 + n"),
        ("        b(n)", "        b(first, first, first)"),
    ],
)
def test_a_value_stays_if_it_is_long_read_often_or_may_change(old, new):
    source = KERNEL.replace(old, new)
    assert after("short-values", source) == source
