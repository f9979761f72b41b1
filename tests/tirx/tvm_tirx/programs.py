"""Programs of tvm_tirx with their arguments: what apache-tvm-tirx makes of them is held against what we make of them.

Some are written here; the others are the programs of tests/tirx/oracle in tvm_tirx (renamed.py).
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
HEAD = "import tvm_tirx\nfrom tvm_tirx.script import tirx as T\n"
PARAMETERS = 'A: T.Tensor((64,), "int32"), F: T.Tensor((64,), "float32"), O: T.Tensor((64,), "int32"), n: T.int32'
Launch = tuple[tuple[int, int, int], tuple[int, int, int]]  # grid, block


@dataclass
class Program:
    """The text of a file that defines one T.function, its arguments by parameter, and its launches in order."""

    source: str
    arguments: dict[str, np.ndarray | int | None]
    launches: list[Launch] = field(default_factory=lambda: [((1, 1, 1), (64, 1, 1))])


def _arguments() -> dict[str, np.ndarray | int]:
    generator = np.random.default_rng(7)
    return {
        "A": generator.integers(-20, 60, 64).astype(np.int32),
        "F": generator.uniform(-9, 9, 64).astype(np.float32),
        "O": np.zeros(64, np.int32),
        "n": 40,
    }


def _body(text: str) -> Program:
    """A kernel of 64 threads; `tx` is the thread."""
    lines = ["T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))", 'tx = T.cuda.thread_idx("x")']
    body = "".join(f"    {line}\n" for line in [*lines, *text.strip().splitlines()])
    return Program(f"{HEAD}@T.function\ndef f({PARAMETERS}):\n{body}", _arguments())


OWN: dict[str, Program] = {}
for _block in (HERE / "bodies.txt").read_text().split("\n### ")[1:]:
    _name, _, _text = _block.partition("\n")
    OWN[_name] = _body(_text)

OWN["dynamic"] = Program(
    HEAD
    + """\
n = T.dynamic("n")
m = n * 2

@T.function
def f(A: T.Tensor((n,), T.int32), B: T.Tensor((m, 4), "int32"), s: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(T.ceildiv(n, 32), 2), block=(32, 2)))
    i = T.cuda.block_idx("x") * 32 + T.cuda.thread_idx("x")
    k = T.cuda.block_idx("y") * 2 + T.cuda.thread_idx("y")
    if i < n:
        B[i, k] = A[i] * s + n + m + T.cuda.grid_dim("x") * 1000 + T.cuda.block_dim("y") * 10000
""",
    {"A": np.arange(50, dtype=np.int32), "B": np.zeros((100, 4), np.int32), "s": 3, "n": 50},
    [((2, 2, 1), (32, 2, 1))],
)
OWN["two_kernels"] = Program(
    HEAD
    + """\
@T.function
def f(A: T.Tensor((32,), T.int32), B: T.Tensor((32,), "int32")):
    with T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32)):
        x = T.cuda.thread_idx("x")
        B[x] = A[x] + 1
    with T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=16)):
        x = T.cuda.block_idx("x") * 16 + T.cuda.thread_idx("x")
        A[x] = B[31 - x] * 2
""",
    {"A": np.arange(32, dtype=np.int32), "B": np.zeros(32, np.int32)},
    [((1, 1, 1), (32, 1, 1)), ((2, 1, 1), (16, 1, 1))],
)
OWN["jit"] = Program(
    "from __future__ import annotations\n"
    + HEAD
    + """\
@T.jit
def g(A: T.Tensor((N,), T.int32), *, N: T.constexpr, flag: T.constexpr = True):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=N))
    x = T.cuda.thread_idx("x")
    if T.constexpr(flag):
        y = 3
    else:
        y = 4
    A[x] = y * N

f = g.specialize(N=16, flag=False)
""",
    {"A": np.zeros(16, np.int32)},
    [((1, 1, 1), (16, 1, 1))],
)
OWN["absent"] = Program(
    "from __future__ import annotations\n"
    + HEAD
    + """\
@T.jit
def g(a: T.Tensor((16,), "int32") | None, O: T.Tensor((16,), "int32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=16))
    x = T.cuda.thread_idx("x")
    if T.constexpr(a is not None):
        O[x] = a[x]
    else:
        O[x] = x * 3

f = g.specialize(a=None)
""",
    {"a": None, "O": np.zeros(16, np.int32)},
    [((1, 1, 1), (16, 1, 1))],
)
OWN["inline"] = Program(
    HEAD
    + """\
@T.inline
def add(A, i, v):
    A[i] = A[i] + v

@T.inline
def twice(v):
    w = v + 1
    return w * 2

@T.function
def f(A: T.Tensor((16,), T.int32)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=16))
    x = T.cuda.thread_idx("x")

    def helper(q):
        return q + 1

    add(A, x, 3)
    A[x] = A[x] + twice(x) * 100 + helper(x) * 10000
""",
    {"A": np.arange(16, dtype=np.int32)},
    [((1, 1, 1), (16, 1, 1))],
)
OWN["handle"] = Program(
    HEAD
    + """\
@T.function
def f(a: T.handle, n: T.int32):
    A = T.decl_tensor(a, ty_args=[T.Tensor((16,), "int32")])
    blocks = (n + 3) // 4
    T.device_entry(launch=T.cuda.LaunchConfig(grid=blocks, block=4))
    i = T.cuda.block_idx("x") * 4 + T.cuda.thread_idx("x")
    if i < n:
        A[i] = blocks + T.cuda.grid_dim("x") * 10
""",
    {"A": np.zeros(16, np.int32), "n": 10},
    [((3, 1, 1), (4, 1, 1))],
)
OWN["indices"] = Program(
    HEAD
    + """\
@T.function
def f(O: T.Tensor((512,), "int32")):
    T.device_entry(
        launch=T.cuda.LaunchConfig(grid=(2,), block=(16, 4, 4)),
        kernel_attrs=T.cuda.KernelAttributes(min_blocks_per_sm=2),
    )
    t = T.cuda.linear_thread_id()
    i = T.cuda.block_idx("x") * 256 + t
    where = T.cuda.warp_id() * 10 + T.cuda.lane_id() * 1000 + T.cuda.warpgroup_id()
    O[i] = where + T.cuda.warp_in_warpgroup() * 1000000 + T.cuda.thread_in_warpgroup() * 10000000
""",
    {"O": np.zeros(512, np.int32)},
    [((2, 1, 1), (16, 4, 4))],
)


def _cases() -> dict[str, Program]:
    """The programs of tests/tirx/oracle/cases.py."""
    from renamed import renamed

    from tests.tirx.oracle import cases, upstream

    text = Path(cases.__file__).read_text()
    found = {}
    for statement in ast.parse(text).body:
        if not isinstance(statement, ast.FunctionDef) or statement.name not in cases.CASES:
            continue
        source = (
            f"import tvm\nfrom tvm.script import tirx as T\n@T.prim_func\n{ast.get_source_segment(text, statement)}\n"
        )
        function, arguments = cases.CASES[statement.name]
        given = {parameter.name: np.array(array) for parameter, array in zip(function.params, arguments)}
        grid, block = upstream.LAUNCHES.get(statement.name, (1, 64))
        launch = tuple(each if isinstance(each, tuple) else (each, 1, 1) for each in (grid, block))
        found[f"cases_{statement.name}"] = Program(renamed(source, f"cases_{statement.name}.py"), given, [launch])
    return found


def _sweep() -> dict[str, Program]:
    """The programs of tests/tirx/oracle/sweep_cases.py."""
    from renamed import renamed

    from tests.tirx.oracle import sweep_cases

    found = {}
    for name, source in sweep_cases.SOURCES.items():
        names = [parameter[0] for parameter in sweep_cases.PARAMETERS[name]]
        arguments = dict(zip(names, sweep_cases.arguments(name)))
        found[f"sweep_{name}"] = Program(renamed(source, f"sweep_{name}.py"), arguments, [sweep_cases.LAUNCH])
    return found


def programs() -> dict[str, Program]:
    """All of them. `import tvm` must give our surface (alias.install)."""
    sys.path[:0] = [str(HERE)]
    try:
        return OWN | _cases() | _sweep()
    finally:
        sys.path.remove(str(HERE))
