"""Phases of an mbarrier that nothing orders, in pairs: found in the order that ran, in which nothing goes wrong."""

import numpy as np
import pytest

from dsl import emulator

HEAD = """
.visible .entry k(.param .u64 out)
{
  .shared .align 8 .b64 full; .shared .align 8 .b64 empty;
  .reg .b32 %t, %w, %i, %ph, %n; .reg .b64 %g; .reg .pred %p, %q, %lead, %one, %first;
  mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; and.b32 %n, %t, 31; setp.eq.u32 %lead, %n, 0; setp.eq.u32 %one, %w, 0;
  setp.eq.u32 %first, %t, 0; mov.u32 %i, 0;
  @%first mbarrier.init.shared.b64 [full], {full}; @%first mbarrier.init.shared.b64 [empty], {empty}; bar.sync 0;
"""
WAIT = "{0}: mbarrier.try_wait.parity.shared.b64 %q, [{1}], %ph; @!%q bra {0};"
# Warp 0 fills four times, warps 1 and 2 empty: {{gives}} is how they give the slot back.
RING = f"""
  @!%one bra C; @!%lead bra E;
P: setp.eq.u32 %p, %i, 0; @%p bra GO; sub.u32 %ph, %i, 1; and.b32 %ph, %ph, 1; {WAIT.format("WE", "empty")}
GO: mbarrier.arrive.shared.b64 _, [full]; add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 4; @%q bra P; bra E;
C: and.b32 %ph, %i, 1; {WAIT.format("WF", "full")}
  {{gives}}
  add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 4; @%q bra C;
E:
"""
GIVE = "mbarrier.arrive.shared.b64 _, [empty];"
# name: wrong and right {gives} with the count of `empty`, what the text has
RINGS = {
    "a warp gives back for another": (
        (f"setp.eq.u32 %q, %t, 32; @%q {GIVE}", 1), (f"bar.warp.sync -1; @%lead {GIVE}", 2), "ends a phase of the mbarrier at smem+0x0"),
    "a warp gives back for another, after a barrier of both": (
        (f"setp.eq.u32 %q, %t, 32; @%q {GIVE}", 1), (f"bar.sync 1, 64; setp.eq.u32 %q, %t, 32; @%q {GIVE}", 1), "misses its phase"),
    "a warp gives back twice": (
        (f"setp.eq.u32 %q, %t, 32; @%q {GIVE} @%q {GIVE}", 2), (f"bar.warp.sync -1; @%lead {GIVE}", 2), "ends a phase"),
}  # fmt: skip
# Warp 0 fills once, warp 1 gives back, relaxed, after {}.
ONCE = f"""
  @%one bra P; {{}} @%lead mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [empty]; bra E;
P: mov.u32 %ph, 1; {WAIT.format("WE", "empty")} bar.warp.sync -1; @%lead mbarrier.arrive.shared.b64 _, [full];
E:
"""
# Both warps arrive twice at an mbarrier of 2; {} orders the two phases.
TWICE = "@%lead mbarrier.arrive.shared.b64 _, [full]; {} @%lead mbarrier.arrive.shared.b64 _, [full];"


def outcome(machine, body: str, full: int, empty: int, block: int, seed: int) -> emulator.Fault | None:
    text = HEAD.replace("{full}", str(full)).replace("{empty}", str(empty)) + body
    try:
        machine.run(text + "\nret;\n}\n", grid=1, block=block, seed=seed, checks=("race",), out=np.zeros(4, np.uint32))
    except emulator.Fault as fault:
        return fault
    return None


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", RINGS)
def test_a_wait_that_may_miss_its_phase(machine, name, seed):
    (gives, count), (right, its_count), text = RINGS[name]
    fault = outcome(machine, RING.replace("{gives}", gives), 1, count, 96, seed)
    assert fault is not None and fault.kind in ("mbarrier_lapped", "deadlock"), str(fault)
    assert seed or (fault.kind == "mbarrier_lapped" and text in str(fault)), str(fault)
    fault = outcome(machine, RING.replace("{gives}", right), 1, its_count, 96, seed)
    assert fault is None, str(fault)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_relaxed_arrival_comes_after_the_wait_of_its_thread(machine, seed):
    fault = outcome(machine, ONCE.replace("{}", ""), 1, 1, 64, seed)
    assert fault is not None and fault.kind in ("mbarrier_lapped", "deadlock"), str(fault)
    fault = outcome(machine, ONCE.replace("{}", f"mov.u32 %ph, 0; {WAIT.format('WF', 'full')}"), 1, 1, 64, seed)
    assert fault is None, str(fault)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_arrivals_of_two_phases(machine, seed):
    wait = f"mov.u32 %ph, 0; {WAIT.format('W', 'full')} bar.warp.sync -1;"
    fault = outcome(machine, TWICE.replace("{}", ""), 2, 1, 64, seed)
    assert fault is not None and fault.kind == "mbarrier_lapped", str(fault)
    assert "in another order both count for one phase" in str(fault)
    assert "\nfix: let this thread wait for the end of the phase before (`mbarrier.try_wait`)" in str(fault)
    for order in (wait, "bar.sync 0;"):
        fault = outcome(machine, TWICE.replace("{}", order), 2, 1, 64, seed)
        assert fault is None, str(fault)


# One warp ends two phases, the other waits for the second; {} orders that wait after the first.
SECOND = """
  setp.ne.u32 %p, %t, 32; @%p bra F; {} mov.u32 %ph, 1; WAIT2 bra E;
F: @!%lead bra E; mbarrier.arrive.shared.b64 _, [full]; FIRST mbarrier.arrive.shared.b64 _, [full]; E:
""".replace("WAIT2", WAIT.format("W2", "full"))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_wait_that_may_find_the_phase_before_the_one_before(machine, seed):
    body = SECOND.replace("@!%lead bra E;", "setp.ne.u32 %q, %t, 0; @%q bra E;").replace("FIRST", "")
    fault = outcome(machine, body.replace("{}", ""), 1, 1, 64, seed)
    assert fault is not None and fault.kind == "mbarrier_lapped", str(fault)
    assert seed or "the same parity, and goes on at once" in str(fault), str(fault)
    assert seed or "\nfix: let this thread wait for the end of the phase before" in str(fault)
    first = "mov.u32 %ph, 0; " + WAIT.format("W1", "full")
    give = f"mov.u32 %ph, 0; {WAIT.format('W0', 'empty')}"
    right = body.replace("{}", f"{first} mbarrier.arrive.shared.b64 _, [empty];")
    right = right.replace(
        "mbarrier.arrive.shared.b64 _, [full];  mb", f"mbarrier.arrive.shared.b64 _, [full]; {give} mb"
    )
    assert give in right
    fault = outcome(machine, right, 1, 1, 64, seed)
    assert fault is None, str(fault)
