"""Programs of CuTe DSL that other surfaces are held against, and what two kernels have in common: the body of their PTX
with registers, labels and parameters numbered in the order of their first use, and without places.

Each program is kernel(a, x, y, n) over arrays of int32, or of float32 where `a` is a float.
"""

import re

import numpy as np
import torch

import dsl.cutlass as cutlass
import dsl.cutlass.cute as cute

N = 1000
BLOCK = 128
WIDTH = {"static": False}  # whether the programs know their block's width while compiling


def index():
    block, _, _ = cute.arch.block_idx()
    width = BLOCK if cutlass.const_expr(WIDTH["static"]) else cute.arch.block_dim()[0]
    thread, _, _ = cute.arch.thread_idx()
    return block * width + thread


@cute.kernel
def saxpy_cute(a: cutlass.Float32, x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = index()
    if i < n:
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


@cute.kernel
def inner_loop_cute(a: cutlass.Int32, x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = index()
    if i < n:
        s = cutlass.Int32(0)
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


@cute.kernel
def unrolled_cute(a: cutlass.Int32, x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = index()
    if i < n:
        s = x[i]
        for j in cutlass.range_constexpr(4):
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


@cute.jit
def square_cute(v):
    return v * v


@cute.kernel
def helper_cute(a: cutlass.Float32, x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = index()
    if i < n:
        y[i] = square_cute(x[i] - a) + square_cute(a)


@cute.kernel
def choice_cute(a: cutlass.Float32, x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = index()
    if i < n:
        y[i] = x[i] if x[i] > a else a * 2.0


@cute.kernel
def floor_cute(a: cutlass.Int32, x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    i = index()
    if i < n:
        y[i] = x[i] // 7 + (x[i] << 2) - (x[i] | a)


PROGRAMS = {
    name.removesuffix("_cute"): program
    for name, program in list(globals().items())
    if name.endswith("_cute") and name != "square_cute"
}
FLOATS = ("saxpy", "helper", "choice")  # those whose `a` is a float


def arrays(kind: type) -> tuple:
    x = np.random.default_rng(7).integers(-50, 50, N).astype(kind)
    return x, np.zeros(N, kind)


def run_cute(name: str, running, static_width: bool = False) -> tuple[str, np.ndarray]:
    """The PTX of one program and what it computes."""
    is_float = name in FLOATS
    x, y = arrays(np.float32 if is_float else np.int32)
    program = PROGRAMS[name]

    @cute.jit
    def host(a: cutlass.Float32 if is_float else cutlass.Int32, x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
        program(a, x, y, n).launch(grid=((n + BLOCK - 1) // BLOCK, 1, 1), block=(BLOCK, 1, 1))

    WIDTH["static"] = static_width
    try:
        host(1.5 if is_float else 3, torch.from_numpy(x), torch.from_numpy(y), N)
    finally:
        WIDTH["static"] = False
    return running.kernels[-1].ptx, y


# --- comparing -------------------------------------------------------------------------------------------------------


_NAMES = re.compile(r"\$L__BB\w+|%(?:p|r|rd|rs|f|fd)\d+")
_PARAMETER = re.compile(r"ld\.param\.\w+ (%\w+), \[\w+\];")
_COMMUTES = re.compile(r"((?:add|mul|mad|and|or|xor|min|max|fma)[.\w]* %\w+, )(%\w+), (%\w+)(.*)")
_COPY = re.compile(r"mov\.\w+ (%\w+), (%r\w+|-?\d+);")


def body(ptx: str) -> list[str]:
    """The instructions of the one kernel of `ptx` without places.

    A parameter is the register it is loaded into; registers and labels are numbered in the order of their first use,
    not counting where they are set to a constant; of neighbouring settings the order does not count. A parameter is the
    second operand of what commutes.
    """
    assert ptx.count(".entry") == 1
    lines = [" ".join(line.split()) for line in ptx[ptx.index("\n{") : ptx.index("\n}")].splitlines()]
    lines = [line for line in lines if line and not line.startswith((".loc", "//", ".reg", "{", ".pragma"))]
    parameters = {match[1] for match in map(_PARAMETER.match, lines) if match}
    lines = _constants([line for line in lines if not _PARAMETER.match(line)])
    lines = [
        _COMMUTES.sub(lambda match: match.expand(r"\1\3, \2\4") if match[2] in parameters else match.group(), line)
        for line in lines
    ]
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
