"""The log of mbarriers: only those that the block has made, each with who waited and arrived in this phase.

Modules tested here: dsl/emulator/families/mbarrier/kept.py.
"""

import pytest

from dsl import emulator
from dsl.emulator.families.mbarrier import log as mbarrier_log

HEAD = """
.visible .entry k()
{
  .shared .align 8 .b64 bars[2]; .reg .b32 %t, %b; .reg .b64 %q; .reg .pred %p, %first;
  mov.u32 %t, %tid.x; mov.u32 %b, bars; setp.eq.u32 %first, %t, 0;
  @%first mbarrier.init.shared.b64 [%b+8], 64; bar.sync 0;
"""


def noted(machine, monkeypatch, body: str) -> dict[int, dict[str, int]]:
    """The log of mbarriers when the deadlock of the body is reported."""
    seen: list[dict] = []
    entries = mbarrier_log.entries
    monkeypatch.setattr(mbarrier_log, "entries", lambda ctx: seen.append(entries(ctx)) or seen[-1])
    with pytest.raises(emulator.Fault, match="DEADLOCK"):
        machine.run(HEAD + body + "\nret;\n}\n", grid=1, block=64)
    return seen[0]


WAIT = "W: mbarrier.try_wait.parity.shared.b64 %p, [%b+8], {}; @!%p bra W;"
ARRIVE = "mbarrier.arrive.shared.b64 %q, [%b+8];"


def test_only_what_was_made_is_noted(machine, monkeypatch):
    table = noted(machine, monkeypatch, WAIT.format(0))
    assert list(table) == [8]
    assert (table[8]["waiters"], table[8]["arrivers"], table[8]["ended"], table[8]["passed_new"]) == (3, 0, 0, 0)


def test_arrivals_are_counted_by_phase(machine, monkeypatch):
    body = f"{ARRIVE} {WAIT.format(0)} setp.ge.u32 %p, %t, 32; @%p {ARRIVE} {WAIT.format(1).replace('W', 'V')}"
    table = noted(machine, monkeypatch, body)
    assert (table[8]["arrivers"], table[8]["now"], table[8]["parity"], table[8]["ended"]) == (3, 2, 1, 1)


def test_a_wait_that_passes_a_new_mbarrier_is_noted(machine, monkeypatch):
    table = noted(machine, monkeypatch, f"{WAIT.format(1)} {WAIT.format(0).replace('W', 'V')}")
    assert (table[8]["passed_new"], table[8]["expected"], table[8]["copy_site"]) == (1, 0, 0)
