"""Extents of a launch from whatever the host knows: numbers, registers, shapes, and what is computed of them."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

import dsl.tirx as tvm
from tests.slow import rest_slow

N, M, ROWS, COLUMNS = 7, 3, 4, 6
HEAD = """\
from dsl.tirx.script import tirx as T
@T.prim_func
def main(a: T.handle, O: T.Buffer((8,), "int32"), n: T.int32, m: T.int32, w: T.int64):
    rows = T.int32()
    columns = T.int32()
    A = T.match_buffer(a, (rows, columns), "int32")
    half: T.let = n // 2
    k = n - m
    T.device_entry()
"""
BODY = """\
    T.cuda.atomic_add(O.ptr_to([0]), T.int32(1))
    T.cuda.atomic_add(O.ptr_to([1]), T.int32(bx))
    T.cuda.atomic_add(O.ptr_to([2]), T.int32(tx))
"""
# what is written, and the number that it is
EXTENTS = {
    "n": N,
    "[n]": N,
    "[n + 0]": N,
    "[n * m]": N * M,
    "[(n + m - 1) // m]": 3,
    "[n % m + 1]": 2,
    "[half]": 3,
    "[k]": 4,
    "[half + k]": 7,
    "[T.ceildiv(n, 4)]": 2,
    "[T.max(n, m)]": 7,
    "[T.min(n, 2)]": 2,
    "[T.if_then_else(n > m, m, n)]": M,
    "[m if n > 100 else n + 1]": 8,
    "[T.Select(n < m, 1, 2)]": 2,
    "[T.if_then_else(n > m, T.if_then_else(m > n, 1, n - 2), 9)]": 5,
    "[T.shift_left(m, 1)]": 6,
    "[T.truncdiv(n, m)]": 2,
    "[rows]": ROWS,
    "[A.shape[0]]": ROWS,
    "[A.shape[0] * A.shape[1]]": 24,
    "[T.ceildiv(A.shape[1], 4)]": 2,
    "[w]": 2,
    "[T.int32(w) * 2]": 4,
    "[T.cast(w, 'int32') + n]": 9,
}


def compiled(cta: str, thread: str, name: str = "extents.py") -> object:
    source = f"{HEAD}    bx = T.cta_id({cta})\n    tx = T.thread_id({thread})\n{BODY}"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    found = {"__name__": "extents"}
    exec(compile(source, name, "exec"), found)
    return found["main"]


def counted(run, function) -> list[int]:
    return run(function, np.zeros((ROWS, COLUMNS), np.int32), np.zeros(8, np.int32), N, M, 2)[1][:3].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("place", rest_slow(["cta", "thread"], 1))
def test_extents_from_the_host(run, place):
    for text, number in EXTENTS.items():
        function = compiled(text, "[5]") if place == "cta" else compiled("[5]", text)
        blocks, threads = (number, 5) if place == "cta" else (5, number)
        pairs = blocks * threads
        assert counted(run, function) == [pairs, pairs * (blocks - 1) // 2, pairs * (threads - 1) // 2], text


def test_several_extents(run):
    source = (
        HEAD
        + """\
    bx, by, bz = T.cta_id([n, half, 2])
    tx, ty = T.thread_id([m, rows])
    T.cuda.atomic_add(O.ptr_to([0]), T.int32(1))
    T.cuda.atomic_add(O.ptr_to([1]), bx + 100 * by + 10000 * bz)
    T.cuda.atomic_add(O.ptr_to([2]), tx + 100 * ty)
"""
    )
    linecache.cache["several.py"] = (len(source), None, source.splitlines(True), "several.py")
    found = {"__name__": "several"}
    exec(compile(source, "several.py", "exec"), found)
    grid = [(x, y, z) for z in range(2) for y in range(N // 2) for x in range(N)]
    block = [(x, y) for y in range(ROWS) for x in range(M)]
    assert counted(run, found["main"]) == [
        len(grid) * len(block),
        len(block) * sum(x + 100 * y + 10000 * z for x, y, z in grid),
        len(grid) * sum(x + 100 * y for x, y in block),
    ]


@pytest.mark.parametrize(
    "extent, caret", [("[O[0]]", "T.cta_id([O[0]])"), ("[A[0, 0] + n]", "T.cta_id([A[0, 0] + n])")]
)
def test_an_extent_that_the_kernel_loads_is_refused(extent, caret):
    with pytest.raises(tvm.error.DiagnosticError) as caught:
        compiled(extent, "[4]")
    assert str(caught.value) == (
        f"extents.py:10:10: LAUNCH_EXTENT\n    bx = {caret}\n         {'^' * len(caret)} an extent of "
        "the launch must be known before the kernel runs, but this one is computed from what only the "
        "kernel has: its ids or the memory that it loads\nfix: compute it from the parameters of the "
        "function"
    )
