"""The instructions of this family: see ir/rows.py. Section numbers are those of the PTX ISA 9.0."""

from __future__ import annotations

from dsl.emulator.families.barrier import emit as barrier
from dsl.emulator.ir.rows import Rows

ROWS = Rows()
_row = ROWS.add

_row(
    "barrier",
    "9.7.13.1",
    "^?cta@:7.8 sync/arrive ?aligned | ^?cta@:7.8 ^red popc ?aligned u32 | ^?cta@:7.8 ^red and/or ?aligned pred",
    barrier.barrier,
    meets=True,
)
_row(
    "bar",
    "9.7.13.1",
    "^?cta@:7.8 ^sync/arrive | ^?cta@:7.8 ^red popc u32 | ^?cta@:7.8 ^red and/or pred",
    barrier.barrier,
    meets=True,
)
_row("bar", "9.7.13.2", "^warp ^sync", barrier.barrier, meets=True)

OPERANDS = {(0, 1, 2, 3, 4): "bar barrier"}
