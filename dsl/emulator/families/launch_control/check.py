"""The coordinates of a cluster that was not granted, as undefined values: see check/undefined.cc."""

from __future__ import annotations

from dsl.emulator.check.numbers import undefined
from dsl.emulator.families.launch_control.emit import refused
from dsl.emulator.ir.body import constant
from dsl.emulator.ptx.syntax import Addr, Instr


def _cancel(body, row, instr: Instr) -> None:
    """Compilers ask for the coordinates before they look whether there are any."""
    destination, source = instr.operands
    body.decides(instr, *(each for each in instr.operands if isinstance(each, Addr)))
    row.emit(body, instr)
    if "query_cancel" not in instr.mods:
        return
    mark = body.mark(source)
    if "is_canceled" not in instr.mods:
        number = min(body.site(instr), undefined.MOST_SITES) + 1
        own = constant(number << undefined.SITE_SHIFT | undefined.SHUFFLED, 64)
        mark = body.select(refused(body, source), own, mark, "i64")
    body.put_mark(destination, mark)


MARKS = {"clusterlaunchcontrol": _cancel}
