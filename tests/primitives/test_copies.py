"""Asynchronous copies: what lands, their PTX, and what is refused."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import AddressSpace, Array, Float32, Int64, cute
from dsl.cutlass.experimental import primitives as prims
from dsl.emulator.families.tensor_map.tensor_map import Im2col
from tests.primitives import kernels


def shared(dtype=Float32, count: int = 64) -> Array:
    return Array(dtype, count, space=AddressSpace.smem, alignment=128)


def aligned(count: int = 64) -> np.ndarray:
    """Numbers at an address that is a multiple of 128."""
    buffer = np.zeros(count + 32, np.float32)
    start = (-buffer.ctypes.data % 128) // 4
    values = buffer[start : start + count]
    values[:] = np.arange(count)
    return values


def test_a_copy_a_thread():
    def body(a, b):
        i, _, _ = cute.arch.thread_idx()
        s = shared()
        s[i] = -1.0
        prims.barrier_cta_sync()
        if i < 8:
            prims.cp_async_shared_global(s.data_ptr(4 * i), a.data_ptr(4 * i), 16, "cg", cp_size=4 * (i % 5))
        prims.cp_async_commit_group()
        prims.cp_async_wait_group(0)
        prims.barrier_cta_sync()
        a[i] = s[i]

    expected = np.arange(64, dtype=np.float32)
    for i in range(8):
        expected[4 * i : 4 * i + 4] = [4 * i + j if j < i % 5 else 0 for j in range(4)]
    expected[32:] = -1
    assert np.array_equal(kernels.run(body, aligned(), threads=64), expected)


def test_bulk_copies_in_and_out():
    def body(a, b):
        i, _, _ = cute.arch.thread_idx()
        s, m = shared(), Array(Int64, 1, space=AddressSpace.smem)
        if i == 0:
            prims.mbarrier_init(m, 1)
            prims.fence_mbarrier_init()
            prims.mbarrier_arrive_expect_tx(m, 128)
            prims.cp_async_bulk_shared_cluster_global(s, a, m, 128)
            while not prims.mbarrier_try_wait_parity(m, 0):
                pass
            prims.cp_async_bulk_global_shared_cta(a.data_ptr(32), s, 128)
            prims.cp_async_bulk_commit_group()
            prims.cp_async_bulk_wait_group(0)

    assert np.array_equal(kernels.run(body, aligned(), threads=32), np.tile(np.arange(32, dtype=np.float32), 2))


BULK = "cp.async.bulk"
SPELLED = [
    (lambda s, m, g: prims.cp_async_shared_global(s, g, 4, "ca"), "cp.async.ca.shared.global"),
    (lambda s, m, g: prims.cp_async_bulk_shared_cluster_global(s, g, m, 16, multicast_mask=3, l2_cache_hint=1),
     f"{BULK}.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint"),
    (lambda s, m, g: prims.cp_async_bulk_shared_cluster_shared_cta(prims.mapa(s, 1), s, prims.mapa(m, 1), 16),
     f"{BULK}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"),
    (lambda s, m, g: prims.cp_async_bulk_global_shared_cta(g, s, 16, l2_cache_hint=1),
     f"{BULK}.global.shared::cta.bulk_group.L2::cache_hint"),
    (lambda s, m, g: prims.cp_async_bulk_prefetch(g, 16), f"{BULK}.prefetch.L2.global"),
    (lambda s, m, g: prims.cp_reduce_async_bulk_global_shared_cta(g, s, 16),
     "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16"),
    (lambda s, m, g: prims.cp_async_bulk_tensor_shared_cta_global(s, g, (1, 2), m),
     f"{BULK}.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"),
    (lambda s, m, g: prims.cp_async_bulk_tensor_shared_cluster_global(s, g, (1,), m, [], multicast_mask=3),
     f"{BULK}.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"),
    (lambda s, m, g: prims.cp_async_bulk_tensor_global_shared_cta(g, s, (1, 2, 3)),
     f"{BULK}.tensor.3d.global.shared::cta.tile.bulk_group"),
    (lambda s, m, g: prims.cp_async_bulk_tensor_reduce(g, s, "max", (1, 2)),
     "cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.tile.bulk_group"),
    (lambda s, m, g: prims.cp_async_bulk_tensor_prefetch(g, (1, 2), []), f"{BULK}.prefetch.tensor.2d.L2.global.tile"),
    (lambda s, m, g: prims.tensormap_replace("global_dim", s, new_value=4, ord=1),
     "tensormap.replace.tile.global_dim.shared::cta.b1024.b32"),
    (lambda s, m, g: prims.tensormap_replace("fill_mode", g, new_value_attr=prims.TensormapFillMode.OOB_NAN),
     "tensormap.replace.tile.fill_mode.global.b1024.b32"),
    (lambda s, m, g: prims.prefetch_tensormap(g), "prefetch.tensormap"),
    (lambda s, m, g: prims.prefetch_l1(g), "prefetch.global.L1"),
    (lambda s, m, g: prims.prefetch_l2(g, evict_priority="last"), "prefetch.global.L2::evict_last"),
    (lambda s, m, g: prims.prefetchu(g), "prefetchu.L1"),
]  # fmt: skip


def test_spellings():
    def body(a, b):
        s, m = shared(), Array(Int64, 1, space=AddressSpace.smem)
        for make, _ in SPELLED:
            make(s, m, a)

    text = kernels.ptx(body, aligned())
    places = [text.find(f"{spelling} ") for _, spelling in SPELLED]
    assert -1 not in places and places == sorted(places), list(zip(places, [each for _, each in SPELLED]))


def test_columns_of_pixels_are_a_convolution():
    """A filter of 3 x 3 with padding: a column for each tap; the last one is stored once more and added to the copy."""
    shape, count = (2, 5, 6, 4), 240  # N, H, W, C
    numbers = aligned(count * 12)  # the image, nine columns, and two more
    image, out = numbers[:count].reshape(shape), numbers[count:]
    out[:] = 0
    spare = np.zeros(128, np.int32)
    start = (-spare.ctypes.data % 64) // 4
    maps = spare[start : start + 64]
    for place, at, lower in ((0, image, (-1, -1)), (1, out[9 * count :], (0, 0))):
        column = Im2col(
            7, at.ctypes.data, shape[::-1], tuple(4 * n for n in (4, 24, 120)), lower, lower, 4, 60, (1,) * 4
        )
        maps[32 * place : 32 * place + 32] = np.frombuffer(column.encode(), np.int32)

    def body(a, b):
        s, m = shared(count=count), Array(Int64, 1, space=AddressSpace.smem)
        prims.mbarrier_init(m, 1)
        prims.fence_mbarrier_init()
        for tap in range(9):
            prims.mbarrier_arrive_expect_tx(m, 4 * count)
            offsets = (tap % 3, tap // 3)
            prims.cp_async_bulk_tensor_shared_cluster_global(
                s, b, (0, -1, -1, 0), m, offsets, mode=prims.TMALoadMode.IM2COL
            )
            while not prims.mbarrier_try_wait_parity(m, tap % 2):
                pass
            prims.cp_async_bulk_global_shared_cta(a.data_ptr(count * (tap + 1)), s, 4 * count)
            prims.cp_async_bulk_commit_group()
            prims.cp_async_bulk_wait_group(0)
        place = (0, 0, 0, 0)
        prims.cp_async_bulk_tensor_global_shared_cta(b.data_ptr(32), s, place, mode=prims.TMAStoreMode.IM2COL)
        prims.cp_async_bulk_commit_group()
        prims.cp_async_bulk_wait_group(0)
        prims.cp_async_bulk_tensor_reduce(b.data_ptr(32), s, "add", place, mode="im2col")
        prims.cp_async_bulk_commit_group()
        prims.cp_async_bulk_wait_group(0)

    kernels.run(body, numbers, maps)
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1), (0, 0)))
    columns = numbers[count:].reshape(11, *shape)
    for tap in range(9):
        assert np.array_equal(columns[tap], padded[:, tap // 3 : tap // 3 + 5, tap % 3 : tap % 3 + 6]), tap
    assert np.array_equal(columns[9], 2 * columns[8])


MISTAKES = [
    (lambda s, g: prims.cp_async_shared_global(s, g, 16, "cs"), "modifier of cp.async must be ca or cg, got cs"),
    (lambda s, g: prims.cp_async_shared_global(g, s, 16, "ca"), "the address must be in smem, got gmem"),
    (lambda s, g: prims.cp_async_bulk_prefetch(g, 8), "size of a bulk copy must be a multiple of 16 bytes, got 8"),
    (lambda s, g: prims.cp_async_bulk_tensor_global_shared_cta(g, s, 3),
     "coordinates of a box must be 1 to 5 numbers, first the dimension of contiguous elements"),
    (lambda s, g: prims.cp_async_bulk_tensor_global_shared_cta(g, s, (1,), mode="im2col"),
     "a copy in mode im2col takes 3 to 5 coordinates, got 1"),
    (lambda s, g: prims.cp_async_bulk_tensor_shared_cluster_global(s, g, (1, 2, 3), s, (1, 2), mode="im2col"),
     "im2col_offsets must be 1 numbers for 3 coordinates in mode im2col, got (1, 2)"),
    (lambda s, g: prims.cp_async_bulk_tensor_prefetch(g, (1, 2, 3), (1,)),
     "im2col_offsets must be 0 numbers for 3 coordinates in mode tile, got (1,)"),
    (lambda s, g: prims.cp_async_bulk_tensor_prefetch(g, (1, 2, 3), (1,), mode=prims.TMALoadMode.IM2COL_W),
     "a copy of a box in mode im2col_w needs compute capability 10, and this compiler's newest is 9.0"),
    (lambda s, g: prims.cp_async_bulk_tensor_shared_cluster_global(s, g, (1,), s, [], group=prims.CTAGroup.CTA_2),
     "a copy for a group of two blocks needs compute capability 10, and this compiler's newest is 9.0"),
    (lambda s, g: prims.tensormap_replace("rank", g, new_value=1, ord=1),
     "rank of a tensor map takes new_value alone"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[text for _, text in MISTAKES])
def test_mistakes(mistake, message):
    with pytest.raises(DSLUserCodeError) as error:
        kernels.ptx(lambda a, b: mistake(shared(), a), aligned())
    assert str(error.value.message) == message
