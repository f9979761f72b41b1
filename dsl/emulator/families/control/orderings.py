"""The order that the instructions of this family make: see check/ordering.py."""

from __future__ import annotations

from dsl.emulator.check.numbers import orders
from dsl.emulator.check.ordering import THREADS, Ordering

ORDERINGS = (
    Ordering(
        names="griddepcontrol.wait",
        orders="what the launch before did, if this one may overlap it, with its thread",
        scope="the thread",
        source="9.7.13.13 griddepcontrol: the grids before have completed, and their memory operations are visible",
        kinds=THREADS | orders.BLOCKS,
    ),
    Ordering(
        names="griddepcontrol.launch_dependents",
        orders="nothing: the next launch may begin",
        source="9.7.13.13 griddepcontrol: dependents may be scheduled once all blocks have issued it or completed",
        differs="kinder: a launch without it ends before the next one begins, which then needs no griddepcontrol.wait",
    ),
    Ordering(
        names="setmaxnreg",
        orders="nothing: it moves registers between warps",
        source="9.7.19.5 setmaxnreg: it waits for lanes and for registers, and gives no order of memory",
        differs="kinder: one that keeps the count needs no barrier after the one before, since Triton writes such",
        kinds=THREADS,
    ),
)
