"""The flow from open instructions and inputs into the stores of a kernel: through registers, memory and branches."""

import pytest

from dsl.emulator.dependence.dataflow import summary_of
from dsl.emulator.families.table import prepare
from dsl.emulator.ptx.parse import parse
from dsl.emulator.tensor_core.tensor_core import TENSOR_CORES
from tests.emulator.conftest import HEADER

NAMES = "abcdm"
BEFORE = f"""{HEADER}
.visible .global .align 4 .b8 kept[64];
.func (.param .b32 back) doubled(.param .b32 given) {{
  .reg .f32 %x; ld.param.f32 %x, [given]; add.f32 %x, %x, %x; st.param.f32 [back], %x; ret;
}}
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d,
                  .param .align 64 .b8 m[128]) {{
  .shared .align 4 .b8 left[64]; .shared .align 4 .b8 right[64]; .local .align 4 .b8 own[64];
  .reg .b64 %a, %b, %c, %d, %s, %o; .reg .f32 %x, %y, %z; .reg .pred %p, %q; .reg .b32 %i, %j;
  ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u64 %c, [c]; ld.param.u64 %d, [d];
  mov.u32 %i, %tid.x; mul.wide.u32 %o, %i, 4; add.s64 %a, %a, %o; add.s64 %b, %b, %o;
"""
EX2, LOAD = "ex2.approx.f32 %y, %x;", "ld.global.f32 %x, [%a];"


def flows(body: str) -> dict[str, set[str]]:
    """For each parameter that is written: the sources, the parameters whose memory it depends on, and `?x` for those
    that only a branch asked for."""
    module = prepare(parse(f"{BEFORE} {body} ret; }}"))
    summary = summary_of(module, "k", TENSOR_CORES["hopper"], {n: (0,) for n in range(5)})
    table: dict[str, set[str]] = {}
    for place, bits in summary.writes.items():
        said = {s.instruction for n, s in enumerate(summary.sources) if bits >> n & 1}
        for n, other in enumerate(summary.places):
            which = bits >> len(summary.sources) + 2 * n & 3
            said |= {mark + name_of(other) for bit, mark in ((1, ""), (2, "?")) if which & bit}
        table[name_of(place)] = said
    return table


def name_of(place: tuple) -> str:
    return NAMES[place[1]] if place[0] == "param" else place[2] if place[0] == "variable" else "any"


@pytest.mark.parametrize("body, table", [
    (f"{LOAD} {EX2} st.global.f32 [%b], %y; st.global.f32 [%c], %x;", {"b": {"ex2.approx.f32", "a"}, "c": {"a"}}),
    (f"{LOAD} add.f32 %z, %x, %x; st.global.f32 [%b], %z; {EX2}", {"b": {"a"}}),
    ("mov.f32 %x, 0f3F800000; st.global.f32 [%b], %x;", {"b": set()}),
    ("ld.global.v2.f32 {%x, %z}, [%a]; rcp.approx.f32 %y, %z; st.global.v2.f32 [%b], {%x, %y};",
     {"b": {"rcp.approx.f32", "a"}}),
    ("ld.global.u32 %j, [%a]; mul.wide.u32 %o, %j, 4; add.s64 %c, %c, %o; ld.global.f32 %x, [%c];"
     " st.global.f32 [%b], %x;", {"b": {"a", "c"}}),
    ("cvta.to.global.u64 %d, %d; mov.u64 %s, %clock64; st.global.u64 [%d], %s;", {"d": {"%clock64"}}),
])  # fmt: skip
def test_through_registers(body, table):
    assert flows(body) == table


@pytest.mark.parametrize("body, table", [
    (f"{LOAD} {EX2} st.shared.f32 [left], %y; bar.sync 0; ld.shared.f32 %z, [left]; st.global.f32 [%b], %z;",
     {"b": {"ex2.approx.f32", "a"}}),
    (f"{LOAD} {EX2} st.shared.f32 [left], %y; ld.shared.f32 %z, [right]; st.global.f32 [%b], %z;", {"b": set()}),
    (f"{LOAD} {EX2} mov.u64 %s, left; add.s64 %s, %s, %o; st.shared.f32 [%s], %y; ld.shared.f32 %z, [left+4];"
     " st.global.f32 [%b], %z;", {"b": {"ex2.approx.f32", "a"}}),
    (f"{LOAD} {EX2} st.shared.f32 [%o], %y; ld.shared.f32 %z, [right]; st.global.f32 [%b], %z;",
     {"b": {"ex2.approx.f32", "a"}}),
    (f"{LOAD} {EX2} st.local.f32 [own], %y; ld.local.f32 %z, [own]; st.global.f32 [%b], %z;",
     {"b": {"ex2.approx.f32", "a"}}),
    (f"{LOAD} {EX2} st.global.f32 [%c], %y; ld.global.f32 %z, [%c]; st.global.f32 [%b], %z;",
     {"b": {"ex2.approx.f32", "a", "c"}, "c": {"ex2.approx.f32", "a"}}),
    (f"{LOAD} {EX2} st.global.f32 [kept], %y; ld.global.f32 %z, [kept]; st.global.f32 [%b], %z;",
     {"b": {"ex2.approx.f32", "a", "kept"}, "kept": {"ex2.approx.f32", "a"}}),
    ("ld.global.u64 %s, [%a]; mov.f32 %x, 0f00000000; ex2.approx.f32 %y, %x; st.global.f32 [%s], %y;",
     {"any": {"ex2.approx.f32", "a"}}),
    ("mov.u64 %s, left; cp.async.ca.shared.global [%s], [%a], 4; ld.shared.f32 %z, [left]; st.global.f32 [%b], %z;",
     {"b": {"a"}}),
    (f"{LOAD} {EX2} {{ .param .b32 p0; .param .b32 r0; st.param.f32 [p0], %y; call.uni (r0), doubled, (p0);"
     " ld.param.f32 %z, [r0]; } st.global.f32 [%b], %z;", {"b": {"ex2.approx.f32", "a"}}),
])  # fmt: skip
def test_through_memory(body, table):
    assert flows(body) == table


def test_wgmma_reads_shared_memory_by_descriptor():
    body = f"{LOAD} {EX2} mov.f32 %z, 0f00000000; st.shared.f32 [left], %y;" \
        " wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%z, %z, %z, %z}, %o, %o, 1, 1, 1, 0, 0;" \
        " st.global.f32 [%b], %z;"  # fmt: skip
    assert flows(body) == {"b": {"ex2.approx.f32", "a"}}


BOX = "cp.async.bulk.tensor.1d"


@pytest.mark.parametrize("body, table", [
    (f"{LOAD} {EX2} st.shared.f32 [left], %y; mov.u64 %s, left; {BOX}.global.shared::cta.tile.bulk_group"
     " [m, {%i}], [%s];", {"m": {"ex2.approx.f32", "a"}}),
    (f"mov.u64 %s, left; mov.u64 %o, right; {BOX}.shared::cta.global.tile.mbarrier::complete_tx::bytes"
     " [%s], [m, {%i}], [%o]; ld.shared.f32 %z, [left]; st.global.f32 [%b], %z;", {"b": {"m"}}),
    (f"mov.u64 %s, m; mov.u64 %o, right; {BOX}.shared::cta.global.tile.mbarrier::complete_tx::bytes"
     " [left], [%s, {%i}], [%o]; ld.shared.f32 %z, [left]; st.global.f32 [%b], %z;", {"b": {"m"}}),
])  # fmt: skip
def test_through_tensor_maps(body, table):
    """Bulk copies of boxes write and read the array that the map in a parameter points to."""
    assert flows(body) == table


@pytest.mark.parametrize("body, table", [
    (f"{LOAD} {EX2} setp.gt.f32 %p, %y, 0f3F800000; mov.f32 %z, 0f00000000; @%p bra A; st.global.f32 [%b], %z;"
     " A: st.global.f32 [%c], %z;", {"b": {"ex2.approx.f32", "?a"}, "c": set()}),
    (f"{LOAD} {EX2} setp.gt.f32 %p, %y, 0f3F800000; mov.f32 %z, 0f00000000; @%p mov.f32 %z, 0f3F800000;"
     " st.global.f32 [%b], %z;", {"b": {"ex2.approx.f32", "?a"}}),
    (f"{LOAD} {EX2} setp.gt.f32 %p, %y, 0f3F800000; selp.f32 %z, %x, 0f00000000, %p; st.global.f32 [%b], %z;",
     {"b": {"ex2.approx.f32", "a"}}),
    # a loop that ends by the clock: the length of the wait is not in the result
    ("mov.f32 %z, 0f00000000; L: mov.u32 %j, %clock; setp.lt.u32 %p, %j, 9; @%p bra L; st.global.f32 [%b], %z;",
     {"b": set()}),
    # how often a loop runs depends on an approximation
    (f"{LOAD} mov.f32 %z, 0f00000000; L: {EX2} add.f32 %z, %z, 0f3F800000; setp.lt.f32 %p, %z, %y; @%p bra L;"
     " st.global.f32 [%b], %z;", {"b": {"ex2.approx.f32", "?a"}}),
])  # fmt: skip
def test_through_branches(body, table):
    assert flows(body) == table


@pytest.mark.parametrize("body, table", [
    ("mov.f32 %x, 0f3F800000; red.global.add.f32 [%b], %x;", {"b": {"red.global.add.f32", "b"}}),
    ("mov.u32 %j, 1; red.global.add.u32 [%b], %j;", {"b": {"b"}}),
    ("atom.global.add.u32 %j, [%b], 1; st.global.u32 [%c], %j;", {"b": {"b"}, "c": {"atom.global.add.u32", "b"}}),
    ("atom.global.add.u32 %j, [%b], 1; setp.eq.u32 %p, %j, 31; mov.u32 %i, 5; @%p st.global.u32 [%c], %i;",
     {"b": {"b"}, "c": {"?b"}}),
    ("atom.global.exch.b32 %j, [%b], %i;", {"b": {"atom.global.exch.b32", "b"}}),
])  # fmt: skip
def test_atomics(body, table):
    assert flows(body) == table


def test_instructions_of_one_line_are_one_source():
    module = prepare(parse(f'{BEFORE} .loc 1 7 3\n {LOAD} {EX2}\n .loc 1 7 9\n ex2.approx.f32 %z, %y;\n .loc 1 8 1\n '
                   'ex2.approx.f32 %z, %z; ret; }\n.file 1 "k.py"\n'))  # fmt: skip
    summary = summary_of(module, "k", TENSOR_CORES["hopper"], {})
    assert [source.loc[:2] for source in summary.sources] == [(1, 7), (1, 8)]
