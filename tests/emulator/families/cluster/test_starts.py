"""Signs that another block of the cluster has begun; see also tests/emulator/pairs/clusters.py."""

import pytest

from tests.emulator.diagnosis.cured_programs import Program

PEER = "xor.b32 %r19, %b, 1; mapa.shared::cluster.u32 %r18, %mine, %r19; mapa.shared::cluster.u32 %r17, full, %r19;"
MEET = "barrier.cluster.arrive; barrier.cluster.wait;"
WRITE = f"st.shared::cluster.u32 [%r18], %t; {MEET} ld.shared.u32 %r1, [%mine];"
FLAG = """mul.wide.u32 %d1, %b, 4; add.u64 %d2, %g, %d1; mul.wide.u32 %d1, %r19, 4; add.u64 %d3, %g, %d1;
@%first st.relaxed.gpu.global.u32 [%d2], 1; @!%first bra B;
L: ld.relaxed.gpu.global.u32 %r1, [%d3]; setp.ne.u32 %p, %r1, 1; @%p bra L; B:"""
SHOWN = {
    "a barrier of the cluster": MEET,
    "a relaxed one": "barrier.cluster.arrive.relaxed; barrier.cluster.wait;",
    "one that a thread waited at, and then a barrier of the block":
        "barrier.cluster.arrive.relaxed; barrier.cluster.wait; bar.sync 0;",
    "a flag of the other block, relaxed, and then a barrier of the block": f"{FLAG} bar.sync 0;",
}  # fmt: skip
HIDDEN = {
    "nothing": "",
    "a barrier of the block": "bar.sync 0;",
    "an arrival alone": "barrier.cluster.arrive; bar.sync 0;",
    "a flag that one thread alone reads": FLAG,
    "a flag of the own block": FLAG.replace("ld.relaxed.gpu.global.u32 %r1, [%d3]", "ld.relaxed.gpu.global.u32 %r1, [%d2]"),
}  # fmt: skip


def outcome(body: str, seed: int = 0) -> str | None:
    fault = Program("", "", "", f"{PEER}\n{body}", 64, 2, 2).fault(seed=seed)
    return str(fault) if fault is not None else None


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", SHOWN)
def test_who_knows_that_the_block_has_begun(name, seed):
    assert outcome(f"{SHOWN[name]} {WRITE}", seed) is None


@pytest.mark.parametrize("name", HIDDEN)
def test_who_does_not(name):
    late = WRITE.replace(MEET, f"barrier.cluster.wait; {MEET}") if "arrival" in name else WRITE
    found = outcome(f"{HIDDEN[name]} {late}")
    assert found is not None and "BLOCK_NOT_STARTED" in found


def test_the_text():
    assert (
        outcome(WRITE)
        == """kernel.py:2:1: BLOCK_NOT_STARTED
    writes smem+0x0 of block (1, 0, 0), which may not have begun: nothing shows that it has
    in `k`, thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0)
    PTX line 18: st.shared::cluster.u32 [%r18], %t;
fix: let the blocks meet before the first access to another one's shared memory: barrier.cluster.arrive and .wait \
(cute.arch.cluster_arrive and cluster_wait)"""
    )
