"""Places in memory that threads hand over by an mbarrier, too early or too late: a producer and a consumer, or a ring.

Who is done with a place arrives, and who takes it waits first. An arrival before the access, or a wait after it, orders
nothing. Taken from what both threads of a race did last (check/trail.py).
"""

from __future__ import annotations

from dsl.emulator.check import trail
from dsl.emulator.check.trail import Row
from dsl.emulator.diagnosis.edits import propose
from dsl.emulator.diagnosis.edits.edit import Fix
from dsl.emulator.ptx.syntax import Instr
from dsl.emulator.ptx.traits import ARRIVE, BARRIER, MBARRIER, WAIT


def fix(between) -> Fix | None:
    """The fix of an arrival that comes before an access of a race, of a wait that comes after one, or of a wait for a
    phase that has ended; None of other races."""
    sides = (between.first, between.second), (between.second, between.first)
    rules = (_early, _late, _stale)
    found = (rule(between, *each) for each in sides for rule in rules)
    return next(filter(None, (_arrived(between), *found)), None)


def _arrived(between) -> Fix | None:
    """An mbarrier that the first arrives at after its access and the second waits at before its own."""
    waits = [row for row in between.second.passed if between.sites[row.site].traits & WAIT]
    if not waits:
        return None
    wait = waits[-1]
    for row in between.first.passed:
        instr = between.sites[row.site]
        if not instr.traits & ARRIVE or row.value != wait.value & trail.ADDRESS_MASK:
            continue
        at, there = between.place(row), between.place(wait)
        if "relaxed" in instr.mods:
            return Fix(
                f"make the arrival at {at} a release: .relaxed orders no memory",
                propose.change(between.launch, "a release", instr),
            )
        parity = 1 - (wait.value >> trail.PARITY & 1)
        return Fix(
            f"wait for parity {parity} at {there}: the phase that it waited for had ended before the arrival at {at}"
        )
    return None


def _early(between, one, other) -> Fix | None:
    """`one` arrives at the mbarrier that `other` waits at, and only then makes its access."""
    arrival, wait = _last_step(between, one.before), _last_step(between, other.before)
    if arrival is None or wait is None:
        return None
    its, theirs = between.sites[arrival.site], between.sites[wait.site]
    if not its.traits & ARRIVE or not theirs.traits & WAIT or arrival.value != wait.value & trail.ADDRESS_MASK:
        return None
    line = between.place(one.row)
    if _accesses(between, one, one.before[one.before.index(arrival) :]):
        return None  # it arrived for an access before this one
    return Fix(f"arrive at the mbarrier after {line}: {between.place(arrival)} arrives before it")


def _late(between, one, other) -> Fix | None:
    """`one` has arrived for its last place, makes its access, and only then waits for the place to be free."""
    before, after = _last_step(between, one.before), _first_step(between, one.after)
    if before is None or after is None or _last_step(between, other.before) is None:
        return None
    if not between.sites[before.site].traits & ARRIVE or not between.sites[after.site].traits & WAIT:
        return None
    if not _accesses(between, one, one.before):
        return None
    mine, line = between.place(one.row), between.place(after)
    return Fix(
        f"move the wait at {line} before {mine}: who touches this place arrives at that mbarrier when it is done"
    )


def _stale(between, one, other) -> Fix | None:
    """`one` arrives after each of its accesses, and `other` waits twice for the same phase."""
    wait = _last_step(between, other.before)
    if wait is None or not between.sites[wait.site].traits & WAIT:
        return None
    arrivals = [row for row in one.before if between.sites[row.site].traits & ARRIVE
                and row.value == wait.value & trail.ADDRESS_MASK]  # fmt: skip
    earlier = [n for n, row in enumerate(other.before[: other.before.index(wait)]) if row.value == wait.value
               and between.sites[row.site].traits & WAIT]  # fmt: skip
    if not arrivals or not earlier or not _accesses(between, other, other.before[earlier[-1] :]):
        return None
    parity = wait.value >> trail.PARITY & 1
    return Fix(
        f"wait for parity {1 - parity} at {between.place(wait)} in this round: the phase of parity {parity} is the one "
        "that it waited for in the round before"
    )


def _accesses(between, side, rows: list[Row]) -> bool:
    """Whether a side makes its access in some rows too, in another round."""
    line = between.place(side.row)
    return any(between.place(row) == line and between.sites[row.site].name == side.instr.name for row in rows)


def _last_step(between, rows: list[Row]) -> Row | None:
    """The last arrival or wait at an mbarrier, if no barrier of the block comes after it."""
    return next((row for row in reversed(rows) if _is_step(between.sites[row.site])), None)


def _first_step(between, rows: list[Row]) -> Row | None:
    return next((row for row in rows if _is_step(between.sites[row.site])), None)


def _is_step(instr: Instr) -> bool:
    is_block = instr.traits & BARRIER and not instr.traits & MBARRIER and "warp" not in instr.mods
    return bool(is_block or (instr.traits & MBARRIER and instr.traits & (ARRIVE | WAIT)))
