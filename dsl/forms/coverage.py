"""Which rows of the emulator's instruction table the forms run."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from dsl.emulator.families import table as isa
from dsl.emulator.ptx.parse import parse
from dsl.emulator.ptx.syntax import Instr
from dsl.forms import table
from dsl.forms.form import Form

# Instructions without a form: no value that a kernel stores shows what they did, or their result is the machine's own.
WITHOUT = {
    "brkpt": "it ends the program; repros have traps",
    "trap": "it ends the program; repros have traps",
    "activemask": "its result is open",
    "setmaxnreg": "it needs a limit of registers that a launch names",
    "tensormap": "what it writes is the driver's own form of a map",
    "fence": "fence.proxy.tensormap acquires a map, which is the driver's own form",
    "multimem": "it needs an address of a multicast object, of which one GPU alone has none",
    "createpolicy": "createpolicy.cvt gives a value that only caches understand",
    "mbarrier": "arrive.noComplete.release.cta is arrive.noComplete with its defaults written out",
}


def own_instructions(form: Form) -> list[Instr]:
    """The instructions of a form's kernel with the opcode that it is named by: it, and those that belong to it."""
    opcode = form.name.partition(".")[0]
    items = (each for function in parse(form.ptx).functions.values() for each in function.items)
    return [each for each in items if isinstance(each, Instr) and each.opcode == opcode]


def forms_by_row(forms: Iterable[Form]) -> dict[int, list[str]]:
    """id of a row of isa.ROWS -> the names of the forms that are of it."""
    rows: dict[int, list[str]] = {}
    for form in forms:
        for row in {id(row) for each in own_instructions(form) if (row := isa.find(each))}:
            rows.setdefault(row, []).append(form.name)
    return rows


@functools.cache
def every_form_by_row() -> dict[int, list[str]]:
    """The same for all forms."""
    return forms_by_row(table.forms())
