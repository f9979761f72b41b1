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
from harness.run.reply import Dependence
from harness.run.result import Array, Outcome

EXACT, BOUNDED, OPEN = "exact", "bounded", "open"
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


def table(outcome: Outcome) -> dict[str, dict[str, Any]]:
    """output -> its kind and the instructions, as golden and record keep them; outputs that nobody followed are not in
    it."""
    rows: dict[str, dict[str, Any]] = {}
    for name, depends in sorted(outcome.depends.items()):
        if name in outcome.outputs:
            rows[name] = {"arithmetic": kind(outcome.outputs[name], depends)}
            if depends:
                rows[name]["through"] = [
                    {"instruction": one.instruction, "line": one.line, "bound": one.bound} for one in depends
                ]
    return rows


def notes(case: Case, outcome: Outcome) -> list[str]:
    """The advice on outputs that are compared by their bits although the chip may give others."""
    if case.repro.silicon:
        return []
    lines = []
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
