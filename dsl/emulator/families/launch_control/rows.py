"""The instructions of this family: see ir/rows.py. Section numbers are from the PTX ISA 9.0."""

from __future__ import annotations

from dsl.emulator.families.launch_control import emit as launch_control
from dsl.emulator.ir.rows import Rows
from dsl.emulator.ptx.traits import BULK, CLUSTER, TIMED

ROWS = Rows()
_row = ROWS.add

_row(
    "clusterlaunchcontrol",
    "9.7.13.17",
    "^try_cancel async ?shared::cta mbarrier::complete_tx::bytes ?multicast::cluster::all@100a+ b128 @100:8.6",
    launch_control.try_cancel,
    meets=True,
    operands="[] []",
    traits=BULK | CLUSTER | TIMED,
)
_row(
    "clusterlaunchcontrol",
    "9.7.13.18",
    "^query_cancel ^is_canceled pred >b128 @100:8.6",
    launch_control.is_canceled,
    operands="=pred b128",
)
_row(
    "clusterlaunchcontrol",
    "9.7.13.18",
    "^query_cancel ^get_first_ctaid v4 b32 >b128 @100:8.6",
    launch_control.first_block,
    operands="={4}b32_ b128",
)
_row(
    "clusterlaunchcontrol",
    "9.7.13.18",
    "^query_cancel ^get_first_ctaid::x/get_first_ctaid::y/get_first_ctaid::z b32 >b128 @100:8.6",
    launch_control.first_block,
    operands="=b32 b128",
)

OPERANDS = {}
