"""`cutlass.base_dsl.arch`: the architectures that upstream's release knows, in order."""

from __future__ import annotations

import enum
from collections.abc import Callable as _Callable


class Arch(enum.Enum):
    """An architecture: major, minor, and "a" (of one chip) or "f" (of a family). They are ordered by the versions."""

    sm_80 = (8, 0, "")
    sm_86 = (8, 6, "")
    sm_87 = (8, 7, "")
    sm_89 = (8, 9, "")
    sm_90 = (9, 0, "")
    sm_90a = (9, 0, "a")
    sm_100 = (10, 0, "")
    sm_100a = (10, 0, "a")
    sm_100f = (10, 0, "f")
    sm_110 = (11, 0, "")
    sm_110a = (11, 0, "a")
    sm_110f = (11, 0, "f")
    sm_103 = (10, 3, "")
    sm_103a = (10, 3, "a")
    sm_103f = (10, 3, "f")
    sm_107 = (10, 7, "")
    sm_107a = (10, 7, "a")
    sm_107f = (10, 7, "f")
    sm_120 = (12, 0, "")
    sm_120a = (12, 0, "a")
    sm_120f = (12, 0, "f")
    sm_121 = (12, 1, "")
    sm_121a = (12, 1, "a")
    sm_121f = (12, 1, "f")

    def __init__(self, major: int, minor: int, suffix: str):
        self.major, self.minor, self.suffix = major, minor, suffix

    @staticmethod
    def AmpereArchs() -> tuple[Arch, ...]:
        return tuple(arch for arch in Arch if arch.major == 8 and arch.minor < 9)

    @staticmethod
    def AdaArchs() -> tuple[Arch, ...]:
        return (Arch.sm_89,)

    @staticmethod
    def HopperArchs() -> tuple[Arch, ...]:
        return tuple(arch for arch in Arch if arch.major == 9)

    @staticmethod
    def BlackwellArchs() -> tuple[Arch, ...]:
        return tuple(arch for arch in Arch if arch.major >= 10)

    @staticmethod
    def RubinArchs() -> tuple[Arch, ...]:
        return tuple(arch for arch in Arch if (arch.major, arch.minor) == (10, 7))

    @classmethod
    def from_string(cls, arch_str: str) -> Arch:
        """The architecture of this name, `sm_90a`. Raises KeyError where there is none."""
        return cls[arch_str]

    def to_string(self) -> str:
        return self.name

    @classmethod
    def filter(cls, criterion: _Callable[[Arch], bool]) -> list[Arch]:
        """Those of which `criterion` is true."""
        return [arch for arch in cls if criterion(arch)]

    def is_family_of(self, arch: Arch) -> bool:
        """Whether this has a suffix, and `arch` is of the same major and no later minor version."""
        return bool(self.suffix) and self.major == arch.major and arch.minor <= self.minor

    def can_run_binary_built_for(self, target: Arch) -> bool:
        """Whether a chip that is this architecture loads code for `target`."""
        if target.suffix == "a":
            return self is target
        return self.major == target.major and target.minor <= self.minor

    def __lt__(self, other: object) -> bool:
        return self.value[:2] < other.value[:2] if isinstance(other, Arch) else NotImplemented

    def __le__(self, other: object) -> bool:
        return self.value[:2] <= other.value[:2] if isinstance(other, Arch) else NotImplemented

    def __gt__(self, other: object) -> bool:
        return self.value[:2] > other.value[:2] if isinstance(other, Arch) else NotImplemented

    def __ge__(self, other: object) -> bool:
        return self.value[:2] >= other.value[:2] if isinstance(other, Arch) else NotImplemented

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"base_dsl.Arch.{self.name}"
