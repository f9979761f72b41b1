"""T.ptx by PTX's dotted names: what a call writes, and where; test_instructions of tests/tirx/oracle has the values of
every family.

Modules tested here: dsl/tirx/functions/instruction_arguments.py, dsl/tirx/functions/instruction_operands.py.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.tirx.functions import instruction_operands
from dsl.tirx.script import tirx as T


def test_destinations(run):
    @T.prim_func
    def main(A: T.Buffer((32,), "float32"), O: T.Buffer((6, 32), "float32"), P: T.Buffer((6, 32), "int32")):
        T.device_entry()
        tx = T.thread_id([32])
        d: T.float32
        T.ptx.add.rn.f32(d, A[tx], 2.0)
        O[0, tx] = d
        T.ptx.add.rn.f32(d, d, d)
        O[1, tx] = d
        T.ptx.fma.rn.f32(O[2, tx], A[tx], A[tx], d)
        array: T.f32[2]
        T.ptx["mul.rn.f32"](array[1], A[tx], 3.0)
        O[3, tx] = array[1]
        word: T.uint32
        T.ptx.mov.b32(word, A[tx])
        P[0, tx] = word
        low: T.uint32
        high: T.uint32
        pair: T.uint64
        T.ptx.mov.b64(pair, T.uint32(tx), T.uint32(7))
        T.ptx.mov.b64(low, high, pair)
        P[1, tx] = low + high * 100
        small: T.bool
        one = T.local_scalar("uint32")
        T.ptx.setp.lt.s32(small, tx, 5)
        T.ptx.setp.lt.s32(one, tx, 9)
        P[2, tx] = T.int32(small) + T.int32(one) * 10
        kept: T.int32 = -1
        if tx < 16:
            T.ptx.add.s32(kept, tx, 1)
        P[3, tx] = kept
        T.ptx.add.s32(kept, 0, tx, pred=tx < 8, preserve_dst=True)
        P[4, tx] = kept

    a, t = np.arange(32, dtype=np.float32) / 4, np.arange(32)
    _, found, words = run(main, a, np.zeros((6, 32), np.float32), np.zeros((6, 32), np.int32))
    np.testing.assert_array_equal(found[:4], [a + 2, 2 * a + 4, a * a + 2 * a + 4, a * 3])
    np.testing.assert_array_equal(words[0].view(np.float32), a)
    first = np.where(t < 16, t + 1, -1)
    np.testing.assert_array_equal(words[1:5], [t + 700, (t < 5) + (t < 9) * 10, first, np.where(t < 8, t, first)])


def test_memory_and_predicates(run):
    @T.prim_func
    def main(A: T.Buffer((64,), "uint32"), O: T.Buffer((6, 32), "uint32")):
        T.device_entry()
        tx = T.thread_id([32])
        shared = T.alloc_shared((32,), "uint32")
        x: T.uint32
        y: T.uint32
        T.ptx.ld.global_.v2.b32(x, y, A.ptr_to([tx * 2]))
        T.ptx.st.shared__cta.b32(shared.ptr_to([tx]), x + y)
        T.cuda.cta_sync()
        T.ptx.ld.shared.b32(O[0, tx], T.ptx.addr(shared.ptr_to([tx]), 0))
        T.ptx.st.global_.b32(O.ptr_to([1, tx]), y, pred=tx >= 8)
        old: T.uint32
        T.ptx.atom.shared.add.u32(old, shared.ptr_to([0]), T.uint32(1))
        T.ptx.atom.shared.add.u32(shared.ptr_to([0]), T.uint32(1))
        T.cuda.cta_sync()
        O[2, tx] = shared[0]
        in_shared: T.bool
        T.ptx.isspacep.shared(in_shared, shared.ptr_to([tx]))
        in_global: T.uint32
        T.ptx.isspacep.global_(in_global, shared.ptr_to([tx]))
        O[4, tx] = T.uint32(in_shared) + in_global * 10
        T.ptx.isspacep.global_(in_global, A.ptr_to([tx]))
        O[5, tx] = in_global
        T.ptx.shfl_sync.bfly.b32(O[3, tx], x, T.uint32(1), T.uint32(31), T.uint32(0xFFFFFFFF))

    a, t = np.arange(64, dtype=np.uint32) * 3, np.arange(32)
    _, found = run(main, a, np.zeros((6, 32), np.uint32))
    sums = a[::2] + a[1::2]
    np.testing.assert_array_equal(
        found, [sums, np.where(t >= 8, a[1::2], 0), [sums[0] + 64] * 32, a[::2][t ^ 1], [1] * 32, [1] * 32]
    )


def test_mbarriers_as_in_0_27(run):
    @T.prim_func
    def main(A: T.Buffer((64,), "int32"), O: T.Buffer((64,), "int32")):
        T.device_entry()
        tx = T.thread_id([64])
        bar = T.alloc_shared((1,), "uint64")
        s = T.alloc_shared((64,), "int32")
        T.ptx.mbarrier.init.shared.b64(bar.data, T.uint32(64), pred=tx == 0)
        T.cuda.cta_sync()
        s[tx] = A[tx] * 2
        T.ptx.mbarrier.arrive.shared.b64(bar.ptr_to([0]))
        done: T.uint32 = 0
        while done == 0:
            T.ptx.mbarrier.try_wait.parity.shared.b64(done, bar.ptr_to([0]), T.uint32(0))
        O[tx] = s[63 - tx]

    a = np.arange(64, dtype=np.int32)
    np.testing.assert_array_equal(run(main, a, np.zeros(64, np.int32))[1], a[::-1] * 2)


def test_a_row_of_the_table_is_all_it_takes():
    """The lists of operands of each row are read without an error, and each has as many destinations as PTX."""
    from dsl.emulator.families import table

    seen = 0
    for opcode, modifiers in (("add", ("rn", "f32")), ("ld", ("global", "v4", "b32")), ("bar", ("sync",))):
        assert table.row_of(opcode, modifiers)
        seen += sum(each.written for each in instruction_operands.layouts(opcode, modifiers))
    assert seen == 1 + 2 * 4


@pytest.mark.parametrize(
    ("call", "what"),
    [("T.ptx.add.rn.f32(d, A[0])", "takes 3 arguments, got 2"), ("T.ptx.mma(d)", "is not a whole instruction")],
)
def test_wrong_calls_name_the_authors_line(call, what, tmp_path):
    import linecache

    text = (
        "from dsl.tirx.script import tirx as T\n@T.prim_func\ndef main(A: T.Buffer((8,), 'float32')):\n"
        f"    T.device_entry()\n    tx = T.thread_id([8])\n    d: T.float32\n    {call}\n"
    )
    linecache.cache["wrong.py"] = (len(text), None, text.splitlines(True), "wrong.py")
    with pytest.raises(DSLUserCodeError) as raised:
        exec(compile(text, "wrong.py", "exec"), {"__name__": "wrong"})
    assert (
        what in str(raised.value) and re.search(r"wrong\.py:7:\d+", str(raised.value)) and "fix:" in str(raised.value)
    )
