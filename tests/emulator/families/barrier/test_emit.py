"""Threads of a block meeting at barriers, and what is reported when they cannot. PTX ISA 9.7.13.1.

Modules tested here: dsl/emulator/families/barrier/barriers.cc.
"""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator

REVERSE = """
.visible .entry reverse(.param .u64 out)
{
  .shared .align 4 .b8 tile[4096];
  .reg .b32 %t, %n, %a, %b, %v; .reg .b64 %o, %off;
  mov.u32 %t, %tid.x; mov.u32 %n, %ntid.x; mov.u32 %a, tile;
  mad.lo.u32 %b, %t, 4, %a;
  mul.lo.u32 %v, %t, 10;
  st.shared.u32 [%b], %v;
  BARRIER
  sub.u32 %b, %n, %t; sub.u32 %b, %b, 1; mad.lo.u32 %b, %b, 4, %a;
  ld.shared.u32 %v, [%b];
  ld.param.u64 %o, [out]; mul.wide.u32 %off, %t, 4; add.s64 %o, %o, %off;
  st.global.u32 [%o], %v;
  ret;
}
"""
BARRIERS = ["bar.sync 0;", "barrier.sync 3;", "bar.cta.sync 0;", "barrier.cta.sync.aligned 15;", "bar.sync 1, 1024;",
            "{ .reg .b32 %i; mov.u32 %i, 2; bar.sync %i; }"]  # fmt: skip


@pytest.mark.parametrize("barrier", BARRIERS)
def test_writes_before_a_barrier_are_seen_after_it(machine, barrier):
    out = np.zeros(1024, np.uint32)
    machine.run(REVERSE.replace("BARRIER", barrier), block=1024, out=out)
    np.testing.assert_array_equal(out, np.arange(1023, -1, -1) * 10)


def test_without_the_barrier_the_other_half_is_not_there_yet(machine):
    out = np.zeros(1024, np.uint32)
    machine.run(REVERSE.replace("BARRIER", ""), block=1024, out=out)
    assert out[0] == 0xFFFFFFFF


LOOP = """
.visible .entry loop(.param .u64 out, .param .u32 n)
{
  .shared .align 4 .b8 cell[4];
  .reg .b32 %t, %n, %i, %v, %a; .reg .b64 %o; .reg .pred %p, %q;
  mov.u32 %t, %tid.x; ld.param.u32 %n, [n]; mov.u32 %i, 0; mov.u32 %a, cell;
  st.shared.u32 [%a], 0;
NEXT:
  bar.sync 0;
  setp.eq.u32 %p, %t, %i;
  @%p ld.shared.u32 %v, [%a];
  @%p mad.lo.u32 %v, %v, 3, %t;
  @%p st.shared.u32 [%a], %v;
  add.u32 %i, %i, 1;
  setp.lt.u32 %q, %i, %n;
  @%q bra NEXT;
  bar.sync 0;
  ld.shared.u32 %v, [%a];
  ld.param.u64 %o, [out];
  @%p st.global.u32 [%o], %v;
  ret;
}
"""


def test_rounds_of_a_loop_are_in_order(machine):
    out = np.zeros(1, np.uint32)
    machine.run(LOOP, block=96, out=out, n=90)
    value = 0
    for t in range(90):
        value = (value * 3 + t) % 2**32
    assert out[0] == value


RED = """
.visible .entry red(.param .u64 out, .param .u32 limit)
{
  .reg .b32 %t, %l, %c, %v; .reg .b64 %o, %off; .reg .pred %p, %q;
  mov.u32 %t, %tid.x; ld.param.u32 %l, [limit];
  setp.lt.u32 %p, %t, %l;
  bar.red.popc.u32 %c, 0, %p;
  bar.red.and.pred %q, 0, %p;
  @%q add.u32 %c, %c, 1000;
  barrier.cta.red.or.pred %q, 0, %p;
  @%q add.u32 %c, %c, 10000;
  bar.red.popc.u32 %v, 0, !%p;
  mad.lo.u32 %c, %v, 100000, %c;
  ld.param.u64 %o, [out]; mul.wide.u32 %off, %t, 4; add.s64 %o, %o, %off;
  st.global.u32 [%o], %c;
  ret;
}
"""


@pytest.mark.parametrize("limit", [0, 5, 100])
def test_reductions(machine, limit):
    out = np.zeros(100, np.uint32)
    machine.run(RED, block=100, out=out, limit=limit)
    expected = limit + 1000 * (limit == 100) + 10000 * (limit > 0) + 100000 * (100 - limit)
    assert set(out.tolist()) == {expected}


PRODUCER = """
.visible .entry pipe(.param .u64 out)
{
  .shared .align 4 .b8 cell[128];
  .reg .b32 %t, %a, %v, %s; .reg .b64 %o, %off; .reg .pred %p;
  mov.u32 %t, %tid.x; mov.u32 %a, cell; and.b32 %s, %t, 31; mad.lo.u32 %a, %s, 4, %a;
  setp.ge.u32 %p, %t, 32;
  @%p bra CONSUME;
  st.shared.u32 [%a], %t;
  bar.arrive 1, 64;
  ret;
CONSUME:
  bar.sync 1, 64;
  ld.shared.u32 %v, [%a];
  ld.param.u64 %o, [out]; mul.wide.u32 %off, %s, 4; add.s64 %o, %o, %off;
  st.global.u32 [%o], %v;
  ret;
}
"""


def test_one_warp_arrives_and_leaves_another_waits(machine):
    out = np.zeros(32, np.uint32)
    machine.run(PRODUCER, block=64, out=out)
    np.testing.assert_array_equal(out, np.arange(32))


def test_threads_that_exited_are_not_waited_for(machine):
    text = REVERSE.replace("BARRIER", "{ .reg .pred %x; setp.gt.u32 %x, %t, 40; @%x exit; } bar.sync 0;")
    out = np.zeros(64, np.uint32)
    machine.run(text, block=64, out=out)
    np.testing.assert_array_equal(out[:41], np.arange(63, 22, -1) * 10)


SPIN = """
.visible .entry spin(.param .u64 out)
{
  .reg .b32 %t, %v; .reg .b64 %o; .reg .pred %p;
  mov.u32 %t, %tid.x; ld.param.u64 %o, [out];
  setp.eq.u32 %p, %t, 40;
  @%p bra RELEASE;
WAIT:
  ld.volatile.global.u32 %v, [%o];
  setp.eq.u32 %p, %v, 0;
  @%p bra WAIT;
  red.global.add.u32 [%o+4], 1;
  ret;
RELEASE:
  st.volatile.global.u32 [%o], 1;
  ret;
}
"""


def test_a_thread_that_polls_memory_lets_the_others_run(machine):
    out = np.zeros(2, np.uint32)
    machine.run(SPIN, block=64, out=out)
    assert out.tolist() == [1, 63]


DIVIDED = """.file 1 "kernel.py"
.visible .entry divided(.param .u32 limit)
{
  .reg .b32 %t, %l; .reg .pred %p;
  mov.u32 %t, %tid.x; ld.param.u32 %l, [limit];
  setp.lt.u32 %p, %t, %l;
  .loc 1 12 5
  @%p bra LOW;
  .loc 1 15 9
  bar.sync 1;
  bra.uni JOIN;
LOW:
  .loc 1 13 9
  bar.sync 2;
JOIN:
  ret;
}
"""


def test_threads_at_two_barriers_are_a_deadlock_that_names_both(machine):
    machine.run(DIVIDED, block=64, limit=64)
    with pytest.raises(emulator.Fault) as caught:
        machine.run(DIVIDED, grid=2, block=64, limit=20)
    assert str(caught.value) == "\n".join([
        "kernel.py:13:9: DEADLOCK",
        "    no thread can continue in block (0, 0, 0) of `divided`",
        "    warp 0 lanes 0-19 wait at `bar.sync 2;` (kernel.py:13), PTX line 17",
        "        for warp 1, warp 0 lanes 20-31 (at `bar.sync 1;`, PTX line 13)",
        "    warp 1, warp 0 lanes 20-31 wait at `bar.sync 1;` (kernel.py:15), PTX line 13",
        "        for warp 0 lanes 0-19 (at `bar.sync 2;`, PTX line 17)",
        "fix: let both meet at one barrier: warp 0 lanes 0-19 wait at barrier 2 (kernel.py:13), warp 1, warp 0 lanes "
        "20-31 at barrier 1 (kernel.py:15)",
    ])  # fmt: skip
    fault = caught.value
    assert fault.kind == "deadlock" and fault.ptx_line == 17 and fault.place.line == 13
    assert fault.repro_outcome == {
        "outcome": "deadlock", "kind": "deadlock", "file": "kernel.py", "line": 13, "text": str(fault),
        "finding": fault.finding,
    }  # fmt: skip
    one, other = fault.finding["related"]
    assert (one["line"], one["text"]) == (13, "warp 0 lanes 0-19 wait at bar.sync 2;")
    assert other["awaited"] == "for warp 0 lanes 0-19 (at `bar.sync 2;`, PTX line 17)"


LOST = """
.visible .entry lost(.param .u32 mask)
{
  .reg .b32 %t, %m, %d; .reg .pred %p;
  mov.u32 %t, %tid.x; ld.param.u32 %m, [mask];
  setp.ge.u32 %p, %t, 16;
  @%p bra OTHER;
  shfl.sync.bfly.b32 %d, %t, 1, 31, %m;
OTHER:
  bar.sync 0;
  ret;
}
"""


def test_a_shuffle_that_names_lanes_elsewhere_is_a_deadlock(machine):
    machine.run(LOST, block=32, mask=np.uint32(0xFFFF))
    with pytest.raises(emulator.Fault) as caught:
        machine.run(LOST, block=32, mask=np.uint32(0xFFFFFFFF))
    assert str(caught.value) == "\n".join([
        "DEADLOCK",
        "    no thread can continue in block (0, 0, 0) of `lost`",
        "    warp 0 lanes 0-15 wait at `shfl.sync.bfly.b32 %d, %t, 1, 31, %m;`, PTX line 11",
        "        for warp 0 lanes 16-31 (at `bar.sync 0;`, PTX line 13)",
        "    warp 0 lanes 16-31 wait at `bar.sync 0;`, PTX line 13",
        "        for warp 0 lanes 0-15 (at `shfl.sync.bfly.b32 %d, %t, 1, 31, %m;`, PTX line 11)",
        "fix: let all lanes of warp 0 come to PTX line 11: `shfl.sync` is an operation of the warp, and only lanes 0-15 "
        "get there; ask for the warp in the condition around it (`if warp == 0`), not for some of its lanes; or name the "
        "lanes that come in its mask, 0xffff",
    ])  # fmt: skip


@pytest.mark.parametrize("barrier, message", [
    ("{ .reg .b32 %i; mov.u32 %i, 16; bar.sync %i; }", "barrier 16 does not exist: a block has barriers 0 to 15"),
    ("{ .reg .b32 %i; mov.u32 %i, 33; bar.sync 0, %i; }", "a barrier's thread count must be a multiple of 32, not 33"),
    ("bar.sync 0, 2048;", None),
])  # fmt: skip
def test_impossible_barriers(machine, barrier, message):
    with pytest.raises(emulator.Fault) as caught:
        machine.run(REVERSE.replace("BARRIER", barrier), block=64, out=np.zeros(64, np.uint32))
    if message:
        assert caught.value.kind == "illegal" and message in str(caught.value)
    else:
        assert "for 1984 more threads of the 2048 that barrier 0 counts" in str(caught.value)


def test_ptxas_accepts_what_is_tested_here(ptxas):
    for text in (*(REVERSE.replace("BARRIER", b) for b in BARRIERS), LOOP, RED, PRODUCER, SPIN, DIVIDED, LOST):
        ptxas(text)
