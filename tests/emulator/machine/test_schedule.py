"""Launches with a seed: who runs first, and where threads give way, is chosen by it, and by nothing else.

Modules tested here: dsl/emulator/ir/builder.py, dsl/emulator/machine/blocks.cc, dsl/emulator/machine/threads.cc.
"""

import collections

import numpy as np
import pytest

from dsl import emulator

HEAD = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %q;
  .shared .b32 s[64];
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.s32 %r4, %r1, %r3, %r2;
  mul.wide.u32 %rd2, %r4, 4;
  add.s64 %rd2, %rd1, %rd2;
"""
# x[0] += 1 by two instructions; what a thread read goes to its own place.
LOST_UPDATE = (
    HEAD
    + """
  ld.global.u32 %r5, [%rd1];
  add.u32 %r6, %r5, 1;
  st.global.u32 [%rd1], %r6;
  st.global.u32 [%rd2+64], %r5;
  ret; }
"""
)
# Two threads: each writes its own flag, then reads the other flag.
STORE_BUFFER = (
    HEAD
    + """
  st.global.u32 [%rd2], 1;
  xor.b32 %r5, %r4, 1;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd3, %rd1, %rd3;
  ld.global.u32 %r6, [%rd3];
  st.global.u32 [%rd2+64], %r6;
  ret; }
"""
)
# Neighbours change places through shared memory and a barrier, then through a shuffle: whatever the order, the same.
ORDERED = (
    HEAD
    + """
  mov.u32 %r5, s;
  shl.b32 %r6, %r2, 2;
  add.u32 %r5, %r5, %r6;
  st.shared.u32 [%r5], %r4;
  bar.sync 0;
  xor.b32 %r6, %r6, 128;
  mov.u32 %r5, s;
  add.u32 %r5, %r5, %r6;
  ld.shared.u32 %r7, [%r5];
  shfl.sync.bfly.b32 %r7, %r7, 1, 31, -1;
  bar.sync 0;
  atom.global.add.u32 %r8, [%rd1], %r7;
  st.global.u32 [%rd2+64], %r7;
  ret; }
"""
)
# The second thread waits for the first.
SPIN = (
    HEAD
    + """
  setp.eq.u32 %q, %r4, 0;
  @%q bra WRITE;
WAIT:
  ld.volatile.global.u32 %r5, [%rd1];
  setp.eq.u32 %q, %r5, 0;
  @%q bra WAIT;
  st.global.u32 [%rd2+64], %r5;
  ret;
WRITE:
  st.volatile.global.u32 [%rd1], 7;
  ret; }
"""
)


def run(ptx: str, seed: int, grid: int = 1, block: int = 2) -> tuple[list[int], list[int]]:
    """The first 16 words, and the word of each thread."""
    data = np.zeros(16 + grid * block, np.uint32)
    memory = emulator.Memory()
    memory.register(data.ctypes.data, data.nbytes, "data")
    pointer = data.ctypes.data.to_bytes(8, "little")
    emulator.launch(emulator.load(ptx), "k", (grid, 1, 1), (block, 1, 1), [pointer], memory, seed=seed)
    return data[:16].tolist(), data[16:].tolist()


@pytest.mark.parametrize("grid, block", [(1, 2), (2, 1), (1, 64)])
def test_every_interleaving_of_two_accesses_comes_up_and_none_that_cannot_be(grid, block):
    seen = collections.Counter(run(LOST_UPDATE, seed, grid, block)[0][0] for seed in range(1, 120))
    assert set(seen) <= set(range(1, grid * block + 1))
    assert len(seen) == 2 if grid * block == 2 else len(seen) > 4


@pytest.mark.parametrize("grid, block", [(1, 2), (2, 1)])
def test_the_outcomes_are_sequentially_consistent(grid, block):
    seen = {tuple(run(STORE_BUFFER, seed, grid, block)[1]) for seed in range(1, 120)}
    assert seen == {(0, 1), (1, 0), (1, 1)}


def test_a_seed_gives_the_same_each_time_and_none_the_order_of_threads():
    first = {seed: run(LOST_UPDATE, seed, 4, 64) for seed in range(1, 9)}
    assert first == {seed: run(LOST_UPDATE, seed, 4, 64) for seed in range(1, 9)}
    assert len({str(each) for each in first.values()}) > 1
    assert run(LOST_UPDATE, 0, 1, 64)[1] == list(range(64))


@pytest.mark.parametrize("seed", range(6))
def test_ordered_accesses_stay_ordered(seed):
    words, each = run(ORDERED, seed, 8, 64)
    assert each == [n ^ 33 for n in range(512)] and words[0] == sum(range(512))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("grid, block", [(1, 2), (40, 1), (3, 33)])
def test_a_thread_that_polls_is_served(seed, grid, block):
    assert run(SPIN, seed, grid, block)[1] == [0, *[7] * (grid * block - 1)]


@pytest.mark.parametrize("seed", (1, 2))
def test_a_fault_and_a_deadlock_are_found_under_a_seed(seed):
    with pytest.raises(emulator.Fault, match="trap"):
        run(LOST_UPDATE.replace("st.global.u32 [%rd1], %r6;", "trap;"), seed, 3, 32)
    alone = "setp.eq.u32 %q, %r2, 0; @%q bar.sync 1, 64;"
    with pytest.raises(emulator.Fault, match="(?s)DEADLOCK|nothing can move"):
        run(LOST_UPDATE.replace("ld.global.u32 %r5, [%rd1];", alone), seed, 2, 64)


POLLS = {
    "an acquire": "W: ld.acquire.gpu.global.u32 %r5, [%rd1]; setp.eq.u32 %q, %r5, 0; @%q bra W;",
    "a volatile load": "W: ld.volatile.global.u32 %r5, [%rd1]; setp.eq.u32 %q, %r5, 0; @%q bra W;",
    "an atomic": "W: atom.global.or.b32 %r5, [%rd1], 0; setp.eq.u32 %q, %r5, 0; @%q bra W;",
    "a lock": "W: atom.global.cas.b32 %r5, [%rd1], 1, 2; setp.ne.u32 %q, %r5, 1; @%q bra W;",
    "with pauses": "W: nanosleep.u32 20; ld.acquire.gpu.global.u32 %r5, [%rd1]; setp.eq.u32 %q, %r5, 0; @%q bra W;",
    "two blocks for each other": (
        "xor.b32 %r6, %r1, 1; mul.wide.u32 %rd4, %r6, 4; add.s64 %rd4, %rd1, %rd4; mul.wide.u32 %rd5, %r1, 4; "
        "add.s64 %rd5, %rd1, %rd5; W: ld.acquire.gpu.global.u32 %r5, [%rd4]; setp.eq.u32 %q, %r5, 0; @%q bra W; "
        "st.release.gpu.global.u32 [%rd5], 1;"),
}  # fmt: skip


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", POLLS)
def test_threads_that_poll_for_ever_are_a_deadlock(name, seed):
    with pytest.raises(emulator.Fault, match="DEADLOCK"):
        run(HEAD + POLLS[name] + "ret; }", seed, 2, 64)


def test_every_block_of_a_permuted_grid_runs_once():
    import random

    from dsl.emulator.execute.launch import _permutation

    for blocks in (1, 2, 6, 7, 64, 100):
        step, start = _permutation(blocks, random.Random(blocks))
        assert sorted((start + n * step) % blocks for n in range(blocks)) == list(range(blocks))
