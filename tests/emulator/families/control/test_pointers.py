"""Calls through registers: function pointers, tables of them, and numbers that name none. PTX ISA 9.7.12.5, 7.1."""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.families import table
from dsl.emulator.ptx.parse import parse
from dsl.emulator.ptx.syntax import Instr
from tests.emulator.conftest import HEADER

FUNCTIONS = """
.func (.param .b32 r) one(.param .b32 x);
.func (.param .b32 r) twice(.param .b32 x) {
  .reg .b32 %v; ld.param.b32 %v, [x]; add.u32 %v, %v, %v; st.param.b32 [r], %v; ret;
}
.func (.param .b32 r) one(.param .b32 x) {
  .reg .b32 %v; ld.param.b32 %v, [x]; add.u32 %v, %v, 1; st.param.b32 [r], %v; ret;
}
.func (.param .b32 r) all(.param .b32 x) {
  .reg .b32 %v; ld.param.b32 %v, [x]; bar.sync 0; redux.sync.add.u32 %v, %v, -1; st.param.b32 [r], %v; ret;
}
.func (.param .b64 r) wide(.param .b64 x) {
  .reg .b64 %v; ld.param.b64 %v, [x]; st.param.b64 [r], %v; ret;
}
.func (.param .b32 r) deep(.param .b32 x);
.global .u64 table[5] = {twice, one, all, wide, deep};
.func (.param .b32 r) deep(.param .b32 x) {
  .reg .b32 %v; .reg .b64 %f; ld.param.b32 %v, [x]; ld.global.u64 %f, [table+NEXT];
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %v;
    P: .callprototype (.param .b32 _) _ (.param .b32 _); call (b), %f, (a), P; ld.param.b32 %v, [b]; }
  st.param.b32 [r], %v; ret;
}
.visible .entry k(.param .u64 out, .param .u64 which)
{
  .reg .b32 %t, %v; .reg .b64 %o, %w, %f, %q; .reg .pred %p;
  mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; ld.param.u64 %w, [which]; add.u64 %w, %w, %o;
  ld.param.u64 %q, [out]; add.u64 %o, %o, %q; ld.global.u32 %v, [%w];
  mul.wide.u32 %w, %v, 8; mov.u64 %f, table; add.u64 %f, %f, %w; ld.global.u64 %f, [%f];
  setp.lt.u32 %p, %t, 1000;
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %t;
    P: .callprototype (.param .b32 _) _ (.param .b32 _);
    @%p call (b), %f, (a), P; ld.param.b32 %v, [b]; }
  st.global.u32 [%o], %v;
  ret;
}
"""


def run(machine, which, checks=(), following: int = 8) -> list[int]:
    which, out = np.array(which, np.uint32), np.zeros(len(which), np.uint32)
    machine.run(
        FUNCTIONS.replace("NEXT", str(following)), block=len(which), entry="k", out=out, which=which, checks=checks
    )
    return out.tolist()


@pytest.mark.parametrize("checks", [(), ("race", "undefined")])
def test_each_thread_calls_what_its_register_has(machine, ptxas, checks):
    ptxas(HEADER + FUNCTIONS.replace("NEXT", "8"))
    which = [thread % 2 for thread in range(64)]
    assert run(machine, which, checks) == [thread + 1 if thread % 2 else 2 * thread for thread in range(64)]


def test_a_barrier_and_a_warp_meet_in_a_function_that_a_pointer_names(machine):
    assert run(machine, [2] * 32) == [sum(range(32))] * 32


def test_a_function_that_a_pointer_names_calls_through_another(machine):
    assert run(machine, [4, 4, 1]) == [1, 2, 3]


def test_the_address_of_a_function_with_other_parameters_is_a_fault(machine):
    with pytest.raises(emulator.Fault, match="(?s)ILLEGAL.*address of no function that takes these arguments"):
        run(machine, [3])


def test_a_pointer_that_leads_back_without_end_fills_the_stack(machine):
    """`deep` calls itself by the table."""
    with pytest.raises(emulator.Fault, match="(?s)ILLEGAL.*need more than the 32768 bytes of stack of a thread"):
        run(machine, [4], following=32)


def test_analyses_see_direct_calls():
    module = table.prepare(parse(HEADER + FUNCTIONS.replace("NEXT", "8")))
    calls = [
        each.operands[1]
        for each in module.functions["k"].items
        if isinstance(each, Instr) and each.opcode == "call" and hasattr(each.operands[1], "offset")
    ]
    assert [each.name for each in calls] == ["one", "twice", "all", "deep"]
    assert len({value.value for _, _, value, _ in module.variables["table"].init}) == 5
