"""Kernels that run as regions (lanes.py) against the same kernels run thread by thread: equal bits, equal reports."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dsl import emulator
from dsl.emulator.translate.region_code import Lanes
from tests.emulator.conftest import HEADER, pack

LARGE = 1 << 40  # threads of a launch that is compiled with care


class Pair:
    """One kernel in both shapes."""

    def __init__(self, body: str, regions: bool = True):
        params = ".param .u64 out, .param .u64 data, .param .u32 n"
        self.ptx = f"{HEADER}.visible .entry k({params})\n{{\n{REGISTERS}{body}\n}}\n"
        self.programs = emulator.Program(self.ptx), emulator.Program(self.ptx)
        self.programs[0].code("k", 1)
        self.programs[1].code("k", LARGE)
        assert isinstance(self.programs[1]._source("k", False)[0], Lanes) == regions

    def run(self, grid=1, block=32, words=4096, n=0, cut=None):
        """What both leave in `out` and `data` (one buffer; `cut` parts it into two allocations after so many bytes)."""
        answers = []
        buffer = np.empty(2 * words + 256, np.uint32)
        base = (-buffer.ctypes.data % 256) // 4
        out, data = buffer[base : base + words], buffer[base + words + 64 : base + 2 * words + 64]
        shape = block if isinstance(block, tuple) else (block, 1, 1)
        for program in self.programs:
            out[:], data[:] = 0, np.arange(words, dtype=np.uint32) * 2654435761
            memory, split = emulator.Memory(), words * 4 if cut is None else cut
            memory.register(out.ctypes.data, words * 4, "out")
            memory.register(data.ctypes.data, split, "data")
            if cut is not None:
                memory.register(data.ctypes.data + cut, words * 4 - cut, "more")
            report = None
            try:
                emulator.launch(program, "k", (grid, 1, 1), shape, [pack(out), pack(data), pack(np.uint32(n))], memory)
            except emulator.Fault as fault:
                report = fault
            answers.append((out.copy(), data.copy(), report))
        return answers

    def same(self, **shape):
        """The bits of `out`, after both agreed on everything."""
        (out, data, report), (out2, data2, report2) = self.run(**shape)
        assert report is None and report2 is None
        np.testing.assert_array_equal(out, out2)
        np.testing.assert_array_equal(data, data2)
        return out

    def faults(self, **shape):
        """The report of both."""
        first, second = (row[2] for row in self.run(**shape))
        assert str(first) == str(second) != "None"
        return second


REGISTERS = """
  .shared .align 16 .b8 smem[4096];
  .reg .b32 %t, %tx, %ty, %tz, %nx, %ny, %n, %i, %j, %k, %r, %s, %u; .reg .b64 %out, %data, %o, %p64, %h, %g;
  .reg .f32 %x, %y, %z; .reg .pred %p, %q; .reg .b16 %w; .reg .f64 %d; .reg .b32 %v<4>;
  ld.param.u64 %out, [out]; ld.param.u64 %data, [data]; ld.param.u32 %n, [n];
  mov.u32 %tx, %tid.x; mov.u32 %ty, %tid.y; mov.u32 %tz, %tid.z; mov.u32 %nx, %ntid.x; mov.u32 %ny, %ntid.y;
  mad.lo.u32 %t, %tz, %ny, %ty; mad.lo.u32 %t, %t, %nx, %tx;
  mul.wide.u32 %o, %t, 4; add.s64 %g, %data, %o; add.s64 %o, %out, %o;
"""
SHAPES = [1, 7, 32, 256, 1000, (8, 5, 1), (16, 16, 1), (5, 3, 4), (1, 64, 1)]


@pytest.mark.parametrize("block", SHAPES)
def test_values_per_thread_in_every_shape(block):
    out = Pair("ld.global.u32 %r, [%g]; xor.b32 %r, %r, %t; st.global.u32 [%o], %r; ret;").same(block=block)
    threads = int(np.prod(block))
    index = np.arange(threads, dtype=np.uint32)
    np.testing.assert_array_equal(out[:threads], (index * np.uint32(2654435761)) ^ index)
    assert not out[threads:].any()


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


@pytest.mark.parametrize("n", [0, 1, 5, 63, 64, 65, 200])
@pytest.mark.parametrize("block", [64, (8, 8, 1), (4, 4, 4)])
def test_threads_past_n_leave_first(n, block):
    body = """
  setp.ge.u32 %p, %t, %n; @%p bra DONE;
  mov.u32 %k, 0; mov.f32 %x, 0f00000000;
NEXT:
  ld.global.f32 %y, [%g]; fma.rn.f32 %x, %y, %y, %x; bar.sync 0;
  add.u32 %k, %k, 1; setp.lt.u32 %p, %k, 5; @%p bra NEXT;
  st.global.f32 [%o], %x;
DONE:
  ret;"""
    Pair(body).same(block=block, n=n)


@pytest.mark.parametrize("condition", [
    "and.b32 %r, %t, 1;", "mul.hi.u32 %r, %t, 268435456;", "popc.b32 %r, %t; and.b32 %r, %r, 1;",
])  # fmt: skip
def test_any_threads_may_leave(condition):
    """Those left are no box of coordinates; linear registers live on."""
    body = f"""
  mov.u64 %h, %g; mov.u32 %k, 0; {condition} setp.ne.u32 %p, %r, 0; @%p ret;
NEXT:
  ld.global.u32 %r, [%h]; add.u32 %s, %r, %k; st.global.u32 [%o], %s; bar.sync 0;
  add.s64 %h, %h, 4; add.u32 %k, %k, 1; setp.lt.u32 %p, %k, %n; @%p bra NEXT;
  st.global.u32 [%o+2048], %t; ret;"""
    for block in (96, (12, 8, 1)):
        Pair(body).same(block=block, n=4)


def test_threads_leave_one_by_one():
    body = """
  mov.u32 %k, 0;
NEXT:
  st.global.u32 [%o], %k; setp.le.u32 %p, %t, %k; @%p exit;
  add.u32 %k, %k, 1; bra.uni NEXT;"""
    out = Pair(body).same(block=100)
    np.testing.assert_array_equal(out[:100], np.arange(100))


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


def test_local_memory_and_generic_addresses():
    body = """
  .local .align 4 .b8 mine[16]; .reg .b64 %l; mov.u64 %l, mine; cvta.local.u64 %h, %l; mov.u32 %u, smem;
  cvt.u64.u32 %p64, %u; cvta.shared.u64 %p64, %p64; mad.wide.u32 %p64, %t, 4, %p64;
  st.local.u32 [%l+4], %t; st.u32 [%p64], %t; bar.sync 0; ld.u32 %r, [%h+4]; ld.u32 %s, [%p64]; add.u32 %r, %r, %s;
  st.global.u32 [%o], %r; ret;"""
    np.testing.assert_array_equal(Pair(body).same(block=64)[:64], 2 * np.arange(64))


@pytest.mark.parametrize("body", [
    "setp.lt.u32 %p, %t, 7; @%p bra A; st.global.u32 [%o], %t;\nA:\n bar.sync 0; st.global.u32 [%o], %k; ret;",
    "mov.u32 %k, 0;\nA:\n add.u32 %k, %k, 1; setp.lt.u32 %p, %k, %t; @%p bra A; st.global.u32 [%o], %k; ret;",
    "bar.sync %n; ret;",
    "atom.global.add.u32 %r, [%out], 1; bar.sync 0; ret;",
])  # fmt: skip
def test_kernels_that_keep_their_threads(body):
    """Divergent branches, barriers that not all need reach, atomics."""
    Pair(body.replace("%k;", "%t;") if "A:\n bar" in body else body, regions=False)


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
