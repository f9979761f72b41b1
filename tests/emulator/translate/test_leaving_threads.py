"""Threads that end before others: the same bits as thread by thread.

Modules tested here: dsl/emulator/machine/threads.cc.
"""

import operator

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


UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


@pytest.mark.parametrize("order", ["lt", "le", "gt", "ge", "eq", "ne", "lo", "ls", "hi", "hs"])
@pytest.mark.parametrize("side", ["%t", "%j", "%tx"])
def test_threads_that_stay_are_an_interval(order, side):
    """They need not be the first: of each order, rising and falling, at the edges and outside; then thread 3 leaves.
    Sums over shared memory, and a shuffle, tell who is there; `cut` makes the last access run thread by thread."""
    kind = "u32" if order in UNSIGNED else "s32"
    body = f"""
  mov.u32 %r, 7; sub.u32 %j, 20, %t; add.u32 %i, %t, 5; mul.lo.u32 %u, %n, 0;
  setp.{order}.{kind} %p, {side}, %n; @%p bra DONE; bar.sync 0; setp.eq.u32 %q, %t, 3; @%q bra DONE;
  mul.wide.u32 %h, %i, 4; add.s64 %h, %data, %h; ld.global.u32 %k, [%h]; add.u32 %r, %k, %i; add.u32 %r, %r, %u;
  st.global.u32 [%o], %r;
DONE:
  ret;"""
    pair, compare = _pair(body), getattr(operator, UNSIGNED.get(order, order))
    data = (np.arange(100, dtype=np.uint64) * 2654435761).astype(np.uint32)
    for block in (48, (6, 4, 2)):
        t = np.arange(48)
        value = {"%t": t, "%j": 20 - t, "%tx": t % (block if isinstance(block, int) else block[0])}[side]
        for n in (-1, 0, 1, 5, 20, 47, 48, -27):
            a, b = (value, n) if kind == "s32" else (value & 0xFFFFFFFF, n & 0xFFFFFFFF)
            stays = ~compare(a, b) & (t != 3)
            out = pair.same(block=block, n=n & 0xFFFFFFFF, cut=80)
            np.testing.assert_array_equal(out[:48], np.where(stays, data[5 : 5 + 48] + np.uint32(5) + t, 0))


_pairs: dict[str, Pair] = {}


def _pair(body: str) -> Pair:
    return _pairs.get(body) or _pairs.setdefault(body, Pair(body))


def test_warps_meet_after_the_first_threads_have_left():
    body = """
  mul.wide.u32 %h, %t, 4; add.s64 %h, %data, %h; setp.lt.u32 %p, %t, %n; @%p exit;
  ld.global.u32 %r, [%h]; redux.sync.add.u32 %s, %r, -1; add.u32 %s, %s, %t; st.global.u32 [%o], %s; ret;"""
    data = (np.arange(64, dtype=np.uint64) * 2654435761).astype(np.uint32)
    for n in (0, 5, 32, 40):
        out = Pair(body).same(block=64, n=n)
        sums = [data[max(warp, n) : warp + 32].sum(dtype=np.uint32) for warp in (0, 32)]
        wanted = np.repeat(sums, 32).astype(np.uint32) + np.arange(64, dtype=np.uint32)
        np.testing.assert_array_equal(out[:64], np.where(np.arange(64) < n, 0, wanted))


def test_a_loop_that_the_first_threads_leave_first():
    """Thread t adds 0 to t - 1; registers that are linear with a stride of the launch live on."""
    body = """
  mov.u32 %k, 0; mov.u32 %s, 0; mul.lo.u32 %i, %t, %n; setp.eq.u32 %p, %t, 0; @%p bra OUT;
NEXT:
  add.u32 %s, %s, %k; xor.b32 %s, %s, 1; add.u32 %s, %s, 1; ld.global.u32 %r, [%g]; add.u32 %s, %s, %r;
  mul.lo.u32 %r, %k, %i; add.u32 %s, %s, %r; xor.b32 %s, %s, 1; add.u32 %s, %s, 3; xor.b32 %s, %s, 2;
  shl.b32 %v0, %s, 1; add.u32 %s, %v0, %s; add.u32 %k, %k, 1; setp.ne.u32 %p, %k, %t; @%p bra NEXT;
OUT:
  bar.sync 0; add.u32 %s, %s, %i; st.global.u32 [%o], %s; ret;"""
    for block in (64, (8, 4, 1)):
        Pair(body).same(block=block, n=3, cut=80)


def test_a_fault_after_the_first_threads_have_left_is_of_the_first_one_that_is_there():
    body = "setp.lt.u32 %p, %t, 9; @%p exit; ld.global.u32 %r, [%g+16384]; st.global.u32 [%o], %r; ret;"
    assert Pair(body).faults(block=32).thread == (9, 0, 0)
    assert Pair(body.replace("16384", "-36")).run(block=32)[1][2] is None
