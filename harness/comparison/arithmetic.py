"""How far an output is the chip's word: exact, bounded, or open, by the instructions that it depends on.

exact     every bit follows from the PTX ISA or a measurement
bounded   it came through instructions whose largest error the ISA states
open      the ISA states no bound, or its type has no measure of an error: an integer, a boolean
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from harness.claim.repro_file import Case, short
from harness.claim.rule import Rule
from harness.run.reply import Decision, Dependence
from harness.run.result import Array, Outcome

EXACT, BOUNDED, OPEN = "exact", "bounded", "open"
_DECISIONS = {
    "branch": ("the branch", "another GPU may take the other way"),
    "loop": ("the number of rounds of the loop", "another GPU may run it more or less often"),
    "address": ("the address", "another GPU may access another place"),
    "count": ("what the barrier waits for", "another GPU may wait for other threads"),
}
SHOWN = 3  # instructions in a sentence
MOST_ULP = 64  # beyond it a relative error is easier to read
SLACK = 2  # arithmetic after an approximation makes its error larger


def kind(array: Array, depends: Sequence[Dependence]) -> str:
    """exact, bounded or open."""
    if not depends:
        return EXACT
    is_bounded = array.dtype.kind == "float" and all(_error(each) is not None for each in depends)
    return BOUNDED if is_bounded else OPEN


def _error(one: Dependence) -> float | None:
    return one.absolute if one.relative is None else one.relative


def proposal(array: Array, depends: Sequence[Dependence]) -> str | None:
    """The comparison that fits a bounded output: twice the sum of the errors it came through. None for another."""
    if kind(array, depends) != BOUNDED:
        return None
    error = SLACK * sum(_error(each) or 0.0 for each in depends)
    ulps = max(math.ceil(error * 2.0**array.dtype.mantissa), 1)
    if ulps <= MOST_ULP and all(each.relative is not None for each in depends):
        return f"ulp:{ulps}"
    least = max(error, 2.0**-array.dtype.mantissa)
    scale = 10.0 ** math.floor(math.log10(least))
    return f"rel:{math.ceil(least / scale) * scale:.0e}"


def basis(depends: Sequence[Dependence]) -> str:
    """The basis of a proposal: `twice the documented 2 ulp`. It is not a proof: a subtraction makes errors larger."""
    bounds = list(dict.fromkeys(each.bound for each in depends))
    if len(depends) == 1:
        return f"twice the documented {bounds[0]}"
    return f"twice the sum of documented errors: {', '.join(bounds[:SHOWN])}{' ...' * (len(bounds) > SHOWN)}"


def through(depends: Iterable[Dependence], repro: str) -> str:
    """`ex2.approx.ftz.f32 (line 31), lg2.approx.f32 (line 32)`: the instructions; a line of another file with it."""
    places: dict[str, list[str]] = {}
    for one in depends:
        name = "" if one.file in (None, repro) else f"{one.file}:"
        places.setdefault(one.instruction, []).append(f"{name}{one.line}" if one.line else "")
    texts = []
    for instruction, lines in places.items():
        lines = [line for line in dict.fromkeys(lines) if line]
        said = f" (line{'s' if len(lines) > 1 else ''} {', '.join(lines)})" if lines else ""
        texts.append(instruction + said)
    left = len(texts) - SHOWN
    return ", ".join(texts[:SHOWN]) + (f" and {left} more" if left > 0 else "")


def decisions(outcome: Outcome) -> list[dict[str, Any]]:
    """The places in which kernels decided by such results, as golden and record keep them."""
    return [
        {"what": one.what, "instruction": one.instruction, "line": one.line, "through": _rows(one.through)}
        for one in outcome.decisions
    ]


def _rows(depends: Iterable[Dependence]) -> list[dict[str, Any]]:
    return [{"instruction": one.instruction, "line": one.line, "bound": one.bound} for one in depends]


def _decision(case: Case, one: Decision) -> str:
    """`repros/a.py:12: the branch depends on an approximate value (...): another GPU may take the other way`."""
    subject, consequence = _DECISIONS[one.what]
    is_bounded = all(_error(each) is not None for each in one.through)
    file = short(case.repro.path) if one.file in (None, case.repro.path.name) else one.file
    place = f"{file}:{one.line}" if one.line else file
    bounds = ", ".join(list(dict.fromkeys(each.bound for each in one.through))[:SHOWN])
    value = f"an {'approximate' if is_bounded else 'open'} value"
    told = f"{through(one.through, case.repro.path.name)}: {'within ' * is_bounded}{bounds}"
    return f"{place}: {subject} depends on {value} ({told}): {consequence}"


def table(outcome: Outcome) -> dict[str, dict[str, Any]]:
    """output -> its kind and the instructions, as golden and record keep them; outputs that nobody followed are not in
    it."""
    rows: dict[str, dict[str, Any]] = {}
    for name, depends in sorted(outcome.depends.items()):
        if name in outcome.outputs:
            rows[name] = {"arithmetic": kind(outcome.outputs[name], depends)}
            if depends:
                rows[name]["through"] = _rows(depends)
    return rows


def notes(case: Case, outcome: Outcome) -> list[str]:
    """The decisions of kernels by open results, and the advice on outputs that are compared by their bits although the
    chip may give others."""
    if case.repro.silicon:
        return []
    lines = [_decision(case, one) for one in outcome.decisions]
    for name, depends in sorted(outcome.depends.items()):
        array = outcome.outputs.get(name)
        if array is None or not depends or case.repro.compare.get(name, Rule()).mode != "bits":
            continue
        rule = proposal(array, depends)
        advice = f"compare with `{rule}` (a proposal: {basis(depends)}) or write " if rule else "write "
        lines.append(
            f"{short(case.repro.path)}: `{name}` depends on {through(depends, case.repro.path.name)}: silicon may "
            f'differ; {advice}`silicon = "{outcome.device.get("gpu_model") or "h100"}"`'
        )
    return lines
