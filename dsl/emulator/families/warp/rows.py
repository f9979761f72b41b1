"""The instructions of this family: see ir/rows.py. Section numbers are from the PTX ISA 9.0."""

from __future__ import annotations

from dsl.emulator.families.warp import emit as warp
from dsl.emulator.ir.rows import LOGIC, Rows
from dsl.emulator.ptx.traits import EXCHANGE, IDLE, REPEATS, TIMED

ROWS = Rows()
_row = ROWS.add

_STEADY = EXCHANGE | IDLE | REPEATS
_row("shfl", "9.7.9.6", "sync up/down/bfly/idx b32", warp.shuffle, meets=True, traits=_STEADY)
_row("vote", "9.7.13.9", "sync all/any/uni pred | sync ballot b32", warp.vote, meets=True, traits=_STEADY)
_row("match", "9.7.13.10", "any/all sync b32/b64", warp.match, meets=True, traits=_STEADY)
_row("activemask", "9.7.13.11", "b32", warp.active_mask, meets=True, traits=IDLE | REPEATS | TIMED)
_row(
    "redux",
    "9.7.13.12",
    f"sync add/min/max u32/s32 @80 | sync {LOGIC} b32 @80 | sync min/max ?abs ?NaN f32 @100f:8.6",
    warp.reduce,
    meets=True,
    traits=EXCHANGE | IDLE,
)
_row("elect", "9.7.13.14", "sync @90:8.0", warp.elect, meets=True, traits=_STEADY)

OPERANDS = {
    "=u32": "activemask",
    "* u32": "elect",
    "=u32 1 u32": "match",
    "=1 1 u32": "redux",
    "* pred u32?": "vote",
    "=1 1 b32 b32 u32?": "shfl",
}
