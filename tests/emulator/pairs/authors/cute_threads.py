"""Mistakes in CuTe DSL kernels: threads, barriers, warps, flags, clusters. See test_authors.py."""

from __future__ import annotations

from tests.emulator.pairs.authors.program import Pair

HEAD = """import cutlass
import cutlass.cute as cute
import numpy as np
import torch
from cutlass import Float32, Int32
from cutlass.cute.runtime import from_dlpack


"""
TAIL = """

@cute.jit
def host(a: cute.Tensor, b: cute.Tensor):
    kernel(a, b).launch(grid=({grid}, 1, 1), block=({block}, 1, 1){more})


a = torch.arange({n}, dtype=torch.{dtype}, device="cuda")
b = torch.zeros({m}, dtype=torch.{dtype}, device="cuda")
host(from_dlpack(a, assumed_align=16), from_dlpack(b, assumed_align=16))
out, a = b.cpu().numpy(), np.arange({n})
expected = {expected}
"""


def cute(name, kind, text, fix, body, expected, *, grid=1, block=64, n=256, m=256, dtype="int32", more="") -> Pair:
    tail = TAIL.format(grid=grid, block=block, n=n, m=m, dtype=dtype, more=more, expected=expected)
    return Pair(name, kind, text, fix, HEAD, body, tail)


PAIRS = [
    cute("the sum's array is used again for the maximum", "RACE", "no barrier between", "`cute.arch.sync_threads()`", """
          @cute.jit
          def of_block(value: Int32, space: cute.Tensor) -> Int32:
              t, _, _ = cute.arch.thread_idx()
        +     cute.arch.sync_threads()
              space[t] = value
              cute.arch.sync_threads()
              total = Int32(0)
              for i in range(64):
                  total += space[i]  # <-
              return total


          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              space = cutlass.utils.SmemAllocator().allocate_tensor(Int32, cute.make_layout(64), 16)
              mean = of_block(a[t], space)
              b[t] = of_block(a[t] * a[t], space) - mean
        """, "np.full(64, (a[:64] ** 2).sum() - a[:64].sum())", m=64),
    cute("the last warp of a tree", "RACE", "no barrier between", "`cute.arch.sync_warp()`", """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              s = cutlass.utils.SmemAllocator().allocate_tensor(Int32, cute.make_layout(128), 16)
              s[t] = a[t]
              cute.arch.sync_threads()
              if t < 64:
                  s[t] = s[t] + s[t + 64]
              cute.arch.sync_threads()
              if t < 32:
                  v = s[t] + s[t + 32]
                  s[t] = v  # <-
        +         cute.arch.sync_warp()
                  if t < 16:
                      v = v + s[t + 16]
                  for i in cutlass.range_constexpr(4):
                      v = v + cute.arch.shuffle_sync_down(v, 8 >> i)
                  if t == 0:
                      b[0] = v
        """, "np.array([a[:128].sum()])", block=128, m=1),
    cute("a shuffle in a branch that half the warp takes", "DIVERGENT_COLLECTIVE", "", "", """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              v = a[t]
        -     if t % 32 < 16:
        -         v = v + cute.arch.shuffle_sync_bfly(v, 8)  # <-
        +     other = cute.arch.shuffle_sync_bfly(v, 8)
        +     if t % 32 < 16:
        +         v = v + other
              b[t] = v
        """, "np.where(np.arange(64) % 32 < 16, 2 * a[:64] + np.where(np.arange(64) & 8, -8, 8), a[:64])", m=64),
    cute("consumers that count a warp too many", "DIVERGENT_COLLECTIVE", "waits for 128 threads", "96", """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
              s = cutlass.utils.SmemAllocator().allocate_tensor(Int32, cute.make_layout(64), 16)
              if warp == 0:
                  s[t] = a[t]
                  s[t + 32] = a[t + 32]
                  cute.arch.barrier_arrive(barrier_id=2, number_of_threads=96)
              if warp > 0:
        -         cute.arch.barrier(barrier_id=2, number_of_threads=128)  # <-
        +         cute.arch.barrier(barrier_id=2, number_of_threads=96)
                  b[t - 32] = s[95 - t]
        """, "a[63::-1]", block=96, m=64),
    cute("two warpgroups take turns, nobody begins", "DEADLOCK", "", "", """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              group = cute.arch.make_warp_uniform(cute.arch.warp_idx())
              s = cutlass.utils.SmemAllocator().allocate_tensor(Int32, cute.make_layout(32), 16)
              if t < 32:
                  s[t] = 0
              cute.arch.sync_threads()
        +     if group == 1:
        +         cute.arch.barrier_arrive(barrier_id=1, number_of_threads=64)
              for i in range(2):
                  cute.arch.barrier(barrier_id=1 + group, number_of_threads=64)  # <-
                  s[t % 32] = 2 * s[t % 32] + group
                  cute.arch.barrier_arrive(barrier_id=2 - group, number_of_threads=64)
              if group == 0:
                  cute.arch.barrier(barrier_id=1, number_of_threads=64)
                  b[t] = s[t]
        """, "np.full(32, 5)", m=32),
    cute("the named barrier of the other half", "RACE", "", "", """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              s = cutlass.utils.SmemAllocator().allocate_tensor(Int32, cute.make_layout(128), 16)
              half = cute.arch.make_warp_uniform(cute.arch.warp_idx()) // 2
              s[t] = a[t]
              cute.arch.barrier(barrier_id=1 + half, number_of_threads=64)
        -     b[t] = s[(t + 64) % 128]  # <-
        +     b[t] = s[64 * half + 63 - t % 64]
        """, "a[:128].reshape(2, 64)[:, ::-1].ravel()", block=128, m=128),
    cute("a flag polled without acquire", "RACE", "nothing orders blocks", '`sem="acquire"`', """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              block, _, _ = cute.arch.block_idx()
              flag = b.iterator + 64
              if block == 0:
                  b[t] = a[t] + 1
                  cute.arch.sync_threads()
                  if t == 0:
                      cute.arch.store(flag, Int32(1), sem="release", scope="gpu")
              if block == 1:
                  if t == 0:
                      ready = Int32(0)
                      while ready == 0:
        -                 ready = cute.arch.load(flag, Int32, sem="relaxed", scope="gpu")
        +                 ready = cute.arch.load(flag, Int32, sem="acquire", scope="gpu")
                  cute.arch.sync_threads()
                  b[128 + t] = b[t]  # <-
        """, "np.concatenate([a[:64] + 1, [1], np.zeros(63), a[:64] + 1])", grid=2, m=192),
    cute("split-K adds before the other block's part is there", "RACE", "nothing orders blocks", "`cute.arch.sync_threads()`", """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              block, _, _ = cute.arch.block_idx()
              turn = b.iterator + 64
              if t == 0:
                  now = Int32(-1)
                  while now != block:
                      now = cute.arch.load(turn, Int32, sem="acquire", scope="gpu")
        +     cute.arch.sync_threads()
              b[t] = b[t] + a[t] * (block + 1)  # <-
              cute.arch.sync_threads()
              if t == 0:
                  cute.arch.store(turn, block + 1, sem="release", scope="gpu")
        """, "np.append(6 * a[:64], 3)", grid=3, m=65),
    cute("an arrival of one block's scope", "RACE", "", "gpu", """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              block, _, _ = cute.arch.block_idx()
              b[1 + block] = a[block] + 1
        -     last = cute.arch.atomic_add(b.iterator, Int32(1), sem="acq_rel", scope="cta")  # <-
        +     last = cute.arch.atomic_add(b.iterator, Int32(1), sem="acq_rel", scope="gpu")
              if last == 3:
                  total = Int32(0)
                  for i in range(4):
                      total += b[1 + i]
                  b[5] = total
        """, "np.array([4, 1, 2, 3, 4, 10])", grid=4, block=1, m=6),
    cute("a peer's bins before it has cleared them", "RACE", "no barrier of the cluster between",
         "`cute.arch.cluster_arrive() and cluster_wait()`", """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              rank = cute.arch.block_idx_in_cluster()
              bins = cutlass.utils.SmemAllocator().allocate_tensor(Int32, cute.make_layout(64), 16)
              bins[t] = 0  # <-
        -     cute.arch.sync_threads()
        +     cute.arch.cluster_arrive()
        +     cute.arch.cluster_wait()
              cute.arch.atomic_add(cute.arch.map_dsmem_ptr(bins.iterator + t, rank ^ 1), a[t] + rank)
              cute.arch.cluster_arrive()
              cute.arch.cluster_wait()
              b[64 * rank + t] = bins[t]
        """, "np.concatenate([a[:64] + 1, a[:64]])", grid=2, m=128, more=", cluster=(2, 1, 1)"),
    cute("a block of the cluster ends while its maximum is read", "EXITED_BLOCK", "", "`cute.arch.cluster_arrive() and cluster_wait()`", """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              rank = cute.arch.block_idx_in_cluster()
              s = cutlass.utils.SmemAllocator().allocate_tensor(Int32, cute.make_layout(32), 16)
              s[t] = a[32 * rank + t]
              cute.arch.cluster_arrive()
              cute.arch.cluster_wait()
              total = Int32(0)
              for i in cutlass.range_constexpr(4):
                  total += cute.arch.map_dsmem_ptr(s.iterator + t, i).load()  # <-
              b[32 * rank + t] = total
        +     cute.arch.cluster_arrive()
        +     cute.arch.cluster_wait()
        """, "np.tile(a[:128].reshape(4, 32).sum(0), 4)", grid=4, block=32, m=128, more=", cluster=(4, 1, 1)"),
    cute("the tail of the last tile has no predicate", "OUT_OF_BOUNDS", "", "", """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              block, _, _ = cute.arch.block_idx()
              i = 64 * block + t
        -     if i <= 100:
        +     if i < 100:
                  b[i] = a[i] * 2  # <-
        """, "2 * a[:100]", grid=2, n=100, m=100),
    cute("rows of a length that the vectors do not divide", "MISALIGNED", "", "", """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
        -     start = a.iterator.toint() + 4 * 18 * t
        +     start = a.iterator.toint() + 4 * 20 * t
              row = cute.make_ptr(Int32, start, cute.AddressSpace.gmem, assumed_align=16)
              v = cute.make_tensor(row, cute.make_layout(4)).load()  # <-
              for i in cutlass.range_constexpr(4):
                  b[4 * t + i] = v[i]
        """, "(20 * np.arange(8)[:, None] + np.arange(4)).ravel()", block=8, m=32),
    cute("nobody fills the halo's last cell", "UNDEFINED_READ", "which nobody wrote", "", """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              s = cutlass.utils.SmemAllocator().allocate_tensor(Int32, cute.make_layout(66), 16)
              s[t + 1] = a[t]
              if t == 0:
                  s[0] = 0
        +         s[65] = 0
              cute.arch.sync_threads()
              b[t] = s[t] + s[t + 1] + s[t + 2]  # <-
        """, "np.convolve(a[:64], [1, 1, 1], 'same')", m=64),
    cute("the barrier of a loop that some warps leave early", "DIVERGENT_COLLECTIVE", "", "", """
          @cute.kernel
          def kernel(a: cute.Tensor, b: cute.Tensor):
              t, _, _ = cute.arch.thread_idx()
              s = cutlass.utils.SmemAllocator().allocate_tensor(Int32, cute.make_layout(64), 16)
              total = Int32(0)
        -     for i in range(t // 32 + 1):
        +     for i in range(2):
                  s[t] = a[t] + i
                  cute.arch.sync_threads()  # <-
                  total += s[63 - t]
        +         cute.arch.sync_threads()
              b[t] = total
        """, "2 * a[63::-1] + 1", m=64),
]  # fmt: skip
