"""Threads that end before others: the same bits as thread by thread.

Modules tested here: dsl/emulator/machine/threads.cc.
"""

import numpy as np
import pytest

from tests.emulator.translate.both_ways import Pair


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 1, 5, 63, 64, 65, 200])
@pytest.mark.parametrize("block", [64, (8, 8, 1), (4, 4, 4)])
def test_threads_past_n_leave_first(n, block):
    body = """
  setp.ge.u32 %p, %t, %n; @%p bra DONE;
  mov.u32 %k, 0; mov.f32 %x, 0f00000000;
NEXT:
  ld.global.f32 %y, [%g]; fma.rn.f32 %x, %y, %y, %x; bar.sync 0;
  add.u32 %k, %k, 1; setp.lt.u32 %p, %k, 5; @%p bra NEXT;
  st.global.f32 [%o], %x;
DONE:
  ret;"""
    Pair(body).same(block=block, n=n)


@pytest.mark.parametrize("condition", [
    "and.b32 %r, %t, 1;", "mul.hi.u32 %r, %t, 268435456;", "popc.b32 %r, %t; and.b32 %r, %r, 1;",
])  # fmt: skip
def test_any_threads_may_leave(condition):
    """Those left are not a box of coordinates; linear registers live on."""
    body = f"""
  mov.u64 %h, %g; mov.u32 %k, 0; {condition} setp.ne.u32 %p, %r, 0; @%p ret;
NEXT:
  ld.global.u32 %r, [%h]; add.u32 %s, %r, %k; st.global.u32 [%o], %s; bar.sync 0;
  add.s64 %h, %h, 4; add.u32 %k, %k, 1; setp.lt.u32 %p, %k, %n; @%p bra NEXT;
  st.global.u32 [%o+2048], %t; ret;"""
    for block in (96, (12, 8, 1)):
        Pair(body).same(block=block, n=4)


def test_threads_leave_one_by_one():
    body = """
  mov.u32 %k, 0;
NEXT:
  st.global.u32 [%o], %k; setp.le.u32 %p, %t, %k; @%p exit;
  add.u32 %k, %k, 1; bra.uni NEXT;"""
    out = Pair(body).same(block=100)
    np.testing.assert_array_equal(out[:100], np.arange(100))
