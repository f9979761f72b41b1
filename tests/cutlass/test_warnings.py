"""Warnings: each once a place, whatever is traced, compiled or launched again; Python's own are left alone."""

import os
from pathlib import Path

from tests import fork_server

PROGRAM = """\
import warnings
import cutlass
import cutlass.cute as cute


class Box:
    total = 0


def helper(box, n):
    for i in range(n):
        box.total += cutlass.Int32(2**33) + i
        warnings.warn("the author's")
        if box.total > 9:
            break
    else:
        box.total += [1, 2][n % 2]


@cute.jit
def main(n: cutlass.Int32):
    box = Box()
    while box.total < n:
        helper(box, n)
        box.total += 1
        if box.total == 4:
            return
    for i in cutlass.range_dynamic(n):
        box.total += i
    cute.printf("{}", box.total)


for n in (1, 3, 5):
    main(n)
"""


def test_each_warning_is_given_once_a_place(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    root = Path(__file__).resolve().parents[2]
    done = fork_server.run(["-m", "dsl", str(file)], env={**os.environ, "PYTHONPATH": str(root)})
    assert done.returncode == 0, done.stderr
    told = [line.partition("program.py:")[2] for line in done.stderr.splitlines() if "program.py:" in line]
    assert sorted(told) == [
        "11: PortabilityWarning: `box.total` of a plain object changes inside a dynamic `for`: NVIDIA's compiler "
        "rejects that (TYPE_DYNAMIC_EXPR_UNSUPPORTED)",
        "11: PortabilityWarning: `helper` is not decorated and counts by a dynamic value: NVIDIA's compiler rejects "
        "that (PHASE_DYNAMIC_INDEX)",
        "12: DSLWarning: TYPE_INT_LITERAL_OUT_OF_RANGE: 8589934592 does not fit in Int32 (-2147483648 to 2147483647) "
        "and becomes 0",
        "13: UserWarning: the author's",
        "17: PortabilityWarning: a list is indexed by a dynamic Int32: NVIDIA's compiler rejects that "
        "(PHASE_DYNAMIC_INDEX)",
        "23: PortabilityWarning: `box.total` of a plain object changes inside a dynamic `while`: NVIDIA's compiler "
        "rejects that (TYPE_DYNAMIC_EXPR_UNSUPPORTED)",
        "27: PortabilityWarning: `return` leaves a dynamic statement: NVIDIA's compiler rejects that "
        "(UNSUP_EARLY_EXIT)",
        "28: DeprecationWarning: cutlass.range_dynamic is deprecated: `range` is dynamic already",
        "28: PortabilityWarning: `box.total` of a plain object changes inside a dynamic `for`: NVIDIA's compiler "
        "rejects that (TYPE_DYNAMIC_EXPR_UNSUPPORTED)",
    ]


def test_names_that_stay_in_a_loop_with_an_inner_break_give_no_warning(tmp_path):
    """Names read after the inner loop are read in the same trip of the outer loop, and not after the outer loop."""
    file = tmp_path / "program.py"
    file.write_text("""\
import cutlass
import cutlass.cute as cute


@cute.jit
def main(n: cutlass.Int32):
    for i in range(n):
        v = i * 20
        while v > 10:
            v -= 10
            if v == 13:
                break
        cute.printf("{} {}", i, v)


main(2)
""")
    root = Path(__file__).resolve().parents[2]
    done = fork_server.run(["-m", "dsl", str(file)], env={**os.environ, "PYTHONPATH": str(root)})
    assert (done.returncode, done.stdout) == (0, "0 0\n1 10\n"), done.stderr
    told = [line for line in done.stderr.splitlines() if "Warning" in line]
    assert len(told) == 1 and "12: PortabilityWarning: `break` leaves" in told[0], done.stderr


def test_a_namespace_is_carried_without_a_warning(tmp_path):
    """types.SimpleNamespace has fields for NVIDIA's compiler, as a dataclass has: it accepts all of this."""
    file = tmp_path / "program.py"
    file.write_text("""\
from types import SimpleNamespace
import cutlass
import cutlass.cute as cute


@cute.jit
def main(k: cutlass.Int32):
    p = SimpleNamespace(n=cutlass.Int32(0), m=[cutlass.Int32(1)], q=SimpleNamespace(z=cutlass.Int32(1)))
    while p.n < k:
        p.n += 1
        p.m[0] += 2
        p.q.z += 3
    if k > 2:
        p.q.z += 100
    for i in range(k):
        p.n = p.n + i
    cute.printf("{} {} {}", p.n, p.m[0], p.q.z)


main(cutlass.Int32(3))
""")
    root = Path(__file__).resolve().parents[2]
    done = fork_server.run(["-m", "dsl", "--portable", str(file)], env={**os.environ, "PYTHONPATH": str(root)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "6 7 110\n", "")


def told_by(program: str, folder: Path) -> list[str]:
    """The portability warnings of a program, `line: text`, and the place of the error that --portable
    makes of the first."""
    file = folder / "program.py"
    file.write_text("import cutlass\nimport cutlass.cute as cute\nfrom cutlass import Float32, Int32\n" + program)
    root = Path(__file__).resolve().parents[2]
    done, strict = [
        fork_server.run(["-m", "dsl", *options, str(file)], env={**os.environ, "PYTHONPATH": str(root)})
        for options in ((), ("--portable",))
    ]
    assert (done.returncode, strict.returncode) == (0, 1), done.stderr + strict.stderr
    told = [line.partition("program.py:")[2] for line in done.stderr.splitlines() if "PortabilityWarning" in line]
    assert strict.stderr.partition("program.py:")[2].partition(":")[0] == told[0].partition(":")[0], strict.stderr
    return [line.replace(" PortabilityWarning:", "") for line in told]


def test_numbers_that_return_to_python(tmp_path):
    """NVIDIA's compiler accepts this and gives back 0, or an object that prints `?`."""
    assert told_by(
        """\
@cute.jit
def f(n: Int32) -> Int32:
    return n + 1


@cute.jit
def static():
    return 5


print(static())
print(f(1))
""",
        tmp_path,
    ) == ["15: `f` returns what it computes to Python: NVIDIA's compiler gives back no number"]


def test_layouts_in_plain_python(tmp_path):
    assert told_by(
        """\
print(cute.ceil_div(7, 2), cute.rank((4, 8)), cute.flatten((1, (2, 3))))
print(cute.ceil_div((7, 9), 2))
tile = cute.make_layout((4, 8))
print(cute.size(tile))
""",
        tmp_path,
    ) == [
        f"{line}: `{name}` is called in plain Python: NVIDIA's compiler rejects that (CALL_OUTSIDE_JIT)"
        for line, name in ((5, "ceil_div"), (6, "make_layout"), (7, "size"))
    ]


def test_elements_of_another_type(tmp_path):
    """NVIDIA's compiler stores numbers of the same kind that are not wider, and Booleans in integers. A Python number
    is an Int32, a Float32 or a Boolean there."""
    assert told_by(
        """\
@cute.jit
def f(n: Int32, x: Float32):
    halves = cute.make_rmem_tensor(2, cutlass.Float16)
    halves[0] = 1.5
    halves[1] = x.to(cutlass.Float16)
    halves[0] = x
    floats = cute.make_rmem_tensor(2, cutlass.Float32)
    floats[0] = halves[0]
    floats[1] = n
    floats[0] = 5
    words = cute.make_rmem_tensor(2, cutlass.Uint32)
    words[0] = n
    words[1] = n > 2
    words[1] = cutlass.Int64(n)
    words.fill(x)


f(1, 2.0)
""",
        tmp_path,
    ) == [
        f"{line}: {stored} is stored in a tensor of {element}: NVIDIA's compiler rejects that"
        for line, stored, element in (
            (7, "Python float", "Float16"),
            (9, "Float32", "Float16"),
            (12, "Int32", "Float32"),
            (13, "Python int", "Float32"),
            (17, "Int64", "Uint32"),
        )
    ]


def test_a_text_that_is_in_no_file(tmp_path):
    told = told_by("exec('@cute.jit\\ndef f(n: Int32):\\n    cute.printf(\"{}\", n)\\n')\nf(3)\n", tmp_path)
    assert told == ["4>:1: the text of `f` is in no file: NVIDIA's compiler rejects that (UNSUP_NO_SOURCE)"]
