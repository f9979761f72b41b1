"""The instructions of this family: see ir/rows.py. Section numbers are those of the PTX ISA 9.0."""

from __future__ import annotations

from dsl.emulator.families.mbarrier import emit as mbarrier
from dsl.emulator.ir.rows import SHARED, Rows

ROWS = Rows()
_row = ROWS.add

_MBARRIER = "?shared/shared::cta b64"


def _ordered(start: str, order: str, rest: str) -> list[str]:
    """Without an order and a scope, and with both."""
    return [f"{start} {rest}", f"{start} {order} cta/cluster {rest}"]


_row(
    "mbarrier",
    "9.7.13.15",
    [
        f"^init/inval {_MBARRIER} | ^pending_count b64",
        *_ordered("^arrive/arrive_drop ?expect_tx", "release/relaxed", f"?{SHARED} b64"),
        f"^arrive/arrive_drop noComplete {_MBARRIER} | ^arrive/arrive_drop noComplete release cta {_MBARRIER}",
        *_ordered("^expect_tx/complete_tx", "relaxed", f"?{SHARED} b64"),
        *_ordered("^test_wait/try_wait ?parity", "acquire/relaxed", _MBARRIER),
    ],
    mbarrier.barrier,
)

OPERANDS = {(1, 2, 3, 4): "mbarrier"}
