"""Check an outcome beyond equality: allowed sets, predicates, masks, and outputs that vary between runs.

`settle` runs a case a second time over other contents of new memory if its repro asks for it. `wrong` describes how
the outcome contradicts the repro, `notes` gives remarks on an outcome that does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harness.claim import case_id
from harness.claim.repro_file import Case
from harness.claim.rule import Rule
from harness.comparison.compare import Difference, agree
from harness.run.result import RAW, Array, Outcome

POISON = (0xA5, 0x5A)  # the bytes of new memory in the two runs: no bit is the same
SHOWN_OUTCOMES = 8


class BadMask(Exception):
    """A mask that cannot be used; the text is the reason."""


def settle(case: Case, run: Callable[[int | None], Outcome]) -> Outcome:
    """Run the case, `run(byte)` with new memory of that byte, and again with the other byte if `poison` is set."""
    if not case.repro.poison:
        return run(None)
    outcome = run(POISON[0])
    if outcome.kind == "outputs":
        second = run(POISON[1])
        if second.kind != "outputs":
            return second
        outcome.refilled = second.outputs
        outcome.durations["again_s"] = second.durations.get("run_s", 0.0)
    return outcome


def masks(case: Case, outcome: Outcome) -> dict[str, np.ndarray]:
    """output -> where it counts. Raises BadMask."""
    arrays = {}
    for name, other in case.repro.mask.items():
        array, got = outcome.expected.get(other, outcome.outputs.get(other)), outcome.outputs.get(name)
        if got is None:
            raise BadMask(f"mask names `{name}`, which run() did not return")
        if array is None:
            raise BadMask(f"the mask `{other}` of `{name}` is returned by neither expected() nor run()")
        if array.dtype.name != "bool" or array.shape != got.shape:
            raise BadMask(
                f"the mask `{other}` is {array.dtype.name} {array.shape}, but `{name}` has the shape {got.shape}: "
                "return a boolean array of that shape"
            )
        arrays[name] = array.raw != 0
        if not arrays[name].any():
            raise BadMask(f"the mask `{other}` leaves no element of `{name}`: nothing would be compared")
    return arrays


def wrong(case: Case, outcome: Outcome) -> tuple[str, str, list[Difference]] | None:
    """A reason, a text and the differing elements if the outcome contradicts the repro; else None."""
    try:
        counts = masks(case, outcome)
    except BadMask as error:
        return "bad mask", str(error), []
    rules = case.repro.compare
    for one in (outcome, *outcome.others):
        for name, array in one.outputs.items():
            rule = rules.get(name, Rule())
            if rule.mode == "set" and not any(_is(array, value) for value in case.repro.allowed[name]):
                return "not allowed", _not_allowed(case, outcome, name, array, one.count), []
            if rule.mode == "pred" and not (one.preds[name].raw != 0).all():
                return _refused(name, rule, array, one.preds[name])
    if outcome.uncounted:
        return (
            "too many outcomes",
            f"run() gave {SHOWN_OUTCOMES} and more different outcomes\n{_table(case, outcome)}",
            [],
        )
    for other in outcome.others:
        differing = unlike(case, outcome.outputs, other.outputs, counts, "another run of the same program")
        if differing:
            return "differs between runs", "", differing
    for ends in outcome.spread:
        held = {name: array for name, array in ends.items() if name not in outcome.expected}
        differing = unlike(case, outcome.outputs, held, counts, "another run of the same program")
        if differing:
            return "differs between runs", "", differing
    differing = unlike(case, outcome.outputs, outcome.refilled, counts, "a run over other contents of new memory")
    return ("not written", "", differing) if differing else None


def unlike(
    case: Case, first: dict[str, Array], second: dict[str, Array], counts: dict[str, np.ndarray], against: str
) -> list[Difference]:
    """Outputs held to a value that two runs did not give alike."""
    differing = []
    for name, a in first.items():
        rule = case.repro.compare.get(name, Rule())
        if name not in second or rule.is_free:
            continue
        b = second[name]
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            differing.append(Difference(name, against, f"`{name}` has another dtype or shape in {against}", b, a))
            continue
        indices = np.flatnonzero(~agree(a, b, rule) & counts.get(name, True))
        if indices.size:
            text = f"`{name}` differs from {against} in {indices.size} of {a.raw.size} elements"
            differing.append(Difference(name, against, text, b, a, indices))
    return differing


def _is(array: Array, value: Any) -> bool:
    """Whether the array has this value, bit for bit."""
    have = array.values()
    try:
        want = np.asarray(value).astype(have.dtype)
    except (ValueError, TypeError, OverflowError):
        return False
    if have.dtype.kind in "iu" and not np.array_equal(want, np.asarray(value)):
        return False
    return want.shape == have.shape and want.tobytes() == have.tobytes()


def _not_allowed(case: Case, outcome: Outcome, name: str, array: Array, count: int) -> str:
    allowed = ", ".join(map(str, case.repro.allowed[name]))
    of = f" in {count} of {runs(outcome)} runs" if runs(outcome) > 1 else ""
    by = " by the PTX memory model" if case.repro.is_modelled else ""
    text = f"`{name}` is {array.values().tolist()}{of}; allowed{by} are {allowed}"
    return text + (f"\n{_table(case, outcome)}" if runs(outcome) > 1 else "")


def _refused(name: str, rule: Rule, array: Array, said: Array) -> tuple[str, str, list[Difference]]:
    text = f"{rule.name}() does not hold for `{name}`"
    if said.shape != array.shape or not said.shape:
        return f"not {rule.name}", f"{text}: {array.values().tolist()}"[:2000], []
    indices = np.flatnonzero(said.raw == 0)
    zero = Array(array.dtype, np.zeros(array.shape, RAW[array.dtype.bits]))
    lines = [f"    {list(map(int, np.unravel_index(i, array.shape)))}  {array.values().flat[i]}" for i in indices[:16]]
    rest = [f"    ... and {indices.size - 16} more"] if indices.size > 16 else []
    text = "\n".join([f"{text} in {indices.size} of {array.raw.size} elements", *lines, *rest])
    return f"not {rule.name}", text, [Difference(name, f"{rule.name}()", text.splitlines()[0], zero, array, indices)]


def runs(outcome: Outcome) -> int:
    """How often run() was called."""
    return outcome.count + sum(one.count for one in outcome.others) + outcome.uncounted


def histogram(outcome: Outcome) -> list[dict[str, Any]] | None:
    """How often each outcome was seen, the most frequent first; None of a case that was run once."""
    if runs(outcome) == 1:
        return None
    seen = [{"count": one.count, "outputs": _values(one.outputs)} for one in (outcome, *outcome.others)]
    seen.sort(key=lambda one: -one["count"])
    return seen + ([{"count": outcome.uncounted, "outputs": None}] if outcome.uncounted else [])


def _values(outputs: dict[str, Array]) -> dict[str, Any]:
    return {n: a.values().tolist() if a.raw.size <= 64 else f"{a.dtype.name} {a.shape}" for n, a in outputs.items()}


def _name(case: Case) -> str:
    return case_id.name(case.repro.path.stem, case.name)


def _table(case: Case, outcome: Outcome) -> str:
    seen = histogram(outcome) or []
    lines = [f"    {one['count']:8} {one['outputs']}" for one in seen[:SHOWN_OUTCOMES]]
    is_all = case.repro.is_modelled and outcome.device.get("kind") == "emulator"
    head = "allowed by the PTX memory model" if is_all else f"seen in {runs(outcome)} runs"
    return "\n".join([f"{_name(case)}, {head}:", *([line[12:] for line in lines] if is_all else lines)])


def notes(case: Case, outcome: Outcome) -> list[str]:
    """Remarks on an outcome that is as it should be."""
    tables = []
    if runs(outcome) > 1:
        tables.append(_table(case, outcome))
        for name, values in case.repro.allowed.items():
            arrays = [one.outputs[name] for one in (outcome, *outcome.others) if name in one.outputs]
            unseen = [str(value) for value in values if not any(_is(array, value) for array in arrays)]
            if unseen:
                tables.append(f"{_name(case)}, `{name}`: allowed, but never seen: {', '.join(unseen)}")
    for name, rule in case.repro.compare.items():
        if rule.mode == "undef" and name in outcome.refilled:
            a, b = outcome.outputs[name], outcome.refilled[name]
            if a.shape == b.shape and (count := int(np.count_nonzero(a.raw != b.raw))):
                tables.append(f"`{name}`: {count} of {a.raw.size} elements hold what memory held before")
    return tables
