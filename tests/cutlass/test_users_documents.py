"""Every example of CuTe DSL's pages on control flow (two editions) and on limitations, good ones and bad ones.

Good ones print what they must. What the pages reject either works here, and says so with upstream's diagnostic id, or is
an error whose whole text is asserted. The programs are typed anew; only what they use of the API is the pages'.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

HEAD = """\
import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass import Boolean, Float32, Int32
from cutlass.cute.runtime import from_dlpack
res = np.zeros(2, np.float32)

"""
FIRST_LINE = HEAD.count("\n") + 1


def run(folder: Path, program: str, *options: str) -> subprocess.CompletedProcess:
    (folder / "author.py").write_text(HEAD + program)
    return subprocess.run([sys.executable, "-m", "dsl", "--device", "emulator", *options, "author.py"], cwd=folder,
                          capture_output=True, text=True, timeout=120)


def printed(folder: Path, program: str) -> str:
    """What a program prints that runs without a warning or an error."""
    done = run(folder, program)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def warned(folder: Path, program: str) -> tuple[str, list[tuple[int, str]]]:
    """What a program prints, and each warning as (line of the program, diagnostic id); `--portable` refuses the first."""
    done = run(folder, program)
    assert done.returncode == 0, done.stderr
    found = re.findall(r"^author\.py:(\d+): PortabilityWarning: .*\((\w+)\)$", done.stderr, re.MULTILINE)
    warnings = [(int(line) - FIRST_LINE + 1, id) for line, id in found]
    strict = run(folder, program, "--portable")
    assert strict.returncode == 1 and re.match(rf"author\.py:\d+:\d+: {warnings[0][1]}\n", strict.stderr), strict.stderr
    return done.stdout, warnings


def error(folder: Path, program: str) -> str:
    """The report of a program that does not compile, its lines counted from the program's first."""
    done = run(folder, program)
    assert done.returncode == 1, done.stdout + done.stderr
    lines = done.stderr.splitlines()
    report = "\n".join(lines[next(k for k, line in enumerate(lines) if re.match(r"author\.py:\d+:\d+: \w+$", line)):])
    return re.sub(r"(author\.py:|line )(\d+)", lambda at: f"{at[1]}{int(at[2]) - FIRST_LINE + 1}", report)


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
    done = run(tmp_path, """\
@cute.jit
def loops(n: Int32):
    for i in cutlass.range_dynamic(n):
        if cutlass.dynamic_expr(i == 1):
            cute.printf("one")


loops(3)
""")
    assert (done.returncode, done.stdout) == (0, "one\n"), done.stderr
    assert re.findall(r"^author\.py:(\d+): DeprecationWarning: cutlass\.(\w+) ", done.stderr, re.MULTILINE) == [
        (str(FIRST_LINE + 2), "range_dynamic"), (str(FIRST_LINE + 3), "dynamic_expr")]


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
    assert printed(tmp_path, """\
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
""") == "".join(f"{loop} {i}\n" for loop, count in zip("abcd", (10, 10, 3, 3)) for i in range(count))


def test_a_static_loop_needs_a_static_bound(tmp_path):
    assert error(tmp_path, """\
@cute.jit
def loops(bound: Int32):
    for i in cutlass.range_constexpr(bound):
        cute.printf("%d", i)


loops(3)
""") == """\
author.py:3:14: ARG_NON_CONSTANT
    for i in cutlass.range_constexpr(bound):
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ a bound of range_constexpr is known only at run time
fix: use `range(...)`, or pass the bound as cutlass.Constexpr"""


def test_const_expr_of_a_dynamic_test(tmp_path):
    assert error(tmp_path, """\
@cute.jit
def main(dynamic_var: Int32):
    if cutlass.const_expr(dynamic_var == 10):
        cute.printf("ten")


main(10)
""") == """\
author.py:3:8: PHASE_REQUIRES_CONSTANT
    if cutlass.const_expr(dynamic_var == 10):
       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ needs a value known while compiling, and this is a dynamic Boolean
fix: drop const_expr, or pass the value as cutlass.Constexpr"""


def test_static_and_dynamic_while(tmp_path):
    assert printed(tmp_path, """\
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
""") == "const\nconst\nconst\n3\nconst\nconst\nconst\ndynamic\n4\n"


def test_a_static_while_over_a_dynamic_value(tmp_path):
    assert error(tmp_path, """\
@cute.jit
def main(dynamic_var: Int32):
    n = 0
    while cutlass.const_expr(n < dynamic_var):
        n += 1


main(3)
""") == """\
author.py:4:11: PHASE_REQUIRES_CONSTANT
    while cutlass.const_expr(n < dynamic_var):
          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ needs a value known while compiling, and this is a dynamic Boolean
fix: drop const_expr, or pass the value as cutlass.Constexpr"""


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
    text, warnings = warned(tmp_path, """\
@cute.jit
def main(predicate: Boolean):
    if predicate:
        cute.printf("leaving")
        return
    cute.printf("staying")


main(True)
main(False)
""")
    assert (text, warnings) == ("leaving\nstaying\n", [(5, "UNSUP_EARLY_EXIT")])


def test_pass_in_a_dynamic_branch_is_allowed(tmp_path):
    assert printed(tmp_path, """\
@cute.jit
def main(predicate: Boolean):
    if predicate:
        pass
    else:
        cute.printf("else")


main(True)
main(False)
""") == "else\n"


RAISES = """\
@cute.jit
def main(predicate: Boolean):
    if predicate:
        raise ValueError("This is not allowed")
    cute.printf("went on")


main({argument})
"""


def test_an_exception_in_a_dynamic_branch_is_raised_at_run_time(tmp_path):
    text, warnings = warned(tmp_path, RAISES.format(argument=False))
    assert (text, warnings) == ("went on\n", [(4, "UNSUP_EARLY_EXIT")])
    raised = run(tmp_path, RAISES.format(argument=True))
    assert raised.returncode == 1 and "went on" not in raised.stdout
    assert "This is not allowed" in raised.stderr and f"author.py:{FIRST_LINE + 3}" in raised.stderr


def test_a_value_of_a_branch_that_may_not_be_taken(tmp_path):
    assert error(tmp_path, """\
@cute.jit
def main(predicate: Boolean):
    if predicate:
        val = 10
    cute.printf("%d", val)


main(True)
""") == """\
author.py:5:23: SCOPE_UNBOUND_NAME
    cute.printf("%d", val)
                      ^^^ `val` is not defined on every path
author.py:3:8: see
    if predicate:
       ^^^^^^^^^ nothing assigns `val` where this is false
fix: assign `val` there too, or before it"""


def test_a_value_of_both_branches(tmp_path):
    text, warnings = warned(tmp_path, """\
@cute.jit
def main(predicate: Boolean):
    if predicate:
        val = 10
    else:
        val = 20
    cute.printf("%d", val)


main(True)
main(False)
""")
    assert text == "10\n20\n" and {id for _, id in warnings} == {"SCOPE_UNBOUND_NAME"}


def test_a_branch_may_not_change_a_type(tmp_path):
    assert error(tmp_path, """\
@cute.jit
def main(predicate: Boolean):
    n = 10
    if predicate:
        n = 10.0
    cute.printf("{}", n)


main(True)
""") == """\
author.py:5:9: TYPE_UNSTABLE_JOIN
    n = 10.0
    ^ `n` is Python float on one path and Python int on another
fix: give `n` one type on both paths"""


# --- limitations -----------------------------------------------------------------------------------------------------


def test_python_numbers_become_dynamic_arguments(tmp_path):
    assert printed(tmp_path, """\
@cute.jit
def main(a, b, c):
    print(type(a), type(b), type(c))
    cute.printf("{} {} {}", a, b, c)


main(1, True, 1.5)
""") == "Int32 Boolean Float32\n1 1 1.500000\n"


def test_a_list_is_indexed_by_a_dynamic_value(tmp_path):
    text, warnings = warned(tmp_path, """\
@cute.jit
def foo(a: Float32, b: Float32, i: Int32, res: cute.Tensor):
    xs = [a, b]
    res[0] = xs[i]


for i in (0, 1):
    foo(1.5, 2.5, i, from_dlpack(res))
    print(res[0])
""")
    assert text == "1.5\n2.5\n" and set(warnings) == {(4, "PHASE_DYNAMIC_INDEX")}


@pytest.mark.parametrize("statement, what, caret", [("if i == 0:", "branch", "   ^^^^^^"),
                                                    ("for k in range(10):", "loop", "         ^^^^^^^^^")])
def test_append_in_a_dynamic_statement(statement, what, caret, tmp_path):
    column = len(caret) - len(caret.lstrip()) + 5
    assert error(tmp_path, f"""\
@cute.jit
def foo(a: Float32, b: Float32, i: Int32):
    xs = [a, b]
    {statement}
        xs.append(Float32(3.0))


foo(1.5, 2.5, 0)
""") == f"""\
author.py:4:{column}: TYPE_UNSTABLE_JOIN
    {statement}
    {caret} `xs` holds 2 items on one path and 3 on another
fix: give `xs` all its items before this {what}, and assign to them"""


def test_a_function_returns_a_number(tmp_path):
    assert printed(tmp_path, "@cute.jit\ndef foo():\n    return 1\n\n\nprint(foo(), foo() + 1)\n") == "1 2\n"


def test_static_max_is_pythons(tmp_path):
    program = "print(max(int(1), float(2.0)), max(int(3), float(2.0)))\n"
    assert printed(tmp_path, f"{program}@cute.jit\ndef foo():\n    {program}\n\nfoo()\n") == "2.0 3\n2.0 3\n"


def test_dynamic_max_promotes(tmp_path):
    assert printed(tmp_path, """\
@cute.jit
def foo(a: Int32, b: Float32, res: cute.Tensor):
    res[0] = max(a, b)
    print(type(max(a, b)))


foo(3, 2.5, from_dlpack(res))
print(res[0])
foo(1, 2.5, from_dlpack(res))
print(res[0])
""") == "Float32\n3.0\nFloat32\n2.5\n"


def test_a_choice_promotes(tmp_path):
    text, warnings = warned(tmp_path, """\
@cute.jit
def foo(cond: Boolean, a: Int32, b: Float32, res: cute.Tensor):
    res[0] = a if cond else b


for cond in (True, False):
    foo(cond, 3, 2.5, from_dlpack(res))
    print(res[0])
""")
    assert text == "3.0\n2.5\n" and set(warnings) == {(3, "TYPE_CONDITIONAL_BRANCH_MISMATCH")}


def test_a_loop_may_not_change_a_type(tmp_path):
    assert error(tmp_path, """\
@cute.jit
def foo():
    a = Int32(1)
    for i in range(10):
        a = Float32(2)


foo()
""") == """\
author.py:5:9: TYPE_UNSTABLE_JOIN
    a = Float32(2)
    ^ `a` is Int32 before this loop and Float32 after it
fix: start it as Float32: `a = Float32(...)`"""


def test_and_or_promote(tmp_path):
    assert printed(tmp_path, """\
@cute.jit
def foo(a: Int32, b: Float32):
    cute.printf("{} {} {} {}", a and b, a or b, b and a, not a)


foo(3, 2.5)
foo(0, 2.5)
""") == "2.500000 3.000000 3.000000 0\n0.000000 2.500000 0.000000 1\n"


def test_underscore_is_not_read(tmp_path):
    assert error(tmp_path, "@cute.jit\ndef foo():\n    _ = 1\n    print(_)\n\n\nfoo()\n") == """\
author.py:4:11: UNSUP_READ_UNDERSCORE
    print(_)
          ^ `_` is write-only here
fix: give the value a name"""


def test_an_object_changes_through_its_method_in_a_loop(tmp_path):
    text, warnings = warned(tmp_path, """\
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
""")
    assert text == "9.0\n7.0\n" and {id for _, id in warnings} == {"TYPE_DYNAMIC_EXPR_UNSUPPORTED"}


def test_layout_algebra_in_plain_python(tmp_path):
    assert printed(tmp_path, """\
layout = cute.make_layout((4, 8), stride=(8, 1))
print(layout, cute.size(layout), cute.ceil_div(10, 4), cute.composition(layout, cute.make_layout(8)))


@cute.jit
def foo(layout: cute.Layout, shape: cute.Shape, coord: cute.Coord):
    print(layout)
    cute.printf("{} {}", cute.size(shape), layout(coord))


foo(layout, (4, 8), (1, 2))
""") == "(4,8):(8,1) 32 3 (4,2):(8,1)\n(4,8):(8,1)\n32 10\n"


def test_explicit_types(tmp_path):
    assert printed(tmp_path, """\
@cute.jit
def foo():
    alpha = 1.0
    beta = 2.0
    result = max(alpha, beta)
    cute.printf("{}", result)


foo()
""") == "2.000000\n"
