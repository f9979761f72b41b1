"""Lanes that meet in code made of regions, against the same kernel as coroutines and against numpy.

Modules tested here: dsl/emulator/families/warp/analysis.py, dsl/emulator/ir/collective.py,
dsl/emulator/translate/literal_operands.py.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dsl.emulator.translate.uniform_branches import MOST_COLLECTIVES
from tests.emulator.translate.both_ways import Pair

STORE = "add.s64 %o, %o, 1024; st.global.u32 [%o], {};"
FLAG = "selp.u32 %s, 1, 0, %q; " + STORE.format("%s")


def shuffled(mode: str, b: int, c: int, lanes: int) -> tuple[np.ndarray, np.ndarray]:
    """The lane that each of `lanes` lanes reads, and its predicate: the pseudo-code of PTX ISA 9.7.9.6.

    A lane that asks for one that is not there keeps its own value.
    """
    lane = np.arange(lanes)
    segment = c >> 8 & 31
    most, least = lane & segment | c & 31 & ~segment, lane & segment
    j = {"up": lane - (b & 31), "down": lane + (b & 31), "bfly": lane ^ (b & 31)}.get(mode, least | b & 31 & ~segment)
    inside = j >= most if mode == "up" else j <= most
    return np.where(inside & (j < lanes), j, lane), inside


def by_warps(function, values: np.ndarray) -> np.ndarray:
    """`function(the values of a warp, as they are)` for each warp."""
    return np.concatenate([function(values[i : i + 32]) for i in range(0, len(values), 32)])


SHUFFLES = [("up", 3, 0), ("down", 4, 31), ("bfly", 16, 31), ("idx", 33, 31), ("down", 2, 0x181F), ("up", 1, 0x1800),
            ("bfly", 5, 0x1C07), ("idx", 6, 0x181F)]  # fmt: skip


def _cases() -> list[tuple[str, object, np.ndarray]]:
    """(code that stores each result, numpy's function of a warp's inputs, which of the two inputs it takes)."""
    rows = []
    for mode, b, c in SHUFFLES:
        for distance in (str(b), "%j"):  # the second is in a register
            text = f"mov.u32 %j, {b}; add.u32 %j, %j, 0; shfl.sync.{mode}.b32 %v0|%q, %r, {distance}, {c}, %k;"
            rows.append((text + STORE.format("%v0"), lambda x, m=mode, b=b, c=c: x[shuffled(m, b, c, len(x))[0]], 0))
            rows.append((FLAG, lambda x, m=mode, b=b, c=c: shuffled(m, b, c, len(x))[1], 0))
    match = "match.any.sync.b32 %v0, %v1, %k;" + STORE.format("%v0")
    rows.append((match, lambda x: ((x[:, None] == x) << np.arange(len(x))).sum(axis=1), 1))
    for mode, answer in (("all", all), ("any", any), ("uni", lambda x: x.all() or not x.any())):
        rows.append((f"vote.sync.{mode}.pred %q, %p, -1;{FLAG}", lambda x, answer=answer: [answer(x == 1)] * len(x), 1))
    ballot = "vote.sync.ballot.b32 %v0, !%p, 0xffffffff;" + STORE.format("%v0")
    rows.append((ballot, lambda x: [((x != 1) << np.arange(len(x))).sum()] * len(x), 1))
    for name, answer in (("add.u32", np.add.reduce), ("min.s32", lambda x: x.view(np.int32).min()),
                         ("max.u32", np.max), ("xor.b32", np.bitwise_xor.reduce)):  # fmt: skip
        text = f"redux.sync.{name} %v0, %r, %k;" + STORE.format("%v0")
        rows.append((text, lambda x, answer=answer: [answer(x)] * len(x), 0))
    return rows


@functools.cache
def _all_of_them() -> Pair:
    start = """and.b32 %i, %t, 31; mad.lo.u32 %r, %t, 2654435761, 12345; mov.u32 %k, -1;
      shr.u32 %v1, %r, 30; setp.eq.u32 %p, %v1, 1;"""
    return Pair("\n".join([start, *(text for text, _, _ in _cases()), "ret;"]))


@pytest.mark.parametrize("block", [32, 256, 48, (8, 5, 2)])
def test_all_collectives_of_whole_masks(block):
    """Shuffles with literal and with other operands, votes, matches and reductions of whole and of partial warps."""
    count = int(np.prod(block))
    given = (np.arange(count, dtype=np.uint64) * 2654435761 + 12345).astype(np.uint32)
    out = _all_of_them().same(block=block, words=16384)
    for i, (_, answer, which) in enumerate(_cases()):
        wanted = by_warps(answer, given >> 30 if which else given).astype(np.int64) & 0xFFFFFFFF
        np.testing.assert_array_equal(out[256 * (i + 1) :][:count], wanted)


@pytest.mark.parametrize("leave", ["setp.ge.u32 %p, %t, 40;", "and.b32 %i, %t, 3; setp.eq.u32 %p, %i, 1;"])
def test_lanes_that_have_left_take_no_part(leave):
    """A sum over the lanes that are left, and a shuffle from lanes that are not, at the start of a loop."""
    body = f"""{leave} @%p bra DONE; mov.u32 %k, 0; mov.u32 %r, %t;
NEXT:
  redux.sync.add.u32 %r, %r, -1; shfl.sync.down.b32 %s, %t, 5, 31, -1; add.u32 %r, %r, %s;
  add.u32 %k, %k, 1; setp.lt.u32 %q, %k, 3; @%q bra NEXT;
  st.global.u32 [%o], %r;
DONE:
  ret;"""
    out = Pair(body).same(block=96)
    stay = np.arange(96) < 40 if "ge" in leave else np.arange(96) % 4 != 1
    value, lane = np.arange(96), np.arange(96) % 32
    source = np.where(lane < 27, np.minimum(np.arange(96) + 5, 95), np.arange(96))
    from_lane = np.where(stay[source], source, np.arange(96))
    for _ in range(3):
        value = by_warps(lambda row: np.full(len(row), row.sum()), np.where(stay, value, 0)) + from_lane
    np.testing.assert_array_equal(out[:96], np.where(stay, value, 0))


def test_a_predicate_may_be_set_from_itself():
    body = "setp.lt.u32 %p, %t, 40; vote.sync.any.pred %p, %p, -1; selp.u32 %r, 1, 2, %p; st.global.u32 [%o], %r; ret;"
    np.testing.assert_array_equal(Pair(body).same(block=96)[:96], np.repeat([1, 1, 2], 32))


@pytest.mark.parametrize("body", [
    "shfl.sync.down.b32 %r, %t, 1, 31, 0xffff; st.global.u32 [%o], %r; ret;",
    "mov.u32 %r, 0;" + "redux.sync.add.u32 %r, %r, -1; " * (MOST_COLLECTIVES + 1) + "st.global.u32 [%o], %r; ret;",
    "setp.lt.u32 %p, %t, 32; @%p shfl.sync.down.b32 %r, %t, 1, 31, -1; ret;",
    "mov.u32 %k, -1; setp.lt.u32 %p, %t, 32; @%p mov.u32 %k, 0xff; shfl.sync.down.b32 %r, %t, 1, 31, %k; ret;",
])  # fmt: skip
def test_kernels_that_stay_coroutines(body):
    """A mask that is partial or unknown, a guard; more meetings than are worth the time to compile."""
    Pair(body, regions=False)


VALUE = st.sampled_from(["%t", "%r", "%s", "%u", "%k", "77"])
TARGET = st.sampled_from(["%r", "%s", "%u"])
STEP = st.one_of(
    st.builds("add.u32 {0}, {1}, {2};".format, TARGET, VALUE, VALUE),
    st.builds("setp.lt.u32 %p, {}, {};".format, VALUE, VALUE),
    st.builds("@%p mov.u32 {}, {};".format, TARGET, VALUE),
    st.builds("bar.sync 0; st.shared.u32 [%i], {}; bar.sync 0; ld.shared.u32 {}, [%j];".format, VALUE, TARGET),
    st.builds(
        "shfl.sync.{}.b32 {}|%p, {}, {}, {}, -1;".format,
        st.sampled_from(["up", "down", "bfly", "idx"]), TARGET, VALUE,
        st.one_of(st.integers(0, 40), VALUE), st.one_of(st.sampled_from([0, 31, 0x1C1F, 0x1003]), VALUE),
    ),
    st.builds("vote.sync.ballot.b32 {}, %p, -1;".format, TARGET),
    st.builds("redux.sync.{}.u32 {}, {}, -1;".format, st.sampled_from(["add", "min", "max"]), TARGET, VALUE),
)  # fmt: skip


@pytest.mark.slow
@given(
    st.lists(STEP, min_size=2, max_size=8),
    st.sampled_from(
        [
            "",
            "setp.ge.u32 %p, %t, 40; @%p bra DONE;",
            "and.b32 %r, %t, 6; setp.eq.u32 %p, %r, 4; @%p ret;",
            "and.b32 %r, %t, 3; setp.eq.u32 %p, %r, 0; @%p ret;",
        ]
    ),
    st.sampled_from([24, 64, 96, (8, 5, 1), (32, 2, 1)]),
)
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_programs_by_chance(steps, leave, block):
    body = f"""
  mov.u32 %u, smem; mad.lo.u32 %i, %t, 4, %u; xor.b32 %j, %t, 1; mad.lo.u32 %j, %j, 4, %u;
  mov.u32 %k, 0; mov.u32 %r, 1; mov.u32 %s, 2; mov.u32 %u, 3; setp.eq.u32 %p, %t, 3;
  {leave}
NEXT:
  {" ".join(steps)}
  add.u32 %k, %k, 1; setp.lt.u32 %q, %k, 2; @%q bra NEXT;
  add.u32 %r, %r, %s; xor.b32 %r, %r, %u; st.global.u32 [%o], %r;
DONE:
  ret;"""
    Pair(body).same(block=block)
