"""What `--check schedules` tells of a case: whether one order of its threads speaks for all, else what others gave."""

from __future__ import annotations

from harness.run.result import Outcome

SHOWN_REASONS = 3


def notes(outcome: Outcome, is_script: bool = False) -> list[str]:
    """The lines of the report; none if no other orders were asked for. A script runs once."""
    orders = outcome.orders
    if orders is None:
        return []
    if not orders.reasons:
        return [f"schedules: clean in every order of its warps ({orders.tried} explored, complete)"]
    tried = "1 order of its threads" if orders.tried == 1 else f"{orders.tried} orders of its threads"
    if is_script:
        first = (
            "schedules: a script runs in one order of its threads, which is not the only one (`--seed N` is another):"
        )
    elif not orders.schedule:
        first = f"schedules: clean in {tried}, not complete:"
    else:
        shows = "this finding" if orders.what == "finding" else "other outputs than the first"
        first = f"schedules: the last of {tried} shows {shows}:"
    rows = [f"    {each}" for each in orders.reasons[:SHOWN_REASONS]]
    if len(orders.reasons) > SHOWN_REASONS:
        rows.append(f"    and {len(orders.reasons) - SHOWN_REASONS} more")
    return [first, *rows]
