"""Special registers for the place and time at which a thread runs.  PTX ISA: Special Registers."""

from __future__ import annotations

from typing import Any

from dsl.core.number.dtypes import Int32, Int64, Uint32
from dsl.gpu import inline


def _register(name: str, dtype: type, text: str) -> Any:
    letter, kind = ("l", "u64") if dtype.width == 64 else ("r", "u32")

    def read():
        return inline.ptx(f"mov.{kind} $0, %{name};", dtype, f"={letter}")

    read.__doc__, read.__name__ = text, name
    return read


lanemask_eq = _register("lanemask_eq", Uint32, "The bit of this lane.")
lanemask_lt = _register("lanemask_lt", Uint32, "The bits of the lanes before this one.")
lanemask_le = _register("lanemask_le", Uint32, "The bits of this lane and those before.")
lanemask_gt = _register("lanemask_gt", Uint32, "The bits of the lanes after this one.")
lanemask_ge = _register("lanemask_ge", Uint32, "The bits of this lane and those after.")
clock = _register("clock", Int32, "The lower half of the cycle counter.")
clock64 = _register("clock64", Int64, "The cycle counter.")
globaltimer = _register("globaltimer", Int64, "Nanoseconds.")
globaltimer_lo = _register("globaltimer_lo", Int32, "The lower half of the nanoseconds.")
smid = _register("smid", Int32, "The multiprocessor this thread runs on.")
nsmid = _register("nsmid", Int32, "The bound of multiprocessor numbers.")
gridid = _register("gridid", Int32, "The number of this launch.")
physical_warp_id = _register("warpid", Int32, "The slot of this warp on its multiprocessor.")
nwarpid = _register("nwarpid", Int32, "The bound of warp slots.")


def warpsize() -> Int32:
    """Lanes of a warp."""
    return Int32(32)


def activemask() -> Uint32:
    """The lanes that execute this instruction together.  PTX ISA: activemask."""
    return inline.ptx("activemask.b32 $0;", Uint32, "=r")
