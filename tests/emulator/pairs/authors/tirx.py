"""Mistakes in TIRx kernels. See test_authors.py."""

from __future__ import annotations

from tests.emulator.pairs.authors.program import Pair

HEAD = """import numpy as np
import tvm
from tvm.script import tirx as T


@T.prim_func
"""
TAIL = """

a, b = (tvm.runtime.tensor(each, device=tvm.cuda(0)) for each in (np.arange({n}, dtype=np.int32), np.zeros({m}, np.int32)))
target = tvm.target.Target("cuda")
tvm.compile(tvm.IRModule({{"main": main}}), target=target, tir_pipeline="tirx")(a, b)
out, a = b.numpy(), np.arange({n})
expected = {expected}
"""


def tirx(name, kind, text, fix, body, expected, n=128, m=128) -> Pair:
    head = f'  def main(A: T.Buffer(({n},), "int32"), B: T.Buffer(({m},), "int32")):\n      T.device_entry()\n'
    rows = "".join(row[8:] + "\n" for row in body.strip("\n").splitlines() if row.strip())
    return Pair(name, kind, text, fix, HEAD, head + rows, TAIL.format(n=n, m=m, expected=expected))


TVM_TIRX = """import numpy as np
import tvm_tirx
from tvm_tirx.script import tirx as T


@T.function
"""
TVM_TIRX_TAIL = """

a, b = (tvm_tirx.runtime.tensor(np.arange(64, dtype=np.int32), device=tvm_tirx.cuda(0)) for _ in range(2))
tvm_tirx.tirx.compile(main, target="cuda")(a, b)
out, a = b.numpy(), np.arange(64)
expected = {expected}
"""


def tvm_tirx(name, text, body, expected) -> Pair:
    """A race of 64 threads in the dialect of apache-tvm-tirx, which a barrier of the block cures."""
    head = """\
  def main(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
      T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
      tx = T.cuda.thread_idx("x")
      tile = T.alloc_shared((64,), "int32")
"""
    rows = "".join(row[8:] + "\n" for row in body.strip("\n").splitlines() if row.strip())
    return Pair(name, "RACE", text, SYNC, TVM_TIRX, head + rows, TVM_TIRX_TAIL.format(expected=expected))


SYNC = "`T.cuda.cta_sync()`"
PAIRS = [
    tirx("a tile of the next round before all have read this one", "RACE", "no barrier between", SYNC, """
              tx = T.thread_id([32])
              tile = T.alloc_shared((32,), "int32")
              for k in range(4):
                  tile[tx] = A[32 * k + tx]
                  T.cuda.cta_sync()
                  B[32 * k + tx] = tile[31 - tx]  # <-
        +         T.cuda.cta_sync()
        """, "a.reshape(4, 32)[:, ::-1].ravel()"),
    tirx("a barrier of the warp for two warps", "RACE", "no barrier between", SYNC, """
              tx = T.thread_id([64])
              tile = T.alloc_shared((64,), "int32")
              tile[tx] = A[tx]  # <-
        -     T.cuda.warp_sync()
        +     T.cuda.cta_sync()
              B[tx] = tile[63 - tx]
        """, "a[63::-1]", m=64),
    tirx("a warp's sums through shared memory", "RACE", "no barrier between", "`T.cuda.warp_sync()`", """
              tx = T.thread_id([32])
              tile = T.alloc_shared((64,), "int32")
              tile[tx] = A[tx]  # <-
              tile[tx + 32] = 0
        +     T.cuda.warp_sync()
              B[tx] = tile[tx] + tile[tx + 1]
        """, "np.append(2 * np.arange(31) + 1, 31)", m=32),
    tirx("a flag of another block is released without a fence", "RACE", "nothing orders blocks", "`T.cuda.thread_fence()`", """
              bx = T.cta_id([2])
              tx = T.thread_id([32])
              if bx == 0:
                  B[tx] = A[tx] + 1
                  T.cuda.cta_sync()
                  if tx == 0:
        +             T.cuda.thread_fence()
                      T.cuda.atomic_add(B.ptr_to([127]), 1)
              else:
                  if tx == 0:
                      while T.cuda.atomic_cas(B.ptr_to([127]), 1, 1) == 0:
                          pass
                      T.cuda.thread_fence()
                  T.cuda.cta_sync()
                  B[32 + tx] = B[tx]  # <-
        """, "np.concatenate([np.arange(32) + 1, np.arange(32) + 1, np.zeros(63), [1]])"),
    tirx("an mbarrier waited for in the phase that has ended", "RACE", "no barrier between", "parity", """
              tx = T.thread_id([128])
              bar = T.alloc_shared((1,), "uint64")
              tile = T.alloc_shared((64,), "int32")
              if tx == 0:
                  T.ptx.mbarrier.init.shared.b64(bar.ptr_to([0]), 64)
              T.ptx.fence.mbarrier_init.release.cluster()
              T.cuda.cta_sync()
              for k in range(2):
                  if tx >= 64:
                      tile[tx - 64] = A[64 * k + tx - 64]  # <-
                      T.ptx.mbarrier.arrive.shared.b64(bar.ptr_to([0]))
                  else:
        -             T.cuda.mbarrier_wait(bar.ptr_to([0]), 0)
        +             T.cuda.mbarrier_wait(bar.ptr_to([0]), k % 2)
                      B[64 * k + tx] = tile[63 - tx]
                  T.cuda.cta_sync()
        """, "a.reshape(2, 64)[:, ::-1].ravel()"),
    tirx("a producer that arrives before it has written", "RACE", "no barrier between", "arrive at the mbarrier after line", """
              tx = T.thread_id([128])
              bar = T.alloc_shared((1,), "uint64")
              tile = T.alloc_shared((64,), "int32")
              if tx == 0:
                  T.ptx.mbarrier.init.shared.b64(bar.ptr_to([0]), 64)
              T.ptx.fence.mbarrier_init.release.cluster()
              T.cuda.cta_sync()
              if tx < 64:
        -         T.ptx.mbarrier.arrive.shared.b64(bar.ptr_to([0]))
                  tile[tx] = A[tx]
        +         T.ptx.mbarrier.arrive.shared.b64(bar.ptr_to([0]))
              else:
                  T.cuda.mbarrier_wait(bar.ptr_to([0]), 0)
                  B[tx - 64] = tile[127 - tx]  # <-
        """, "a[63::-1]", m=64),
    tirx("an mbarrier that counts all threads, and half of them arrive", "DEADLOCK", "64 of 128 arrivals have come", "", """
              tx = T.thread_id([128])
              bar = T.alloc_shared((1,), "uint64")
              tile = T.alloc_shared((64,), "int32")
              if tx == 0:
        -         T.ptx.mbarrier.init.shared.b64(bar.ptr_to([0]), 128)
        +         T.ptx.mbarrier.init.shared.b64(bar.ptr_to([0]), 64)
              T.ptx.fence.mbarrier_init.release.cluster()
              T.cuda.cta_sync()
              if tx < 64:
                  tile[tx] = A[tx]
                  T.ptx.mbarrier.arrive.shared.b64(bar.ptr_to([0]))
              else:
                  T.cuda.mbarrier_wait(bar.ptr_to([0]), 0)  # <-
                  B[tx - 64] = tile[127 - tx]
        """, "a[63::-1]", m=64),
    tirx("threads of the second half at a barrier of the block", "DIVERGENT_COLLECTIVE", "waits for", "", """
              tx = T.thread_id([128])
              tile = T.alloc_shared((128,), "int32")
              tile[tx] = A[tx]
              if tx >= 64:
                  tile[tx] = 0
        -         T.cuda.cta_sync()  # <-
        +     T.cuda.cta_sync()
              B[tx] = tile[127 - tx]
        """, "np.append(np.zeros(64), a[63::-1])"),
    tirx("a sum over a register that only some paths fill", "UNDEFINED_READ", "", "", """
              tx = T.thread_id([64])
        -     v: T.int32  # <-
        +     v: T.int32 = 0
              if tx < 63:
                  v = A[tx + 1]
              B[tx] = v + A[tx]
        """, "np.append(2 * np.arange(63) + 1, 63)", m=64),
    tirx("a named barrier where producers do not wait for the readers", "RACE", "no barrier between", "", """
              tx = T.thread_id([64])
              tile = T.alloc_shared((32,), "int32")
              for k in range(3):
                  if tx < 32:
        +             if k > 0:
        +                 T.ptx.bar.sync(2, 64)
                      tile[tx] = A[32 * k + tx]
                      T.ptx.bar.sync(1, 64)
                  else:
                      T.ptx.bar.sync(1, 64)
                      B[32 * k + tx - 32] = tile[63 - tx]  # <-
        +             if k < 2:
        +                 T.ptx.bar.sync(2, 64)
        """, "a[:96].reshape(3, 32)[:, ::-1].ravel()", m=96),
    tvm_tirx("a tile of the next round in tvm_tirx", "no barrier between", """
              total: T.int32 = 0
              for i in range(3):
                  tile[tx] = A[tx] + i
                  T.cuda.cta_sync()
                  total += tile[63 - tx]  # <-
        +         T.cuda.cta_sync()
              B[tx] = total
        """, "3 * a[::-1] + 3"),
    tvm_tirx("a value in tvm_tirx that decides a branch before all see it", "no barrier between", """
              if tx == 0:
                  tile[0] = A[5]
        +     T.cuda.cta_sync()
              B[tx] = 0
              if tile[0] > 2:  # <-
                  B[tx] = 1
        """, "np.ones(64)"),
]  # fmt: skip
