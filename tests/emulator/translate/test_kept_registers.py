"""Registers that live over barriers: uniform, linear and free ones."""

import numpy as np
import pytest

from tests.emulator.translate.both_ways import SHAPES, Pair


@pytest.mark.parametrize("block", SHAPES)
def test_a_uniform_loop_with_barriers(block):
    """Thread t sums what thread t + 1 wrote, n times over."""
    body = """
  mov.u32 %k, 0; mov.u32 %s, 0; mov.u32 %r, %ntid.z; mul.lo.u32 %r, %r, %ny; mul.lo.u32 %r, %r, %nx;
  add.u32 %j, %t, 1; rem.u32 %j, %j, %r; shl.b32 %j, %j, 2; shl.b32 %i, %t, 2;
  mov.u32 %u, smem; add.u32 %i, %i, %u; add.u32 %j, %j, %u;
NEXT:
  mad.lo.u32 %r, %t, 3, %k; st.shared.u32 [%i], %r; bar.sync 0;
  ld.shared.u32 %r, [%j]; add.u32 %s, %s, %r; bar.sync 0;
  add.u32 %k, %k, 1; setp.lt.u32 %p, %k, %n; @%p bra NEXT;
  st.global.u32 [%o], %s; ret;"""
    out = Pair(body).same(block=block, n=9)
    threads = int(np.prod(block))
    others = (np.arange(threads) + 1) % threads
    np.testing.assert_array_equal(out[:threads], 27 * others + 36)
