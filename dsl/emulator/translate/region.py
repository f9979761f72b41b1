"""One region: straight code between uniform branches and barriers, while its loop over the threads is written."""

from __future__ import annotations

from dataclasses import dataclass, field

from dsl.emulator.ir.affine import Linear
from dsl.emulator.ir.collective import Collective
from dsl.emulator.ptx.syntax import Instr
from dsl.emulator.translate.scopes import Scope
from dsl.emulator.translate.span_checks import Span

# Code is emitted for the block (HEAD), for every thread in the loop (LANE), for one after another (ALONE).
HEAD, LANE, ALONE = "head", "lane", "alone"


@dataclass(slots=True)
class Region:
    """The code of a region emitted so far: `head` runs once for the block, `top` and `lane` for every thread."""

    number: int
    first: int  # the position of its first item
    head: list[str] = field(default_factory=list)
    top: list[str] = field(default_factory=list)
    lane: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)  # runs once, after all threads
    conditions: list[str] = field(default_factory=list)  # flags: linear values do not wrap
    spans: dict[tuple, Span] = field(default_factory=dict)
    spreads: dict[tuple[Linear, int], str] = field(default_factory=dict)  # values of forms, for the loop's thread
    loaded: set[str] = field(default_factory=set)  # registers that the loop has read from their arrays, or set
    instrs: list[Instr] = field(default_factory=list)
    writers: dict[str, list[int]] = field(default_factory=dict)  # of a register: their places in `instrs`
    written: set[str] = field(default_factory=set)
    branch: str | None = None  # the flag of a branch that all threads take alike
    leaver: Instr | None = None  # the branch or exit that each thread takes for itself
    scope: Scope | None = None  # which the leaver takes threads out of, until its end; None: they end
    collective: Collective | None = None  # at which its threads meet at its end
    checks: bool = False  # whether its head may go to the loop without vectors
    effects: bool = False  # whether threads store, load, or set what lives on in arrays

    def lane_threads(self) -> dict[str, str]:
        """The predefined registers of a thread in the loop over threads."""
        rows = {axis: f"%t{axis}{self.number}" for axis in "xyz"} | {"linear": f"%tl{self.number}"}
        return rows | {f"block_{axis}": f"%block_{axis}" for axis in "xyz"}
