"""Plain accesses to a place after atomics on it, and fences, in pairs: a kernel with a race, and the same put right.

PTX ISA 8.9.2 to 8.9.5. The findings do not depend on which block comes last.

Modules tested here: dsl/emulator/check/sc_fences.py, dsl/emulator/dependence/observed.py.
"""

from __future__ import annotations

import pytest

from tests.emulator.check.test_race import EXCHANGE, HEAD, outcome

# The words of {fix}: the wrong one, "|", the right one. %f is a counter or a flag, %g data; 4 blocks of one thread
# unless a row has other numbers.
TICKET = "atom.global.inc.u32 %r1, [%f], 4; setp.eq.u32 %p, %r1, 3;"
LAST_INDEX = "atom.global.inc.u32 %r1, [%f], 4; setp.eq.u32 %p, %b, 3;"
ASK = f"{LAST_INDEX}|{TICKET}"
# One thread of each block takes a ticket, and tells its block by shared memory.
BLOCK_TICKET = """@!%first bra T; atom.global.add.u32 %r1, [%f], 1; setp.eq.u32 %p, %r1, 1; selp.u32 %r2, 1, 0, %p;
  st.shared.u32 [%s], %r2; T: bar.sync 0; ld.shared.u32 %r3, [%s];"""
POLL = "L: {poll} %r2, [%f]; setp.eq.u32 %p, %r2, 0; @%p bra L;"
SPLIT = "setp.ne.u32 %q, %b, 0; @%q bra C; {first} ret; C: {second}"
PAIRS = {
    # ** rule 2: the thread asked who came last
    "the last ticket resets the counter": ("{fix} @%p st.global.u32 [%f], 0;", ASK),
    "the last ticket reads the counter": ("{fix} @%p ld.global.u32 %r2, [%f];", ASK),
    "the last ticket, in a branch": ("{fix} @!%p bra E; add.u32 %r2, %r1, 1; st.global.u32 [%f], %r2;", ASK),
    "the first ticket, or the last": ("atom.global.add.u32 %r1, [%f], 1; setp.eq.u32 %p, %r1, {fix}; "
                                      "@%p st.global.u32 [%f], 0;", "0|3"),
    "a ticket whose result decides something else": (
        "atom.global.add.u32 %r1, [%f], 1; setp.eq.u32 %q, %r1, 3; @%q st.global.u32 [%g], 1; {fix} "
        "@%p st.global.u32 [%f], 0;", "setp.eq.u32 %p, %b, 3;|setp.eq.u32 %p, %r1, 3;"),
    "a ticket from another counter": (
        "red.global.add.u32 [%g], 1; {fix} @%p ld.global.u32 %r2, [%g];",
        "atom.global.add.u32 %r1, [%f], 1; setp.eq.u32 %p, %r1, 3;|fence.acq_rel.gpu; atom.global.add.u32 %r1, [%f], 1; "
        "fence.acq_rel.gpu; setp.eq.u32 %p, %r1, 3;"),
    "an atomic that gives nothing": ("{fix} @%p st.global.u32 [%f], 0;",
                                     f"red.global.add.u32 [%f], 1; setp.eq.u32 %p, %b, 3;|{TICKET}"),
    "tickets in shared memory": (
        "@%first st.shared.u32 [%s], 0; bar.sync 0; atom.shared.add.u32 %r1, [%s], 1; {fix} @%p st.shared.u32 [%s], 0;",
        "setp.eq.u32 %p, %t, 63;|setp.eq.u32 %p, %r1, 63;", 64, 1),
    "a ticket of the block, told by shared memory": (
        BLOCK_TICKET + "setp.eq.u32 %lead, {fix}; @!%lead bra E; setp.eq.u32 %q, %t, 5; @%q st.global.u32 [%f], 0;",
        "%b, 1|%r3, 1", 64, 2),
    "another thread of the block": (
        "@!%first bra T; atom.global.add.u32 %r1, [%f], 1; add.u32 %r2, %r1, 1; st.{store}.cta.shared.u32 [%s], %r2; "
        "T: L: ld.{load}.cta.shared.u32 %r3, [%s]; setp.gt.u32 %p, %r3, 2; @%p bra L; setp.eq.u32 %p, %r3, 2; "
        "setp.eq.and.u32 %p, %t, 33, %p; @%p st.global.u32 [%f], 0;",
        {"store": "relaxed|release", "load": "relaxed|acquire"}, 64, 2),
    "a reset by the last, used by who waits": (
        "atom.global.add.u32 %r1, [%f], 1; setp.ne.u32 %p, %r1, 3; @%p bra W; st.global.u32 [%f], 9; {fix} bra E; "
        "W: L: ld.acquire.gpu.global.u32 %r2, [%f+4]; setp.eq.u32 %p, %r2, 0; @%p bra L; ld.global.u32 %r3, [%f];",
        "st.relaxed.gpu.global.u32 [%f+4], 1;|st.release.gpu.global.u32 [%f+4], 1;"),
    "an atomic of the block's scope": (
        "atom.relaxed.{fix}.global.add.u32 %r1, [%f], 1; setp.eq.u32 %p, %r1, 3; @%p st.global.u32 [%f], 0;", "cta|gpu"),
    "atomics with a store between them": (
        "setp.eq.u32 %p, %b, 2; {fix} atom.global.add.u32 %r1, [%f], 1; setp.ge.u32 %p, %r1, 3; @%p ld.global.u32 %r2, [%f];",
        "@%p st.relaxed.gpu.global.u32 [%f], 2;|"),
    "a value read by a loop of cas": (
        "mov.u32 %r1, 0; L: add.u32 %r2, %r1, 1; atom.global.cas.b32 %r3, [%f], %r1, %r2; setp.ne.u32 %p, %r3, %r1; "
        "mov.u32 %r1, %r3; @%p bra L; setp.eq.u32 %q, {fix}, 3; @%q st.global.u32 [%f], 0;", "%b|%r1"),
    "a flag that its reader takes back": (
        SPLIT.format(first="{fix} [%f], 1;", second=POLL.format(poll="ld.relaxed.gpu.global.u32") +
                     " st.global.u32 [%f], 0;"), "st.global.u32|st.relaxed.gpu.global.u32", 1, 2),
    # ** releases and acquires
    "data under the last ticket": (
        "mul.wide.u32 %d1, %b, 4; add.u64 %d1, %g, %d1; st.global.u32 [%d1], %b; {fix} atom.global.inc.u32 %r1, [%f], 3; "
        "{fix} setp.ne.u32 %p, %r1, 3; @%p bra E; ld.global.v4.u32 {{%r2, %r3, %r4, %r5}}, [%g];", "|membar.gl;"),
    "a fence of the block's scope": (
        "mul.wide.u32 %d1, %b, 4; add.u64 %d1, %g, %d1; st.global.u32 [%d1], %b; {fix} atom.global.inc.u32 %r1, [%f], 3; "
        "{fix} setp.ne.u32 %p, %r1, 3; @%p bra E; ld.global.v4.u32 {{%r2, %r3, %r4, %r5}}, [%g];",
        "membar.cta;|membar.gl;"),
    "a reduction whose last block sums": (
        "mul.lo.u32 %r9, %b, 4; cvt.u64.u32 %d1, %r9; add.u64 %d1, %g, %d1; "
        "@%first st.global.u32 [%d1], 5; @%first membar.gl; {fix} " + BLOCK_TICKET + " setp.eq.u32 %p, %r3, 1; @!%p bra E; @%first membar.gl; "
        "@%first ld.global.v2.u32 {{%r2, %r3}}, [%g]; @%first st.global.u32 [%f], 0;",
        "@%first st.global.u32 [%d1], 6;|", 64, 2),
    "a chain of relaxed atomics": (
        "setp.eq.u32 %p, %b, 0; @!%p bra N; st.global.u32 [%g], 7; atom.release.gpu.global.add.u32 %r1, [%f], 1; bra E; "
        "N: setp.eq.u32 %p, %b, 1; @!%p bra C; L1: ld.relaxed.gpu.global.u32 %r1, [%f]; setp.eq.u32 %p, %r1, 0; @%p bra L1; "
        "{fix} bra E; C: L: ld.relaxed.gpu.global.u32 %r1, [%f]; setp.lt.u32 %p, %r1, 2; @%p bra L; ld.acquire.gpu.global.u32 %r1, [%f]; "
        "ld.global.u32 %r2, [%g];",
        "st.relaxed.gpu.global.u32 [%f], 2;|atom.relaxed.gpu.global.add.u32 %r1, [%f], 1;", 1, 3),
    "a lock of exch": (
        "L: atom.global.exch.b32 %r1, [%f], 1; setp.ne.u32 %p, %r1, 0; @%p bra L; {fix} ld.global.u32 %r2, [%g]; "
        "add.u32 %r2, %r2, 1; st.global.u32 [%g], %r2; {fix} atom.global.exch.b32 %r1, [%f], 0;", "|membar.gl;"),
    "a lock, given back by a plain store": (
        "L: atom.global.cas.b32 %r1, [%f], 0, 1; setp.ne.u32 %p, %r1, 0; @%p bra L; membar.gl; ld.global.u32 %r2, [%g]; "
        "add.u32 %r2, %r2, 1; st.global.u32 [%g], %r2; membar.gl; {fix} [%f], 0;",
        "st.global.u32|st.volatile.global.u32"),
    "a ticket lock": (
        "atom.global.add.u32 %r1, [%f], 1; L: ld.{fix}.gpu.global.u32 %r2, [%f+4]; setp.ne.u32 %p, %r1, %r2; @%p bra L; "
        "ld.global.u32 %r3, [%g]; add.u32 %r3, %r3, 1; st.global.u32 [%g], %r3; add.u32 %r2, %r2, 1; "
        "st.release.gpu.global.u32 [%f+4], %r2;", "relaxed|acquire"),
    "a reduction without a result, then a flag": (
        SPLIT.format(first="st.global.u32 [%g], 7; {fix} red.relaxed.gpu.global.add.u32 [%f], 1;",
                     second=POLL.format(poll="ld.acquire.gpu.global.u32") + " ld.global.u32 %r3, [%g];"),
        "|fence.acq_rel.gpu;", 1, 2),
    "a red that releases": (
        SPLIT.format(first="st.global.u32 [%g], 7; red.{fix}.gpu.global.add.u32 [%f], 1;",
                     second=POLL.format(poll="ld.acquire.gpu.global.u32") + " ld.global.u32 %r3, [%g];"),
        "relaxed|release", 1, 2),
    # ** fence.sc
    "fences without a flag": (
        SPLIT.format(first="st.global.u32 [%g], 7; fence.sc.gpu; {fix}",
                     second="{wait} fence.sc.gpu; ld.global.u32 %r3, [%g];"),
        {"fix": "|st.relaxed.gpu.global.u32 [%f], 1;", "wait": "|" + POLL.format(poll="ld.relaxed.gpu.global.u32")}, 1, 2),
}  # fmt: skip


def texts(name: str) -> tuple[str, str, int, int]:
    """The racy kernel, the right one, threads and blocks."""
    body, fix, *shape = PAIRS[name]
    rows = fix if isinstance(fix, dict) else {"fix": fix}
    threads, blocks = shape or (1, 4)
    racy, right = (
        HEAD + body.format(**{key: row.split("|")[which] for key, row in rows.items()}) + "\nE: D: ret;\n}\n" + EXCHANGE
        for which in (0, -1)
    )
    return racy, right, threads, blocks


@pytest.mark.parametrize("name", PAIRS)
def test_the_racy_one_of_a_pair_is_found(name):
    racy, right, threads, blocks = texts(name)
    for seed in (0, 1, 2):
        none = outcome(right, threads, blocks, seed)
        assert none is None, f"{name}, seed {seed}\n{none}"
        found = outcome(racy, threads, blocks, seed)
        assert found is not None and found.kind == "race", (name, seed)


def test_a_read_shows_which_fence_is_the_earlier():
    """The first block has not seen what the second wrote before its fence.sc: so its own was the earlier."""
    body = SPLIT.format(
        first="st.global.u32 [%g], 7; fence.{fix}; ld.relaxed.gpu.global.u32 %r1, [%f]; setp.eq.u32 %p, %r1, 0; "
        "@%p st.relaxed.gpu.global.u32 [%f+8], 1;",
        second="st.relaxed.gpu.global.u32 [%f], 1; fence.{fix}; ld.relaxed.gpu.global.u32 %r1, [%f+8]; "
        "setp.eq.u32 %p, %r1, 1; @%p ld.global.u32 %r2, [%g];",
    )
    found = {fix: outcome(HEAD + body.replace("{fix}", fix) + "\nE: ret;\n}\n", 1, 2)
             for fix in ("sc.gpu", "sc.sys", "acq_rel.gpu", "sc.cta")}  # fmt: skip
    assert found["sc.gpu"] is found["sc.sys"] is None
    assert found["acq_rel.gpu"].kind == found["sc.cta"].kind == "race"


# Mutual exclusion by fence.sc and relaxed accesses; {fix} is the fence between the own flag and the other flag.
DEKKER = """
  setp.eq.u32 %first, %b, 0; selp.u32 %r5, 0, 4, %first; selp.u32 %r6, 4, 0, %first; mov.u32 %r9, 0;
  cvt.u64.u32 %d1, %r5; add.u64 %d1, %f, %d1; cvt.u64.u32 %d2, %r6; add.u64 %d2, %f, %d2;
A: st.relaxed.gpu.global.u32 [%d1], 1; st.relaxed.gpu.global.u32 [%f+8], %b; fence.sc.gpu;
W: ld.relaxed.gpu.global.u32 %r1, [%d2]; setp.eq.u32 %p, %r1, 0; @%p bra C; ld.relaxed.gpu.global.u32 %r1, [%f+8];
  setp.eq.u32 %p, %r1, %b; @%p bra W;
C: {acquire} ld.global.u32 %r3, [%g]; add.u32 %r3, %r3, 1; st.global.u32 [%g], %r3; {release}
  st.relaxed.gpu.global.u32 [%d1], 0; add.u32 %r9, %r9, 1; setp.lt.u32 %p, %r9, 3; @%p bra A;
"""


@pytest.mark.parametrize("fence", ["fence.sc.gpu;", "fence.acq_rel.gpu;", "membar.gl;"])
def test_petersons_lock(fence):
    """The waits need an acquire, the end a release; fence.sc alone orders the flags."""
    for acquire, release, races in ((fence, fence, False), ("", fence, True), (fence, "", True)):
        text = HEAD + DEKKER.format(acquire=acquire, release=release) + "\nE: ret;\n}\n"
        for seed in (0, 1, 2):
            found = outcome(text, 1, 2, seed)
            assert (found is not None) == races, (acquire, release, seed, str(found))
