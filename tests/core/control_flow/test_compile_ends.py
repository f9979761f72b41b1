"""Every compile ends: loops that would be unrolled without end are refused, and random control flow compiles.

The random programs are compiled in a child that the kernel ends after 60 s of processor time.
"""

import linecache
import random
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dsl.cutlass as cutlass
import dsl.cutlass.cute as cute
import dsl.quadrants as qd
import dsl.tirx as tvm
from dsl.core.errors import DSLUserCodeError
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.launch import session
from dsl.tirx.script import tirx as T

HEADS = {
    "tirx": """
@T.prim_func
def main(A: T.Buffer((64,), "int32"), n: T.int32):
    T.device_entry()
    bx = T.cta_id([1])
    t = T.thread_id([64])
    i: T.int32 = 0
    j: T.int32 = 1
{body}
    A[t] = i + j
""",
    "quadrants": """
@qd.kernel
def main(A: qd.types.ndarray(dtype=qd.i32, ndim=1), n: qd.i32):
    for t in range(64):
        i = 0
        j = 1
{body}
        A[t] = i + j
""",
    "cute": """
@cute.kernel
def kernel(A: cute.Tensor, n: cutlass.Int32):
    t, _, _ = cute.arch.thread_idx()
    i = cutlass.Int32(0)
    j = cutlass.Int32(1)
{body}
    A[t] = i + j
@cute.jit
def main(A: cute.Tensor, n: cutlass.Int32):
    kernel(A, n).launch(grid=(1, 1, 1), block=(64, 1, 1))
""",
}
RANGES = {"tirx": "T.serial", "quadrants": "range", "cute": "range"}
ENDLESS = [
    ("cute", "while cutlass.const_expr(True):"),
    ("cute", "for k in cutlass.range_constexpr(1 << 40):"),
    ("cute", "for k in iter(int, 1):"),
    ("quadrants", "while qd.static(True):"),
    ("quadrants", "for k in qd.static(range(1 << 40)):"),
    ("quadrants", "for k in qd.static(enumerate(iter(int, 1))):"),
    ("tirx", "for k in T.unroll(1 << 30):"),
]


def compiled(surface: str, body: list[str]) -> None:
    """Compile a kernel with these statements, and launch it not."""
    indent = " " * (8 if surface == "quadrants" else 4)
    source = HEADS[surface].format(body="\n".join(indent + line for line in body))
    linecache.cache["ends.py"] = (len(source), None, source.splitlines(True), "ends.py")
    names = {"__name__": "ends", "T": T, "qd": qd, "cute": cute, "cutlass": cutlass}
    exec(compile(source, "ends.py", "exec"), names)
    if surface == "tirx":
        tvm.compile(names["main"], target="cuda")
    elif surface == "cute":
        cute.compile(names["main"], from_dlpack(np.zeros(64, np.int32)), cutlass.Int32(4))
    else:
        qd.init(arch=qd.cpu)
        kernel = names["main"]
        kernel._specialise((np.zeros(64, np.int32), 4))


def statements(choose: random.Random, surface: str, depth: int, loops: int) -> list[str]:
    """Random statements: assignments, branches, loops in loops, and exits of loops under conditions."""
    lines = []
    tests = ["i < 64", "j == 3", "i % 2 == 0", "n > 5", "j < n", "i != j"]
    for _ in range(choose.randint(1, 3)):
        kind, test = choose.random(), choose.choice(tests)

        def inner(more: int = 0) -> list[str]:
            return ["    " + line for line in statements(choose, surface, depth - 1, loops + more)]

        if depth == 0 or kind < 0.3:
            lines.append(choose.choice(["i = i + 1", "j = j + i", "i = 0", "i = i * 2", "A[t] = i", "j = A[t]"]))
        elif kind < 0.55:
            lines += [f"if {test}:", *inner()]
            lines += ["else:", *inner()] if choose.random() < 0.5 else []
        elif kind < 0.75:
            lines += [f"while {test}:", *inner(1)]
        elif kind < 0.9:
            lines += [f"for k{len(lines)}{depth} in {RANGES[surface]}({choose.choice(['8', 'n'])}):", *inner(1)]
        elif loops:
            lines += [f"if {test}:", "    " + choose.choice(["break", "continue"])]
        else:
            lines.append("i = i + 3")
    return lines


@pytest.fixture(autouse=True)
def emulated():
    session.start("emulator")
    yield
    session.stop()


@pytest.mark.parametrize("surface, loop", ENDLESS)
@pytest.mark.filterwarnings("ignore")
def test_a_loop_that_unrolls_without_end_is_refused_at_its_line(surface, loop):
    with pytest.raises(DSLUserCodeError, match="makes more than 65536 trips while compiling") as error:
        compiled(surface, [loop, "    i = i + 1"])
    assert error.value.place.source_line().strip() == loop and error.value.fix


@pytest.mark.parametrize("surface", HEADS)
@pytest.mark.filterwarnings("ignore")
def test_static_loops_that_end_are_unrolled(surface):
    static = {
        "tirx": ["for k in T.unroll(3):", "    i = i + k"],
        "quadrants": ["for k in qd.static(range(3)):", "    i = i + k"],
        "cute": ["for k in iter([1, 2]):", "    i = i + k", "m = 2", "while cutlass.const_expr(m > 0):", "    m -= 1"],
    }
    compiled(surface, static[surface])


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 40, 4))
@pytest.mark.parametrize("surface", HEADS)
def test_random_control_flow_compiles(surface, first):
    done = subprocess.run(
        [sys.executable, "-m", "tests.core.control_flow.test_compile_ends", surface, str(first)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (60, 60)),
    )
    assert done.returncode == 0, done.stdout + done.stderr


def main(surface: str, first: str) -> None:
    session.start("emulator")
    for seed in range(int(first), int(first) + 4):
        body = statements(random.Random(seed), surface, 4, 0)
        print("\n".join(body), flush=True)
        compiled(surface, body)


if __name__ == "__main__":
    main(*sys.argv[1:])
