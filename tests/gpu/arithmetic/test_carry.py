"""Sums and products of several registers: the carry makes them one long number, against Python's integers."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack

arch = cute.arch


pytestmark = pytest.mark.usefixtures("emulator")


WORD = st.integers(0, 2**32 - 1)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), WORD, WORD)
def test_two_links_are_a_number_of_two_words(x, y, factor, addend):
    words = np.array([x, x >> 32, y, y >> 32, factor, addend, addend >> 5], np.uint64).astype(np.uint32)
    out = np.zeros(6, np.uint32)
    chains()(from_dlpack(words), from_dlpack(out))
    pairs = (int(high) << 32 | int(low) for low, high in out.reshape(3, 2))
    low_product = int(words[0]) * int(words[4]) & 0xFFFFFFFF
    total = low_product + int(words[5])
    high = int(words[1]) * int(words[4]) + int(words[6]) + (total >> 32)
    assert list(pairs) == [(x + y) % 2**64, (x - y) % 2**64, (high & 0xFFFFFFFF) << 32 | total & 0xFFFFFFFF]


_chains: list = []


def chains():
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        out[0], out[1] = arch.add_cc(a[0], a[2]), arch.addc(a[1], a[3])
        out[2], out[3] = arch.sub_cc(a[0], a[2]), arch.subc(a[1], a[3])
        out[4], out[5] = arch.mad_cc(a[0], a[4], a[5]), arch.madc(a[1], a[4], a[6])

    @cute.jit
    def host(a: cute.Tensor, out: cute.Tensor):
        kernel(a, out).launch(grid=(1, 1, 1), block=(1, 1, 1))

    if not _chains:
        _chains.append(cute.compile(host, from_dlpack(np.zeros(7, np.uint32)), from_dlpack(np.zeros(6, np.uint32))))
    return _chains[0]
