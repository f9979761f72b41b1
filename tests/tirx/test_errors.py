"""Errors of T programs: the author's line, a caret, what is wrong, the fix; the whole text."""

from __future__ import annotations

import linecache

import pytest

import dsl.tirx as tvm

HEAD = """\
from dsl.tirx.script import tirx as T
@T.prim_func
def main(A: T.Buffer((64,), "float32"), I: T.Buffer((8, 8), "int32"), n: T.int32):
    T.device_entry()
    tx = T.thread_id([64])
"""


def error_of(body: str, head: str = HEAD) -> str:
    """The text of the error that a kernel with this body ends in, its file called k.py."""
    source = head + "".join(f"    {line}\n" for line in body.splitlines())
    linecache.cache["k.py"] = (len(source), None, source.splitlines(True), "k.py")
    with pytest.raises(tvm.error.DiagnosticError) as caught:
        names = {"__name__": "k"}
        exec(compile(source, "k.py", "exec"), names)
        tvm.compile(names["main"], target="cuda")
    return str(caught.value)


CASES = {
    "if A[tx]:\n    A[tx] = 0.0": """\
k.py:6:8: BRANCH_FLOAT
    if A[tx]:
       ^^^^^ `if` is decided by a bool or an integer, and this is float32
fix: compare it: `x != T.float32(0)`""",
    "A[64] = 1.0": """\
k.py:6:5: INDEX_OUT_OF_RANGE
    A[64] = 1.0
    ^^^^^ index 64 is outside `A`, which has 64 elements in dimension 0
fix: an index from 0 to 63""",
    "I[3, -1] = 1": """\
k.py:6:5: INDEX_OUT_OF_RANGE
    I[3, -1] = 1
    ^^^^^^^^ index -1 is outside `I`, which has 8 elements in dimension 1
fix: an index from 0 to 7""",
    "I[3] = 1": """\
k.py:6:5: INDEX_RANK
    I[3] = 1
    ^^^^ `I` has 2 dimensions, and this indexes 1
fix: its shape is (8, 8)""",
    "A[A[0]] = 0.0": """\
k.py:6:5: INDEX_TYPE
    A[A[0]] = 0.0
    ^^^^^^^ an index is an integer, and this is float32
fix: convert it: `T.int32(x)`""",
    "x: T.let = 3\nx = 4": """\
k.py:7:5: SCOPE_REASSIGNED
    x = 4
    ^ `x` is a T.let and cannot be assigned
fix: use another name, or a register: `x_: T.int32 = x`""",
    "for i in range(4):\n    i = 3": """\
k.py:7:9: SCOPE_REASSIGNED
    i = 3
    ^ `i` is a loop variable and cannot be assigned
fix: use another name, or a register: `i_: T.int32 = i`""",
    "if tx < 3:\n    y = 1\nA[tx] = y": """\
k.py:8:13: SCOPE_UNBOUND_NAME
    A[tx] = y
            ^ `y` is not defined here: what a branch or loop binds first ends with it
k.py:7:9: see
    y = 1
    ^ it begins here
fix: declare it before: `y: T.int32 = 0`""",
    "A[tx] = zz": """\
k.py:6:13: PYTHON
    A[tx] = zz
            ^^ NameError: name 'zz' is not defined""",
    "for i in T.unroll(n):\n    A[i] = 0.0": """\
k.py:6:14: LOOP_BOUND_DYNAMIC
    for i in T.unroll(n):
             ^^^^^^^^^^^ T.unroll needs bounds known while compiling, and this is known at run time only
fix: T.serial(n, unroll=4)""",
    "for i in [1, 2]:\n    A[i] = 0.0": """\
k.py:6:14: LOOP_KIND
    for i in [1, 2]:
             ^^^^^^ a `for` loops over range, T.serial, T.unroll, T.vectorized, T.parallel, T.grid or T.thread_binding
fix: for i in T.serial(n)""",
    "for i, j in T.grid(3):\n    pass": """\
k.py:6:17: LOOP_TARGETS
    for i, j in T.grid(3):
                ^^^^^^^^^ T.grid has 1 extent for 2 variables
fix: for i, j in T.grid(m, n)""",
    "return 3": """\
k.py:6:5: RETURN_VALUE
    return 3
    ^^^^^^^^ a kernel returns nothing
fix: store the value, and `return 0` to leave early""",
    "I[0, 0] = n / 2": """\
k.py:6:15: INTEGER_DIVISION
    I[0, 0] = n / 2
              ^^^^^ `/` of two integers may mean several divisions
fix: `a // b` rounds down, `T.truncdiv(a, b)` towards zero; `T.float32(a) / b` is a float""",
    "T.cuda.warpgroup_sync(99)": """\
k.py:6:5: BARRIER_ID
    T.cuda.warpgroup_sync(99)
    ^^^^^^^^^^^^^^^^^^^^^^^^^ a block has barriers 0 to 15, and this is 99
fix: a number from 0 to 15""",
    "lane = T.lane_id([16])": """\
k.py:6:12: LAUNCH_EXTENT
    lane = T.lane_id([16])
           ^^^^^^^^^^^^^^^ a warp has 32 lanes, and this says 16
fix: T.lane_id([32])""",
    "ty = T.thread_id([128])": """\
k.py:6:10: LAUNCH_EXTENTS_DIFFER
    ty = T.thread_id([128])
         ^^^^^^^^^^^^^^^^^^ T.thread_id says [128] here and [64] before
k.py:5:10: see
    tx = T.thread_id([64])
         ^^^^^^^^^^^^^^^^^ said here
fix: make them agree""",
    "w = T.warp_id([4])\nlane = T.lane_id([32])": """\
k.py:6:9: LAUNCH_EXTENTS_DIFFER
    w = T.warp_id([4])
        ^^^^^^^^^^^^^^ T.thread_id says 64 threads a block and T.warp_id 128
k.py:5:10: see
    tx = T.thread_id([64])
         ^^^^^^^^^^^^^^^^^ said here
fix: make them agree""",
    's = T.alloc_shared((20000,), "float32")': """\
k.py:6:9: SMEM_TOO_LARGE
    s = T.alloc_shared((20000,), "float32")
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ shared memory of a fixed size comes to 80000 bytes, and a kernel has 49152
fix: scope="shared.dyn", which the launch asks for""",
    "T.device_entry()": """\
k.py:6:5: DEVICE_ENTRY
    T.device_entry()
    ^^^^^^^^^^^^^^^^ T.device_entry() stands twice in this function
fix: drop one""",
    "...": """\
k.py:6:5: STATEMENT
    ...
    ^^^ `...` is no statement of T
fix: write `pass`""",
    "T.cuda.grid_sync()": """\
k.py:6:5: UNSUPPORTED_NAME
    T.cuda.grid_sync()
    ^^^^^^^^^^^^^^^^ T.cuda.grid_sync is not part of this compiler yet
fix: docs/tirx.md lists what is""",
    "m = T.int32()": """\
k.py:6:9: HOST_PART
    m = T.int32()
        ^^^^^^^^^ T.int32() belongs to the host part of a T.prim_func
fix: write it before T.device_entry()""",
    "x = [1, 2, 3][:n]": """\
k.py:6:9: PHASE_DYNAMIC_INDEX
    x = [1, 2, 3][:n]
        ^^^^^^^^^^^^^ is an int32 known at run time only: its value is not known while compiling, \
and Python needs an int
fix: use it as it is (`T.int32(x)` converts), or take it as a T.constexpr of a T.jit function""",
    "A[tx] = A": """\
k.py:6:13: STORE_TYPE
    A[tx] = A
            ^ `A` holds float32, and this is buffer of float32 (64)
fix: store an element: `A[i]`""",
}


@pytest.mark.parametrize("body", CASES, ids=lambda body: body.partition("\n")[0])
def test_the_whole_text(body):
    assert error_of(body) == CASES[body]


LONELY = """\
from dsl.tirx.script import tirx as T
@T.prim_func
def main(A: T.Buffer((64,), "float32")):
"""


def test_a_block_that_no_gpu_has():
    assert error_of("T.device_entry()\nbx = T.cta_id([1])\ntx = T.thread_id([2048])\nA[tx] = 1.0", LONELY) == """\
k.py:4:5: LAUNCH_EXTENT_OUT_OF_RANGE
    T.device_entry()
    ^^^^^^^^^^^^^^^^ the block of `main` has 2048 threads in x
fix: 1 to 1024 threads in x"""


def test_a_kernel_without_a_block_is_traced_and_not_compiled():
    assert error_of("T.device_entry()\nbx = T.cta_id([1])\nA[bx] = 1.0", LONELY) == """\
k.py:4:5: LAUNCH_NO_BLOCK
    T.device_entry()
    ^^^^^^^^^^^^^^^^ nothing says how many threads a block has
fix: tx = T.thread_id([128]), or T.warp_id([4]) and T.lane_id([32])"""


def test_a_kernel_for_the_cpu():
    source = LONELY + "    T.device_entry()\n    tx = T.thread_id([64])\n    A[tx] = 1.0\n"
    linecache.cache["k.py"] = (len(source), None, source.splitlines(True), "k.py")
    names = {"__name__": "k"}
    exec(compile(source, "k.py", "exec"), names)
    with pytest.raises(tvm.error.DiagnosticError, match="has a device part, and the target is llvm"):
        tvm.compile(names["main"], target="llvm")
