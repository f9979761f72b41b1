"""Values that stop being linear in the thread: the region runs thread by thread."""

import numpy as np
import pytest

from tests.emulator.translate.both_ways import Pair


@pytest.mark.parametrize("start", [0, 0xFFFFFFFF, 0xFFFFFFF0, 0x7FFFFFFF, 0x80000000])
@pytest.mark.parametrize("kind", ["u32", "s32"])
def test_widened_values_that_wrap_around(kind, start):
    """(t + start) widened; what was linear before, and is after, stays right."""
    body = f"""
  add.u32 %r, %t, %n; mul.wide.{kind} %h, %r, 3; mov.u32 %k, 0; mov.u64 %p64, 0;
NEXT:
  add.s64 %h, %h, 5; add.s64 %p64, %p64, %h; bar.sync 0;
  add.u32 %k, %k, 1; setp.lt.u32 %p, %k, 3; @%p bra NEXT;
  cvt.u32.u64 %r, %p64; st.global.u32 [%o], %r; shr.u64 %p64, %p64, 32; cvt.u32.u64 %r, %p64;
  st.global.u32 [%o+4096], %r; ret;"""
    out = Pair(body).same(block=64, n=start)
    r = (np.arange(64, dtype=np.uint64) + start).astype(np.uint32)
    wide = r.astype(np.int64) if kind == "u32" else r.view(np.int32).astype(np.int64)
    total = (3 * (3 * wide) + 5 + 10 + 15).view(np.uint64)
    np.testing.assert_array_equal(out[:64], total.astype(np.uint32))
    np.testing.assert_array_equal(out[1024:1088], (total >> np.uint64(32)).astype(np.uint32))
