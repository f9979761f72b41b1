"""How an output of a repro is compared: the values of `compare` in its header."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """How one output is compared. `bound` is a count of ulps, or a relative error; `name` that of a predicate."""

    mode: str = "bits"
    bound: float = 0
    name: str = ""

    @property
    def is_free(self) -> bool:
        """Whether no other array says what the values must be."""
        return self.mode in ("set", "pred", "undef")

    def __str__(self) -> str:
        if self.mode == "pred":
            return f"pred:{self.name}"
        return f"{self.mode}:{self.bound:.9g}" if self.mode in ("ulp", "rel") else self.mode
