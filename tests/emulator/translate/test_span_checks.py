"""One check for the accesses of all threads: it finds what a check a thread finds.

Tested here: dsl/emulator/machine/bounds.cc.
"""

import pytest

from tests.emulator.translate.both_ways import Pair


def test_threads_of_one_access_in_two_allocations():
    body = "ld.global.u32 %r, [%g]; add.u32 %r, %r, 1; st.global.u32 [%g], %r; st.global.u32 [%o], %r; ret;"
    Pair(body).same(block=64, cut=80)


@pytest.mark.parametrize("access", [
    "ld.global.u32 %r, [%g+{}];", "st.global.u32 [%g+{}], %t;", "ld.global.v4.u32 {{%v0, %v1, %v2, %v3}}, [%h+{}];",
])  # fmt: skip
@pytest.mark.parametrize("offset, wide_thread, thread", [(-16, 0, 0), (4 * 4096 - 80, 5, 20), (2, 0, 0)])
def test_faults_name_the_first_thread(access, offset, wide_thread, thread):
    body = f"mad.wide.u32 %h, %t, 16, %data; {access.format(offset)} st.global.u32 [%o], %t; ret;"
    fault = Pair(body).faults(block=48)
    assert fault.thread == (wide_thread if "%h" in access else thread, 0, 0)
    assert fault.kind == ("misaligned" if offset == 2 else "out_of_bounds")


def test_a_fault_in_shared_memory():
    body = "shl.b32 %i, %t, 6; mov.u32 %u, smem; add.u32 %i, %i, %u; st.shared.u32 [%i], %t; bar.sync 0; ret;"
    assert Pair(body).faults(block=128).thread == (64, 0, 0)


def test_a_fault_of_a_load_for_the_whole_block():
    body = "ld.global.u32 %r, [%data+65536]; st.global.u32 [%o], %r; ret;"
    assert Pair(body).faults(block=(4, 4, 1)).thread == (0, 0, 0)


@pytest.mark.parametrize("n", [0, 10, 1000])
def test_accesses_that_a_predicate_keeps_inside(n):
    """The access of all threads would be outside."""
    body = """
  setp.lt.u32 %p, %t, %n; mov.u32 %r, 7; mov.u32 %k, 0;
NEXT:
  @%p ld.global.u32 %r, [%g+16128]; @%p add.u32 %r, %r, %k; @!%p st.global.u32 [%o], %t; bar.sync 0;
  add.u32 %k, %k, 1; setp.lt.u32 %q, %k, 3; @%q bra NEXT;
  @%p st.global.u32 [%o+2048], %r; ret;"""
    pair = Pair(body)
    if n == 1000:
        assert pair.faults(block=128, n=n).thread == (64, 0, 0)
    else:
        pair.same(block=128, n=n)
