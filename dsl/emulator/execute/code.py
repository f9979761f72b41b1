"""The facts that a launch needs about a kernel, and its machine code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dsl.emulator.ir.places import Places
from dsl.emulator.machine import native
from dsl.emulator.ptx.syntax import Instr


@dataclass(frozen=True, slots=True)
class Param:
    """One .param of an entry."""

    name: str
    size_bytes: int
    align_bytes: int


@dataclass(frozen=True, slots=True)
class Entry:
    """The facts that a launch needs about a kernel; `reqntid` is the block shape it demands, or None, `cluster` the
    shape of its clusters, `most_cluster` the most blocks of one, `maxntid` a block shape whose threads none exceeds."""

    name: str
    params: tuple[Param, ...]
    static_smem_bytes: int
    reqntid: tuple[int, int, int] | None
    cluster: tuple[int, int, int] | None = None
    most_cluster: int | None = None
    maxntid: tuple[int, int, int] | None = None


@dataclass(slots=True)
class Code:
    """The machine code of one entry, and by site number its instructions. `block` is 0 until it is linked."""

    object: bytes
    cold: bytes  # what `object` seldom calls, or nothing
    calls: list[str]  # functions of the runtime
    sites: list[Instr]
    uses: list[str]
    places: Places
    size: int  # PTX instructions
    loops: bool
    spins: bool
    in_turn: bool
    compile_s: float
    checks: list[str]
    race_shift: int  # see check/access.py
    order_kinds: int
    ranks: list[int]  # of the sites of a kernel that is checked for races: see check/trail.py
    block: int = 0
    tracker: Any = None
    ran_s: float = 0.0  # seconds of its launches until now
    last_s: float = 0.0  # of the last one

    @property
    def meets(self) -> bool:
        """Whether its threads are coroutines that a scheduler runs."""
        return "emu_run_block" in self.calls

    @property
    def prints(self) -> bool:
        """Whether it calls the host, to print or for a failed assertion."""
        return "print" in self.uses

    def link(self) -> None:
        """Bring it into this process."""
        imports = native.libm() | {name: native.address(name) for name in self.calls}
        self.tracker = native.link([self.object, self.cold] if self.cold else [self.object], ["block"], imports)
        self.block = self.tracker["block"]
