"""Blocks of a cluster run together: they meet at their barrier, read each other's shared memory, and wait for each
other in any order. PTX ISA 9.7.13.3."""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator

MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
SEEDS = [0, 1, 2]
# Each block leaves its number in shared memory; each thread reads the number of the next block, three times.
RING = """
.visible .entry k(.param .u64 out)
{
  .shared .align 4 .b32 box[32];
  .reg .b32 %t, %a, %r, %n, %v, %b, %x, %y, %i; .reg .b64 %o; .reg .pred %p;
  mov.u32 %t, %tid.x; mov.u32 %r, %cluster_ctarank; mov.u32 %n, %cluster_nctarank;
  mov.u32 %x, %ctaid.x; mov.u32 %y, %ctaid.y; mov.u32 %b, %nctaid.x; mad.lo.u32 %b, %y, %b, %x;
  ld.param.u64 %o, [out]; mad.lo.u32 %v, %b, 32, %t; mad.wide.u32 %o, %v, 4, %o;
  mov.u32 %a, box; mad.lo.u32 %a, %t, 4, %a;
  add.u32 %r, %r, 1; rem.u32 %r, %r, %n; mapa.shared::cluster.u32 %x, %a, %r; mov.u32 %i, 0;
again:
  st.shared.u32 [%a], %v; MEET
  ld.shared::cluster.u32 %v, [%x]; MEET
  add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 3; @%p bra again;
  st.global.u32 [%o], %v; ret;
}
""".replace("MEET", MEET)


def ring(grid, cluster):
    """The value in thread 0 of each block after three rounds: the number of the third block after it in its cluster."""
    x, y = np.meshgrid(np.arange(grid[0]), np.arange(grid[1]))
    rank = x % cluster[0] + cluster[0] * (y % cluster[1])
    rank = (rank + 3) % (cluster[0] * cluster[1])
    x, y = x // cluster[0] * cluster[0] + rank % cluster[0], y // cluster[1] * cluster[1] + rank // cluster[0]
    return 32 * (y * grid[0] + x)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("grid, cluster", [((6, 1), (1, 1)), ((8, 2), (2, 1)), ((6, 4), (3, 2)), ((16, 1), (16, 1))])
def test_blocks_read_what_the_next_one_wrote(machine, grid, cluster, seed):
    out = np.zeros((grid[1], grid[0], 32), np.uint32)
    machine.run(RING, grid=(*grid, 1), block=32, cluster=(*cluster, 1), seed=seed, out=out)
    np.testing.assert_array_equal(out, ring(grid, cluster)[:, :, None] + np.arange(32))


def test_a_kernel_may_demand_its_clusters(machine):
    out = np.zeros((1, 8, 32), np.uint32)
    demanding = RING.replace("(.param .u64 out)", "(.param .u64 out)\n.explicitcluster\n.reqnctapercluster 4, 1, 1\n")
    machine.run(demanding, grid=8, block=32, out=out)
    np.testing.assert_array_equal(out[:, :, 0], ring((8, 1), (4, 1)))
    for text, message in (
        (demanding, "cluster=(2, 1, 1), but `k` requires (4, 1, 1) (.reqnctapercluster)"),
        (RING.replace("out)", "out) .maxclusterrank 1", 1), "cluster=(2, 1, 1), but `k` allows 1 blocks (.maxclusterrank)"),
    ):  # fmt: skip
        with pytest.raises(ValueError) as caught:
            machine.run(text, grid=8, block=32, cluster=(2, 1, 1), out=out)
        assert str(caught.value) == message


# Block 1 waits for what block 0 writes to its shared memory, and tells it so in global memory.
POLLS = """
.visible .entry k(.param .u64 out)
{
  .shared .align 4 .b32 flag;
  .reg .b32 %a, %r, %v; .reg .b64 %o; .reg .pred %p;
  ld.param.u64 %o, [out]; mov.u32 %a, flag; mov.u32 %r, %cluster_ctarank;
  mov.u32 %v, 0; st.shared.u32 [%a], %v; MEET
  setp.eq.u32 %p, %r, 1; @%p bra reads;
  mapa.shared::cluster.u32 %a, %a, 1; mov.u32 %v, 7; st.relaxed.cluster.shared::cluster.u32 [%a], %v;
back: ld.relaxed.gpu.global.u32 %v, [%o]; setp.ne.u32 %p, %v, 8; @%p bra back; bra end;
reads: ld.relaxed.cluster.shared::cta.u32 %v, [%a]; setp.ne.u32 %p, %v, 7; @%p bra reads;
  st.relaxed.gpu.global.u32 [%o], 8;
end: MEET ret;
}
""".replace("MEET", MEET)


@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_of_a_cluster_may_poll_for_each_other(machine, seed):
    out = np.zeros(1, np.uint32)
    machine.run(POLLS, grid=2, block=1, cluster=(2, 1, 1), seed=seed, out=out)
    assert out[0] == 8


# Clusters wait for each other in global memory: all of them run at once.
GRID = """
.visible .entry k(.param .u64 out, .param .u32 blocks)
{
  .reg .b32 %v, %n; .reg .b64 %o; .reg .pred %p;
  ld.param.u64 %o, [out]; ld.param.u32 %n, [blocks]; MEET
  red.release.gpu.global.add.u32 [%o], 1;
back: ld.acquire.gpu.global.u32 %v, [%o]; setp.lt.u32 %p, %v, %n; @%p bra back;
  MEET red.release.gpu.global.add.u32 [%o+4], %v; ret;
}
""".replace("MEET", MEET)


@pytest.mark.parametrize("seed", SEEDS)
def test_clusters_may_wait_for_each_other(machine, seed):
    out = np.zeros(2, np.uint32)
    machine.run(GRID, grid=12, block=1, cluster=(4, 1, 1), seed=seed, out=out, n=12)
    assert out[0] == 12 and out[1] == 144


def test_a_block_that_has_exited_counts_as_arrived(machine):
    """As at barriers of a block. The others meet without it."""
    leaves = RING.replace("MEET", "").replace("again:", "setp.eq.u32 %p, %r, 0; @%p exit; again:")
    leaves = leaves.replace("ld.shared::cluster.u32 %v, [%x]", "add.u32 %v, %v, 1")
    out = np.zeros((4, 32), np.uint32)
    machine.run(leaves, grid=4, block=32, cluster=(4, 1, 1), out=out)
    assert (out[3] == 0).all() and (out[:3] == np.arange(96).reshape(3, 32) + 3).all()


def test_many_clusters_on_several_workers(machine, monkeypatch):
    monkeypatch.setenv("GPU_REPRO_WORKERS", "3")
    out = np.zeros((1, 4000, 32), np.uint32)
    machine.run(RING, grid=4000, block=32, cluster=(2, 1, 1), out=out)
    np.testing.assert_array_equal(out[:, :, 0], ring((4000, 1), (2, 1)))


def test_a_fault_ends_its_cluster_and_later_ones(machine):
    """The launch reports the fault of the lowest cluster."""
    bad = RING.replace("again:", "setp.ne.u32 %p, %v, 325; @%p bra again; st.global.u32 [%o+1], %v; again:")
    out = np.zeros((64, 32), np.uint32)
    with pytest.raises(emulator.Fault, match="is not aligned to 4 bytes") as caught:
        machine.run(bad, grid=64, block=32, cluster=(4, 1, 1), out=out)
    assert caught.value.block == (10, 0, 0) and caught.value.thread == (5, 0, 0)
