"""A load whose value its thread does not use is part of no race: two warps load the same 32 elements, one stores them."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dsl import emulator
from dsl.emulator.families.table import prepare
from dsl.emulator.ptx.parse import parse

HEAD = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 x)
{
  .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; mad.wide.u32 %rd2, %r2, 4, %rd1;
"""
LOAD = "ld.global.b32 %r3, [%rd2]; add.u32 %r4, %r3, %r3;"
FIRST_WARP = "and.b32 %r5, %r1, 32; setp.eq.b32 %p1, %r5, 0;"
STORE = "@%p1 st.global.b32 [%rd2], %r4;"


def launch(body: str) -> list[int]:
    x = np.arange(32, dtype=np.uint32)
    memory = emulator.Memory()
    memory.register(x.ctypes.data, x.nbytes, "x")
    program = emulator.load(f"{HEAD}{body} ret; }}")
    params = [x.ctypes.data.to_bytes(8, "little")]
    emulator.launch(program, "k", (1, 1, 1), (64, 1, 1), params, memory, checks=("race", "undefined"))
    return x.tolist()


@pytest.mark.parametrize(
    "body",
    [
        LOAD + FIRST_WARP + STORE,
        FIRST_WARP + LOAD + STORE,
        FIRST_WARP + LOAD + "setp.ne.b32 %p2, %r3, 99; and.pred %p3, %p2, %p1; @%p3 st.global.b32 [%rd2], %r4;",
        LOAD + "setp.lt.u32 %p1, %r1, 32; bra LATER; LATER:" + STORE,
        LOAD + FIRST_WARP + "@%p1 red.global.add.u32 [%rd2], %r3;",
    ],
    ids=["after", "before", "and of two", "another block", "atomic"],
)
def test_unused_loads_take_no_part_in_races(body):
    assert launch(body) == [2 * i for i in range(32)]


@pytest.mark.parametrize(
    "body",
    [
        LOAD + FIRST_WARP + STORE + "mad.wide.u32 %rd3, %r4, 0, %rd2; @!%p1 prefetch.global.L2 [%rd3];",
        LOAD + FIRST_WARP + "shfl.sync.idx.b32 %r4, %r4, %r2, 31, -1;" + STORE,
        LOAD + "setp.eq.b32 %p2, %r3, 99; @%p2 bra END;" + FIRST_WARP + STORE + "END:",
        "ld.volatile.global.b32 %r6, [%rd2]; " + LOAD + "setp.lt.u32 %p1, %r1, 32; @%p1 mov.u32 %r4, 1;" + STORE
        + "setp.gt.u32 %p1, %r1, 99;",
        LOAD + "mov.u32 %r5, %clock; setp.lt.u32 %p2, %r1, 32; setp.ne.or.b32 %p1, %r5, %r5, %p2;" + STORE,
    ],
    ids=["used otherwise", "shuffled", "decides a branch", "the predicate changes", "by the clock"],
)  # fmt: skip
def test_loads_that_may_be_used_race(body):
    with pytest.raises(emulator.Fault, match="RACE"):
        launch(body)


def test_a_load_out_of_bounds_is_found_though_nobody_uses_it():
    body = LOAD.replace("[%rd2]", "[%rd3]") + FIRST_WARP + STORE
    with pytest.raises(emulator.Fault, match="OUT_OF_BOUNDS"):
        launch("mad.wide.u32 %rd3, %r1, 4, %rd1;" + body)


def predicates(body: str) -> list[str | None]:
    """Of the loads of memory: the predicate, by its register."""
    entry = prepare(parse(f"{HEAD}{body} ret; }}")).functions["k"]
    loads = [item for item in entry.items if getattr(item, "opcode", "") == "ld" and "param" not in item.mods]
    return [item.used_if and item.used_if.name for item in loads]


def test_the_predicate_is_computed_before_the_load():
    assert predicates(FIRST_WARP + LOAD + STORE) == ["%p1"]
    assert predicates(LOAD + FIRST_WARP + STORE) == ["%p1$used4"]
    assert predicates(LOAD + STORE) == [None]


NAMES = st.sampled_from(["%r3", "%r4", "%r5", "%r6"])
LINE = st.one_of(
    st.tuples(st.just("add"), NAMES, NAMES, NAMES),
    st.tuples(st.just("load"), NAMES),
    st.tuples(st.just("store"), NAMES, st.sampled_from(["@%p1 ", "@%p2 ", "@%p3 ", "@%p0 ", ""])),
)
GUARDS = {
    "@%p1 ": {"%p1"},
    "@%p2 ": {"%p2"},
    "@%p3 ": {"%p1", "%p2"},
}  # the last is `%p1 and %p2`; of %p0 nothing is known


def wanted(lines: list[tuple]) -> list[str | None]:
    """Each load's predicate: the first of those that all uses need of all that is computed from it."""
    rows: list[str | None] = []
    for load in (line for line in lines if line[0] == "load"):
        reached, more = set(), {load[1]}
        while more:
            reached |= more
            more = {line[1] for line in lines if line[0] == "add" and reached & {*line[2:]}} - reached
        uses = [GUARDS.get(line[2], set()) for line in lines if line[0] == "store" and line[1] in reached]
        rows.append(min(set.intersection(*uses), default=None) if uses else None)
    return rows


@given(st.lists(LINE, max_size=12))
def test_the_predicate_is_the_one_that_all_uses_need(lines):
    text = {"add": "add.u32 {}, {}, {};", "load": "ld.global.b32 {}, [%rd2];", "store": "{1}st.global.b32 [%rd2], {0};"}
    body = (
        FIRST_WARP.replace("%r5", "%r7")
        + """setp.lt.u32 %p2, %r1, 7; and.pred %p3, %p1, %p2;
    ld.param.u32 %r8, [x]; setp.ne.u32 %p0, %r8, 0; @%p0 mov.pred %p0, 0;"""
    )
    body += " ".join(text[line[0]].format(*line[1:]) for line in lines)
    assert [name and name.partition("$")[0] for name in predicates(body)] == wanted(lines)
