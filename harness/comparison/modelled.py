"""Claims about what the PTX memory model allows: `allowed = "model"`.

The emulator finds all outcomes; the golden keeps them, for each output a list of values. On another device each
outcome must be among those in the golden.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.claim.repro_file import Case
from harness.claim.rule import Rule
from harness.comparison.golden import Golden
from harness.run.result import Outcome


def is_explored(case: Case, device: str) -> bool:
    """Whether a run there finds all outcomes."""
    return case.repro.is_modelled and device == "emulator"


def resolved(case: Case, device: str, outcome: Outcome, known: Golden | None) -> Case:
    """The case with what is allowed: by what was found here, or by the golden."""
    if not case.repro.is_modelled or outcome.kind != "outputs":
        return case
    allowed: dict[str, list[Any]] = known.allowed if known is not None else {}
    if is_explored(case, device):
        allowed = found(outcome)
    compare = {**dict.fromkeys(outcome.outputs, Rule("set")), **case.repro.compare}
    allowed = {name: values for name, values in allowed.items() if compare.get(name, Rule()).mode == "set"}
    return replace(case, repro=replace(case.repro, compare=compare, allowed=allowed))


def found(outcome: Outcome) -> dict[str, list[Any]]:
    """The values of each output over all outcomes, in order."""
    every = [one.outputs for one in (outcome, *outcome.others)]
    return {
        name: sorted(
            {repr(v): v for v in (one[name].values().tolist() for one in every if name in one)}.values(), key=repr
        )
        for name in outcome.outputs
    }


def difference(case: Case, device: str, known: Golden) -> str:
    """How the outcomes that were found here differ from the golden, or ''."""
    if not is_explored(case, device):
        return ""
    lines = []
    for name, values in case.repro.allowed.items():
        before = known.allowed.get(name, [])
        more, fewer = [v for v in values if v not in before], [v for v in before if v not in values]
        lines += [f"`{name}`: the model allows {v}, which the golden lacks" for v in more]
        lines += [f"`{name}`: the golden has {v}, which the model does not allow" for v in fewer]
    return "\n".join(lines)
