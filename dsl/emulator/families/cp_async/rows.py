"""The instructions of this family: see ir/rows.py. Section numbers are those of the PTX ISA 9.0."""

from __future__ import annotations

from dsl.emulator.families.cp_async import emit as cp_async
from dsl.emulator.ir.rows import FETCH, Rows

ROWS = Rows()
_row = ROWS.add

_row(
    "cp",
    "9.7.9.25",
    (f"^async ca/cg shared/shared::cta >global ?L2::cache_hint ?{FETCH}", "^async ^commit_group/wait_group/wait_all"),
    cp_async.copy,
)
_row("cp", "9.7.13.15.17", "^async ^mbarrier ^arrive ?noinc ?shared/shared::cta b64", cp_async.arrive_on)

OPERANDS = {}
