"""Atomics whose result nobody reads, in regions: against the same kernel thread by thread, and numpy."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tests.emulator.translate.both_ways import Pair

OPERATIONS = {
    "add.u32": np.add, "min.s32": np.minimum, "max.u32": np.maximum, "and.b32": np.bitwise_and,
    "or.b32": np.bitwise_or, "xor.b32": np.bitwise_xor,
}  # fmt: skip
# One word of all threads, a word that only some update, four words of shared memory, a word a thread.
BODY = """and.b32 %k, %t, 3; shl.b32 %k, %k, 2; mov.u32 %u, smem; add.u32 %i, %u, %k; mov.u32 %r, START;
  st.shared.u32 [%i], %r; bar.sync 0; ld.global.u32 %s, [%g]; and.b32 %v0, %t, 5; setp.eq.u32 %p, %v0, 1;
  red.global.OP [%out+8192], %s; @%p red.global.OP [%out+8196], %s; red.shared.OP [%i], %s;
  atom.global.relaxed.gpu.OP %v1, [%o], %s; bar.sync 0; ld.shared.u32 %r, [%i]; st.global.u32 [%o+4096], %r; ret;"""


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_operation(name):
    kind = np.int32 if "s32" in name else np.uint32
    start = {"min": 0x7FFFFFFF, "and": -1}.get(name[:3], 0)
    pair = Pair(BODY.replace("OP", name).replace("START", str(start)))
    for block, grid in ((70, 1), ((8, 5, 2), 1), (64, 3)):
        count = int(np.prod(block))
        out = pair.same(block=block, grid=grid).view(kind)
        data = (np.arange(count, dtype=np.uint64) * 2654435761).astype(np.uint32).view(kind)
        many = np.tile(data, grid)
        reduce = functools.partial(OPERATIONS[name].reduce, dtype=kind)
        zero, threads = np.zeros(1, kind), np.arange(count)
        assert out[2048] == reduce(np.append(zero, many))
        assert out[2049] == reduce(np.append(zero, np.tile(data[threads & 5 == 1], grid)))
        first = np.array([start], np.int64).astype(kind)
        words = [reduce(np.append(first, data[threads % 4 == i])) for i in range(4)]
        np.testing.assert_array_equal(out[1024:][:count], np.array(words)[threads % 4])
        np.testing.assert_array_equal(out[:count], [reduce(np.append(zero, [each] * grid)) for each in data])


def test_a_thread_reads_what_it_added():
    """The update of one place comes before the load and the store after it."""
    body = """mov.u32 %r, 5; mul.wide.u32 %h, %t, 4; add.s64 %h, %out, %h; red.global.add.u32 [%out], %r;
  ld.global.u32 %s, [%h]; add.u32 %s, %s, 1; red.global.add.u32 [%out+4], 3; st.global.u32 [%h+4], %s;
  red.global.add.u32 [%out+8], 2; ret;"""
    np.testing.assert_array_equal(Pair(body).same(block=1)[:4], [5, 6, 2, 0])


def test_an_address_out_of_bounds_is_the_fault_of_its_thread():
    assert "thread" in str(Pair("red.global.add.u32 [%out+16384], %t; bar.sync 0; ret;").faults(block=40))


@pytest.mark.parametrize("body", [
    "atom.global.add.u32 %r, [%out], 1; st.global.u32 [%o+64], %r;",
    "red.global.add.f32 [%out], 0f3F800000;",
    "red.global.add.u32 [%out], 1; red.global.max.u32 [%out], 7;",
    "red.global.inc.u32 [%out], 9;",
    "red.release.gpu.global.add.u32 [%out], 1;",
    "atom.global.exch.b32 %r, [%out], %t;",
])  # fmt: skip
def test_kernels_whose_atomics_have_an_order(body):
    """A result that is read, a sum of floats, two operations, one that does not commute, a release."""
    Pair(body + "bar.sync 0; ret;", regions=False)
