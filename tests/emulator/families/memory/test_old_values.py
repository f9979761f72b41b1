"""Values that a load may still read, in pairs: found in the order that ran, in which the load would see the last one.

Modules tested here: dsl/emulator/families/memory/words.py.
"""

import pytest

from dsl.emulator.faults import Fault
from tests.emulator.diagnosis.cured_programs import Program as P, fix_of

POLL = "S: ld.acquire.cta.shared.u32 %r2, [%s+4096];"
PRODUCE = (
    "@%first st.shared.u32 [%s+4096], 0; bar.sync 0; setp.eq.u32 %q, %w, 3; @%q bra S; st.shared.u32 [%mine], %t; "
    "bar.warp.sync -1; @%lead red.release.cta.shared.add.u32 [%s+4096], 1; bra E;"
)
READS = "ld.shared.u32 %r3, [%mine+-128]; ld.shared.u32 %r4, [%mine+-256]; ld.shared.u32 %r5, [%mine+-384];"
PUBLISH = (
    "setp.ne.u32 %q, %b, 0; @%q bra C; @!%first bra E; st.global.u32 [%g], 7; "
    "st.release.gpu.global.u32 [%g+4096], 1; bra E;"
)
PROGRAMS = [
    P("a count one too low", "race", "wait at line 2 until the value is there that the last of the writers leaves; 2 is there before",
      f"""
        {PRODUCE}
      - {POLL} setp.lt.u32 %p, %r2, 2; @%p bra S;
      + {POLL} setp.lt.u32 %p, %r2, 3; @%p bra S;
        {READS}""", 128),
    P("not zero in place of all", "race", "wait at line 2 until the value is there that the last of the writers leaves; 1 is there before",
      f"""
        {PRODUCE}
      - {POLL} setp.eq.u32 %p, %r2, 0; @%p bra S;
      + {POLL} setp.ne.u32 %p, %r2, 3; @%p bra S;
        {READS}""", 128),
    P("a flag looked at once", "race", "wait at line 2 until the value is there that the last of the writers leaves; 0 is there before",
      f"""
        {PUBLISH}
        C: @!%first bra E; ld.acquire.gpu.global.u32 %r1, [%g+4096];
      + setp.eq.u32 %p, %r1, 0; @%p bra E;
        ld.global.u32 %r2, [%g];""", 32, 2),
    P("a flag polled a hundred times", "race", "wait at line 2 until the value is there that the last of the writers leaves; 0 is there before",
      f"""
        {PUBLISH}
        C: @!%first bra E; mov.u32 %i, 0; S: ld.acquire.gpu.global.u32 %r1, [%g+4096]; setp.ne.u32 %p, %r1, 0; @%p bra D;
      - add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 100; @%p bra S;
      + bra S;
        D: ld.global.u32 %r2, [%g];""", 32, 2),
]  # fmt: skip
# Loads that have to read the last value, though nothing but the order in which threads run shows the others.
RIGHT = {
    "after a barrier": P("", "", "", """
        @!%warp0 bra B; @%first st.release.cta.shared.u32 [%s], 1; B: bar.sync 0;
        ld.acquire.cta.shared.u32 %r1, [%s]; setp.ne.u32 %p, %r1, 1; @%p trap;"""),
    "after another thread has read it": P("", "", "", """
        setp.eq.u32 %q, %w, 1; @%q bra B; setp.eq.u32 %q, %w, 2; @%q bra C; @%first st.relaxed.gpu.global.u32 [%g], 1; bra E;
        B: @!%lead bra E; L: ld.relaxed.gpu.global.u32 %r1, [%g]; setp.eq.u32 %p, %r1, 0; @%p bra L;
        st.release.gpu.global.u32 [%g+64], 1; bra E;
        C: M: ld.acquire.gpu.global.u32 %r1, [%g+64]; setp.eq.u32 %p, %r1, 0; @%p bra M;
        ld.acquire.gpu.global.u32 %r1, [%g]; setp.ne.u32 %p, %r1, 1; @%p trap;""", 96),
    "after its own atomic": P("", "", "", """
        @!%lead bra E; atom.relaxed.gpu.global.add.u32 %r1, [%g], 1; ld.acquire.gpu.global.u32 %r2, [%g];
        setp.le.u32 %p, %r2, %r1; @%p trap;""", 128),
    "store buffering with fence.sc": P("", "", "", """
        @!%lead bra E; shl.b32 %r1, %w, 6; cvt.u64.u32 %d1, %r1; add.u64 %d2, %g, %d1; xor.b32 %r1, %r1, 64;
        cvt.u64.u32 %d1, %r1; add.u64 %d3, %g, %d1;
        st.relaxed.gpu.global.u32 [%d2], 1; fence.sc.gpu; ld.acquire.gpu.global.u32 %r2, [%d3];
        mad.lo.u32 %r3, %w, 4, 0; cvt.u64.u32 %d1, %r3; add.u64 %d1, %g, %d1;
        setp.ne.u32 %p, %w, 1; @%p bra E; setp.eq.u32 %p, %r2, 0; @%p trap;"""),
}  # fmt: skip


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.name)
def test_a_load_reads_each_value_that_it_may_still_read(program, seed):
    fault = program.fault(False, seed)
    assert isinstance(fault, Fault) and fault.kind == "race", str(fault)
    assert fix_of(fault) == program.fix and "may give" in str(fault)
    assert program.fault(True, seed) is None


@pytest.mark.parametrize("name", RIGHT)
def test_a_load_does_not_read_what_it_knows_to_be_overwritten(name):
    assert RIGHT[name].fault() is None
