"""The instructions of this family: see ir/rows.py. Section numbers are from the PTX ISA 9.0."""

from __future__ import annotations

from dsl.emulator.families.cluster import emit as cluster
from dsl.emulator.ir.rows import NONE, Rows
from dsl.emulator.ptx.traits import BARRIER, CLUSTER, IDLE, NO_RESULT, REPEATS

ROWS = Rows()
_row = ROWS.add

_row("mapa", "9.7.9.23", "?shared::cluster u32/u64 @90", cluster.map_address, traits=CLUSTER | IDLE)
_row("getctarank", "9.7.9.24", "?shared::cluster u32/u64 @90", cluster.rank_of, traits=CLUSTER)
_row(
    "barrier",
    "9.7.13.3",
    "^cluster@90 ^arrive ?release@:8.0/relaxed@:8.0 ?aligned | ^cluster@90 ^wait ?acquire@:8.0 ?aligned",
    cluster.barrier,
    meets=True,
    operands=NONE,
    traits=BARRIER | CLUSTER | IDLE | NO_RESULT | REPEATS,
)

OPERANDS = {"=u32 1": "getctarank", "=1 1 u32": "mapa"}
