"""An index outside of its extent: the fix that the report gives is applied, and the program runs."""

from __future__ import annotations

import linecache
import re

import pytest

from dsl.core.diagnosis import index_guard
from dsl.exceptions import KernelFault
from dsl.launch import session
from dsl.span import Span

QUADRANTS = """
import dsl.quadrants as qd
import numpy as np
qd.init(arch=qd.cpu, debug={debug})
f, g = qd.field(qd.i32, shape=(4,)), qd.field(qd.i32, shape=(2, 6))
v = qd.Vector.field(3, qd.f32, shape=4)
@qd.kernel
def kernel(a: qd.types.ndarray(dtype=qd.i32, ndim=1), b: qd.types.ndarray(dtype=qd.i32, ndim=1), n: qd.i32):
    for i in range(n):
        w = qd.Vector([i, i, 1])
        {line}
a, b = np.arange(9, dtype=np.int32), np.arange(4, dtype=np.int32)
kernel(a, b, 6)
"""
TIRX = """
import dsl.tirx as tvm
import numpy as np
from dsl.tirx.script import tirx as T
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((2, 4), "float32"), n: T.int32):
    T.device_entry()
    bx = T.cta_id([2])
    tx = T.thread_id([8])
    r = T.alloc_local((4,), "float32")
    r[tx % 4] = T.float32(1)
    {line}
arrays = [np.ones(shape, np.float32) for shape in ((8,), (2, 4))]
tvm.compile(main, target="cuda")(*[tvm.runtime.tensor(each, device=tvm.cuda(0)) for each in arrays], 5)
"""
LINES = {
    QUADRANTS: [
        "f[i] = 1",
        "f[i] = a[i] + b[i]",
        "b[i] = a[i]",
        "a[i] = b[i + 1]",
        "a[i] = b[a[i] - 1]",
        "a[i] = f[i * 2] * f[i]",
        "g[i, 5] = 1",
        "g[1, i * 2] += 1",
        "a[i] = g[i, 5]",
        "f[i - 1] = 1",
        "v[i][i % 3] = 1.0",
        "v[i].y = 1.0",
        "a[i] = w[i]",
        "w[i] = 2; a[i] = w[0]",
        "a[i] += f[i]",
    ],
    TIRX: [
        "A[bx * 8 + tx] = T.float32(1)",
        "A[tx] = B[bx, tx]",
        "A[tx] = A[tx - 1]",
        "B[tx, 1] = A[tx]",
        "r[tx] = A[tx]; A[tx] = r[tx % 2]",
    ],
}
CASES = [(program, line, debug) for program, lines in LINES.items() for line in lines for debug in (False, True)]
CASES = [case for case in CASES if case[0] is QUADRANTS or not case[2]]


@pytest.fixture(scope="module", autouse=True)
def emulated():
    session.start("emulator")
    yield
    session.stop()


def run(program: str, line: str, debug: bool) -> str:
    """The text of the program's fault, "" if it has none."""
    from dsl.quadrants import QuadrantsAssertionError

    source = program.format(line=line, debug=debug)
    linecache.cache["guarded.py"] = (len(source), None, source.splitlines(True), "guarded.py")
    try:
        exec(compile(source, "guarded.py", "exec"), {"__name__": "guarded"})
    except (KernelFault, QuadrantsAssertionError) as error:
        return str(error)
    return ""


def fixed(line: str, report: str) -> str:
    """The line with the fix of a report."""
    (fix,) = re.findall("^fix: (.*)", report, re.M)
    if found := re.search("`(if .*:)`", fix):
        return f"{found[1]} {line}"
    for guarded in re.findall("`(.*?)`", fix):
        access = guarded.partition(" if ")[0] if " if " in guarded else re.search(r", (.*), T.cast", guarded)[1]
        head, equals, value = line.rpartition("= ")
        line = head + equals + value.replace(access, f"({guarded})")
    return line


@pytest.mark.parametrize(
    "program, line, debug", CASES, ids=[f"{'tirx' if p is TIRX else 'qd'}-{n}-{d}" for p, n, d in CASES]
)
def test_the_fix_cures(program, line, debug):
    report, rounds = run(program, line, debug), 0
    while report and rounds < 3:  # a line may have several faults
        assert index_guard.ANY_FIX not in report, report
        line, rounds = fixed(line, report), rounds + 1
        report = run(program, line, debug)
    assert rounds and not report, f"{line}\n{report}"


def test_a_line_without_subscripts_gets_the_general_fix():
    linecache.cache["nothing.py"] = (3, None, ["x = 1\n"], "nothing.py")
    for place in (None, Span("nothing.py", 1), Span("absent.py", 1)):
        assert index_guard.fix(place, "read of 4 bytes", lambda *_: "", "") == index_guard.ANY_FIX
