"""The end of a region: loads for the whole block after stores, addresses that differ freely."""

import numpy as np

from tests.emulator.translate.both_ways import Pair


def test_a_load_for_all_after_a_store_sees_it():
    body = """
  st.global.u32 [%out+4096], %n; ld.global.u32 %r, [%out+4096]; add.u32 %r, %r, %t; st.global.u32 [%o], %r;
  mov.u32 %u, smem; st.shared.u32 [%u+8], %n; ld.shared.u32 %s, [%u+8]; st.global.u32 [%o+2048], %s; ret;"""
    out = Pair(body).same(block=64, n=5)
    np.testing.assert_array_equal(out[:64], 5 + np.arange(64))
    assert (out[512:576] == 5).all()


def test_addresses_that_differ_freely_between_barriers():
    body = """
  xor.b32 %j, %t, 5; shl.b32 %j, %j, 2; shl.b32 %i, %t, 2; mov.u32 %u, smem; add.u32 %i, %i, %u; add.u32 %j, %j, %u;
  st.shared.u32 [%i], %t; bar.sync 0; ld.shared.u32 %r, [%j]; st.global.u32 [%o], %r; ret;"""
    np.testing.assert_array_equal(Pair(body).same(block=64)[:64], np.arange(64) ^ 5)
