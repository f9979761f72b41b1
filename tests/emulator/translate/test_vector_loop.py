"""Every shape of a block: each thread runs once, with its own coordinates."""

import numpy as np
import pytest

from tests.emulator.translate.both_ways import SHAPES, Pair


@pytest.mark.parametrize("block", SHAPES)
def test_values_per_thread_in_every_shape(block):
    out = Pair("ld.global.u32 %r, [%g]; xor.b32 %r, %r, %t; st.global.u32 [%o], %r; ret;").same(block=block)
    threads = int(np.prod(block))
    index = np.arange(threads, dtype=np.uint32)
    np.testing.assert_array_equal(out[:threads], (index * np.uint32(2654435761)) ^ index)
    assert not out[threads:].any()
