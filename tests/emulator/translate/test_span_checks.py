"""One check for the accesses of all threads: it finds what a check a thread finds.

Tested here: dsl/emulator/machine/bounds.cc.
"""

import re

import numpy as np
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


COUNTS = """
  mov.u32 %u, smem; shl.b32 %j, %t, 2; add.u32 %j, %j, %u; st.shared.u32 [%j], 0; bar.sync 0;
  ld.global.u32 %i, [%g]; setp.eq.u32 %p, %t, 5; INDEX
  atom.shared.add.u32 %k, [%i], 1; bar.sync 0; ld.shared.u32 %r, [%j]; st.global.u32 [%o], %r; ret;"""


def _has_check(pair: Pair) -> bool:
    """Whether the kernel may report a fault of the atomic: its own site is among the arguments."""
    text = pair.programs[1].llvm_ir("k", quick=False)
    return re.search(r"@emu_fault\(ptr %ctx, i32 %\w+, i32 2,", text.partition("\n}\n")[0]) is not None


@pytest.mark.parametrize("index", [
    "and.b32 %i, %i, 4092; add.u32 %i, %u, %i;", "shl.b32 %i, %i, 2; and.b32 %i, %i, 4092; add.u32 %i, %i, %u;",
    "and.b32 %i, %i, 4092; @%p mov.u32 %i, 64; add.u32 %i, %i, %u;",
])  # fmt: skip
def test_an_address_that_cannot_leave_the_kernels_variables_is_not_checked(index):
    """Also where the kernel has used the register for something else before."""
    pair = Pair(COUNTS.replace("INDEX", index))
    found = pair.same(block=1024)
    indices = np.arange(1024, dtype=np.uint32) * 2654435761
    indices = indices << 2 if "shl" in index else indices
    indices = indices & 4092
    if "@%p" in index:
        indices[5] = 64
    assert not _has_check(pair) and (found[:1024] == np.bincount(indices // 4, minlength=1024)).all()


@pytest.mark.parametrize("index, kind, thread", [
    ("and.b32 %i, %i, 8188; add.u32 %i, %i, %u;", "out_of_bounds", None),
    ("and.b32 %i, %i, 4095; add.u32 %i, %i, %u;", "misaligned", 1),
    ("and.b32 %i, %i, 4092; @%p mov.u32 %i, 4096; add.u32 %i, %i, %u;", "out_of_bounds", 5),
    ("and.b32 %i, %i, 4092; add.u32 %i, %i, %u; @%p add.u32 %i, %i, 4096;", "out_of_bounds", 5),
    ("and.b32 %i, %i, 4092; @%p shl.b32 %i, %t, 10; add.u32 %i, %i, %u;", "out_of_bounds", 5),
])  # fmt: skip
def test_an_address_that_may_leave_them_is_checked(index, kind, thread):
    pair = Pair(COUNTS.replace("INDEX", index))
    fault = pair.faults(block=1024)
    assert _has_check(pair) and fault.kind == kind and thread in (None, fault.thread[0])


def test_an_access_that_begins_in_the_last_variable_and_ends_after_it_is_checked():
    """The offset leads past the last word."""
    body = COUNTS.replace("INDEX", "and.b32 %i, %i, 4092; add.u32 %i, %i, %u;").replace("[%i]", "[%i+4]")
    assert _has_check(Pair(body)) and Pair(body).faults(block=1024).kind == "out_of_bounds"


def test_a_loop_that_strides_over_the_grid_fetches_the_lines_of_the_next_round():
    """Also beyond the end of the array, where nothing may be reported."""
    body = """
  mov.u32 %i, %ctaid.x; mad.lo.u32 %i, %i, %nx, %tx; mov.u32 %j, %nctaid.x; mul.lo.u32 %j, %j, %nx;
NEXT:
  setp.ge.u32 %p, %i, 4096; @%p bra DONE;
  mul.wide.u32 %o, %i, 4; add.s64 %g, %data, %o; ld.global.u32 %r, [%g]; add.s64 %g, %out, %o; st.global.u32 [%g], %r;
  add.u32 %i, %i, %j; bra NEXT;
DONE:
  ret;"""
    pair = Pair(body)
    assert "@llvm.prefetch" in pair.programs[1].llvm_ir("k", quick=False)
    other = Pair(body.replace("%nctaid.x", "20"))
    assert "@llvm.prefetch" not in other.programs[1].llvm_ir("k", quick=False)
    assert (pair.same(grid=20, block=64) == np.arange(4096, dtype=np.uint32) * 2654435761).all()
