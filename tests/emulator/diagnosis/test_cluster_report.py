"""Reports on blocks of a cluster that wait for ever, and on memory of a block that has ended.

Modules tested here: dsl/emulator/families/cluster/words.py.
"""

from __future__ import annotations

import pytest

from dsl import emulator

MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
HEAD = """
.visible .entry k()
{
  .shared .align 8 .b64 bar; .shared .align 8 .b32 box[2];
  .reg .b32 %t, %a, %b, %r, %v; .reg .b64 %g; .reg .pred %p, %q;
  mov.u32 %t, %tid.x; mov.u32 %r, %cluster_ctarank; mov.u32 %b, bar; mov.u32 %a, box; setp.eq.u32 %p, %t, 0;
  @%p mbarrier.init.shared.b64 [%b], 1; setp.eq.u32 %q, %r, 0; MEET
""".replace("MEET", MEET)
WAIT = "W: mbarrier.try_wait.parity.shared::cta.b64 %p, [%b], 0; @!%p bra W;\n"


def fault(machine, body: str, seed: int = 0) -> emulator.Fault:
    with pytest.raises(emulator.Fault) as caught:
        machine.run(HEAD + body + "\nret;\n}", grid=2, block=64, cluster=(2, 1, 1), seed=seed)
    return caught.value


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_block_waits_at_an_mbarrier_and_the_other_for_it(machine, seed):
    error = fault(machine, f"@%q bra end;\n{WAIT}end: {MEET}", seed)
    assert error.kind == "deadlock" and error.block == (0, 0, 0)
    assert (
        str(error)
        == """DEADLOCK
    no thread can continue in the cluster of block (0, 0, 0) of `k`
    block (0, 0, 0):
        warps 0-1 wait at `barrier.cluster.wait.aligned;`, PTX line 13
            for warps 0-1 of block (1, 0, 0) to arrive at the cluster's barrier
    block (1, 0, 0):
        warps 0-1 wait at `mbarrier.try_wait.parity.shared::cta.b64 %p, [%b], 0;`, PTX line 12
            for the phase of parity 0 of the mbarrier at smem+0x0 to end: 0 of 1 arrivals have come,
            and no thread arrives at the mbarrier any more
fix: arrive at the mbarrier smem+0x0 once (mbarrier.arrive), as its mbarrier.init requires, or do not wait at PTX line 12"""
    )


def test_one_block_waits_and_the_other_has_exited(machine):
    error = fault(machine, f"@%q exit;\n{WAIT}")
    assert (
        str(error)
        == """DEADLOCK
    no thread can continue in the cluster of block (1, 0, 0) of `k`
    block (1, 0, 0):
        warps 0-1 wait at `mbarrier.try_wait.parity.shared::cta.b64 %p, [%b], 0;`, PTX line 12
            for the phase of parity 0 of the mbarrier at smem+0x0 to end: 0 of 1 arrivals have come,
            and no thread arrives at the mbarrier any more
    block (0, 0, 0) has exited
fix: arrive at the mbarrier smem+0x0 once (mbarrier.arrive), as its mbarrier.init requires, or do not wait at PTX line 12"""
    )


READS = [
    "@%q exit; mapa.shared::cluster.u32 %v, %a, 0; ld.shared::cluster.u32 %v, [%v];",
    "@%q exit; cvt.u64.u32 %g, %a; cvta.shared.u64 %g, %g; mapa.u64 %g, %g, 0; ld.u32 %v, [%g];",
]


@pytest.mark.parametrize("body", READS)
@pytest.mark.parametrize("seed", [0, 3])
def test_memory_of_a_block_that_has_exited(machine, body, seed):
    """By an address in shared::cluster and by a generic one, also if it was read before."""
    error = fault(machine, body.replace("@%q exit;", f"{body.split(';', 1)[1]}\n@%q exit; {MEET}"), seed)
    assert error.kind == "exited_block"
    assert str(error).splitlines()[:2] == [
        "EXITED_BLOCK", "    read of 4 bytes at smem+0x8 of block (0, 0, 0), which has exited"]  # fmt: skip
    assert str(error).splitlines()[-1] == (
        "fix: let no block end before the others have made their last access to its shared memory: "
        "barrier.cluster.arrive and .wait at the end of the kernel (cute.arch.cluster_arrive and cluster_wait)"
    )


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("wrong, right, message", [
    ("barrier.cluster.arrive;\nbarrier.cluster.arrive; barrier.cluster.wait;",
     "barrier.cluster.arrive; barrier.cluster.wait; barrier.cluster.arrive; barrier.cluster.wait;",
     "the thread arrives at the cluster's barrier again, and has not waited since it arrived there last"),
    ("barrier.cluster.arrive; barrier.cluster.wait;\nbarrier.cluster.wait;", "barrier.cluster.arrive; barrier.cluster.wait;",
     "the thread waits at the cluster's barrier, and has not arrived there since it waited last"),
    ("@!%q barrier.cluster.wait;", "@!%q barrier.cluster.arrive; @!%q barrier.cluster.wait; @%q exit;",
     "the thread waits at the cluster's barrier, and has not arrived there since it waited last"),
])  # fmt: skip
def test_arrivals_and_waits_go_together(machine, wrong, right, message, seed):
    error = fault(machine, wrong, seed)
    assert error.kind == "illegal" and str(error).splitlines()[1] == f"    {message}"
    machine.run(HEAD + right + "\nret;\n}", grid=2, block=64, cluster=(2, 1, 1), seed=seed)


def test_a_block_that_polls_for_what_nobody_writes(machine):
    """The other one has exited; no thread does more than poll memory."""
    body = "st.shared.u32 [%a], %r;\nP: ld.volatile.shared.u32 %v, [%a]; setp.ne.u32 %p, %v, 7; @!%q bra X; exit;\nX: @%p bra P;"
    error = fault(machine, body)
    assert error.kind == "deadlock" and error.block == (1, 0, 0)
    assert "for memory to change, but every thread that runs only waits" in str(error)
    assert str(error).endswith("block (0, 0, 0) has exited")
