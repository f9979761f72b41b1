"""Runs of one case under delays: how many answers it gives, how often each, and under which delays.

A program whose threads are ordered by barriers gives one answer, whatever warp is late. One with a race may give
several. Then the race is proved, also on a GPU, where no checker looks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.claim.repro_file import Case
from harness.comparison import observed
from harness.comparison.compare import Difference
from harness.run import result
from harness.run.result import Answer, Outcome

_SILENT = ("rejected", "error", "infra", "skipped", "timeout", "crash")  # ends that are not run again with delays
_TOLD_S = 2.0  # between two words on how far it is
NO_DELAYS = "seed 0"
SHOWN_ANSWERS = 8
_SHOWN_VALUES = 8


def settle(
    case: Case,
    outcome: Outcome,
    run: Callable[[str], Outcome],
    lists: Sequence[tuple[int | None, str]],
    told: Callable[[str], None] = lambda text: None,
) -> Outcome:
    """Run the case under each of `lists` (a seed and its delays), `run(delays)`; give the outcome with its `answers`.

    `outcome` is the outcome of the unchanged case. The runs are compared with a run without delays, under the same
    order of threads and without checkers: `run("seed 0")`. If a run cannot be made, or there is nothing to delay,
    the outcome is `infra`.
    """
    if outcome.kind in _SILENT:
        return outcome
    last_s = time.monotonic()
    first = run(NO_DELAYS)
    problem = _problem(first, NO_DELAYS)
    if problem:
        return result.infra(problem)
    found = [Answer(first, 1, None, "")]
    for number, (seed, delays) in enumerate(lists, 1):
        one = run(delays)
        problem = _problem(one, delays)
        if problem:
            return result.infra(problem)
        place = next((i for i, answer in enumerate(found) if _same(case, answer.outcome, one)), None)
        if place is None:
            found.append(Answer(one, 1, seed, one.delays or delays))
        else:
            found[place] = found[place].again()
        if time.monotonic() - last_s > _TOLD_S:
            last_s = time.monotonic()
            told(f"{case.repro.path.name}: {number} of {len(lists)} runs under delays, {_answers(len(found))}")
    outcome.answers = found
    return outcome


def _problem(one: Outcome, delays: str) -> str:
    """The reason why a run does not count, or ''."""
    if one.kind == "infra":
        return f"under the delays of `{delays.splitlines()[0][:80]}`: {one.text}"
    if one.kind in ("timeout", "crash") or one.sites:
        return ""
    if one.sites is None:
        return (
            "there is nothing to delay: the program loads no PTX through this project (no kernel, machine code alone, "
            "or NVIDIA's compiler on a GPU)\nfix: run it on the emulator, or record a capsule with --perturb there"
        )
    return "there is nothing to delay: its kernels have no instruction that synchronises or accesses shared data"


def _same(case: Case, a: Outcome, b: Outcome) -> bool:
    """Whether two runs gave the same answer, by the rules of the repro."""
    if a.kind != b.kind or any(a.detail.get(key) != b.detail.get(key) for key in ("kind", "id", "signal")):
        return False
    if a.kind != "outputs":
        return True
    if a.outputs.keys() != b.outputs.keys() or _reason(case, a) != _reason(case, b):
        return False
    return not differences(case, a, b)


def _reason(case: Case, outcome: Outcome) -> str:
    seen = observed.wrong(case, outcome)
    return seen[0] if seen else ""


def differences(case: Case, a: Outcome, b: Outcome) -> list[Difference]:
    """The outputs that two runs did not give alike."""
    try:
        masks = observed.masks(case, a)
    except observed.BadMask:
        masks = {}
    return observed.unlike(case, a.outputs, b.outputs, masks, "the run without delays")


def summary(outcome: Outcome) -> str:
    """`21 runs, 20 of them under delays: 2 answers`, then a line for each answer."""
    total = sum(one.count for one in outcome.answers)
    delayed = total - 1
    head = f"{total} runs, {delayed} of them under delays: {_answers(len(outcome.answers))}"
    shown = outcome.answers[:SHOWN_ANSWERS]
    lines = [f"    {one.count:6} times{_first(one)}: {_shown(outcome, one)}" for one in shown]
    if len(outcome.answers) > SHOWN_ANSWERS:
        lines.append(f"    ... and {len(outcome.answers) - SHOWN_ANSWERS} more answers")
    return "\n".join([head, *lines])


def repeating(outcome: Outcome) -> str:
    """The shortest list of delays that gave another answer than no delays did, one a line."""
    other = min(outcome.answers[1:], key=lambda answer: len(answer.delays.splitlines()))
    by = f"delays of seed {other.seed}" if other.seed else "delays"
    return "\n".join([f"{by}, a list for --delays:", *(f"    {line}" for line in other.delays.splitlines())])


def table(outcome: Outcome) -> dict[str, Any] | None:
    """The part of a record about delays; None for a case that was not run under delays."""
    if not outcome.answers:
        return None
    rows = [
        {"count": one.count, "seed": one.seed, "delays": one.delays, "outcome": one.outcome.kind}
        | {"outputs": {name: _values(array) for name, array in one.outcome.outputs.items()}}
        for one in outcome.answers
    ]
    return {"runs": sum(one.count for one in outcome.answers), "answers": rows}


def _answers(count: int) -> str:
    return "1 answer" if count == 1 else f"{count} answers"


def _first(answer: Answer) -> str:
    if not answer.delays:
        return " (also without delays)"
    return f" (first at seed {answer.seed})" if answer.seed else ""


def _shown(outcome: Outcome, answer: Answer) -> str:
    """The values of an answer, of large arrays the first that differs; or how the run ended."""
    if answer.outcome.kind != "outputs":
        lines = [line for line in answer.outcome.text.splitlines() if line.strip()]
        return f"{answer.outcome.kind}: {lines[0].strip() if lines else ''}".rstrip(": ")
    first = outcome.answers[0]
    other = outcome.answers[-1] if answer is first else first
    parts = []
    for name, array in answer.outcome.outputs.items():
        values, against = array.values(), other.outcome.outputs.get(name)
        if values.size <= _SHOWN_VALUES:
            parts.append(f"`{name}` {values.tolist()}")
        elif answer is not other and against is not None and against.shape == array.shape:
            for at in np.flatnonzero(against.raw != array.raw)[:1]:
                parts.append(f"`{name}`{list(map(int, np.unravel_index(at, array.shape)))} {values.flat[at]}")
        else:
            parts.append(f"`{name}` {array.dtype.name} {array.shape}")
    return ", ".join(parts) or "values that differ within their bounds"


def _values(array: Any) -> Any:
    return array.values().tolist() if array.raw.size <= 64 else f"{array.dtype.name} {array.shape}"
