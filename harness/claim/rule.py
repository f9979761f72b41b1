"""How an output of a repro is compared: the values of `compare` in its header."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """How one output is compared. `bound`: ulps, or a relative error; `absolute`: an error; `name`: a predicate.

    Of what a program prints: text | numbers, with an error or without."""

    mode: str = "bits"
    bound: float = 0
    name: str = ""
    absolute: float = 0

    @property
    def is_free(self) -> bool:
        """Whether no other array determines the values."""
        return self.mode in ("set", "pred", "undef")

    @property
    def is_near(self) -> bool:
        """Whether values that differ may agree."""
        return self.mode in ("ulp", "rel", "abs", "close")

    def __str__(self) -> str:
        if self.mode == "pred":
            return f"pred:{self.name}"
        if self.mode == "numbers":
            kind = "close" if self.bound and self.absolute else "rel" if self.bound else "abs"
            return f"numbers {Rule(kind, self.bound, '', self.absolute)}" if self.bound or self.absolute else self.mode
        numbers = {
            "ulp": (self.bound,),
            "rel": (self.bound,),
            "abs": (self.absolute,),
            "close": (self.bound, self.absolute),
        }
        return ":".join([self.mode, *([",".join(f"{one:.9g}" for one in numbers[self.mode])] if self.is_near else [])])
