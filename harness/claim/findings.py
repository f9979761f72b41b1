"""The findings of a device's checkers, each a separate outcome: a claim may expect it, a golden holds it.

`outcome = "fault"` is the family: any of them.
"""

from __future__ import annotations

import re

FAULT = "fault"
MEANINGS = {
    "out_of_bounds": "an access outside of every allocation",
    "misaligned": "an access at an address that its width does not divide",
    "illegal": "an instruction whose operands the PTX ISA forbids, such as a lane outside of its mask",
    "invalid_launch": "a launch that no GPU accepts",
    "race": "two accesses of one place, one of them a write, that nothing orders",
    "undefined_read": "a read of memory that nobody wrote, whose value matters",
    "mbarrier_not_initialized": "a use of an mbarrier before its init or after its end",
    "mbarrier_in_use": "an init, an end or data where an mbarrier is in use",
    "barrier_collision": "a named barrier that other warps could have made complete than those that did",
    "mbarrier_lapped": "phases of an mbarrier that nothing orders: one may be missed, or arrivals of two count for one",
    "divergent_barrier": "a barrier or a collective that not all its threads reach together",
}
# A GPU reports no error, or hangs.
RACE = "race"
CHECKED = (
    RACE, "undefined_read", "mbarrier_not_initialized", "mbarrier_in_use", "barrier_collision", "mbarrier_lapped",
    "divergent_barrier",
)  # fmt: skip

SOUGHT = {"race": "race", "undefined": "undefined_read"}  # what a device looks for where it is asked to: the outcome
NOTES_S = 60.0
_SCHEDULES = r"schedules(?:=(\d+(?:\.\d*)?))?\Z"  # compiled when it is used: pytest imports this at every start
_SCHEDULES_S = 10.0  # of a case


class BadChecks(Exception):
    """Text that names no checks."""


def checks(text: str) -> tuple[str, ...]:
    """The checks that a text names: `race,undefined`, `all` or `none`. Raises BadChecks."""
    names = [each.strip() for each in text.split(",")]
    names = ["all" if re.match(_SCHEDULES, each) else each for each in names] if len(names) == 1 else names
    if names == ["all"] or names == ["none"]:
        return tuple(SOUGHT) if names == ["all"] else ()
    for each in names:
        if each not in SOUGHT:
            known = f"all, none, schedules, or some of {', '.join(SOUGHT)}"
            raise BadChecks(f"unknown check `{each}`\nfix: write {known}")
    return tuple(each for each in SOUGHT if each in names)


def orders_s(asked: str | None) -> float:
    """The seconds in which a case is to be run in other orders of its threads; 0: not at all."""
    match = re.match(_SCHEDULES, (asked or "").strip())
    return 0 if match is None else float(match[1] or _SCHEDULES_S)


def sought(asked: str | None, outcome: str, varies: bool) -> str:
    """The checks of a repro: the `asked` ones, else all unless outputs vary; always the check for its outcome."""
    asked_checks = checks(asked) if asked is not None else () if varies else tuple(SOUGHT)
    mine = tuple(each for each, kind in SOUGHT.items() if kind == outcome)
    return ",".join(each for each in SOUGHT if each in (*asked_checks, *mine)) or "none"


def name(outcome: str, kind: object) -> str:
    """The outcome's own name where a device tells the family and the kind."""
    return str(kind) if outcome == FAULT and kind in MEANINGS else outcome


def fits(declared: str, got: str) -> bool:
    """Whether an outcome is the declared one."""
    return declared == got or (declared == FAULT and got in MEANINGS)


def unseen(declared: str, is_hardware: bool) -> str:
    """Why a device cannot show this outcome, or ''."""
    if not is_hardware or declared not in CHECKED:
        return ""
    return f'the claim states `outcome = "{declared}"`, but only a checker sees that: a GPU reports no error'
