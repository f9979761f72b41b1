"""Ways on from a wait that gives false, by the text of a function. PTX ISA 9.7.13.15.16."""

import pytest

from dsl.emulator.families.mbarrier.retries import goes_on
from dsl.emulator.families.table import prepare
from dsl.emulator.ptx.parse import parse
from dsl.emulator.ptx.traits import WAIT

HEAD = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p, %q; .reg .b32 %r<9>; .reg .b64 %d; .shared .align 8 .b64 bar; .shared .b32 s[4];
"""
TRY = "mbarrier.try_wait.parity.shared.b64 %p, [bar], 0;"
READ = "ld.shared.u32 %r1, [s];"
# name: (the body, whether its first wait goes on)
WAYS = {
    "no branch": (f"{TRY} {READ}", True),
    "a loop": (f"L: {TRY} @!%p bra L; {READ}", False),
    "a loop with an exit in its middle": (f"L: {TRY} @%p bra D; bra L; D: {READ}", False),
    "a loop that sleeps": (f"L: {TRY} @%p bra D; nanosleep.u32 20; bra L; D: {READ}", False),
    "a loop of nine rounds": (
        f"L: {TRY} add.u32 %r2, %r2, 1; setp.lt.u32 %q, %r2, 9; @%p bra D; @%q bra L; D: {READ}", True),
    "a loop of nine rounds that traps": (
        f"L: {TRY} add.u32 %r2, %r2, 1; setp.lt.u32 %q, %r2, 9; @%p bra D; @%q bra L; trap; D: {READ}", False),
    "the answer in a register": (f"L: {TRY} selp.b32 %r3, 1, 0, %p; setp.eq.s32 %q, %r3, 0; @%q bra L; {READ}", False),
    "the answer with another": (f"L: {TRY} not.pred %p, %p; and.pred %q, %q, %p; @%q bra L; {READ}", True),
    "a trap after it": (f"L: {TRY} not.pred %p, %p; and.pred %q, %q, %p; @%q bra L; @%p trap; {READ}", False),
    "a look and then a loop": (f"{TRY} @%p bra D; L: {TRY} @!%p bra L; D: {READ}", False),
    "a look and then another": (f"{TRY} @%p bra D; {TRY} D: {READ}", True),
    "a look kept in a register, then a loop": (
        f"{TRY} selp.b32 %r3, 1, 0, %p; setp.ne.s32 %q, %r3, 0; @%q bra D; L: {TRY} @!%p bra L; D: {READ}", False),
    "the access only if it is true": (f"{TRY} @!%p bra D; {READ} D: ret;", False),
    "a guard of the access": (f"{TRY} @%p {READ}", False),
    "the wrong way round": (f"{TRY} @%p bra D; {READ} D: ret;", True),
    "an arrival is not an access": (f"{TRY} mbarrier.arrive.shared.b64 _, [bar];", False),
}  # fmt: skip


@pytest.mark.parametrize("name", WAYS)
def test_whether_a_wait_goes_on(name):
    body, expected = WAYS[name]
    module = parse(HEAD + body + "\nret;\n}\n")
    prepare(module)
    function = module.functions["k"]
    first = next(each for each in function.items if getattr(each, "traits", 0) & WAIT)
    assert goes_on(function, first) is expected
