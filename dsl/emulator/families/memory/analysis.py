"""Converted addresses as linear functions of the thread: see ir/affine.py."""

from __future__ import annotations

from dsl.emulator.ir import affine


def _address_space(f, instr, kind):
    form = f.of(instr.operands[1], 64, False)
    spaces = {m.split("::")[0] for m in instr.mods}
    if form is None or {"local", "param"} & spaces or ("shared" in spaces and "to" in instr.mods):
        return None
    if "shared" in spaces:
        form = affine.add(f, form, affine.Linear(f.shared_window()), 64, "add")
    return affine.fits(instr, 64, form)


FORMS = {"cvta": _address_space}
