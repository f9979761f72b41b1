"""Passes by the lines that ran, and by those that a finding names."""

import subprocess
import sys

import pytest
from hypothesis import given, settings, strategies as st

from dsl.reduction.passes.executed_passes import FOUND, RAN, apart, unrun
from dsl.reduction.program import Program
from harness.run import executed


def lines_of(source):
    """The lines that ran, and what the program printed."""
    said = []
    with executed.record("<here>") as lines:
        exec(compile(source, "<here>", "exec"), {"print": said.append})
    return lines, said


def without_unrun(source):
    for _ in range(8):
        lines, _ = lines_of(source)
        program = Program(source)
        program.seen[RAN] = frozenset(lines)
        edits = [edit for edit in unrun(program) if edit.changes]
        if not edits:
            return source
        source = program.apply(edits)
    return source


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("def f():\n    print(1)\ndef g():\n    print(2)\nf()\n", "def f():\n    print(1)\nf()\n"),
        ("if 1 < 2:\n    print(1)\nelse:\n    print(2)\n", "print(1)\n"),
        ("x = 2\nif x == 1:\n    print(1)\nelif x == 2:\n    print(2)\nelif x == 3:\n    print(3)\n", "x = 2\nprint(2)\n"),
        ("const_expr = bool\nif const_expr(2):\n    print(1)\n", "const_expr = bool\nprint(1)\n"),
        ("const_expr = bool\nfor x in (0, 1):\n    if const_expr(x):\n        print(1)\n",
         "const_expr = bool\nfor x in (0, 1):\n    if const_expr(x):\n        print(1)\n"),
        ("for x in ():\n    print(1)\nprint(2)\n", "print(2)\n"),
        ("try:\n    print(1)\nexcept ValueError:\n    print(2)\n", "print(1)\n"),
        ("def f():\n    print(1)\n    return 3\n    print(2)\nf()\n", "def f():\n    print(1)\n    return 3\nf()\n"),
        ("class A:\n    def f(self):\n        print(1)\n    def g(self):\n        print(2)\nA().f()\n",
         "class A:\n    def f(self):\n        print(1)\nA().f()\n"),
        ("def f():\n    print(2)\nprint(f is None)\n", "def f():\n    pass\nprint(f is None)\n"),
        ("for x in (1, 2):\n    if x == 1:\n        continue\n    print(x)\n",
         "for x in (1, 2):\n    if x == 1:\n        continue\n    print(x)\n"),
        ("for x in (1, 2):\n    if x == 1:\n        print(3)\n    else:\n        print(x)\n",
         "for x in (1, 2):\n    if x == 1:\n        print(3)\n    else:\n        print(x)\n"),
    ],
)  # fmt: skip
def test_code_that_did_not_run_goes(source, left):
    assert without_unrun(source) == left


@st.composite
def blocks(draw, depth=3, function=False):
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(
            st.sampled_from(
                ("print", "if", "elif", "for", "try", "while", "set", "leave") if depth else ("print", "set")
            )
        )
        inner = lambda: ["    " + line for line in draw(blocks(depth=depth - 1, function=function))]
        test = draw(st.sampled_from(("x > 1", "x % 2", "x == 7", "True", "x != x")))
        match kind:
            case "print":
                lines.append(f"print({draw(st.integers(0, 9))})")
            case "set":
                lines.append(f"x = x * {draw(st.integers(1, 3))} + {draw(st.integers(0, 3))}")
            case "if":
                lines += [f"if {test}:", *inner()]
                if draw(st.booleans()):
                    lines += ["else:", *inner()]
            case "elif":
                lines += [
                    f"if {test}:",
                    *inner(),
                    "elif x > 3:",
                    *inner(),
                    *(["else:", *inner()] if draw(st.booleans()) else []),
                ]
            case "for":
                lines += [f"for x in range({draw(st.integers(0, 3))}):", *inner()]
            case "while":
                lines += [f"n{depth} = 0", f"while n{depth} < 2:", f"    n{depth} += 1", *inner()]
            case "try":
                lines += ["try:", *inner(), f"    [0][x if {test} else 0]", "except IndexError:", *inner()]
            case "leave":
                lines += [f"if {test}:", "    return 3" if function else "    pass"]
    return lines


@given(body=blocks(function=True), main=blocks(), calls=st.lists(st.integers(-2, 3), max_size=2))
@settings(deadline=None, max_examples=60)
def test_a_program_without_what_did_not_run_prints_the_same(body, main, calls):
    source = "\n".join(
        ["def f(x):", *("    " + line for line in body), "x = 1", *main, *(f"print(f({each}))" for each in calls), ""]
    )
    left = without_unrun(source)
    assert lines_of(left)[1] == lines_of(source)[1]
    assert len(left) <= len(source)


KERNEL = """\
def kernel(a, b, c):
    p = first(a)
    q = second(b)
    copy(p, a)
    copy(q, b)
    sync()
    if p > 1:
        store(c, p)
    show(q)
def main():
    a, b, c = zeros(), zeros(), zeros()
    kernel(a, b, c)
    close(c, 1)
main()
"""


def dropped(source, *lines):
    program = Program(source)
    program.seen[FOUND] = frozenset(lines)
    return [source.split("\n")[edit.line - 1].strip() for edit in apart(program)]


def test_values_of_a_finding_stay_and_statements_that_share_a_name_are_last():
    assert dropped(KERNEL, 8) == ["show(q)", "copy(p, a)", "copy(q, b)", "close(c, 1)"]
    assert dropped(KERNEL) == [] and dropped(KERNEL, 99) == []


def test_the_lines_of_a_kernel_are_those_that_were_traced(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import cutlass\nimport cutlass.cute as cute\n"
        "@cute.kernel\ndef kernel(wide: cutlass.Constexpr):\n"
        "    if cutlass.const_expr(wide):\n        cute.printf('w')\n    else:\n        cute.printf('n')\n"
        "@cute.jit\ndef main():\n    kernel(True).launch(grid=(1, 1, 1), block=(32, 1, 1))\nmain()\n"
    )
    script = (
        "import sys, dsl.alias; dsl.alias.install()\n"
        "from harness.run import executed\n"
        "path = sys.argv[1]\n"
        "with executed.record(path) as lines:\n"
        "    exec(compile(open(path).read(), path, 'exec'), {'__name__': '__main__'})\n"
        "print(sorted(lines))"
    )
    said = subprocess.run([sys.executable, "-c", script, str(program)], capture_output=True, text=True, check=True)
    lines = {int(each) for each in said.stdout.splitlines()[-1].strip("[]").split(",")}
    assert {5, 6, 11, 12} <= lines and 8 not in lines


def test_the_return_of_run_stays_if_a_call_before_it_did_not_end():
    source = "def run():\n    hangs()\n    print(1)\n    return {'x': 1}\n\nrun()\n"
    program = Program(source)
    program.seen[RAN] = frozenset({1, 2, 6})
    assert program.apply([*unrun(program)]) == source.replace("    print(1)\n", "")
