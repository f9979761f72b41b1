"""Whole texts of findings of bulk copies."""

import pytest

from tests.emulator.families.bulk.test_check import both, outcome

TEXTS = {
    "a load is read before its phase": """\
tma_kernel.py:4:1: RACE
    reads smem+0x0, which the bulk copy at line 2 still writes: nobody has waited for it
    in `k`, 4 bytes of smem+0x0
    reads    thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): tma_kernel.py:4, PTX line 21: \
ld.shared.b32 %r0, [%m];
    copied to thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): tma_kernel.py:2, PTX line 17: @%lead \
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%g], 256, [full];
fix: wait for the phase of the full mbarrier that the copy at line 2 signals (`pipeline.consumer_wait`) \
before line 4""",
    "only the leader waits": """\
tma_kernel.py:4:1: RACE
    reads smem+0x4, which another thread copied to at line 2: this thread has not waited for it
    in `k`, 4 bytes of smem+0x4
    reads    thread (1, 0, 0) = warp 0, lane 1 of block (0, 0, 0): tma_kernel.py:4, PTX line 21: \
ld.shared.b32 %r0, [%m];
    copied to thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): tma_kernel.py:2, PTX line 17: @%lead \
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%g], 256, [full];
fix: wait for the phase of the full mbarrier that the copy at line 2 signals (`pipeline.consumer_wait`) \
before line 4""",
    "a stored buffer is written again": """\
tma_kernel.py:4:1: RACE
    writes smem+0x0, which the bulk store at line 2 still reads: it was not waited for
    in `k`, 4 bytes of smem+0x0
    writes   thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): tma_kernel.py:4, PTX line 21: \
st.shared.b32 [%m], %t;
    read     thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): tma_kernel.py:2, PTX line 17: @%lead \
cp.async.bulk.global.shared::cta.bulk_group [%g+1024], [%s], 256;
fix: let the thread of the store wait for it, cp.async.bulk.wait_group.read \
(`cute.arch.cp_async_bulk_wait_group(0, read=True)`), and then a barrier (or the arrival at the empty \
mbarrier) that line 4 comes after""",
    "a store without a proxy fence": """\
tma_kernel.py:3:1: RACE
    reads smem+0x0, which this thread wrote at line 1: no fence.proxy.async between
    in `k`, 256 bytes of smem+0x0
    reads    thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): tma_kernel.py:3, PTX line 19: @%lead \
cp.async.bulk.global.shared::cta.bulk_group [%g+1024], [%s], 256;
    wrote    thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): tma_kernel.py:1, PTX line 15: \
st.shared.b32 [%m], %t;
fix: put fence.proxy.async (`cute.arch.fence_proxy`) after the writes at line 1, before the barrier that line \
3 comes after""",
    "a changed map without its fence": """\
tma_kernel.py:4:1: RACE
    uses a tensor map that this thread changed at line 1: no fence.proxy.tensormap between
    in `k`, 128 bytes of `x[512]`
    reads    thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): tma_kernel.py:4, PTX line 21: @%lead \
cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%mp, {%z}], [full];
    changed  thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0): tma_kernel.py:1, PTX line 15: @%lead \
tensormap.replace.tile.global_address.global.b1024.b64 [%mp], %g;
fix: put fence.proxy.tensormap::generic.acquire of the map's 128 bytes between line 1 and line 4, in a thread \
of each block that uses it""",
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_of_a_finding(name):
    assert str(outcome(both(name)[0])) == TEXTS[name]
