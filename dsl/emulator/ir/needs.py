"""The least .target and .version of a module that may have a form of an instruction, as ptxas 13.0 wants them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import NamedTuple

VERSIONS = {  # the least PTX version that knows a target. PTX ISA, release notes
    "sm_70": "6.5", "sm_72": "6.5", "sm_75": "6.5", "sm_80": "7.0", "sm_86": "7.1", "sm_87": "7.4", "sm_89": "7.8",
    "sm_90": "7.8", "sm_90a": "8.0", "sm_100": "8.6", "sm_100a": "8.6",
}  # fmt: skip


class Need(NamedTuple):
    """`number`: of the least target, 0 if every target has the form. `features`: "a" if only that target with its `a`
    has it, "a+" if later targets with an `a` or an `f` have it too. `version`: (major, minor), (0, 0) for any."""

    number: int = 0
    features: str = ""
    version: tuple[int, int] = (0, 0)

    @property
    def target(self) -> str:
        """The least target; "" if every target has the form."""
        return f"sm_{self.number}{self.features[:1]}" if self.number else ""

    def refusal(self, target: str, version: str) -> tuple[str, str]:
        """Why a module with this .target and .version may not have the form, and a fix; both "" if it may."""
        return _refusal(self, target, version) if self != NOTHING else ("", "")

    def allows(self, target: str) -> bool:
        """Whether a module with this .target may have the form. A target that is not sm_... may."""
        match = re.fullmatch(r"sm_(\d+)([af]?)", target)
        if match is None or not self.number or target == self.target:
            return True
        return self.features != "a" and int(match[1]) >= self.number and (not self.features or match[2] != "")


NOTHING = Need()
_LATER = {"": " or later", "a": "", "a+": " or a later one that ends with `a` or `f`"}


@functools.cache
def read(text: str) -> Need:
    """`90a:8.0` is .target sm_90a and .version 8.0; either may be left out."""
    match = re.fullmatch(r"(?:(\d+)(a\+?)?)?(?::(\d+)\.(\d+))?", text)
    if match is None:
        raise ValueError(f"a need must be such as 80, 90a:8.0 or :7.4, got {text!r}")
    number, features, major, minor = match.groups()
    return Need(int(number or 0), features or "", (int(major or 0), int(minor or 0)))


def strictest(needs: Iterable[Need]) -> Need:
    """The need of a form whose parts have these needs."""
    every = [NOTHING, *needs]
    number, features = max((each.number, each.features) for each in every)
    return Need(number, features, max(each.version for each in every))


def least_version(target: str, version: tuple[int, int]) -> str:
    """The least .version of a module with this .target that needs a version."""
    return max(VERSIONS.get(target, "1.0"), ".".join(map(str, version)), key=_numbers)


@functools.cache
def _refusal(need: Need, target: str, version: str) -> tuple[str, str]:
    needed, found, head = [], [], target
    if not need.allows(target):
        needed.append(f".target {need.target}{_LATER[need.features]}")
        found.append(f".target {target}")
        head = need.target
    if version and _numbers(version) < need.version:
        needed.append(f".version {least_version('', need.version)} or later")
        found.append(f".version {version}")
    if not needed:
        return "", ""
    later = max(version, least_version(head, need.version), key=_numbers)
    why = f"it needs {' and '.join(needed)}; the module has {' and '.join(found)}"
    if head == target:
        return why, f"begin the module with `.version {later}`"
    return why, f"begin the module with `.version {later}` and `.target {head}`, or compile it for {head}"


def _numbers(version: str) -> tuple[int, int]:
    """A version as numbers, which have an order."""
    major, minor = version.split(".")
    return int(major), int(minor)
