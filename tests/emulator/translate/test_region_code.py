"""Kernels that run as regions against the same kernels run thread by thread: equal bits, equal reports.

Modules tested here: dsl/emulator/families/arithmetic/analysis.py, dsl/emulator/families/conversion/analysis.py,
dsl/emulator/families/memory/analysis.py, dsl/emulator/ptx/operands.py, dsl/emulator/translate/uniform_branches.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.emulator.translate.both_ways import Pair


def test_local_memory_and_generic_addresses():
    body = """
  .local .align 4 .b8 mine[16]; .reg .b64 %l; mov.u64 %l, mine; cvta.local.u64 %h, %l; mov.u32 %u, smem;
  cvt.u64.u32 %p64, %u; cvta.shared.u64 %p64, %p64; mad.wide.u32 %p64, %t, 4, %p64;
  st.local.u32 [%l+4], %t; st.u32 [%p64], %t; bar.sync 0; ld.u32 %r, [%h+4]; ld.u32 %s, [%p64]; add.u32 %r, %r, %s;
  st.global.u32 [%o], %r; ret;"""
    np.testing.assert_array_equal(Pair(body).same(block=64)[:64], 2 * np.arange(64))


def test_a_predicated_load_keeps_its_place_before_a_store():
    body = """mov.u32 %u, smem; mad.lo.u32 %i, %t, 4, %u; st.shared.u32 [%i], 7; mov.u32 %r, 1; bar.sync 0;
  setp.lt.u32 %p, %t, 5; @%p ld.shared.u32 %r, [%i]; @%p st.shared.u32 [%i], %t; bar.sync 0; st.global.u32 [%o], %r;
  ret;"""
    np.testing.assert_array_equal(Pair(body).same(block=24)[:24], [7] * 5 + [1] * 19)


@pytest.mark.parametrize("body", [
    "setp.lt.u32 %p, %t, 7; @%p bra A; bar.sync 0; st.global.u32 [%o], %t;\nA:\n st.global.u32 [%o], %t; ret;",
    "mov.u32 %k, 0;\nA:\n add.u32 %k, %k, 1; setp.lt.u32 %p, %k, %t; @%p bra A; st.global.u32 [%o], %k; ret;",
    "bar.sync %n; ret;",
    "atom.global.add.u32 %r, [%out], 1; bar.sync 0; st.global.u32 [%o+64], %r; ret;",
])  # fmt: skip
def test_kernels_that_keep_their_threads(body):
    """Divergent branches round a barrier or without one, barriers that not all need reach, atomics."""
    Pair(body, regions=False)


# ** programs by chance

SOURCES = ["%t", "%k", "%n", "%r", "%s", "%u", "%v0", "%v1", "%tx", "17", "-3"]
TARGETS = ["%r", "%s", "%u", "%v0", "%v1"]
GUARDS = ["", "", "", "@%p ", "@!%p ", "@%q "]
VALUE = st.sampled_from(SOURCES)
ARITHMETIC = st.builds(
    lambda g, how, d, a, b, c: f"{g}{how.format(d=d, a=a, b=b, c=c)}",
    st.sampled_from(GUARDS),
    st.sampled_from([
        "add.u32 {d}, {a}, {b};", "sub.s32 {d}, {a}, {b};", "mad.lo.s32 {d}, {a}, {b}, {c};", "and.b32 {d}, {a}, {b};",
        "shl.b32 {d}, {a}, 3;", "shr.u32 {d}, {a}, 2;", "mul.hi.u32 {d}, {a}, {b};", "mov.b32 {d}, {a};",
        "selp.b32 {d}, {a}, {b}, %p;", "selp.b32 {d}, {a}, {b}, %q;", "neg.s32 {d}, {a};", "min.s32 {d}, {a}, {b};",
        "cvt.u64.u32 %h, {a}; add.s64 %p64, %p64, %h; cvt.u32.u64 {d}, %p64;",
        "mul.wide.s32 %h, {a}, 5; add.s64 %h, %h, %p64; shr.u64 %h, %h, 7; cvt.u32.u64 {d}, %h;",
    ]),
    st.sampled_from(TARGETS), VALUE, VALUE, VALUE,
)  # fmt: skip
STATEMENT = st.one_of(
    ARITHMETIC,
    ARITHMETIC,
    st.builds("setp.lt.s32 %p, {}, {};".format, VALUE, VALUE),
    st.builds("setp.gt.u32 %q, {}, {};".format, st.sampled_from(["%k", "%n"]), st.sampled_from(["1", "%n"])),
    st.builds("{}st.shared.u32 [%i], {};".format, st.sampled_from(GUARDS), VALUE),
    st.builds("{}ld.shared.u32 {}, [%i];".format, st.sampled_from(GUARDS), st.sampled_from(TARGETS)),
    st.builds("bar.sync 0; ld.shared.u32 {}, [%j]; bar.sync 0;".format, st.sampled_from(TARGETS)),
    st.builds("{}ld.global.u32 {}, [%g];".format, st.sampled_from(GUARDS), st.sampled_from(TARGETS)),
    st.builds("ld.global.u32 {}, [%data+64];".format, st.sampled_from(TARGETS)),
    st.builds("{}st.global.u32 [%o], {};".format, st.sampled_from(GUARDS), VALUE),
    st.builds(
        "cvt.rn.f32.u32 %x, {}; fma.rn.f32 %y, %x, %x, %y; mov.b32 {}, %y;".format, VALUE, st.sampled_from(TARGETS)
    ),
)
LOOP = st.lists(STATEMENT, min_size=1, max_size=6)


@pytest.mark.slow
@given(
    LOOP, LOOP, LOOP,
    st.sampled_from(["", "setp.ge.u32 %p, %t, 20; @%p bra DONE;", "and.b32 %r, %t, 6; setp.eq.u32 %p, %r, 4; @%p ret;",
                     "setp.ge.u32 %p, %tx, 3; @%p exit;"]),
    st.sampled_from([24, 33, (8, 4, 1), (4, 3, 3)]),
    st.sampled_from([1, 3, 0xFFFFFFF5]),
)  # fmt: skip
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_programs_by_chance(before, within, after, leave, block, n):
    inner = "\n".join(within)
    body = f"""
  mov.u32 %u, smem; mad.lo.u32 %i, %t, 4, %u; xor.b32 %j, %t, 1; mad.lo.u32 %j, %j, 4, %u;
  mov.u32 %k, 0; mov.u32 %r, 1; mov.u32 %s, 2; mov.u32 %u, 3; mov.u32 %v0, 4; mov.u32 %v1, 5; \
mov.u64 %p64, 0; mov.u64 %h, 0;
  mov.f32 %y, 0f3F800000; setp.eq.u32 %p, %t, 3; setp.eq.u32 %q, %n, 3;
  {" ".join(before)}
  {leave}
NEXT:
  {inner}
  add.u32 %k, %k, 1; setp.lt.u32 %q, %k, 3; @%q bra NEXT;
  {" ".join(after)}
  add.u32 %r, %r, %s; xor.b32 %r, %r, %u; xor.b32 %r, %r, %v0; add.u32 %r, %r, %v1; st.global.u32 [%o+8192], %r;
DONE:
  ret;"""
    Pair(body).same(block=block, n=n)
