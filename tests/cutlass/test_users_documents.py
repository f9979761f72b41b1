"""Every example of CuTe DSL's page on control flow (two editions), good ones and bad ones.

Good ones print what they must. Bad ones either work here with a warning that has upstream's diagnostic id, or raise an
error whose whole text is asserted. The programs are written again; only the API that they use is from the pages.
"""

import re

import pytest

from tests.cutlass.documents import FIRST_LINE, error, printed, run, warned

# --- control flow, the older page ------------------------------------------------------------------------------------

EARLY_EXITS = """\
@cute.jit
def loops():
    n = 10
    for i in {range}(n):
        if i == 5:
            break
        cute.printf("a %d", i)
    for i in cutlass.range_constexpr(n):
        if {test}:
            break
        cute.printf("b %d", i)


loops()
"""


def test_a_dynamic_loop_breaks(tmp_path):
    text, warnings = warned(tmp_path, EARLY_EXITS.format(range="cutlass.range", test="i == 5"))
    assert text == "".join(f"{loop} {i}\n" for loop in "ab" for i in range(5))
    assert warnings == [(6, "UNSUP_EARLY_EXIT"), (10, "UNSUP_EARLY_EXIT")]


def test_a_static_break_in_a_static_loop_is_portable(tmp_path):
    program = EARLY_EXITS.format(range="cutlass.range_constexpr", test="cutlass.const_expr(i == 5)")
    text = printed(tmp_path, program.replace("if i == 5", "if cutlass.const_expr(i == 5)"))
    assert text == "".join(f"{loop} {i}\n" for loop in "ab" for i in range(5))


def test_range_dynamic_and_dynamic_expr_still_work(tmp_path):
    done = run(
        tmp_path,
        """\
@cute.jit
def loops(n: Int32):
    for i in cutlass.range_dynamic(n):
        if cutlass.dynamic_expr(i == 1):
            cute.printf("one")


loops(3)
""",
    )
    assert (done.returncode, done.stdout) == (0, "one\n"), done.stderr
    assert re.findall(r"^author\.py:(\d+): DeprecationWarning: cutlass\.(\w+) ", done.stderr, re.MULTILINE) == [
        (str(FIRST_LINE + 2), "range_dynamic"),
        (str(FIRST_LINE + 3), "dynamic_expr"),
    ]


BRANCHES = """\
@cute.jit
def main(const_var: cutlass.Constexpr, dynamic_var: Int32):
    if {test}:
        cute.printf("const branch")
    else:
        cute.printf("const else")
    if dynamic_var == 10:
        cute.printf("dynamic true")
    else:
        cute.printf("dynamic false")


main(True, 10)
main(False, 9)
"""


@pytest.mark.parametrize("test", ["const_var", "cutlass.const_expr(const_var)"])
def test_static_and_dynamic_branches(test, tmp_path):
    assert printed(tmp_path, BRANCHES.format(test=test)) == "const branch\ndynamic true\nconst else\ndynamic false\n"


# --- control flow, the newer page ------------------------------------------------------------------------------------


def test_four_loops(tmp_path):
    assert printed(
        tmp_path,
        """\
@cute.jit
def loops(bound: Int32):
    n = 10
    for i in cutlass.range_constexpr(n):
        cute.printf("a %d", i)
    for i in range(n):
        cute.printf("b %d", i)
    for i in range(bound):
        cute.printf("c %d", i)
    for i in cutlass.range(bound, unroll=2):
        cute.printf("d %d", i)


loops(3)
""",
    ) == "".join(f"{loop} {i}\n" for loop, count in zip("abcd", (10, 10, 3, 3)) for i in range(count))


def test_a_static_loop_needs_a_static_bound(tmp_path):
    assert (
        error(
            tmp_path,
            """\
@cute.jit
def loops(bound: Int32):
    for i in cutlass.range_constexpr(bound):
        cute.printf("%d", i)


loops(3)
""",
        )
        == """\
author.py:3:14: ARG_NON_CONSTANT
    for i in cutlass.range_constexpr(bound):
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ a bound of range_constexpr is known only at run time
fix: use `range(...)`, or pass the bound as cutlass.Constexpr"""
    )


def test_const_expr_of_a_dynamic_test(tmp_path):
    assert (
        error(
            tmp_path,
            """\
@cute.jit
def main(dynamic_var: Int32):
    if cutlass.const_expr(dynamic_var == 10):
        cute.printf("ten")


main(10)
""",
        )
        == """\
author.py:3:8: PHASE_REQUIRES_CONSTANT
    if cutlass.const_expr(dynamic_var == 10):
       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ needs a value known while compiling, got a dynamic Boolean
fix: drop const_expr, or pass the value as cutlass.Constexpr"""
    )


def test_static_and_dynamic_while(tmp_path):
    assert (
        printed(
            tmp_path,
            """\
@cute.jit
def main(dynamic_var: Int32):
    n = 0
    while cutlass.const_expr(n < 3):
        cute.printf("const")
        n += 1
    while dynamic_var == 10:
        cute.printf("dynamic")
        n += 1
        dynamic_var = dynamic_var + n
    cute.printf("%d", n)


main(9)
main(10)
""",
        )
        == "const\nconst\nconst\n3\nconst\nconst\nconst\ndynamic\n4\n"
    )


def test_a_static_while_over_a_dynamic_value(tmp_path):
    assert (
        error(
            tmp_path,
            """\
@cute.jit
def main(dynamic_var: Int32):
    n = 0
    while cutlass.const_expr(n < dynamic_var):
        n += 1


main(3)
""",
        )
        == """\
author.py:4:11: PHASE_REQUIRES_CONSTANT
    while cutlass.const_expr(n < dynamic_var):
          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ needs a value known while compiling, got a dynamic Boolean
fix: drop const_expr, or pass the value as cutlass.Constexpr"""
    )


@pytest.mark.slow
def test_an_optional_epilogue_is_compiled_or_not(tmp_path):
    program = """\
@cute.kernel
def gemm(a: cute.Tensor, do_relu: cutlass.Constexpr):
    x = a[0] * a[1]
    if cutlass.const_expr(do_relu):
        x = cutlass.max(x, 0.0)
    a[0] = x


@cute.jit
def host(a: cute.Tensor, do_relu: cutlass.Constexpr):
    gemm(a, do_relu).launch(grid=1, block=1)


for do_relu in (False, True):
    res[:] = -2, 3
    host(from_dlpack(res), do_relu)
    print(res[0])
"""
    assert printed(tmp_path, program) == "-6.0\n0.0\n"
    without, with_relu = run(tmp_path, program, "--show", "ptx").stdout.split(".version")[1:]
    assert "selp" not in without and "selp" in with_relu


def test_early_return_from_a_branch(tmp_path):
    text, warnings = warned(
        tmp_path,
        """\
@cute.jit
def main(predicate: Boolean):
    if predicate:
        cute.printf("leaving")
        return
    cute.printf("staying")


main(True)
main(False)
""",
    )
    assert (text, warnings) == ("leaving\nstaying\n", [(5, "UNSUP_EARLY_EXIT")])


def test_pass_in_a_dynamic_branch_is_allowed(tmp_path):
    assert (
        printed(
            tmp_path,
            """\
@cute.jit
def main(predicate: Boolean):
    if predicate:
        pass
    else:
        cute.printf("else")


main(True)
main(False)
""",
        )
        == "else\n"
    )


RAISES = """\
@cute.jit
def main(predicate: Boolean):
    if predicate:
        raise ValueError("This is not allowed")
    cute.printf("went on")


main({argument})
"""


@pytest.mark.slow
def test_an_exception_in_a_dynamic_branch_is_raised_at_run_time(tmp_path):
    text, warnings = warned(tmp_path, RAISES.format(argument=False))
    assert (text, warnings) == ("went on\n", [(4, "UNSUP_EARLY_EXIT")])
    raised = run(tmp_path, RAISES.format(argument=True))
    assert raised.returncode == 1 and "went on" not in raised.stdout
    assert "This is not allowed" in raised.stderr and f"author.py:{FIRST_LINE + 3}" in raised.stderr


def test_a_value_of_a_branch_that_may_not_be_taken(tmp_path):
    assert (
        error(
            tmp_path,
            """\
@cute.jit
def main(predicate: Boolean):
    if predicate:
        val = 10
    cute.printf("%d", val)


main(True)
""",
        )
        == """\
author.py:5:23: SCOPE_UNBOUND_NAME
    cute.printf("%d", val)
                      ^^^ `val` is not defined on every path
author.py:3:8: see
    if predicate:
       ^^^^^^^^^ nothing assigns `val` where this is false
fix: assign `val` there too, or before it"""
    )


def test_a_value_of_both_branches(tmp_path):
    text, warnings = warned(
        tmp_path,
        """\
@cute.jit
def main(predicate: Boolean):
    if predicate:
        val = 10
    else:
        val = 20
    cute.printf("%d", val)


main(True)
main(False)
""",
    )
    assert text == "10\n20\n" and {id for _, id in warnings} == {"SCOPE_UNBOUND_NAME"}


def test_a_branch_may_not_change_a_type(tmp_path):
    assert (
        error(
            tmp_path,
            """\
@cute.jit
def main(predicate: Boolean):
    n = 10
    if predicate:
        n = 10.0
    cute.printf("{}", n)


main(True)
""",
        )
        == """\
author.py:5:9: TYPE_UNSTABLE_JOIN
    n = 10.0
    ^ `n` is Python float on one path and Python int on another
fix: give `n` one type on both paths"""
    )
