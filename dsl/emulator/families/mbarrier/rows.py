"""The instructions of this family: see ir/rows.py. Section numbers are from the PTX ISA 9.0."""

from __future__ import annotations

from dsl.emulator.families.mbarrier import emit as mbarrier
from dsl.emulator.ir.rows import CTA, SHARED, Rows
from dsl.emulator.ptx.traits import ARRIVE, IDLE, INIT, MBARRIER, POLLS, TIMED, WAIT

ROWS = Rows()
_row = ROWS.add

_MBARRIER = f"?{CTA} b64"


def _ordered(start: str, order: str, rest: str) -> list[str]:
    """Without an order and a scope, and with both."""
    return [f"@80 {start} {rest}", f"@80:8.0 {start} {order} cta/cluster@90 {rest}"]


_SECTION = "9.7.13.15"
_WAITS = WAIT | IDLE | POLLS
_PLACES = f"?{CTA}/shared::cluster@90:8.0 b64"
for _forms, _operands, _traits in (
    (f"^init {_MBARRIER} @80", "[] u32", INIT),
    (f"^inval {_MBARRIER} @80", "[]", INIT),
    ("^pending_count b64 @80", "=u32 u64", TIMED),
    (_ordered("^arrive/arrive_drop ?expect_tx@90:8.0", "release/relaxed@90:8.6", _PLACES), "=u64_ [] u32?", ARRIVE),
    (f"^arrive/arrive_drop noComplete {_MBARRIER} @80", "=u64_ [] u32", ARRIVE),
    (f"^arrive/arrive_drop noComplete release cta {_MBARRIER} @80:8.0", "=u64_ [] u32", ARRIVE),
    (_ordered("@90:8.0 ^expect_tx/complete_tx", "relaxed", f"?{SHARED} b64"), "[] u32", 0),
    (_ordered("^test_wait/try_wait@90", "acquire/relaxed@90:8.6", _MBARRIER), "=pred [] u64 u32?", _WAITS),
    (_ordered("^test_wait/try_wait@90 parity@:7.1", "acquire/relaxed@90:8.6", _MBARRIER), "=pred [] u32 u32?", _WAITS),
):
    _row("mbarrier", _SECTION, _forms, mbarrier.barrier, operands=_operands, traits=MBARRIER | _traits)

OPERANDS = {}
