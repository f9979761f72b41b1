"""What `--perturb N` and `--delays LIST` ask for: runs of each case under delays."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from harness.errors import UsageError

MOST_RUNS = 100_000
DELAYS_HELP = (
    "run each case once more, under these delays, and compare: a list as --perturb prints it, `seed 5`, or @FILE "
    "with a list"
)
SCHEDULE_HELP = (
    "run threads by this schedule of the emulator, as --check schedules prints it: `7: 0-4 19` or @FILE with one"
)
_SCHEDULE = r"\s*(?:[1-9]\d*|pauses(?=:))\s*(?::(?:\s+\d+(?:-\d+)?)*)?\s*\Z"
CAPSULE_HELP = (
    "record each case N times more, under the delays of the seeds 1 to N; so claims of races can be replayed too"
)


class Wanted(NamedTuple):
    """`runs` of seeds from 1, or one run under a list of delays; or the order of threads of the only run."""

    runs: int = 0
    delays: str = ""
    schedule: str = ""

    @property
    def lists(self) -> list[tuple[int | None, str]]:
        """The seed and the delays of each run."""
        return [(None, self.delays)] if self.delays else [(seed, f"seed {seed}") for seed in range(1, self.runs + 1)]


def wanted(runs: int | None, delays: str | None = None, schedule: str | None = None) -> Wanted | None:
    """The delays or the schedule that the options ask for; None if they are not given. Raises UsageError."""
    if runs is not None and delays is not None:
        raise UsageError("--perturb and --delays are given: --perturb draws its own delays, so leave one of them out")
    if schedule is not None and (runs is not None or delays is not None):
        raise UsageError("--schedule and delays are given: each sets the order of threads, so leave one of them out")
    if schedule is not None:
        text = _text("--schedule", schedule, "a schedule")
        if not re.match(_SCHEDULE, text):
            raise UsageError(
                f"--schedule must be like `7`, `7: 0-4 19` or `pauses: 3`, with a seed above 0, got `{text.strip()}`"
            )
        return Wanted(schedule=text.strip())
    if delays is not None:
        return Wanted(delays=_text("--delays", delays, "a list of delays"))
    if runs is None:
        return None
    if not 1 <= runs <= MOST_RUNS:
        raise UsageError(f"--perturb must be 1 to {MOST_RUNS}, got {runs}")
    return Wanted(runs)


def _text(option: str, given: str, what: str) -> str:
    try:
        text = Path(given[1:]).read_text() if given.startswith("@") else given
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{option} {given} cannot be read: {error}") from None
    if not any(line.partition("#")[0].strip() for line in text.splitlines()):
        raise UsageError(f"{option} must be {what}, got {given!r} without any")
    return text
