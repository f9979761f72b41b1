"""Warnings: each once a place, whatever is traced, compiled or launched again; Python's own are left alone."""

import os
import subprocess
import sys
from pathlib import Path

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
    done = subprocess.run([sys.executable, "-m", "dsl", str(file)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PYTHONPATH": str(root)})
    assert done.returncode == 0, done.stderr
    told = [line.partition("program.py:")[2] for line in done.stderr.splitlines() if "program.py:" in line]
    assert sorted(told) == [
        "11: PortabilityWarning: `box.total` of a plain object changes inside a dynamic `for`: NVIDIA's compiler rejects "
        "that (TYPE_DYNAMIC_EXPR_UNSUPPORTED)",
        "11: PortabilityWarning: `helper` is not decorated and decides by a dynamic value: NVIDIA's compiler rejects that "
        "(PHASE_DYNAMIC_TO_STATIC_BOOL)",
        "12: DSLWarning: TYPE_INT_LITERAL_OUT_OF_RANGE: 8589934592 does not fit in Int32 (-2147483648 to 2147483647) and "
        "becomes 0",
        "13: UserWarning: the author's",
        "17: PortabilityWarning: a list is indexed by a dynamic Int32: NVIDIA's compiler rejects that (PHASE_DYNAMIC_INDEX)",
        "23: PortabilityWarning: `box.total` of a plain object changes inside a dynamic `while`: NVIDIA's compiler rejects "
        "that (TYPE_DYNAMIC_EXPR_UNSUPPORTED)",
        "27: PortabilityWarning: `return` leaves a dynamic statement: NVIDIA's compiler rejects that (UNSUP_EARLY_EXIT)",
        "28: DeprecationWarning: cutlass.range_dynamic is deprecated: `range` is dynamic already",
        "28: PortabilityWarning: `box.total` of a plain object changes inside a dynamic `for`: NVIDIA's compiler rejects "
        "that (TYPE_DYNAMIC_EXPR_UNSUPPORTED)"]


def test_names_that_stay_in_a_loop_with_an_inner_break_give_no_warning(tmp_path):
    """What is read behind the inner loop is read by the outer loop's trip, and not after the outer loop."""
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
    done = subprocess.run([sys.executable, "-m", "dsl", str(file)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PYTHONPATH": str(root)})
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
    done = subprocess.run([sys.executable, "-m", "dsl", "--portable", str(file)], capture_output=True, text=True,
                          timeout=300, env={**os.environ, "PYTHONPATH": str(root)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "6 7 110\n", "")
