"""The least .target and .version of a module that may have a form of an instruction, as ptxas 13.0 wants them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import NamedTuple

VERSIONS = {  # the least PTX version that knows a target. PTX ISA, release notes
    "sm_70": "6.5", "sm_72": "6.5", "sm_75": "6.5", "sm_80": "7.0", "sm_86": "7.1", "sm_87": "7.4", "sm_89": "7.8",
    "sm_90": "7.8", "sm_90a": "8.0", "sm_100": "8.6", "sm_100a": "8.6", "sm_100f": "8.8", "sm_103": "8.8",
    "sm_103a": "8.8", "sm_103f": "8.8", "sm_101": "8.6", "sm_101a": "8.6", "sm_101f": "8.8", "sm_110": "9.0",
    "sm_110a": "9.0", "sm_110f": "9.0", "sm_120": "8.7", "sm_120a": "8.7", "sm_120f": "8.8", "sm_121": "8.8",
    "sm_121a": "8.8", "sm_121f": "8.8",
}  # fmt: skip
_RENAMED = {101: 110}  # from PTX 9.0 on
_EVERY = 10**6  # greater than the number of any target


class Targets(NamedTuple):
    """Targets with numbers from `first` to `last` that end in one of `endings`."""

    first: int
    last: int = _EVERY
    endings: tuple[str, ...] = ("", "a", "f")

    def __and__(self, other: Targets) -> Targets:
        endings = tuple(each for each in self.endings if each in other.endings)
        return Targets(max(self.first, other.first), min(self.last, other.last), endings)

    def has(self, number: int, ending: str) -> bool:
        """Whether sm_<number><ending> is one of them."""
        return self.first <= number <= self.last and ending in self.endings


class Need(NamedTuple):
    """`targets`: the targets of one of these have the form, every target if there are none. `version`: (major, minor),
    (0, 0) for any."""

    targets: tuple[Targets, ...] = ()
    version: tuple[int, int] = (0, 0)

    @property
    def target(self) -> str:
        """The least target; "" if every target has the form."""
        if not self.targets:
            return ""
        least = min(self.targets)
        return f"sm_{least.first}{'' if '' in least.endings else 'a'}"

    def refusal(self, target: str, version: str) -> tuple[str, str]:
        """Why a module with this .target and .version may not have the form, and a fix; both "" if it may."""
        return _refusal(self, target, version) if self != NOTHING else ("", "")

    def allows(self, target: str) -> bool:
        """Whether a module with this .target may have the form. A target that is not sm_... may."""
        match = re.fullmatch(r"sm_(\d+)([af]?)", target)
        if match is None or not self.targets:
            return True
        number = int(match[1])
        return any(each.has(_RENAMED.get(number, number), match[2]) for each in self.targets)


NOTHING = Need()
_NEED = re.compile(r"((?:\d+(?:a\+?|f)?,?)*)(?<!,)(?::(\d+)\.(\d+))?")


@functools.cache
def read(text: str) -> Need:
    """`90a:8.0` is .target sm_90a and .version 8.0; either may be left out.

    80        sm_80 and all later targets
    90a       sm_90a alone
    90a+      sm_90a and all later targets that end in `a` or `f`
    100f      sm_100a, sm_100f and later members of this family: sm_103a, sm_103f
    100f,110f any of these
    """
    match = _NEED.fullmatch(text)
    if match is None:
        raise ValueError(f"a need must be such as 80, 90a:8.0, 100f,110f or :7.4, got {text!r}")
    targets, major, minor = match.groups()
    return Need(tuple(map(_targets, filter(None, targets.split(",")))), (int(major or 0), int(minor or 0)))


def _targets(text: str) -> Targets:
    number = int(text.rstrip("a+f"))
    match text[len(str(number)) :]:
        case "a":
            return Targets(number, number, ("a",))
        case "a+":
            return Targets(number, endings=("a", "f"))
        case "f":
            return Targets(number, number // 10 * 10 + 9, ("a", "f"))
    return Targets(number)


def strictest(needs: Iterable[Need]) -> Need:
    """The need of a form whose parts have these needs. Raises ValueError if no target has all parts."""
    every = [NOTHING, *needs]
    return Need(functools.reduce(_both, (each.targets for each in every)), max(each.version for each in every))


def _both(some: tuple[Targets, ...], others: tuple[Targets, ...]) -> tuple[Targets, ...]:
    if not some or not others:
        return some or others
    pairs = {one & other for one in some for other in others}
    shared = tuple(sorted(each for each in pairs if each.first <= each.last and each.endings))
    if not shared:
        raise ValueError(f"no target has both needs, {some} and {others}")
    return shared


def least_version(target: str, version: tuple[int, int]) -> str:
    """The least .version of a module with this .target that needs a version."""
    return max(VERSIONS.get(target, "1.0"), ".".join(map(str, version)), key=_numbers)


@functools.cache
def _refusal(need: Need, target: str, version: str) -> tuple[str, str]:
    needed, found, head = [], [], target
    if not need.allows(target):
        needed.append(f".target {_named(need)}")
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


def _named(need: Need) -> str:
    """The targets of a need in words."""
    (first, last, endings), *others = need.targets
    if others or last not in (first, _EVERY):
        *names, final = (each for each in VERSIONS if need.allows(each) and not each.startswith("sm_101"))
        return f"{', '.join(names)} or {final}"
    later = " or later" if "" in endings else " or a later one that ends with `a` or `f`"
    return need.target + later * (last == _EVERY)


def _numbers(version: str) -> tuple[int, int]:
    """A version as numbers, which have an order."""
    major, minor = version.split(".")
    return int(major), int(minor)
