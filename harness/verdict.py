"""The verdict on one case, and its basis: the data between the judge, the golden and the reports."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.claim.expectation import Otherwise
from harness.claim.repro_file import Case
from harness.comparison import compare, golden
from harness.compiler_name import OURS
from harness.host.hosts import Host
from harness.run.result import Outcome


@dataclass
class Verdict:
    """The verdict on one case.

    status: pass | fail | contradicted (an emulator disagrees with hardware) | infra | skip. `reason` is a few words on
    why it is not pass.
    """

    status: str
    reason: str
    text: str
    outcome: Outcome
    record: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    pending: golden.Pending | None = None  # accepted, to be written
    proposal: golden.Pending | None = None  # not accepted: for a person to review
    validated: bool = False
    differences: list[compare.Difference] = field(default_factory=list)
    expected: str = ""  # the repro's expectation of this compiler, if the claim does not hold and that was expected
    evidence: str = ""  # why to believe the golden's answer; '' where there is none


@dataclass(frozen=True)
class Trial:
    """The basis of a verdict. `other`: the repro's expectation of the compiler that made this outcome."""

    case: Case
    host: Host
    outcome: Outcome
    update: bool
    strict: bool
    other: Otherwise | None

    def verdict(self, status: str, reason: str = "", text: str = "", **more: Any) -> Verdict:
        return Verdict(status, reason, text, self.outcome, {}, **more)

    @property
    def has_outputs(self) -> bool:
        return self.outcome.kind == "outputs"

    @property
    def other_outputs(self) -> Mapping[str, Any]:
        """The outputs that this compiler is expected to give otherwise than claimed."""
        return self.other.outputs if self.other else {}

    @property
    def is_expected(self) -> bool:
        """Whether expected() gives every output that a golden would hold."""
        rules = self.case.repro.compare
        held = {name for name in self.outcome.outputs if not (name in rules and rules[name].is_free)}
        return bool(held) and held <= self.outcome.expected.keys() and self.outcome.compiler == OURS

    @property
    def no_sass(self) -> dict | None:
        """Why there is no machine code to check, where there is something to check."""
        return self.outcome.detail.get("no_sass") if self.case.checks("SASS") else None

    @property
    def may_lack_sass(self) -> bool:
        return self.no_sass is not None and self.no_sass["missing"] and not in_ci()


def gpu_of(host: Host, outcome: Outcome) -> str | None:
    """The GPU's name, on hardware."""
    return (outcome.device.get("name") or host.device_facts.get("name")) if host.is_hardware else None


def in_ci() -> bool:
    """Whether this runs in continuous integration, where nothing is accepted and no tool may be missing."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")
