"""The order and the scope of accesses and fences, and the values of atomic operations, for the memory model."""

from __future__ import annotations

import pytest

from dsl.emulator.ptx.syntax import Unsupported
from dsl.memory_model.events import Kind
from tests.emulator.explored import Explored

READ, WRITE, FENCE = Kind.READ, Kind.WRITE, Kind.FENCE


def events(instruction):
    found = Explored(instruction, grid=1, words=16)
    return [(event.kind, event.order, event.scope) for event in found.found.traces[0][0].events]


@pytest.mark.parametrize(
    "instruction, expected",
    [
        ("ld.global.u32 %r1, [%a];", [(READ, "weak", "gpu")]),
        ("ld.weak.global.u32 %r1, [%a];", [(READ, "weak", "gpu")]),
        ("ld.volatile.global.u32 %r1, [%a];", [(READ, "relaxed", "sys")]),
        ("ld.relaxed.cta.global.u32 %r1, [%a];", [(READ, "relaxed", "cta")]),
        ("ld.acquire.cluster.global.u32 %r1, [%a];", [(READ, "acquire", "cluster")]),
        ("st.release.sys.global.u32 [%a], 1;", [(WRITE, "release", "sys")]),
        ("st.volatile.global.u32 [%a], 1;", [(WRITE, "relaxed", "sys")]),
        ("red.global.add.u32 [%a], 1;", [(READ, "relaxed", "gpu"), (WRITE, "relaxed", "gpu")]),
        ("atom.acquire.cta.global.add.u32 %r1, [%a], 1;", [(READ, "acquire", "cta"), (WRITE, "relaxed", "cta")]),
        ("atom.release.sys.global.add.u32 %r1, [%a], 1;", [(READ, "relaxed", "sys"), (WRITE, "release", "sys")]),
        ("atom.acq_rel.gpu.global.add.u32 %r1, [%a], 1;", [(READ, "acquire", "gpu"), (WRITE, "release", "gpu")]),
        ("atom.acquire.gpu.global.cas.b32 %r1, [%a], 1, 2;", [(READ, "acquire", "gpu")]),  # memory has 0
        ("fence.sc.sys;", [(FENCE, "sc", "sys")]),
        ("fence.acq_rel.cluster;", [(FENCE, "acq_rel", "cluster")]),
        ("fence.gpu;", [(FENCE, "acq_rel", "gpu")]),
        ("membar.gl;", [(FENCE, "sc", "gpu")]),
        ("membar.cta;", [(FENCE, "sc", "cta")]),
        ("membar.sys;", [(FENCE, "sc", "sys")]),
    ],
)
def test_the_order_and_the_scope_of_an_instruction(instruction, expected):
    """PTX ISA 9.7.9.8, 9.7.9.11, 9.7.13.4, 9.7.13.5."""
    assert events(instruction) == expected


@pytest.mark.parametrize(
    "instruction, before, after",
    [
        ("add.u32 %r1, [%a], 3;", 5, 8), ("min.s32 %r1, [%a], -3;", 5, 0xFFFFFFFD), ("min.u32 %r1, [%a], -3;", 5, 5),
        ("max.s32 %r1, [%a], -3;", 5, 5), ("and.b32 %r1, [%a], 6;", 5, 4), ("or.b32 %r1, [%a], 6;", 5, 7),
        ("xor.b32 %r1, [%a], 6;", 5, 3), ("exch.b32 %r1, [%a], 6;", 5, 6), ("cas.b32 %r1, [%a], 5, 6;", 5, 6),
        ("cas.b32 %r1, [%a], 4, 6;", 5, 5), ("inc.u32 %r1, [%a], 5;", 5, 0), ("dec.u32 %r1, [%a], 9;", 0, 9),
        ("add.f32 %f1, [%a], 0f3F800000;", 0x3F800000, 0x40000000),
    ],
)  # fmt: skip
def test_an_atomic_operation_returns_the_value_before(instruction, before, after):
    kind = "f" if "%f1" in instruction else "u"
    result = "%f1" if kind == "f" else "%r1"
    found = Explored(f"atom.global.{instruction} st.global.{kind}32 [%a+4], {result};", grid=1, initial=[before])
    assert found.values(0, 1) == {(after, before)}


@pytest.mark.parametrize(
    "instruction",
    [
        "ld.global.nc.u32 %r1, [%a];", "atom.global.add.noftz.f16x2 %r1, [%a], %r2;",
        "atom.global.v2.f32.add {%f1, %f2}, [%a], {%f1, %f2};",
    ],
)  # fmt: skip
def test_accesses_that_the_model_does_not_have_are_refused(instruction):
    with pytest.raises(Unsupported, match="the memory model here has no such instruction"):
        Explored(instruction, declared=".shared .align 16 .b8 S[64];")
