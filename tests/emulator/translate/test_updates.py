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


@pytest.mark.parametrize("block", [70, 128])
def test_a_sum_of_floats_is_in_the_order_of_the_threads(block):
    """Three blocks; of some threads; `cut` makes the load, then the sum, run thread by thread."""
    body = """ld.global.u32 %r, [%g]; cvt.rn.f32.u32 %x, %r; mul.f32 %x, %x, 0f2F800000;
  setp.ge.u32 %p, %t, %n; @%p exit; atom.global.add.f32 %y, [%out+8192], %x; ret;"""
    data = (np.arange(block, dtype=np.uint64) * 2654435761).astype(np.uint32).astype(np.float32)
    data *= np.uint32(0x2F800000).view(np.float32)
    for n in (block, 33):
        for cut in (None, 80):
            out = Pair(body).same(block=block, grid=3, n=n, cut=cut)
            total = np.float32(0)
            for _ in range(3):
                for each in data[:n]:
                    total += each
            assert out[2048] == total.view(np.uint32)


def test_a_sum_of_doubles_begins_with_what_the_block_has_stored():
    """One thread sets the word before the block adds to it: a new region begins at the sum."""
    body = """cvt.rn.f64.u32 %d, %t; mul.f64 %d, %d, 0d3FB999999999999A; mov.b64 %h, 0x4059000000000000;
  setp.eq.u32 %p, %t, 0; @%p st.global.b64 [%out+8192], %h; red.global.add.f64 [%out+8192], %d; ret;"""
    out = Pair(body).same(block=64)
    total = np.float64(100)
    for t in range(64):
        total += np.float64(t) * 0.1
    assert out[2048:2050].view(np.float64)[0] == total


def test_sums_of_floats_in_many_places():
    """Threads 0 to 7 add to the first word, the next to the second: in their order; then each adds to a separate word."""
    body = """ld.global.u32 %r, [%g]; cvt.rn.f32.u32 %x, %r; mul.f32 %x, %x, 0f2F800000; shr.u32 %i, %t, 3;
  mul.wide.u32 %h, %i, 4; add.s64 %h, %out, %h; PLACE ret;"""
    for place in ("red.global.add.f32 [%h], %x;", "red.global.add.f32 [%o], %x;"):
        Pair(body.replace("PLACE", place), regions=None).same(block=96, grid=2)


def test_a_fault_of_a_sum_of_floats_is_of_the_first_thread():
    body = "setp.lt.u32 %p, %t, 5; @%p exit; red.global.add.f32 [%out+65536], 0f3F800000; ret;"
    assert Pair(body).faults(block=64).thread == (5, 0, 0)


@pytest.mark.parametrize("body", [
    "red.global.add.f32 [%out], 0f3F800000; red.global.add.f32 [%out+4], 0f3F800000;",
    "mov.u32 %k, 0;\nA:\n red.global.add.f32 [%out], 0f3F800000; add.u32 %k, %k, 1; setp.lt.u32 %p, %k, 9; @%p bra A;",
    "atom.global.add.f32 %x, [%out], 0f3F800000; st.global.f32 [%o+64], %x;",
    "red.global.add.noftz.f16x2 [%out], %t;",
])  # fmt: skip
def test_kernels_whose_sums_each_thread_adds_to_alone(body):
    """Two sums, a sum in a loop, a result that is read, no sum."""
    Pair(body + "ret;", regions=False)


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
