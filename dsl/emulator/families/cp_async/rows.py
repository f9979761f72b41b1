"""The instructions of this family: see ir/rows.py. Section numbers are from the PTX ISA 9.0."""

from __future__ import annotations

from dsl.emulator.families.cp_async import emit as cp_async
from dsl.emulator.ir.rows import CTA, FETCH, HINT, NONE, Rows
from dsl.emulator.ptx.traits import COPY, MBARRIER

ROWS = Rows()
_row = ROWS.add

_row(
    "cp",
    "9.7.9.25",
    f"^async ca/cg shared/shared::cta >global ?{HINT} ?{FETCH} @80",
    cp_async.copy,
    operands="[] [] n *? u64?",
    traits=COPY,
)
_row("cp", "9.7.9.25", "^async ^commit_group/wait_all @80", cp_async.copy, operands=NONE, traits=COPY)
_row("cp", "9.7.9.25", "^async ^wait_group @80", cp_async.copy, operands="n", traits=COPY)
_row(
    "cp",
    "9.7.13.15.15",
    f"^async ^mbarrier ^arrive ?noinc ?{CTA} b64 @80",
    cp_async.arrive_on,
    operands="[]",
    traits=COPY | MBARRIER,
)

OPERANDS = {}
