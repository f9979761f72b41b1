"""Analysis of PTX: calls, loops, clusters, and whether the order of blocks can show in the results."""

import pytest

from dsl.emulator.families.table import prepare
from dsl.emulator.ptx import analysis
from dsl.emulator.ptx.parse import parse

HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n"
REGISTERS = ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;\n"


def entry(body: str, more: str = ""):
    module = prepare(parse(f"{HEAD}{more}.visible .entry k(.param .u64 p)\n{{\n{REGISTERS}{body}\nret;\n}}\n"))
    return module, module.functions["k"]


def test_functions_that_a_kernel_reaches():
    functions = "".join(
        f".func {name}()\n{{\n{body}\nret;\n}}\n" for name, body in (("a", "call b;"), ("b", ""), ("c", "call a;"))
    )
    module, kernel = entry("call a;", functions)
    assert [function.name for function in analysis.reachable(module, kernel)] == ["k", "a", "b"]


def test_loops_are_branches_back():
    _, kernel = entry("bra L2;\nL1:\nadd.s32 %r1, %r1, 1;\n@%p1 bra L1;\nL2:\nbra L3;\nL3:")
    ((first, last),) = analysis.loops(kernel)
    assert kernel.items[first].name == "L1" and kernel.items[last].opcode == "bra"
    assert analysis.has_loops(kernel)
    assert not analysis.has_loops(entry("@%p1 bra L1;\nadd.s32 %r1, %r1, 1;\nL1:")[1])
    assert analysis.loops(entry("L1:\nbra L1;")[1]) == [(0, 1)]


@pytest.mark.parametrize(
    "body, matters",
    [
        ("red.global.add.u32 [%rd1], 1;", False),
        ("atom.global.add.u32 %r1, [%rd1], 1;", False),  # nobody reads the old value
        ("atom.global.add.u32 %r1, [%rd1], 1;\nst.global.b32 [%rd2], %r1;", True),
        ("atom.global.add.u32 _, [%rd1], 1;", False),
        ("red.global.add.f32 [%rd1], %f1;", True),  # rounded in another order
        ("red.global.max.s32 [%rd1], 1;", False),
        ("atom.global.exch.b32 %r1, [%rd1], 1;", True),
        ("atom.global.cas.b32 %r1, [%rd1], 1, 2;", True),
        ("atom.shared.exch.b32 %r1, [%rd1], 1;", False),  # of one block
    ],
)  # fmt: skip
def test_whether_the_order_of_blocks_shows(body, matters):
    assert analysis.order_matters(entry(body)[1]) is matters


@pytest.mark.parametrize(
    "body, together",
    [
        ("barrier.cluster.arrive;", True),
        ("mapa.shared::cluster.u32 %r1, %r2, 0;", True),
        ("ld.shared::cluster.b32 %r1, [%r2];", True),
        ("ld.shared.b32 %r1, [%r2];", False),
        ("barrier.sync 0;", False),
        ("fence.acq_rel.cluster;", False),
    ],
)
def test_whether_blocks_of_a_cluster_run_together(body, together):
    assert analysis.is_clustered([entry(body)[1]]) is together


def test_registers_that_may_hold_any_nan():
    body = "add.f32 %f1, %f2, %f3;\nmov.f32 %f4, 0f00000000;\nfma.rn.f32 %f4, %f1, %f1, %f4;\nmov.f32 %f5, %f1;\nadd.f32 %f5, %f5, %f5;"
    assert analysis.any_nan_registers(entry(body)[1]) == {"%f1", "%f4"}


def test_registers_of_operands():
    _, kernel = entry("st.global.v2.b32 [%rd1+8], {%r1, %r2};\n@!%p1 mov.b32 %r3, %r4;")
    store, move = kernel.items[:2]
    assert [list(analysis.names(operand)) for operand in store.operands] == [["%rd1"], ["%r1", "%r2"]]
    assert list(analysis.names(move.guard)) == ["%p1"]
