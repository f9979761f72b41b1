"""Arrays, vectors, pointers and instructions in one program, which prints what they compute; it runs under both compilers."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack
from cutlass.experimental import primitives as prims


@cute.kernel
def vectors(a: cutlass.Array, w: cutlass.Array):
    v = a[0:4]
    a[8:4] = v * 2.0 + cutlass.Float32(1.0)
    a[12:4] = cutlass.vector.where(v > 1.0, v, 0.0) - v
    a[16] = v.reduce("add")
    a[17] = v.reduce("max")
    a[18] = v.reduce("min")
    a[19] = v.reduce("mul")
    m = cutlass.vector.broadcast_to(v, (2, 4)) * cutlass.vector.outerproduct(v[0:2], v)
    a[20:2] = m.reduce("add", dim=1)
    part = m[:, 1:3]
    a[22] = part[1, 1]
    a[24:4] = (a.data_ptr() + 4).load(count=4).to(cutlass.Float16).to(cutlass.Float32)
    x = w[0:4]
    w[8:4] = (x << 2) ^ (x & 3)
    w[12:4] = v.bitcast(cutlass.Int32)
    w[16] = x.reduce("max")
    w[17] = cutlass.vector.any_(x > 5).to(cutlass.Int32)


@cute.kernel
def memory(a: cutlass.Array, w: cutlass.Array):
    i, _, _ = cute.arch.thread_idx()
    s = cutlass.Array(cutlass.Float32, (8, 8), space=cutlass.AddressSpace.smem, alignment=128)
    own = cutlass.Array(cutlass.Float32, 4)
    for j in cutlass.range_constexpr(4):
        own[j] = a[i] + j
    s[i // 8, i % 8] = own[i % 4]
    prims.barrier_cta_sync(0)
    swizzle = cutlass.Swizzle.from_name("s32b")
    t = s.data_ptr(i).load_swizzled(swizzle, count=1)[0]
    a[i] = s[7 - i // 8, i % 8] + t
    prims.barrier_cta_sync(0)
    mask = cutlass.Array(cutlass.Boolean, 2)
    for j in cutlass.range_constexpr(2):
        mask[j] = i + j < 20
    if i == 18:
        a.masked_store(32, a.masked_load(40, 2, mask, default=cutlass.Float32(9.0)), mask)
    some = prims.barrier_cta_red(i > 60, 1, "or", thread_count=64)
    w[i] = some.to(cutlass.Int32)


@cute.kernel
def instructions(a: cutlass.Array, w: cutlass.Array):
    i, _, _ = cute.arch.thread_idx()
    v = w[i]
    total = prims.redux_sync(v, prims.ReductionKind.ADD, 0xFFFFFFFF)
    ballot = prims.vote_sync(0xFFFFFFFF, v > 40, prims.VoteSync.BALLOT)
    moved = prims.shfl_sync(0xFFFFFFFF, v, 3, 31, prims.Shfl.BFLY)
    prims.red(
        prims.ReductionOp.ADD,
        prims.ReductionType.F32,
        a.data_ptr(5),
        a[i],
        mem_order=prims.MemOrder.RELAXED,
        mem_scope=prims.MemScope.GPU,
    )
    bars = cutlass.Array(cutlass.Int64, 2, space=cutlass.AddressSpace.smem, alignment=8)
    shared = cutlass.Array(cutlass.Int32, 32, space=cutlass.AddressSpace.smem)
    if i == 0:
        prims.mbarrier_init(bars, 32)
    prims.fence_mbarrier_init()
    prims.barrier_cta_sync(0)
    shared[31 - i] = moved
    prims.mbarrier_arrive(bars)
    while not prims.mbarrier_try_wait_parity(bars, 0):
        pass
    w[i] = total + ballot * 2 + shared[i]


@cute.jit
def host(a: cutlass.Array, w: cutlass.Array, kernel: cutlass.Constexpr, threads: cutlass.Constexpr):
    print(type(a).__name__, a, a.shape, a.strides, a.dtype, a.space)
    kernel(a, w).launch(grid=(1, 1, 1), block=(threads, 1, 1))


for kernel, threads in ((vectors, 1), (memory, 64), (instructions, 32)):
    a = torch.arange(64, dtype=torch.float32) * 0.5
    w = torch.arange(64, dtype=torch.int32) * 3
    host(from_dlpack(a, assumed_align=16), from_dlpack(w, assumed_align=16), kernel, threads)
    print(a.tolist(), w.tolist(), sep="\n")
    for start in range(0, 64, 8):
        print(a[start : start + 8].tolist())
