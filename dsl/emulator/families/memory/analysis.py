"""Converted addresses as linear functions of the thread: see ir/affine.py; atomics whose order nobody sees."""

from __future__ import annotations

from dsl.emulator.ir import affine
from dsl.emulator.ptx.syntax import Instr


def _address_space(f, instr, kind):
    form = f.of(instr.operands[1], 64, False)
    spaces = {m.split("::")[0] for m in instr.mods}
    if form is None or {"local", "param"} & spaces or ("shared" in spaces and "to" in instr.mods):
        return None
    if "shared" in spaces:
        form = affine.add(f, form, affine.Linear(f.shared_window()), 64, "add")
    return affine.fits(instr, 64, form)


_COMMUTING = frozenset({"add", "min", "max", "and", "or", "xor"})
_WHOLE = frozenset({"u32", "s32", "u64", "s64", "b32", "b64"})
_ORDERED = frozenset({"acquire", "release", "acq_rel", "v2", "v4", "v8"})


def _commuting(instr: Instr) -> str | None:
    """The operation of an atomic on integers that may come before or after another of the same operation."""
    mods = {*instr.mods}
    if mods & _ORDERED or not mods & _WHOLE:
        return None
    return next(iter(mods & _COMMUTING), None)


def _in_order(instr: Instr) -> bool:
    """Whether it is a sum of floats, which threads may add to one after another."""
    mods = {*instr.mods}
    return not mods & _ORDERED and "add" in mods and bool(mods & {"f32", "f64"})


ADDS_IN_ORDER = {"atom": _in_order, "red": _in_order}
COMMUTES = {"atom": _commuting, "red": _commuting}
FORMS = {"cvta": _address_space}
