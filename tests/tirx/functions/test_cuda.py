"""Places of threads and how they meet: ids, barriers, lanes, atomics, mbarriers, printf."""

from __future__ import annotations

import numpy as np
import pytest

from dsl.emulator import Fault
from dsl.tirx.script import tirx as T

FULL = 0xFFFFFFFF


def test_ids(run):
    @T.prim_func
    def main(O: T.Buffer((7, 256), "int32")):
        T.device_entry()
        wg = T.warpgroup_id([2])
        w = T.warp_id_in_wg([4])
        t = T.thread_id_in_wg([128])
        lane = T.lane_id([32])
        warp = T.warp_id([8])
        tx = T.thread_id([256])
        O[0, tx] = wg
        O[1, tx] = w
        O[2, tx] = t
        O[3, tx] = lane
        O[4, tx] = warp
        O[5, tx] = T.int32(T.ptx.elect_sync())
        O[6, tx] = T.int32(T.cuda.elect_sync()) + T.cuda.thread_rank() * 2

    t, made = np.arange(256), run(main, np.zeros((7, 256), np.int32))[0]
    np.testing.assert_array_equal(made[:5], np.stack([t // 128, t // 32 % 4, t % 128, t % 32, t // 32]))
    np.testing.assert_array_equal(made[5].reshape(8, 32).sum(1), 1)
    np.testing.assert_array_equal(made[6] // 2, t)


def test_the_first_name_is_x(run):
    @T.prim_func
    def main(O: T.Buffer((8, 16), "int32")):
        T.device_entry()
        bx, by = T.cta_id([2, 2])
        ty, tz = T.thread_id([8, 4])
        O[by * 4 + tz, bx * 8 + ty] = (by * 4 + tz) * 100 + bx * 8 + ty

    np.testing.assert_array_equal(
        run(main, np.zeros((8, 16), np.int32))[0], np.arange(8)[:, None] * 100 + np.arange(16)
    )


def test_blocks_in_clusters(run):
    @T.prim_func
    def main(O: T.Buffer((4, 6, 4), "int32"), n: T.int32):
        T.device_entry()
        cx, cy = T.cluster_id([3, n])
        rx, ry = T.cta_id_in_cluster([2, 2])
        tx = T.thread_id([4])
        O[cy * 2 + ry, cx * 2 + rx, tx] = ((cx * 10 + cy) * 10 + rx) * 10 + ry

    y, x = np.indices((4, 6))
    want = ((x // 2 * 10 + y // 2) * 10 + x % 2) * 10 + y % 2
    np.testing.assert_array_equal(run(main, np.zeros((4, 6, 4), np.int32), 2)[0], np.repeat(want[:, :, None], 4, 2))


def test_shared_memory_and_barriers(run):
    @T.prim_func
    def main(A: T.Buffer((256,), "float32"), O: T.Buffer((3, 256), "float32")):
        T.device_entry()
        wg = T.warpgroup_id([2])
        tx = T.thread_id([256])
        sm = T.alloc_shared((256,), "float32")
        dy = T.alloc_buffer((2, 128), "float32", scope="shared.dyn")
        view = T.decl_buffer((256,), "float32", data=dy.data, scope="shared.dyn")
        sm[tx] = A[tx]
        T.cuda.cta_sync()
        O[0, tx] = sm[255 - tx]
        dy[wg, 127 - tx % 128] = A[tx]
        T.cuda.warpgroup_sync(wg + 1)
        O[1, tx] = view[wg * 128 + tx % 128]
        T.tvm_storage_sync("shared")
        T.ptx.bar.sync(3, 256)
        T.cuda.thread_fence()
        T.ptx.fence("acq_rel", "gpu")
        O[2, tx] = T.cuda.syncthreads_and(A[tx] >= 0.0) + T.cuda.syncthreads_or(A[tx] > 254.0) * 2

    a = np.arange(256, dtype=np.float32)
    made = run(main, a, np.zeros((3, 256), np.float32))[1]
    np.testing.assert_array_equal(made, np.stack([a[::-1], a.reshape(2, 128)[:, ::-1].ravel(), a * 0 + 3]))


def test_lanes(run):
    @T.prim_func
    def main(A: T.Buffer((32,), "float32"), O: T.Buffer((8, 32), "float32"), B: T.Buffer((4, 32), "uint32")):
        T.device_entry()
        lane = T.lane_id([32])
        v: T.float32 = A[lane]
        O[0, lane] = T.tvm_warp_shuffle(FULL, v, 5, 32, 32)
        O[1, lane] = T.tvm_warp_shuffle_up(FULL, v, 3, 8, 32)
        O[2, lane] = T.tvm_warp_shuffle_down(FULL, v, 2, 16, 32)
        O[3, lane] = T.tvm_warp_shuffle_xor(FULL, v, 1, 32, 32)
        O[4, lane] = T.cuda.__shfl_xor_sync(T.uint32(FULL), v, 16, 32)
        O[5, lane] = T.cuda.warp_sum(v, width=8)
        O[6, lane] = T.cuda.warp_max(v)
        O[7, lane] = T.cuda.warp_min(v, width=4)
        B[0, lane] = T.cuda.ballot_sync(FULL, lane % 3 == 0)
        B[1, lane] = T.cuda.reduce_add_sync_u32(FULL, lane)
        B[2, lane] = T.cuda.reduce_min_sync_u32(FULL, lane + 7)
        B[3, lane] = T.uint32(T.ptx.any_sync(FULL, lane > 30))
        T.cuda.warp_sync()

    lanes = np.arange(32)
    a = np.random.default_rng(4).standard_normal(32).astype(np.float32)
    _, o, b = run(main, a, np.zeros((8, 32), np.float32), np.zeros((4, 32), np.uint32))
    up = np.where(lanes % 8 >= 3, lanes - 3, lanes)
    down = np.where(lanes % 16 < 14, lanes + 2, lanes)
    want = [a[[5] * 32], a[up], a[down], a[lanes ^ 1], a[lanes ^ 16]]
    np.testing.assert_array_equal(o[:5], np.stack(want))
    np.testing.assert_allclose(o[5], np.repeat(a.reshape(4, 8).sum(1), 8), rtol=1e-5)
    np.testing.assert_array_equal(o[6:], [np.full(32, a.max()), np.repeat(a.reshape(8, 4).min(1), 4)])
    np.testing.assert_array_equal(b, [[sum(1 << k for k in range(0, 32, 3))] * 32, [496] * 32, [7] * 32, [1] * 32])


@pytest.mark.parametrize("op, reference", [("sum", np.sum), ("max", np.max), ("min", np.min)])
def test_reductions_over_a_block(run, op, reference):
    @T.prim_func
    def main(A: T.Buffer((128,), "float32"), O: T.Buffer((128,), "float32")):
        T.device_entry()
        tx = T.thread_id([128])
        scratch = T.alloc_shared((4,), "float32")
        O[tx] = T.cuda.cta_reduce(A[tx], op, 4, scratch.ptr_to([0]))
        O[tx] = T.cuda.cta_reduce(O[tx], "max", 4, scratch.ptr_to([0]))  # its memory can be used again

    a = np.random.default_rng(5).standard_normal(128).astype(np.float32)
    np.testing.assert_allclose(run(main, a, a)[1], np.full(128, reference(a)), rtol=1e-5)


def test_atomics(run):
    @T.prim_func
    def main(I: T.Buffer((4,), "int32"), F: T.Buffer((1,), "float32"), O: T.Buffer((64,), "int32")):
        T.device_entry()
        bx = T.cta_id([2])
        tx = T.thread_id([32])
        sm = T.alloc_shared((1,), "int32")
        if tx == 0:
            sm[0] = 0
        T.cuda.cta_sync()
        old = T.cuda.atomic_add(I.ptr_to([1]), T.int32(2))
        O[old // 2] += 1
        T.cuda.atomic_add(F.data, T.float32(0.5))
        T.cuda.atomic_add(T.address_of(sm[0]), 1)
        T.cuda.cta_sync()
        if tx == 0:
            T.cuda.atomic_cas(I.ptr_to([2]), 0, sm[0])
            T.cuda.atomic_cas(I.ptr_to([3]), 5, 9)

    i, f, o = run(main, np.zeros(4, np.int32), np.zeros(1, np.float32), np.zeros(64, np.int32))
    assert (i.tolist(), f.tolist(), o.tolist()) == ([0, 128, 32, 0], [32.0], [1] * 64)


def test_an_mbarrier_joins_a_producer_and_consumers(run):
    @T.prim_func
    def main(A: T.Buffer((4, 128), "float32"), O: T.Buffer((4, 128), "float32")):
        T.device_entry()
        tx = T.thread_id([128])
        bars = T.alloc_shared((2,), "uint64")
        tile = T.alloc_shared((128,), "float32")
        if tx == 0:
            T.ptx.mbarrier.init(bars.ptr_to([0]), 128)
            T.ptx.mbarrier.init(bars.ptr_to([1]), 1)
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        phase: T.int32 = 0
        for k in range(4):
            tile[127 - tx] = A[k, tx]
            T.ptx.mbarrier.arrive(bars.ptr_to([0]))
            T.ptx.mbarrier.try_wait(bars.ptr_to([0]), phase)
            O[k, tx] = tile[tx]
            T.cuda.cta_sync()
            phase = phase ^ 1

    a = np.arange(512, dtype=np.float32).reshape(4, 128)
    np.testing.assert_array_equal(run(main, a, a)[1], a[:, ::-1])


def test_printf(run, capfd):
    @T.prim_func
    def main(A: T.Buffer((2,), "float32")):
        T.device_entry()
        tx = T.thread_id([2])
        T.cuda.printf("thread %d has %.1f {}\n", tx, A[tx])

    run(main, np.array([1.5, 2.5], np.float32))
    assert capfd.readouterr().out == "thread 0 has 1.5 {}\nthread 1 has 2.5 {}\n"


def test_a_failed_assertion_traps(run):
    @T.prim_func
    def main(A: T.Buffer((32,), "int32")):
        T.device_entry()
        tx = T.thread_id([32])
        T.cuda.trap_when_assert_failed(A[tx] < 30)

    with pytest.raises(Exception, match="trap_when_assert_failed"):
        run(main, np.arange(32, dtype=np.int32))


@pytest.mark.parametrize("threads", [1, 128])
def test_a_wait_at_an_mbarrier_that_never_ends_is_a_deadlock(run, threads):
    @T.prim_func
    def main(O: T.Buffer((128,), "int32")):
        T.device_entry()
        tx = T.thread_id([threads])
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 2)
        T.cuda.cta_sync()
        if tx == 0:
            T.ptx.mbarrier.arrive(bar.ptr_to([0]))
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        T.cuda.cta_sync()
        O[tx] = tx

    with pytest.raises(Fault) as caught:
        run(main, np.zeros(128, np.int32))
    text = str(caught.value)
    assert caught.value.kind == "deadlock" and "T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)" in text
    assert "no thread arrives at the mbarrier any more" in text and ("`bar" in text) == (threads > 1)


def test_a_wait_at_an_mbarrier_for_another_block_is_none(run):
    @T.prim_func
    def main(F: T.Buffer((1,), "int32"), O: T.Buffer((2, 64), "int32")):
        T.device_entry()
        bx = T.cta_id([2])
        tx = T.thread_id([64])
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
        T.cuda.cta_sync()
        if tx == 0:
            if bx == 0:
                while T.cuda.atomic_cas(F.ptr_to([0]), 1, 1) == 0:
                    pass
            else:
                n: T.int32 = 0
                while n < 100000:  # both blocks poll for long
                    n += 1 - T.cuda.atomic_cas(F.ptr_to([0]), 1, 1)
                T.cuda.atomic_add(F.ptr_to([0]), 1)
            T.ptx.mbarrier.arrive(bar.ptr_to([0]))
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        O[bx, tx] = tx + 1

    made = run(main, np.zeros(1, np.int32), np.zeros((2, 64), np.int32))[1]
    np.testing.assert_array_equal(made, np.tile(np.arange(1, 65), (2, 1)))
