"""The same program in Quadrants and in CuTe DSL becomes the same kernel: one core, two grammars.

Each pair is compiled by its own surface; the PTX bodies are compared with registers, labels and parameters numbered in
the order of their first use, and without places. So a difference is one of what is computed.
"""

import re

import numpy as np
import pytest
import torch

import dsl.cutlass as cutlass
import dsl.cutlass.cute as cute
import dsl.quadrants as qd
from dsl.launch import session

N = 1000
BLOCK = 128


@pytest.fixture(scope="module")
def running():
    yield session.start("emulator")
    session.stop()


# --- pairs -----------------------------------------------------------------------------------------------------------
# kernel(a, x, y, n) over arrays of int32, or of float32 where `a` is a float.


def index():
    block, _, _ = cute.arch.block_idx()
    width, _, _ = cute.arch.block_dim()
    thread, _, _ = cute.arch.thread_idx()
    return block * width + thread


@cute.kernel
def saxpy_cute(a: cutlass.Float32, x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = index()
    if i < n:
        y[i] = a * x[i] + y[i]


@qd.kernel
def saxpy_qd(a: qd.f32, x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        y[i] = a * x[i] + y[i]


@cute.kernel
def branch_cute(a: cutlass.Int32, x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = index()
    if i < n:
        if x[i] > a:
            y[i] = x[i] * 3
        elif x[i] == a:
            y[i] = a - i
        else:
            y[i] = -x[i]


@qd.kernel
def branch_qd(a: qd.i32, x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        if x[i] > a:
            y[i] = x[i] * 3
        elif x[i] == a:
            y[i] = a - i
        else:
            y[i] = -x[i]


@cute.kernel
def inner_loop_cute(a: cutlass.Int32, x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = index()
    if i < n:
        s = cutlass.Int32(0)
        for j in range(i):
            s += x[j] * a
        y[i] = s


@qd.kernel
def inner_loop_qd(a: qd.i32, x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        s = 0
        for j in range(i):
            s += x[j] * a
        y[i] = s


@cute.kernel
def halving_cute(a: cutlass.Int32, x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = index()
    if i < n:
        k = i * a
        steps = cutlass.Int32(0)
        while k > 1:
            k = k >> 1
            steps += 1
        y[i] = steps


@qd.kernel
def halving_qd(a: qd.i32, x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        k = i * a
        steps = 0
        while k > 1:
            k = k >> 1
            steps += 1
        y[i] = steps


@cute.kernel
def unrolled_cute(a: cutlass.Int32, x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = index()
    if i < n:
        s = x[i]
        for j in cutlass.range_constexpr(4):
            s = s * a + j
        y[i] = s


@qd.kernel
def unrolled_qd(a: qd.i32, x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        s = x[i]
        for j in qd.static(range(4)):
            s = s * a + j
        y[i] = s


FAST = True


@cute.kernel
def static_branch_cute(a: cutlass.Int32, x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = index()
    if i < n:
        if cutlass.const_expr(FAST):
            y[i] = x[i] ^ a
        else:
            y[i] = x[i] // a


@qd.kernel
def static_branch_qd(a: qd.i32, x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        if qd.static(FAST):
            y[i] = x[i] ^ a
        else:
            y[i] = x[i] // a


@cute.kernel
def skipping_cute(a: cutlass.Int32, x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = index()
    if i < n:
        s = cutlass.Int32(0)
        for j in range(a):
            if x[j] == i:
                continue
            s += x[j]
        y[i] = s


@qd.kernel
def skipping_qd(a: qd.i32, x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        s = 0
        for j in range(a):
            if x[j] == i:
                continue
            s += x[j]
        y[i] = s


@cute.jit
def square_cute(v):
    return v * v


@cute.kernel
def helper_cute(a: cutlass.Float32, x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = index()
    if i < n:
        y[i] = square_cute(x[i] - a) + square_cute(a)


@qd.func
def square_qd(v):
    return v * v


@qd.kernel
def helper_qd(a: qd.f32, x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        y[i] = square_qd(x[i] - a) + square_qd(a)


@cute.kernel
def choice_cute(a: cutlass.Float32, x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = index()
    if i < n:
        y[i] = x[i] if x[i] > a else a * 2.0


@qd.kernel
def choice_qd(a: qd.f32, x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        y[i] = x[i] if x[i] > a else a * 2.0


@cute.kernel
def floor_cute(a: cutlass.Int32, x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = index()
    if i < n:
        y[i] = x[i] // 7 + (x[i] << 2) - (x[i] | a)


@qd.kernel
def floor_qd(a: qd.i32, x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.i32):
    for i in range(n):
        y[i] = x[i] // 7 + (x[i] << 2) - (x[i] | a)


PAIRS = {name.removesuffix("_qd"): (globals()[name], globals()[name.removesuffix("_qd") + "_cute"])
         for name in list(globals()) if name.endswith("_qd") and isinstance(globals()[name], type(saxpy_qd))}


# --- comparing -------------------------------------------------------------------------------------------------------


_NAMES = re.compile(r"\$L__BB\w+|%(?:p|r|rd|rs|f|fd)\d+")
_PARAMETER = re.compile(r"ld\.param\.\w+ (%\w+), \[\w+\];")
_COMMUTES = re.compile(r"((?:add|mul|mad|and|or|xor|min|max|fma)[.\w]* %\w+, )(%\w+), (%\w+)(.*)")
_COPY = re.compile(r"mov\.\w+ (%\w+), (%r\w+|-?\d+);")


def body(ptx: str) -> list[str]:
    """The instructions of the one kernel of `ptx` without places.

    A parameter is the register it is loaded into; registers and labels are numbered in the order of their first use, not
    counting where they are set to a constant; of neighbouring settings the order does not count. A parameter is the second
    operand of what commutes.
    """
    assert ptx.count(".entry") == 1
    lines = [" ".join(line.split()) for line in ptx[ptx.index("\n{"):ptx.index("\n}")].splitlines()]
    lines = [line for line in lines if line and not line.startswith((".loc", "//", ".reg", "{", ".pragma"))]
    parameters = {match[1] for match in map(_PARAMETER.match, lines) if match}
    lines = _constants([line for line in lines if not _PARAMETER.match(line)])
    lines = [_COMMUTES.sub(lambda match: match.expand(r"\1\3, \2\4") if match[2] in parameters else match.group(), line)
             for line in lines]
    names: dict[str, str] = {}

    def renamed(match: re.Match) -> str:
        kind = "parameter" if match.group() in parameters else re.match(r"\$|%[a-z]+", match.group())[0]
        return names.setdefault(match.group(), f"{kind}#{len(names)}")
    for line in lines:
        if not _COPY.match(line):
            _NAMES.sub(renamed, line)
    made: list[str] = []
    for line in lines:
        made.append(_NAMES.sub(renamed, line))
        if len(made) > 1 and made[-1].startswith("mov.b") and made[-2].startswith("mov.b"):
            start = next((k for k in range(len(made) - 1, -1, -1) if not made[k].startswith("mov.b")), -1) + 1
            made[start:] = sorted(made[start:])
    return made


def _constants(lines: list[str]) -> list[str]:
    """A register that is copied from one just set to a constant is set to it itself."""
    known: dict[str, str] = {}
    made = []
    for line in lines:
        match = _COPY.match(line)
        if match is None:
            known.clear()
        else:
            value = known.get(match[2], match[2])
            line = line.replace(f", {match[2]};", f", {value};")
            known[match[1]] = value
        made.append(line)
    return made


def arrays(kind: type) -> tuple:
    x = np.random.default_rng(7).integers(-50, 50, N).astype(kind)
    return x, np.zeros(N, kind)


@pytest.mark.parametrize("name", PAIRS)
def test_the_kernels_and_their_results_are_the_same(name, running):
    in_quadrants, in_cute = PAIRS[name]
    is_float = in_quadrants.annotations["a"] is qd.f32
    kind, scalar = (np.float32, 1.5) if is_float else (np.int32, 3)
    qd.init(arch=qd.cpu)
    (x, y), (_, expected) = arrays(kind), arrays(kind)
    in_quadrants(scalar, x, y, N)
    ours = running.kernels[-1].ptx

    @cute.jit
    def host(a: cutlass.Float32 if is_float else cutlass.Int32, x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
        in_cute(a, x, y, n).launch(grid=((n + BLOCK - 1) // BLOCK, 1, 1), block=(BLOCK, 1, 1))
    host(scalar, torch.from_numpy(x), torch.from_numpy(expected), N)
    theirs = running.kernels[-1].ptx
    assert ours != theirs
    assert body(ours) == body(theirs)
    assert y.tobytes() == expected.tobytes()


def test_there_are_eight_pairs():
    assert len(PAIRS) >= 8


def test_another_program_is_another_kernel(running):
    """The comparison sees a difference."""
    qd.init(arch=qd.cpu)
    x, y = arrays(np.int32)
    bodies = []
    for kernel in (branch_qd, floor_qd, unrolled_qd):
        kernel(3, x, y, N)
        bodies.append(body(running.kernels[-1].ptx))
    assert bodies[0] != bodies[1] != bodies[2] != bodies[0]
