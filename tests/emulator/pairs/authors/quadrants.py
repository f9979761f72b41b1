"""Mistakes in Quadrants kernels. See test_authors.py."""

from __future__ import annotations

from tests.emulator.pairs.authors.program import Pair

HEAD = """import numpy as np
import quadrants as qd

qd.init(arch=qd.gpu)


"""
TAIL = """

a, b = np.arange({n}, dtype=np.int32), np.zeros({m}, np.int32)
kernel(a, b)
out, a = b, np.arange({n})
expected = {expected}
"""


def quadrants(name, kind, text, fix, body, expected, n=128, m=128) -> Pair:
    return Pair(name, kind, text, fix, HEAD, body, TAIL.format(n=n, m=m, expected=expected))


SYNC = "`qd.simt.block.sync()`"
PAIRS = [
    quadrants("neighbours of other threads without a barrier", "RACE", "no barrier between", SYNC, """
          @qd.kernel
          def kernel(a: qd.types.ndarray(), b: qd.types.ndarray()):
              qd.loop_config(block_dim=64)
              for i in range(128):
                  a[i] = 2 * a[i]  # <-
        +         qd.simt.block.sync()
                  b[i] = a[i ^ 63]
        """, "2 * (np.arange(128) ^ 63)"),
    quadrants("a fence in the place of a barrier", "RACE", "no barrier between", SYNC, """
          @qd.kernel
          def kernel(a: qd.types.ndarray(), b: qd.types.ndarray()):
              qd.loop_config(block_dim=64)
              for i in range(128):
                  a[i] = a[i] + 5  # <-
        -         qd.simt.block.mem_fence()
        +         qd.simt.block.sync()
                  b[i] = a[i ^ 32]
        """, "(np.arange(128) ^ 32) + 5"),
    quadrants("a relaxation in place", "RACE", "", SYNC, """
          @qd.kernel
          def kernel(a: qd.types.ndarray(), b: qd.types.ndarray()):
              qd.loop_config(block_dim=64)
              for i in range(64):
                  for step in range(3):
                      v = a[i]
                      if i > 0:
                          v = v + a[i - 1]  # <-
        +             qd.simt.block.sync()
                      a[i] = v
                      qd.simt.block.sync()
                  b[i] = a[i]
        """, "np.arange(64) * 8 - 12 + np.array([12, 5, 1] + [0] * 61)", n=64, m=64),
    quadrants("a scan without the barrier of its rounds", "RACE", "no barrier between", SYNC, """
          @qd.kernel
          def kernel(a: qd.types.ndarray(), b: qd.types.ndarray()):
              qd.loop_config(block_dim=64)
              for i in range(64):
                  for step in range(6):
                      d = 1 << step
                      v = a[i]
                      if i >= d:
                          v = v + a[i - d]  # <-
                      qd.simt.block.sync()
                      a[i] = v
        +             qd.simt.block.sync()
                  b[i] = a[i]
        """, "np.arange(64).cumsum()", n=64, m=64),
    quadrants("a histogram that is not atomic", "RACE", "", "atomic", """
          @qd.kernel
          def kernel(a: qd.types.ndarray(), b: qd.types.ndarray()):
              qd.loop_config(block_dim=64)
              for i in range(128):
        -         b[a[i] % 4] = b[a[i] % 4] + 1  # <-
        +         b[a[i] % 4] += 1
        """, "np.full(4, 32)", m=4),
    quadrants("blocks that exchange within one task", "RACE", "nothing orders blocks", "a later outermost loop", """
          @qd.kernel
          def kernel(a: qd.types.ndarray(), b: qd.types.ndarray()):
              qd.loop_config(block_dim=64)
              for i in range(128):
                  a[i] = 3 * a[i]  # <-
        -         qd.simt.block.sync()
        -         b[i] = a[127 - i]
        +     for i in range(128):
        +         b[i] = a[127 - i]
        """, "3 * (127 - np.arange(128))"),
    quadrants("a barrier that the first half reaches", "RACE", "no barrier between", "pass the barrier at line", """
          @qd.kernel
          def kernel(a: qd.types.ndarray(), b: qd.types.ndarray()):
              qd.loop_config(block_dim=64)
              for i in range(64):
                  if i < 32:
                      a[i] = a[i] + a[i + 32]
        -             qd.simt.block.sync()
        +         qd.simt.block.sync()
                  b[i] = a[i % 32]  # <-
        """, "np.tile(2 * np.arange(32) + 32, 2)", n=64, m=64),
    quadrants("a neighbour past the end", "OUT_OF_BOUNDS", "", "", """
          @qd.kernel
          def kernel(a: qd.types.ndarray(), b: qd.types.ndarray()):
              for i in range(128):
        -         b[i] = a[i] + a[i + 1]  # <-
        +         b[i] = a[i] + a[qd.min(i + 1, 127)]
        """, "np.append(2 * np.arange(127) + 1, 254)"),
    quadrants("a flag that another block polls", "RACE", "nothing orders blocks", "a later outermost loop", """
          @qd.kernel
          def kernel(a: qd.types.ndarray(), b: qd.types.ndarray()):
              qd.loop_config(block_dim=32)
              for i in range(64):
                  if i < 32:
                      b[i] = a[i] + 1
        -             qd.simt.block.sync()
        -             if i == 0:
        -                 qd.atomic_max(a[127], 1000)
        -         else:
        -             while qd.atomic_max(a[127], 0) < 1000:
        -                 pass
        -             b[i] = b[i - 32]  # <-
        +     for i in range(32):
        +         b[i + 32] = b[i]
        """, "np.tile(np.arange(32) + 1, 2)", m=64),
]  # fmt: skip
