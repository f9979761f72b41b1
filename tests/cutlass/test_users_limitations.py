"""Every example of CuTe DSL's page on its limitations: what works here, with a warning, and what stays an error, whole.

The programs are written again; only the API that they use is from the page.
"""

import pytest

from tests.cutlass.documents import error, printed, warned


def test_python_numbers_become_dynamic_arguments(tmp_path):
    assert (
        printed(
            tmp_path,
            """\
@cute.jit
def main(a, b, c):
    print(type(a), type(b), type(c))
    cute.printf("{} {} {}", a, b, c)


main(1, True, 1.5)
""",
        )
        == "Int32 Boolean Float32\n1 1 1.500000\n"
    )


def test_a_list_is_indexed_by_a_dynamic_value(tmp_path):
    text, warnings = warned(
        tmp_path,
        """\
@cute.jit
def foo(a: Float32, b: Float32, i: Int32, res: cute.Tensor):
    xs = [a, b]
    res[0] = xs[i]


for i in (0, 1):
    foo(1.5, 2.5, i, from_dlpack(res))
    print(res[0])
""",
    )
    assert text == "1.5\n2.5\n" and set(warnings) == {(4, "PHASE_DYNAMIC_INDEX")}


@pytest.mark.parametrize(
    "statement, what, caret",
    [("if i == 0:", "branch", "   ^^^^^^"), ("for k in range(10):", "loop", "         ^^^^^^^^^")],
)
def test_append_in_a_dynamic_statement(statement, what, caret, tmp_path):
    column = len(caret) - len(caret.lstrip()) + 5
    assert (
        error(
            tmp_path,
            f"""\
@cute.jit
def foo(a: Float32, b: Float32, i: Int32):
    xs = [a, b]
    {statement}
        xs.append(Float32(3.0))


foo(1.5, 2.5, 0)
""",
        )
        == f"""\
author.py:5:9: TYPE_UNSTABLE_JOIN
    xs.append(Float32(3.0))
    ^^^^^^^^^^^^^^^^^^^^^^^ `xs` holds 2 items on one path and 3 on another
author.py:4:{column}: see
    {statement}
    {caret} this {what} is known only at run time
fix: give `xs` all its items before this {what}, and assign to them"""
    )


def test_a_function_returns_a_number(tmp_path):
    assert printed(tmp_path, "@cute.jit\ndef foo():\n    return 1\n\n\nprint(foo(), foo() + 1)\n") == "1 2\n"


def test_static_max_is_pythons(tmp_path):
    program = "print(max(int(1), float(2.0)), max(int(3), float(2.0)))\n"
    assert printed(tmp_path, f"{program}@cute.jit\ndef foo():\n    {program}\n\nfoo()\n") == "2.0 3\n2.0 3\n"


def test_dynamic_max_promotes(tmp_path):
    assert (
        printed(
            tmp_path,
            """\
@cute.jit
def foo(a: Int32, b: Float32, res: cute.Tensor):
    res[0] = max(a, b)
    print(type(max(a, b)))


foo(3, 2.5, from_dlpack(res))
print(res[0])
foo(1, 2.5, from_dlpack(res))
print(res[0])
""",
        )
        == "Float32\n3.0\nFloat32\n2.5\n"
    )


def test_a_choice_promotes(tmp_path):
    text, warnings = warned(
        tmp_path,
        """\
@cute.jit
def foo(cond: Boolean, a: Int32, b: Float32, res: cute.Tensor):
    res[0] = a if cond else b


for cond in (True, False):
    foo(cond, 3, 2.5, from_dlpack(res))
    print(res[0])
""",
    )
    assert text == "3.0\n2.5\n" and set(warnings) == {(3, "TYPE_CONDITIONAL_BRANCH_MISMATCH")}


def test_a_loop_may_not_change_a_type(tmp_path):
    assert (
        error(
            tmp_path,
            """\
@cute.jit
def foo():
    a = Int32(1)
    for i in range(10):
        a = Float32(2)


foo()
""",
        )
        == """\
author.py:5:9: TYPE_UNSTABLE_JOIN
    a = Float32(2)
    ^ `a` is Int32 before this loop and Float32 after it
fix: start it as Float32: `a = Float32(...)`"""
    )


def test_and_or_promote(tmp_path):
    assert (
        printed(
            tmp_path,
            """\
@cute.jit
def foo(a: Int32, b: Float32):
    cute.printf("{} {} {} {}", a and b, a or b, b and a, not a)


foo(3, 2.5)
foo(0, 2.5)
""",
        )
        == "2.500000 3.000000 3.000000 0\n0.000000 2.500000 0.000000 1\n"
    )


def test_underscore_is_not_read(tmp_path):
    assert (
        error(tmp_path, "@cute.jit\ndef foo():\n    _ = 1\n    print(_)\n\n\nfoo()\n")
        == """\
author.py:4:11: UNSUP_READ_UNDERSCORE
    print(_)
          ^ `_` is write-only here
fix: give the value a name"""
    )


def test_an_object_changes_through_its_method_in_a_loop(tmp_path):
    text, warnings = warned(
        tmp_path,
        """\
class Foo:
    def __init__(self, a: Int32):
        self.a = a

    def set_a(self, i: Int32):
        self.a = i

    def get_a(self):
        return self.a


@cute.jit
def foo(a: Int32, count: Int32, res: cute.Tensor):
    foo = Foo(a)
    for i in range(count):
        foo.set_a(i)
    res[0] = foo.get_a()


for count in (10, 0):
    foo(7, count, from_dlpack(res))
    print(res[0])
""",
    )
    assert text == "9.0\n7.0\n" and {id for _, id in warnings} == {"TYPE_DYNAMIC_EXPR_UNSUPPORTED"}


def test_layout_algebra_in_plain_python(tmp_path):
    assert warned(
        tmp_path,
        """\
layout = cute.make_layout((4, 8), stride=(8, 1))
print(layout, cute.size(layout), cute.ceil_div(10, 4), cute.composition(layout, cute.make_layout(8)))


@cute.jit
def foo(layout: cute.Layout, shape: cute.Shape, coord: cute.Coord):
    print(layout)
    cute.printf("{} {}", cute.size(shape), layout(coord))


foo(layout, (4, 8), (1, 2))
""",
    ) == (
        "(4,8):(8,1) 32 3 (4,2):(8,1)\n(4,8):(8,1)\n32 10\n",
        [(1, "CALL_OUTSIDE_JIT"), (2, "CALL_OUTSIDE_JIT"), (2, "CALL_OUTSIDE_JIT")],
    )


def test_explicit_types(tmp_path):
    assert (
        printed(
            tmp_path,
            """\
@cute.jit
def foo():
    alpha = 1.0
    beta = 2.0
    result = max(alpha, beta)
    cute.printf("{}", result)


foo()
""",
        )
        == "2.000000\n"
    )
