"""Atomic operations, accesses with an order, and addresses in a cluster."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import AddressSpace, Array, Float32, Int32, Uint32, Vector, cute
from dsl.cutlass.experimental import primitives as prims
from tests.primitives import kernels


def test_reductions_and_atomic_operations():
    def body(a, b):
        i, _, _ = cute.arch.thread_idx()
        s = Array(Int32, 1, space=AddressSpace.smem)
        if i == 0:
            s[0] = 0
        prims.barrier_cta_sync()
        prims.red("add", "s32", a, i, mem_order="relaxed", mem_scope=prims.MemScope.GPU)
        prims.red(prims.ReductionOp.MAX, prims.ReductionType.S32, a.data_ptr(1), i)
        prims.red("or", "b32", a.data_ptr(2), Uint32(1) << i)
        prims.red("add", "s32", s, 2)
        old = prims.atomicrmw(prims.AtomicOp.ADD, a.data_ptr(3), 1)
        assert type(old) is Int32
        prims.atomicrmw("cas", a.data_ptr(4), 0, b=7)
        prims.barrier_cta_sync()
        if i == 0:
            a[5] = s[0]

    result = kernels.run(body, np.zeros(6, np.int32), threads=32)
    assert np.array_equal(result, [496, 31, -1, 32, 7, 64])


def test_floats_and_pairs():
    def body(a, b):
        prims.red("add", "f32", a, 1.5)
        prims.red("add", "f16x2", a.data_ptr(1), Vector.from_elements((1.0, 2.0), cute.typing.Float16))

    result = kernels.run(body, np.zeros(2, np.float32), threads=32)
    assert result[0] == 48 and np.array_equal(result[1:].view(np.float16), [32, 64])


def test_accesses_with_an_order():
    def body(a, b):
        x = prims.load_ext(a, order="acquire", scope="gpu")
        y = prims.load_ext(a, dtype=Float32, cache_modifier="cg", evict=None)
        prims.store_ext(x, a, order=prims.MemOrder.RELEASE, scope="sys")
        prims.store_ext(Int32(y), a.data_ptr(1), evict=prims.L1EvictKind.NOALLOCATE)
        prims.store_ext(prims.load_ext(a.data_ptr(4), count=4), a.data_ptr(8))
        prims.load_ext(prims.cvta_to(a, "global"), prefetch=prims.L2PrefetchSize.SIZE_128B)

    text = kernels.ptx(body)
    for each in (
        "ld.acquire.gpu.global.b32", "ld.global.cg.b32", "st.release.sys.global.b32",
        "st.global.L1::no_allocate.b32", "ld.global.L2::128B.b32",
    ):  # fmt: skip
        assert each in text


def test_addresses_of_other_blocks():
    def body(a, b):
        s = Array(Int32, (4, 2), space=AddressSpace.smem)
        there = prims.mapa(s, 1)
        assert (there.space, there.shape, there.dtype) == (AddressSpace.dsmem, (4, 2), Int32)
        assert prims.mapa(s.data_ptr(), 1).space is AddressSpace.dsmem
        assert type(prims.cluster_ctarank()) is Int32

    kernels.ptx(body)


MISTAKES = [
    (lambda a: prims.red("add", "s32", a, 1, mem_order="acquire"),
     "mem_order of a reduction must be relaxed or release, got acquire"),
    (lambda a: prims.red("sub", "s32", a, 1), "op must be one of and, or, xor, add, inc, dec, min, max, got 'sub'"),
    (lambda a: prims.atomicrmw("inc", a, 1), "atomicrmw of inc is not part of this compiler yet"),
    (lambda a: prims.atomicrmw("add", a, "1"), "an atomic operation takes a number, got Python str"),
    (lambda a: prims.mapa(a, 1), "the address must be in smem or dsmem, got gmem"),
    (lambda a: prims.load_ext(a, l2_cache_hint=1), "load_ext with l2_cache_hint or unified is not part of this compiler yet"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[text for _, text in MISTAKES])
def test_mistakes(mistake, message):
    with pytest.raises(DSLUserCodeError) as error:
        kernels.ptx(lambda a, b: mistake(a))
    assert str(error.value.message) == message
