"""Exchanges between lanes in all outcomes of a kernel, against the pseudo-code of the PTX ISA and Python."""

from __future__ import annotations

import pytest

from dsl.emulator.ptx.syntax import Unsupported
from tests.emulator.conftest import HEADER_100
from tests.emulator.explored import Explored, load, store, threads

GIVE = "mov.u32 %r1, %tid.x; add.u32 %r1, %r1, 10; "


def given_by(mode, lane, b, c):
    """The source lane, and the predicate: PTX ISA 9.7.9.6."""
    b, segment, clamp = b & 31, c >> 8 & 31, c & 31
    most, least = (lane & segment) | (clamp & ~segment), lane & segment
    source = {"up": lane - b, "down": lane + b, "bfly": lane ^ b, "idx": least | (b & ~segment)}[mode]
    holds = source >= most if mode == "up" else source <= most
    return source if holds else lane, holds


@pytest.mark.parametrize(
    "mode, b, c", [("up", 1, 0), ("down", 1, 3), ("bfly", 2, 31), ("idx", 2, 31), ("idx", 1, 0x1E1F)]
)
def test_a_shuffle_gives_the_value_of_its_source(mode, b, c):
    body = GIVE + f"shfl.sync.{mode}.b32 %r2|%p, %r1, {b}, {c}, 15; selp.u32 %r3, 100, 0, %p; add.u32 %r2, %r2, %r3; "
    found = Explored(body + "st.global.u32 [%b], %r2;", grid=1, block=4)
    expected = tuple(10 + source + 100 * holds for source, holds in (given_by(mode, lane, b, c) for lane in range(4)))
    assert found.values(0, 1, 2, 3) == {expected} and found.is_complete


def test_a_lane_that_does_not_exist_gives_the_own_value():
    body = GIVE + "shfl.sync.down.b32 %r2, %r1, 1, 31, -1; st.global.u32 [%b], %r2;"
    assert Explored(body, grid=1, block=3).values(0, 1, 2) == {(11, 12, 12)}


def test_a_shuffle_carries_what_was_read():
    """Lane 0 reads a flag that another block may have written; lane 1 gets the same value."""
    reader = load(1, 0) + "shfl.sync.idx.b32 %r2, %r1, 0, 31, 3; add.u64 %d1, %b, 4; st.global.u32 [%d1], %r2;"
    body = "setp.gt.u32 %p, %n, 1; @%p bra R; " + store(0) + "ret; R: " + reader
    assert Explored(body, grid=2, block=2).values(3, 4) == {(0, 0), (1, 1)}


def test_a_shuffle_orders_no_memory():
    one = "st.global.u32 [%a], 1; shfl.sync.idx.b32 %r2, 7, 0, 31, 3;"
    other = "shfl.sync.idx.b32 %r2, 8, 0, 31, 3; " + load(1, 0, "") + store(1, "%r1", "")
    assert Explored(threads(one, other), grid=1, block=2).values(1) == {(0,), (1,)}


def test_a_shuffle_meets_all_lanes_of_its_mask():
    """PTX ISA 9.7.9.6: it waits for the lanes that have not exited."""
    wait = "bar.sync 1, 32; "
    shuffle = "shfl.sync.idx.b32 %r2, 7, 0, 31, {};"
    assert Explored(threads(shuffle.format(3), wait), grid=1, block=2).stuck == {(0, 1)}
    assert Explored(threads(shuffle.format(1) + store(0), wait), grid=1, block=2).stuck == {(1,)}
    assert Explored(threads(shuffle.format(3) + store(0), ""), grid=1, block=2).values(0) == {(1,)}


def test_exchanges_one_after_another_do_not_mix():
    body = (
        GIVE + "shfl.sync.bfly.b32 %r2, %r1, 1, 31, 3; shfl.sync.bfly.b32 %r3, %r2, 1, 31, 3; st.global.u32 [%b], %r3;"
    )
    assert Explored(body, grid=1, block=2).values(0, 1) == {(10, 11)}


@pytest.mark.parametrize(
    "mode, answers", [("ballot", (6, 6, 6)), ("all", (0, 0, 0)), ("any", (1, 1, 1)), ("uni", (0, 0, 0))]
)
def test_a_vote(mode, answers):
    vote = "vote.sync.ballot.b32 %r2, %p, -1; " if mode == "ballot" else (
        f"vote.sync.{mode}.pred %q, %p, -1; selp.u32 %r2, 1, 0, %q; ")  # fmt: skip
    body = "mov.u32 %r1, %tid.x; setp.ne.u32 %p, %r1, 0; " + vote + "st.global.u32 [%b], %r2;"
    assert Explored(body, grid=1, block=3).values(0, 1, 2) == {answers}


KEYS = "setp.eq.u32 %p, %n, 1; selp.u32 %r1, 0xFFFFFFF9, %n, %p; "  # 0, -7, 2


@pytest.mark.parametrize(
    "operation, answer",
    [
        ("add.u32", 0xFFFFFFFB), ("min.u32", 0), ("max.u32", 0xFFFFFFF9), ("min.s32", 0xFFFFFFF9), ("max.s32", 2),
        ("and.b32", 0), ("or.b32", 0xFFFFFFFB), ("xor.b32", 0xFFFFFFFB),
    ],
)  # fmt: skip
def test_a_reduction(operation, answer):
    """PTX ISA 9.7.13.12, of 0, -7 and 2."""
    found = Explored(KEYS + f"redux.sync.{operation} %r2, %r1, 7; st.global.u32 [%b], %r2;", grid=1, block=3)
    assert found.values(0, 1, 2) == {(answer, answer, answer)} and found.is_complete


@pytest.mark.parametrize(
    "operation, bits, answer",
    [
        ("min", (0, 0x80000000, 0x3F800000), 0x80000000),
        ("max", (0, 0x80000000, 0x80000000), 0),
        ("min.abs", (0x3F800000, 0xC0000000, 0x40400000), 0x3F800000),
        ("min", (0xBF800000, 0xC0000000, 0x40400000), 0xC0000000),
        ("max", (0x7FC00000, 0xC0000000, 0xBF800000), 0xBF800000),
        ("max.NaN", (0xFFC00000, 0xC0000000, 0x40400000), 0x7FFFFFFF),
        ("max.abs", (0xFFC00000, 0x7FC00000, 0x7FC00001), 0x7FFFFFFF),
    ],
)
def test_a_reduction_of_floats(operation, bits, answer):
    """PTX ISA 9.7.13.12."""
    first, second, third = bits
    body = (
        f"setp.eq.u32 %p, %n, 1; selp.u32 %r1, {second}, {first}, %p; setp.eq.u32 %p, %n, 2; "
        f"selp.u32 %r1, {third}, %r1, %p; redux.sync.{operation}.f32 %r2, %r1, 7; st.global.u32 [%b], %r2;"
    )
    assert Explored(body, grid=1, block=3, header=HEADER_100).values(0, 1, 2) == {(answer, answer, answer)}


@pytest.mark.parametrize(
    "match, key, answers",
    [
        ("any.sync.b32 %r2", "and.b32 %r1, %n, 1", (5, 2, 5)),
        ("any.sync.b64 %r2", "and.b32 %r1, %n, 1", (5, 2, 5)),
        ("all.sync.b32 %r2|%p", "and.b32 %r1, %n, 1", (0, 0, 0)),
        ("all.sync.b32 %r2|%p", "mov.u32 %r1, 9", (107, 107, 107)),
    ],
)
def test_a_match(match, key, answers):
    """PTX ISA 9.7.13.10."""
    value = "%d1" if "b64" in match else "%r1"
    body = f"{key}; cvt.u64.u32 %d1, %r1; mov.pred %p, 0; match.{match}, {value}, 7; "
    body += "selp.u32 %r3, 100, 0, %p; add.u32 %r2, %r2, %r3; st.global.u32 [%b], %r2;"
    assert Explored(body, grid=1, block=3).values(0, 1, 2) == {answers}


def test_a_reduction_carries_what_was_read():
    """Lanes add a flag that another block may have written: both get the same sum."""
    reader = load(1, 0) + "redux.sync.add.u32 %r2, %r1, 3; add.u64 %d1, %b, 4; st.global.u32 [%d1], %r2;"
    body = "setp.gt.u32 %p, %n, 1; @%p bra R; " + store(0) + "ret; R: " + reader
    assert Explored(body, grid=2, block=2).values(3, 4) == {(0, 0), (1, 1), (2, 2)}


def test_one_lane_is_elected():
    body = "elect.sync %r1|%p, 6; @%p st.global.u32 [%b], 5; "
    assert Explored("setp.eq.u32 %p, %n, 0; @%p ret; " + body, grid=1, block=3).values(0, 1, 2) == {(0, 5, 0)}


@pytest.mark.parametrize(
    "bodies, why",
    [
        (("shfl.sync.idx.b32 %r2, 7, 1, 31, 3;", ""), "it asks lane 1, which has exited in some execution"),
        (("shfl.sync.idx.b32 %r2, 7, 1, 31, 2;", ""), "lane 0 is not in its mask"),
    ],
)
def test_a_mask_must_have_the_lanes_that_take_part(bodies, why):
    with pytest.raises(Unsupported, match=why):
        Explored(threads(*bodies), grid=1, block=2)
