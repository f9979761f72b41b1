"""What a device's checkers find, each an outcome of its own: a claim may say it, a golden holds it.

`outcome = "fault"` is the family: any of them.
"""

from __future__ import annotations

FAULT = "fault"
MEANINGS = {
    "out_of_bounds": "an access outside of every allocation",
    "misaligned": "an access at an address that its width does not divide",
    "illegal": "an instruction whose operands the PTX ISA forbids, such as a lane outside of its own mask",
    "invalid_launch": "a launch that no GPU accepts",
    "race": "two accesses of one place, one of them a write, that nothing orders",
    "undefined_read": "a read of memory that nobody wrote",
    "divergent_barrier": "threads of a block that wait at different barriers",
}
CHECKED = ("race", "undefined_read", "divergent_barrier")  # a GPU goes on without a word


def name(outcome: str, kind: object) -> str:
    """The outcome's own name where a device tells the family and the kind."""
    return str(kind) if outcome == FAULT and kind in MEANINGS else outcome


def fits(declared: str, got: str) -> bool:
    """Whether an outcome is what a claim says."""
    return declared == got or (declared == FAULT and got in MEANINGS)


def unseen(declared: str, is_hardware: bool) -> str:
    """Why a device cannot show this outcome, or ''."""
    if not is_hardware or declared not in CHECKED:
        return ""
    return f'the claim says `outcome = "{declared}"`, and only a checker sees that: a GPU goes on without a word'
