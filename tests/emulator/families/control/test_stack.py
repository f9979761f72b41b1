"""alloca, stacksave, stackrestore: blocks of a thread's own, given back at the end of a function. PTX ISA 9.7.17."""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.ptx.syntax import PtxError
from tests.emulator.conftest import HEADER

REVERSED = """
.func (.param .b32 r) last(.param .b32 n)
{
  .reg .b32 %n, %i, %v; .reg .b64 %size, %p, %q; .reg .pred %go;
  ld.param.b32 %n, [n]; mul.wide.u32 %size, %n, 4;
  alloca.u64 %p, %size, 16;
  mov.u32 %i, 0; mov.u64 %q, %p;
FILL:
  st.local.u32 [%q], %i; add.u64 %q, %q, 4; add.u32 %i, %i, 1; setp.lt.u32 %go, %i, %n; @%go bra FILL;
  ld.local.u32 %v, [%q+-4]; and.b64 %q, %p, 15; cvt.u32.u64 %i, %q; shl.b32 %i, %i, 16; or.b32 %v, %v, %i;
  st.param.b32 [r], %v; ret;
}
.visible .entry k(.param .u64 out, .param .u32 n)
{
  .reg .b32 %t, %v, %n, %round, %sum; .reg .b64 %o, %q; .reg .pred %go;
  mov.u32 %t, %tid.x; ld.param.u32 %n, [n]; add.u32 %n, %n, %t; mov.u32 %round, 0; mov.u32 %sum, 0;
AGAIN:
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %n; call (b), last, (a); ld.param.b32 %v, [b]; }
  add.u32 %sum, %sum, %v; add.u32 %round, %round, 1; setp.lt.u32 %go, %round, 20; @%go bra AGAIN;
  mul.wide.u32 %o, %t, 4; ld.param.u64 %q, [out]; add.u64 %o, %o, %q; st.global.u32 [%o], %sum; ret;
}
"""
SAVED = """
.visible .entry k(.param .u64 out)
{
  .reg .b64 %o, %s, %a, %b, %c, %size; .reg .b32 %small, %p;
  mov.u64 %size, 100; ld.param.u64 %o, [out];
  stacksave.u64 %s; alloca.u64 %a, %size; alloca.u64 %b, %size, 64; stackrestore.u64 %s; alloca.u64 %c, %size;
  sub.u64 %s, %s, %a; sub.u64 %b, %a, %b; sub.u64 %a, %a, %c;
  st.global.u64 [%o], %s; st.global.u64 [%o+8], %b; st.global.u64 [%o+16], %a;
  mov.u32 %small, 8; alloca.u32 %p, %small; st.local.u64 [%p], %s; ld.local.u64 %s, [%p]; st.global.u64 [%o+24], %s;
  ret;
}
"""


@pytest.mark.parametrize("checks", [(), ("race", "undefined")])
def test_a_function_gives_its_blocks_back(machine, ptxas, checks):
    """Twenty calls would not fit otherwise."""
    ptxas(HEADER + REVERSED)
    out = np.zeros(32, np.uint32)
    machine.run(REVERSED, block=32, entry="k", out=out, n=500, checks=checks)
    assert out.tolist() == [20 * (499 + thread) for thread in range(32)]


def test_blocks_are_below_one_another_and_are_given_back(machine, ptxas):
    ptxas(HEADER + SAVED)
    out = np.zeros(4, np.uint64)
    machine.run(SAVED, block=1, out=out)
    first, second, again, through = out.tolist()
    assert first == 104 and second >= 100 and second - 100 < 64 and again == 0 and through == first


def test_more_than_there_is_is_a_fault(machine):
    with pytest.raises(emulator.Fault, match="(?s)ILLEGAL.*the stack of alloca has 16384 bytes in a function"):
        machine.run(REVERSED, block=32, entry="k", out=np.zeros(32, np.uint32), n=4080)


@pytest.mark.parametrize("text, message", [
    ("alloca.u64 %a, %size, 24;", "a power of 2"),
    ("alloca.u64 %a, %size, 4096;", "aligns to at most 1024 bytes"),
    ("alloca.u64 %p, %size;", "64 are read or written here"),
])  # fmt: skip
def test_bad_operands_are_refused(machine, text, message):
    with pytest.raises((emulator.PtxError, emulator.Unsupported), match=message):
        machine.run(SAVED.replace("stacksave.u64 %s;", text), block=1, out=np.zeros(4, np.uint64))


ALIAS = """
.func (.param .b32 r) three() { .reg .b32 %v; mov.u32 %v, 3; st.param.b32 [r], %v; ret; }
.func (.param .b32 r) other();
.alias other, three;
.global .u64 table[1] = {other};
.visible .entry k(.param .u64 out)
{
  .reg .b32 %v, %w; .reg .b64 %o, %f; ld.param.u64 %o, [out]; ld.global.u64 %f, [table];
  { .param .b32 b; call (b), other, (); ld.param.b32 %v, [b]; }
  { .param .b32 b; P: .callprototype (.param .b32 _) _ (); call (b), %f, (), P; ld.param.b32 %w, [b]; }
  add.u32 %v, %v, %w; st.global.u32 [%o], %v; ret;
}
"""


def test_an_alias_is_another_name_of_a_function(machine):
    out = np.zeros(1, np.uint32)
    machine.run(ALIAS, block=1, entry="k", out=out)
    assert out[0] == 6
    with pytest.raises(emulator.PtxError, match="`four`, which `other` is an alias of, has no body before it"):
        emulator.load(HEADER + ALIAS.replace("other, three", "other, four"))


def test_a_wrong_number_of_operands_is_counted_as_it_is_written():
    with pytest.raises(PtxError, match=r"`alloca` takes 2 or 3 operands, got 1"):
        parsed("alloca.u64 %a;")
    with pytest.raises(PtxError, match=r"`stacksave` takes 1 operand, got 2"):
        parsed("stacksave.u64 %a, %a;")


def parsed(body: str):
    head = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .b64 %a;\n"
    return emulator.load(f"{head}{body} ret; }}")
