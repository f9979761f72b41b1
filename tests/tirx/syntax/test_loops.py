"""Every loop of T, with every kind of bounds, visits what Python's range visits."""

from __future__ import annotations

import itertools
import linecache
import os
import random

import numpy as np
import pytest

import dsl.tirx as tvm

N, M, ZERO, DOWN = 5, 3, 0, -2  # what the kernel is called with: known at run time only
BOUNDS = [
    (4,),
    (0,),
    (-3,),
    (2, 6),
    (6, 2),
    (3, 3),
    (-2, 2),
    ("n",),
    ("zero",),
    ("down",),
    ("m", "n"),
    ("n", "m"),
    ("m", 9),
    (1, "n"),
    ("n - m", "n + m"),
]
STEPS = [1, 2, 5, -1, -3, "m", "down"]
SERIAL = [
    (name, bounds, step)
    for name in ("range", "T.serial", "T.parallel")
    for bounds, step in itertools.product(BOUNDS, STEPS)
]
SAMPLE = random.Random(int(os.environ.get("DSL_SWEEP_SEED", "0"))).sample(SERIAL, 48)  # all 315 take a minute
STATIC = [
    (name, bounds, step)
    for name in ("T.unroll", "T.vectorized")
    for bounds in BOUNDS
    for step in (1, 2, -1, -3)
    if not any(isinstance(bound, str) for bound in bounds)
]
PAIRS = [(1, 3), (0, 4), (-2, 3), (3, 0), (2, -1), ("m", "n"), ("zero", 2), (1, "m")]
ROW = 40


def number(bound: int | str) -> int:
    return bound if isinstance(bound, int) else eval(bound, {"n": N, "m": M, "zero": ZERO, "down": DOWN})


def spelt(name: str, bounds: tuple, step: object) -> str:
    if name == "range":
        every = bounds if step == 1 else (*(bounds if len(bounds) == 2 else (0, *bounds)), step)
        return f"range({', '.join(map(str, every))})"
    return f"{name}({', '.join(map(str, bounds))}{'' if step == 1 else f', step={step}'})"


def compiled(loops: list[str], name: str) -> object:
    """A kernel that writes the numbers that loop k visits to row k, their count first. Each loop adds to `c`."""
    lines = [
        "from __future__ import annotations",
        "from dsl.tirx.script import tirx as T",
        "@T.prim_func",
        f'def main(O: T.Buffer(({len(loops)}, {ROW}), "int32"), n: T.int32, m: T.int32, zero: T.int32, down: T.int32):',
        "    T.device_entry()",
        "    bx = T.cta_id([1])",
        "    tx = T.thread_id([1])",
        "    c: T.int32 = 0",
    ]
    for row, loop in enumerate(loops):
        lines += ["    c = 0", f"    for {loop}:", "        c += 1", f"        O[{row}, c] = i", f"    O[{row}, 0] = c"]
    source = "\n".join(lines) + "\n"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    found = {"__name__": "sweep"}
    exec(compile(source, name, "exec"), found)
    return found["main"]


def visited(run, loops: list[str], name: str) -> list[list[int]]:
    array = run(compiled(loops, name), np.zeros((len(loops), ROW), np.int32), N, M, ZERO, DOWN)[0]
    return [row[1 : 1 + row[0]].tolist() for row in array]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:VECTORIZED_ONE_BY_ONE")
@pytest.mark.parametrize("loops", [SAMPLE, STATIC], ids=["at run time", "while compiling"])
def test_a_loop_visits_what_range_visits(run, loops):
    found = visited(run, [f"i in {spelt(*loop)}" for loop in loops], "sweep_range.py")
    for (name, bounds, step), numbers in zip(loops, found, strict=True):
        ends = [number(bound) for bound in bounds]
        assert numbers == list(range(*(ends if len(ends) == 2 else (0, *ends)), number(step))), spelt(
            name, bounds, step
        )


def test_a_pair_of_grid_is_start_and_extent(run):
    """Upstream's docstring: "the first is the start of the iteration, and the second is the extent"."""
    loops = [f"i, j in T.grid(({start}, {extent}), 2)" for start, extent in PAIRS]
    loops += [f"j, i in T.grid(2, ({start}, {extent}))" for start, extent in PAIRS]
    found = visited(run, loops, "sweep_grid.py")
    for k, (start, extent) in enumerate(PAIRS):
        numbers = [number(start) + step for step in range(number(extent))]
        assert found[k] == [i for i in numbers for _ in range(2)], loops[k]
        assert found[len(PAIRS) + k] == numbers * 2, loops[len(PAIRS) + k]


@pytest.mark.parametrize(
    "loop", ["range(0, 4, 0)", "T.serial(4, step=0)", "T.unroll(4, step=0)", "T.vectorized(4, step=0)"]
)
def test_a_step_of_zero_is_refused(loop):
    with pytest.raises(tvm.error.DiagnosticError, match="a loop step of 0 never ends"):
        compiled([f"i in {loop}"], "sweep_zero.py")
