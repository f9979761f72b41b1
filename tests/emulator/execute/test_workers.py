"""Blocks on several threads: atomics, the order of prints, which fault is reported, blocks that wait for each other."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.execute import slots, workers


@pytest.fixture(params=[1, 4], autouse=True)
def several(request, monkeypatch):
    """The number of workers; others are woken at once, so that little work is enough to see it."""
    monkeypatch.setenv("GPU_REPRO_WORKERS", str(request.param))
    monkeypatch.setattr(workers, "MANY", 0)
    return request.param


# A loop of `%spin` rounds in front, so that the launch is not over before all workers are awake.
WORK = """
  {{ .reg .b32 %spin; .reg .pred %more; mov.u32 %spin, {rounds};
AGAIN{label}: sub.u32 %spin, %spin, 1; setp.ne.u32 %more, %spin, 0; @%more bra AGAIN{label}; }}
"""


def work(rounds: int, label: str = "") -> str:
    return WORK.format(rounds=rounds, label=label)


REDUCE = """
.visible .entry reduce(.param .u64 out)
{
  .reg .b32 %i, %b, %n, %v, %lost; .reg .b64 %o; .reg .pred %p;
  mov.u32 %i, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %i, %b, %n, %i;
  ld.param.u64 %o, [out];
""" + work(50) + """
  red.global.add.u32 [%o], %i;
  red.global.min.s32 [%o+4], %i; red.global.max.u32 [%o+8], %i;
  and.b32 %v, %i, 31; shl.b32 %v, 1, %v;
  red.global.or.b32 [%o+12], %v; red.global.xor.b32 [%o+16], %i;
  not.b32 %v, %v; red.global.and.b32 [%o+20], %v;
  red.global.inc.u32 [%o+24], 999; atom.global.dec.u32 %lost, [%o+28], 999;
  ret;
}
"""  # fmt: skip


def test_atomics_of_many_blocks_lose_nothing(machine):
    out = np.array([0, 2**31 - 1, 0, 0, 0, 2**32 - 1, 0, 0], np.uint32)
    blocks, threads = 700, 64
    machine.run(REDUCE, grid=blocks, block=threads, out=out)
    every = np.arange(blocks * threads, dtype=np.uint32)
    count = len(every)
    assert out.tolist() == [
        int(every.sum(dtype=np.uint32)), 0, count - 1, 2**32 - 1, int(np.bitwise_xor.reduce(every)), 0,
        count % 1000, (1000 - count % 1000) % 1000,
    ]  # fmt: skip


def test_a_kernel_where_the_order_of_atomics_shows_runs_its_blocks_in_turn(machine):
    """A float sum has the rounding of the blocks' order, and a ticket is the block's number."""
    text = """
.visible .entry turn(.param .u64 out)
{
  .reg .b32 %b, %t, %x; .reg .f32 %f; .reg .b64 %o, %off; .reg .pred %p;
  mov.u32 %b, %ctaid.x; ld.param.u64 %o, [out];
""" + work(2000) + """
  add.u32 %x, %b, 1; cvt.rn.f32.u32 %f, %x; rcp.rn.f32 %f, %f;
  red.global.add.f32 [%o], %f;
  atom.global.add.u32 %t, [%o+4], 1;
  mul.wide.u32 %off, %b, 4; add.s64 %o, %o, %off; st.global.u32 [%o+8], %t;
  ret;
}
"""  # fmt: skip
    out = np.zeros(1002, np.uint32)
    machine.run(text, grid=1000, out=out)
    total = np.float32(0)
    for block in range(1000):
        total += np.float32(1) / np.float32(block + 1)
    assert out[:1].view(np.float32)[0] == total
    np.testing.assert_array_equal(out[2:], np.arange(1000))


PRINT = """
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.global .align 1 .b8 fmt[8] = {37, 100, 32, 37, 100, 59, 0, 0};
.visible .entry print(.param .u32 bad)
{
  .local .align 8 .b8 args[8];
  .reg .b32 %b, %t, %v, %n; .reg .b64 %a, %g, %l; .reg .pred %p;
  mov.u32 %b, %ctaid.x; mov.u32 %t, %tid.x; ld.param.u32 %n, [bad];
""" + work(3000) + """
  setp.ge.u32 %p, %b, %n; @%p trap;
  mov.u64 %l, args; cvta.local.u64 %a, %l;
  st.local.u32 [%l], %b; st.local.u32 [%l+4], %t;
  mov.u64 %g, fmt;
  { .param .b64 f0; st.param.b64 [f0], %g; .param .b64 a0; st.param.b64 [a0], %a; .param .b32 r0;
    call.uni (r0), vprintf, (f0, a0); }
  ret;
}
"""  # fmt: skip


def test_prints_of_blocks_come_in_their_order(machine):
    machine.run(PRINT, grid=300, block=2, bad=300)
    assert machine.printed == "".join(f"{b} {t};" for b in range(300) for t in range(2))


def test_blocks_after_the_first_fault_print_nothing(machine):
    for _ in range(5):
        machine.printed = ""
        with pytest.raises(emulator.Fault) as caught:
            machine.run(PRINT, grid=300, block=2, bad=100)
        assert caught.value.block == (100, 0, 0) and caught.value.thread == (0, 0, 0)
        assert machine.printed == "".join(f"{b} {t};" for b in range(100) for t in range(2))


def test_an_error_of_the_writer_is_the_launchs_own(machine):
    def write(text: str) -> None:
        raise OSError("disk full")

    machine.write = write
    with pytest.raises(OSError, match="disk full"):
        machine.run(PRINT, grid=300, block=2, bad=300)


FAULTS = """
.visible .entry faults(.param .u64 out)
{
  .reg .b32 %b, %n; .reg .b64 %o, %off; .reg .pred %p, %q;
  mov.u32 %b, %ctaid.x; ld.param.u64 %o, [out]; mul.wide.u32 %off, %b, 4; add.s64 %o, %o, %off;
  setp.eq.u32 %p, %b, 30; @!%p bra QUICK;
""" + work(2_000_000) + """
QUICK:
""" + work(1000, "2") + """
  st.global.u32 [%o], %b;
  ret;
}
"""  # fmt: skip


def test_the_lowest_faulting_block_is_reported_however_late_it_faults(machine):
    """Blocks from 30 on write past the end; 30 takes a thousand times as long as those after it."""
    out = np.zeros(30, np.uint32)
    texts = set()
    for _ in range(5):
        with pytest.raises(emulator.Fault) as caught:
            machine.run(FAULTS, grid=(10, 10, 1), out=out[:1])
        assert caught.value.block == (1, 0, 0)
        with pytest.raises(emulator.Fault) as caught:
            machine.run(FAULTS, grid=5000, out=out)
        texts.add(str(caught.value).replace(hex(out.ctypes.data + 120), "ADDRESS"))
        np.testing.assert_array_equal(out, np.arange(30))
    (text,) = texts
    assert "block (30, 0, 0), thread (0, 0, 0)" in text and "just past the end of `out` (120 bytes)" in text


def test_a_deadlock_in_one_block_of_many(machine):
    text = """
.visible .entry stuck(.param .u32 bad)
{
  .reg .b32 %b, %t, %n; .reg .pred %p, %q;
  mov.u32 %b, %ctaid.x; mov.u32 %t, %tid.x; ld.param.u32 %n, [bad];
  setp.ge.u32 %p, %b, %n; setp.eq.and.u32 %q, %t, 0, %p;
""" + work(1000) + """
  @%q bar.sync 1;
  bar.sync 0;
  ret;
}
"""  # fmt: skip
    with pytest.raises(emulator.Fault) as caught:
        machine.run(text, grid=200, block=64, bad=70)
    assert caught.value.kind == "deadlock" and caught.value.block == (70, 0, 0)
    assert "no thread can continue in block (70, 0, 0)" in str(caught.value)


POLL = """
.visible .entry poll(.param .u64 out)
{
  .reg .b32 %b, %v, %n; .reg .b64 %o, %off, %mine; .reg .pred %p;
  mov.u32 %b, %ctaid.x; mov.u32 %n, %nctaid.x; ld.param.u64 %o, [out];
  mul.wide.u32 %off, %b, 4; add.s64 %mine, %o, %off;
  sub.u32 %n, %n, 1; setp.eq.u32 %p, %b, %n; mov.u32 %v, 1; @%p bra SET;
WAIT:
  ld.acquire.gpu.global.u32 %v, [%mine+4];
  setp.eq.u32 %p, %v, 0;
  @%p bra WAIT;
  add.u32 %v, %v, 1;
SET:
  st.release.gpu.global.u32 [%mine], %v;
  bar.sync 0;
  ret;
}
"""


def test_a_block_may_wait_for_one_that_comes_later(machine):
    """Each of 50 blocks waits for the next one's word and adds one: the last begins the chain."""
    out = np.zeros(50, np.uint32)
    machine.run(POLL, grid=50, block=32, out=out)
    np.testing.assert_array_equal(out, np.arange(50, 0, -1))


GRID_SYNC = """
.visible .entry rounds(.param .u64 out, .param .u32 rounds)
{
  .shared .align 4 .b8 kept[4];
  .reg .b32 %t, %b, %n, %r, %k, %v, %need, %a; .reg .b64 %o, %off, %mine; .reg .pred %p, %first;
  mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %nctaid.x; ld.param.u32 %r, [rounds];
  ld.param.u64 %o, [out]; mul.wide.u32 %off, %b, 4; add.s64 %mine, %o, %off;
  setp.eq.u32 %first, %t, 0; mov.u32 %k, 0; mov.u32 %a, kept;
ROUND:
  @%first ld.global.u32 %v, [%mine+4]; @%first add.u32 %v, %v, 1; @%first st.shared.u32 [%a], %v;
  @%first st.global.u32 [%mine+4], %v;
  bar.sync 0;
  add.u32 %k, %k, 1; mul.lo.u32 %need, %k, %n;
  @!%first bra JOIN;
  membar.gl; red.release.gpu.global.add.u32 [%o], 1;
WAIT:
  ld.acquire.gpu.global.u32 %v, [%o]; setp.lt.u32 %p, %v, %need; @%p bra WAIT;
JOIN:
  bar.sync 0;
  setp.lt.u32 %p, %k, %r; @%p bra ROUND;
  ret;
}
"""


def test_all_blocks_meet_again_and_again(machine):
    out = np.zeros(101, np.uint32)
    machine.run(GRID_SYNC, grid=100, block=96, out=out, rounds=np.uint32(20))
    assert out[0] == 2000 and set(out[1:].tolist()) == {20}


def test_a_block_that_polls_gives_up_when_another_has_faulted(machine):
    text = POLL.replace("setp.eq.u32 %p, %b, %n; mov.u32 %v, 1; @%p bra SET;",
                        "setp.eq.u32 %p, %b, %n; @%p trap; mov.u32 %v, 1;")  # fmt: skip
    with pytest.raises(emulator.Fault) as caught:
        machine.run(text, grid=20, out=np.zeros(21, np.uint32))
    assert caught.value.kind == "trap" and caught.value.block == (19, 0, 0)


ENDLESS = """
.visible .entry endless(.param .u64 out)
{
  .reg .b32 %v; .reg .b64 %o; .reg .pred %p;
  ld.param.u64 %o, [out];
FOR_EVER:
  LOAD %v, [%o];
  setp.eq.u32 %p, %v, 0;
  @%p bra FOR_EVER;
  ret;
}
"""


@pytest.mark.parametrize("load", ["ld.global.u32", "ld.volatile.global.u32"])
def test_ctrl_c_ends_every_block(machine, load):
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        machine.run(ENDLESS.replace("LOAD", load), grid=64, block=32, out=np.zeros(1, np.uint32))
    timer.join()
    out = np.ones(1, np.uint32)
    machine.run(ENDLESS.replace("LOAD", load), grid=64, block=32, out=out)  # nothing of the stop is left


def test_a_handler_that_returns_lets_the_kernel_go_on(machine):
    """SIGALRM is heard while the kernel runs, and what it does is what lets the kernel end."""
    out, heard = np.zeros(1, np.uint32), []

    def handler(*_):
        heard.append(1)
        out[0] = len(heard) > 2

    previous = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    try:
        machine.run(ENDLESS.replace("LOAD", "ld.volatile.global.u32"), grid=3, block=32, out=out)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert len(heard) >= 3


LEFTOVER = """
.extern .shared .align 4 .b8 dynamic[];
.visible .entry leftover(.param .u64 out)
{
  .local .align 4 .b8 mine[4];
  .reg .b32 %b, %v, %w, %a; .reg .b64 %o, %off, %l; .reg .pred %p;
  mov.u32 %b, %ctaid.x; ld.param.u64 %o, [out]; mul.wide.u32 %off, %b, 8; add.s64 %o, %o, %off;
  mov.u32 %a, dynamic; mov.u64 %l, mine;
  ld.shared.u32 %v, [%a]; ld.local.u32 %w, [%l];
""" + work(1000) + """
  st.global.u32 [%o], %v; st.global.u32 [%o+4], %w;
  st.shared.u32 [%a], %b; st.local.u32 [%l], %b;
  ret;
}
"""  # fmt: skip


def test_no_block_sees_what_another_left_in_its_memory(machine):
    out = np.zeros(2000, np.uint32)
    for _ in range(2):
        machine.run(LEFTOVER, grid=1000, smem_bytes=64, out=out)
        assert set(out.tolist()) == {0xFFFFFFFF}


def test_launches_from_several_threads_at_once(machine):
    outs = [np.array([0, 2**31 - 1, 0, 0, 0, 2**32 - 1, 0, 0], np.uint32) for _ in range(6)]
    threads = [threading.Thread(target=machine.run, args=(REDUCE, 100, 64), kwargs={"out": out}) for out in outs]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert {int(out[0]) for out in outs} == {6399 * 6400 // 2}


def test_the_workers_are_those_asked_for(machine, several, monkeypatch):
    begun = []
    begin = workers.begin
    monkeypatch.setattr(workers, "begin", lambda job: (begun.append(job), begin(job)))
    out = np.zeros(8, np.uint32)
    machine.run(REDUCE, grid=20_000, block=64, out=out)
    assert len(begun) == several - 1
    begun.clear()
    machine.run(".visible .entry short(.param .u64 out) { ret; }", grid=8, block=32, out=out)
    assert not begun  # it is over before a thread would be awake


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_a_setting_that_is_not_a_number_of_threads(machine, monkeypatch, text):
    monkeypatch.setenv("GPU_REPRO_WORKERS", text)
    with pytest.raises(ValueError, match=f"GPU_REPRO_WORKERS={text}: expected a number of threads, 1 or more"):
        machine.run(REDUCE, grid=20, out=np.zeros(8, np.uint32))


def test_a_forked_child_has_its_own_workers(machine):
    out = np.zeros(8, np.uint32)
    machine.run(REDUCE, grid=100, block=64, out=out)
    child = os.fork()
    if not child:
        out[:] = 0
        machine.run(REDUCE, grid=100, block=64, out=out)
        os._exit(0 if out[0] == 6399 * 6400 // 2 else 1)
    for _ in range(200):
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        time.sleep(0.05)
    else:
        os.kill(child, 9)
    assert pid and status == 0


def test_slots_are_kept_but_not_without_end(machine):
    machine.run(GRID_SYNC, grid=100, block=32, out=np.zeros(101, np.uint32), rounds=np.uint32(2))
    assert len(slots._kept) <= slots.KEPT


def test_ptxas_accepts_what_is_tested_here(ptxas):
    for text in (REDUCE, PRINT, FAULTS, POLL, GRID_SYNC, ENDLESS.replace("LOAD", "ld.global.u32"), LEFTOVER):
        ptxas(text)
