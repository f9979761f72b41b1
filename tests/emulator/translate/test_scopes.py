"""Threads that wait at the end of an `if` or of a loop, in regions: against the same kernel as coroutines and numpy.

Modules tested here: dsl/emulator/translate/comparison.py, dsl/emulator/translate/predication.py.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dsl.emulator.ir.affine import Linear
from dsl.emulator.translate.comparison import BUT_ONE, FIRST, LAST, ONE, ORDERS, Comparison
from tests.emulator.translate.both_ways import Pair

HOLDS = {"lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__, "eq": int.__eq__, "ne": int.__ne__}
STRIDES = st.tuples(*[st.integers(-3, 3)] * 3)


@given(st.sampled_from(sorted(HOLDS)), st.booleans(), st.integers(-9, 9), STRIDES, st.integers(-9, 9), STRIDES)
def test_first_threads_have_the_lowest_coordinates(order, holds, a, a_strides, b, b_strides):
    """If a thread stays, so does each thread of lower or equal coordinates; of the last threads, of higher ones."""
    staying = Comparison(order, Linear("?", a_strides), Linear("?", b_strides)).staying(holds)
    assert (staying in (ONE, BUT_ONE)) == (order in ("eq", "ne"))
    if staying not in (FIRST, LAST):
        return
    box = list(itertools.product(range(4), repeat=3))
    value = {at: (a + np.dot(at, a_strides), b + np.dot(at, b_strides)) for at in box}
    stay = {at for at in box if HOLDS[order](*map(int, value[at])) == holds}
    for at in stay:
        bounds = [range(each + 1) if staying == FIRST else range(each, 4) for each in at]
        assert all(other in stay for other in itertools.product(*bounds))


def test_a_negated_comparison_holds_otherwise():
    for order, is_signed in itertools.product(sorted(ORDERS), (True, False)):
        one = Comparison(order, Linear("?"), Linear("?"), is_signed=is_signed)
        names = {one.name, one.negated().name}
        assert names in [{"eq", "ne"}, *({f"{s}lt", f"{s}ge"} for s in "su"), *({f"{s}gt", f"{s}le"} for s in "su")]
        assert one.negated().negated().name == one.name


def test_orders_of_ptx_are_known():
    assert HOLDS.keys() | {"lo", "ls", "hi", "hs"} == ORDERS


@pytest.mark.parametrize("block", [96, 70, (8, 5, 2)])
@pytest.mark.parametrize("n", [0, 1, 95, 1000])
def test_a_loop_that_strides_over_the_block(block, n):
    """The sum of a thread's numbers, then of all at a barrier; most threads leave the loop before the last one."""
    body = """mul.lo.u32 %s, %nx, %ny; mov.u32 %u, %ntid.z; mul.lo.u32 %s, %s, %u; mov.u32 %i, %t; mov.u32 %r, 7;
  setp.ge.s32 %p, %i, %n; @%p bra DONE;
NEXT:
  mul.wide.s32 %h, %i, 4; add.s64 %h, %data, %h; ld.global.u32 %k, [%h]; add.u32 %r, %r, %k;
  add.s32 %i, %i, %s; setp.lt.s32 %p, %i, %n; @%p bra NEXT;
DONE:
  mov.u32 %u, smem; mad.lo.u32 %j, %t, 4, %u; st.shared.u32 [%j], %r; bar.sync 0; xor.b32 %k, %t, 1;
  mad.lo.u32 %j, %k, 4, %u; ld.shared.u32 %v0, [%j]; add.u32 %r, %r, %v0; st.global.u32 [%o], %r; ret;"""
    count = int(np.prod(block))
    out = _stride_pair(body).same(block=block, n=n)[:count]
    data = (np.arange(n, dtype=np.uint64) * 2654435761).astype(np.uint32)
    mine = np.array([7 + data[t::count].sum(dtype=np.uint64) for t in range(count)]).astype(np.uint32)
    np.testing.assert_array_equal(out, mine + mine[np.arange(count) ^ 1])


_pairs: dict[str, Pair] = {}


def _stride_pair(body: str) -> Pair:
    return _pairs.get(body) or _pairs.setdefault(body, Pair(body))


BAR = "bar.sync 0; add.u32 %r, %r, %s; st.global.u32 [%o], %r; ret;"


@pytest.mark.parametrize("body", [
    "setp.gt.u32 %p, %t, 12; @%p bra A; mov.u32 %r, %t; st.shared.u32 [%i], %r;\nA:\n",
    "setp.ne.u32 %p, %t, 5; @%p bra A; ld.shared.u32 %r, [%i]; add.u32 %s, %r, 3;\nA:\n",
    "setp.lt.u32 %p, %t, 5; @%p bra A; add.u32 %k, %t, 9; ld.global.u32 %v0, [%g]; add.u32 %s, %k, %v0;\nA:\n",
    "and.b32 %k, %t, 5; setp.eq.u32 %p, %k, 1; @!%p bra A; add.u32 %r, %k, %t; shl.b32 %s, %r, 2;\nA:\n",
    # an `if` in an `if`, a loop in both, one label for two ends
    """setp.ge.u32 %p, %t, 40; @%p bra A; add.u32 %r, %t, 1; setp.ge.u32 %q, %tx, 3; @%q bra A; mov.u32 %i, %t;
B:
  add.u32 %s, %s, %i; add.u32 %i, %i, 9; setp.lt.u32 %q, %i, 50; @%q bra B; add.u32 %r, %r, %s;
A:
 """,
])  # fmt: skip
def test_scopes(body):
    start = "mov.u32 %u, smem; mad.lo.u32 %i, %t, 4, %u; mov.u32 %r, 1; mov.u32 %s, 2; st.shared.u32 [%i], %t;"
    pair = Pair(start + body + BAR)
    for block in (64, (8, 5, 1)):
        pair.same(block=block)


INTERIOR = """mov.u32 %r, 0; setp.lt.s32 %p, %tx, 1; @%p bra A; setp.eq.s32 %p, %tx, 50; @%p bra A;
  mul.wide.u32 %h, %tx, 4; add.s64 %h, %data, %h; ld.global.u32 %j, [%h+-4]; ld.global.u32 %k, [%h+4];
  add.u32 %r, %j, %k; ld.global.u32 %j, [%h]; mad.lo.u32 %r, %j, 3, %r; add.u32 %r, %r, %n; xor.b32 %r, %r, 5;
  shr.u32 %j, %r, 9; add.u32 %r, %r, %j; mul.lo.u32 %r, %r, 7; add.u32 %r, %r, 1;
A:
  st.global.u32 [%o], %r; ret;"""


def test_threads_that_never_meet_wait_at_the_end_of_an_if():
    """The points of a row that have two neighbours, then all of its points."""
    out = Pair(INTERIOR).same(block=51, n=9, cut=80)
    data = (np.arange(60, dtype=np.uint64) * 2654435761).astype(np.uint32)
    value = data[:-2] + data[2:] + data[1:-1] * np.uint32(3) + np.uint32(9) ^ np.uint32(5)
    value = (value + (value >> np.uint32(9))) * np.uint32(7) + np.uint32(1)
    np.testing.assert_array_equal(out[1:50], value[:49])
    assert out[0] == out[50] == 0


def test_threads_that_never_meet_leave_a_loop_in_turn():
    """Thread t sums its first t numbers."""
    body = """mov.u32 %k, 0; mov.u32 %r, 0; mov.u64 %h, %data; setp.eq.u32 %p, %tx, 0; @%p bra A;
B:
  ld.global.u32 %j, [%h]; add.u32 %r, %r, %j; add.s64 %h, %h, 4; add.u32 %k, %k, 1; setp.ne.u32 %p, %k, %tx; @%p bra B;
A:
  st.global.u32 [%o], %r; ret;"""
    out = Pair(body).same(block=70)
    data = (np.arange(70, dtype=np.uint64) * 2654435761).astype(np.uint32)
    np.testing.assert_array_equal(out[1:70], np.cumsum(data, dtype=np.uint32)[:69])


@pytest.mark.parametrize("condition", [
    "add.u32 %u, %tx, %ty; setp.gt.u32 %p, %u, 5;",  # a triangle is left
    "and.b32 %u, %tx, 3; setp.gt.u32 %p, %u, 1;",
])  # fmt: skip
def test_threads_that_never_meet_run_one_by_one_if_they_do_not_form_a_box(condition):
    body = f"{condition} mov.u32 %r, %t; @%p bra A; {'add.u32 %r, %r, 3; xor.b32 %r, %r, 9; ' * 8}\nA:\n"
    Pair(body + "st.global.u32 [%o], %r; ret;", regions=False).same(block=(8, 8, 1))


def test_a_region_of_a_comparison_alone_after_others_have_left():
    """Thread 0 is not there any more: linear registers are no longer kept as base and strides."""
    start = "mov.u32 %u, smem; mad.lo.u32 %u, %t, 4, %u; mov.u32 %r, 0; mov.u32 %s, 0; and.b32 %k, %t, 3;"
    body = f"""{start} setp.eq.u32 %p, %k, 0; @%p ret; mov.u32 %i, %t; bar.sync 0;
NEXT:
  add.u32 %i, %i, 5; bar.sync 0; setp.ge.u32 %p, %i, 40; @%p bra SKIP;
  add.u32 %r, %r, %i; st.shared.u32 [%u], %r; {"add.u32 %r, %r, 1; " * 12}
SKIP:
  bar.sync 0; add.u32 %s, %s, 1; setp.lt.u32 %q, %s, 4; @%q bra NEXT;
  st.global.u32 [%o], %r; ret;"""
    rounds = np.arange(64)[:, None] + 5 * np.arange(1, 5)
    wanted = np.where(rounds < 40, rounds + 12, 0).sum(axis=1) * (np.arange(64) % 4 != 0)
    np.testing.assert_array_equal(Pair(body).same(block=64)[:64], wanted)


def test_a_fault_in_a_scope_has_its_thread():
    body = """mov.u32 %s, 0; mov.u32 %r, 0; mov.u32 %i, %t;
NEXT:
  mul.wide.u32 %h, %i, 4; add.s64 %h, %data, %h; ld.global.u32 %r, [%h]; add.u32 %i, %i, 64;
  setp.lt.u32 %p, %i, %n; @%p bra NEXT;"""
    assert "thread" in str(Pair(body + BAR).faults(block=64, n=4100, words=4096))


@pytest.mark.parametrize("body", [
    "setp.gt.u32 %p, %t, 12; @%p bra A; bar.sync 0;\nA:\n",
    "setp.gt.u32 %p, %t, 31; @%p bra A; shfl.sync.down.b32 %r, %t, 1, 31, -1;\nA:\n",
    "ld.global.u32 %k, [%g];\nA:\n shr.u32 %k, %k, 1; setp.ne.u32 %p, %k, 0; @%p bra A;",
    "sub.u32 %j, %tx, %ty; mov.u32 %k, 0;\nA:\n add.u32 %k, %k, 1; setp.lt.s32 %p, %k, %j; @%p bra A;",
    "setp.gt.u32 %p, %t, 12; @%p bra A; ret;\nA:\n",
    "setp.gt.u32 %q, %n, 3; @%q bra B; setp.gt.u32 %p, %t, 12; @%p bra A;\nB:\n add.u32 %r, %r, 1;\nA:\n",
])  # fmt: skip
def test_kernels_that_stay_coroutines(body):
    """Threads meet in a scope, others than the first or the last stay in a loop, a way leads into a scope or out of it."""
    Pair("mov.u32 %r, 0; mov.u32 %s, 0;" + body + BAR, regions=False)


# ** programs by chance

VALUE = st.sampled_from(["%t", "%tx", "%r", "%s", "%u", "%k", "29"])
TARGET = st.sampled_from(["%r", "%s", "%u"])
PLAIN = st.one_of(
    st.builds("add.u32 {}, {}, {};".format, TARGET, VALUE, VALUE),
    st.builds("mad.lo.u32 {}, {}, 3, {};".format, TARGET, VALUE, VALUE),
    st.builds("st.shared.u32 [%i], {};".format, VALUE),
    st.builds("ld.shared.u32 {}, [%i];".format, TARGET),
    st.builds("ld.global.u32 {}, [%g];".format, TARGET),
    st.builds("st.global.u32 [%o+4096], {};".format, VALUE),
    st.builds("red.{}, {};".format, st.sampled_from(["global.add.u32 [%out+8192]", "shared.add.u32 [%i+1024]"]), VALUE),
)
CONDITION = st.builds(
    "setp.{}.s32 {{p}}, {}, {};".format,
    st.sampled_from(["ge", "gt", "ne", "lt"]), st.sampled_from(["%t", "%tx", "%ty", "%k", "%r"]),
    st.sampled_from(["0", "5", "20", "%n", "%tx"]),
)  # fmt: skip


def nested(inner):
    """An `if` or a loop over an index that strides, of statements."""
    within = st.lists(inner, min_size=1, max_size=3)
    loop = st.tuples(st.just("loop"), st.sampled_from(["%t", "%tx", "%ty"]), st.sampled_from([3, 17, 64]), within)
    return st.one_of(st.tuples(st.just("if"), CONDITION, within), loop)


STATEMENT = st.recursive(PLAIN, nested, max_leaves=6)
MEET = st.sampled_from([
    "bar.sync 0; ld.shared.u32 %s, [%j]; bar.sync 0;", "shfl.sync.bfly.b32 %r, %r, 3, 31, -1;",
    "redux.sync.add.u32 %s, %r, -1;", "",
])  # fmt: skip


class Text:
    """Statements as PTX, each label and each loop's register once."""

    def __init__(self) -> None:
        self.count, self.registers = 0, ""

    def of(self, statement) -> str:
        if isinstance(statement, str):
            return statement + "\n"
        self.count += 1
        n, (kind, first, *rest) = self.count, statement
        self.registers += f".reg .pred %p{n}; .reg .b32 %c{n}; "
        body = "".join(map(self.of, rest[-1]))
        if kind == "if":
            return f"{first.format(p=f'%p{n}')} @%p{n} bra L{n};\n{body}L{n}:\n"
        step = f"add.s32 %c{n}, %c{n}, {rest[0]}; setp.lt.s32 %p{n}, %c{n}, 70; @%p{n} bra L{n};\n"
        return f"mov.u32 %c{n}, {first};\nL{n}:\n{body}add.u32 %r, %r, %c{n}; {step}"


@pytest.mark.slow
@given(
    st.lists(st.tuples(STATEMENT, MEET), min_size=1, max_size=4),
    st.sampled_from(
        [
            "",
            "setp.ge.u32 %p, %t, 40; @%p bra DONE;",
            "and.b32 %r, %t, 6; setp.eq.u32 %p, %r, 4; @%p ret;",
            "and.b32 %r, %t, 3; setp.eq.u32 %p, %r, 0; @%p ret;",
        ]
    ),
    st.sampled_from([24, 64, (8, 5, 1), (4, 3, 3), (32, 2, 1)]),
    st.sampled_from([1, 30]),
)
@settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_programs_by_chance(parts, leave, block, n):
    text = Text()
    inner = "".join(text.of(statement) + meet + "\n" for statement, meet in parts)
    body = f"""{text.registers}
  mov.u32 %u, smem; mad.lo.u32 %i, %t, 4, %u; xor.b32 %j, %t, 1; mad.lo.u32 %j, %j, 4, %u; st.shared.u32 [%i], %t;
  st.shared.u32 [%j+2048], %t; mov.u32 %k, 0; mov.u32 %r, 1; mov.u32 %s, 2; mov.u32 %u, 3; bar.sync 0;
  {leave}
AGAIN:
  {inner}
  add.u32 %k, %k, 1; setp.lt.u32 %q, %k, 2; @%q bra AGAIN;
  add.u32 %r, %r, %s; xor.b32 %r, %r, %u; st.global.u32 [%o], %r;
DONE:
  ret;"""
    Pair(body, regions=None).same(block=block, n=n)
