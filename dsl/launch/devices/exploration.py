"""A program run once for each combination of outcomes that the PTX memory model allows for its launches."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsl.exceptions import KernelFault

if TYPE_CHECKING:
    from dsl.emulator.execute.executions import Executions
    from dsl.emulator.execute.program import Program
    from dsl.emulator.machine.memory import Memory
    from dsl.memory_model.outcomes import Outcome


class NeverEnds(KernelFault):
    """The outcome that was chosen is a launch that does not end."""


@dataclass
class _Known:
    """The outcomes of one launch, where its memory had these bases (address, bytes)."""

    entry: str
    rows: list[Outcome]
    told: Executions
    bases: list[tuple[int, int]]

    def moved(self, address: int, bases: list[tuple[int, int]]) -> int:
        """The address in a later run, whose memory may be elsewhere."""
        for (old, nbytes), (new, _) in zip(self.bases, bases):
            if old <= address < old + nbytes:
                return new + address - old
        return address


def _bases(params: Sequence[bytes], memory: Memory) -> list[tuple[int, int]]:
    """The allocations that pointers among the parameters point into, in the order of the pointers."""
    words = [int.from_bytes(data[i : i + 8], "little") for data in params for i in range(0, len(data) - 7, 8)]
    rows = [(each.address, each.size_bytes) for each in memory.allocations()]
    return [row for word in words for row in rows if row[0] <= word < row[0] + row[1]]


class Exploration:
    """`bound`: how often a thread comes by one instruction. `again()` chooses the outcomes of the next run."""

    def __init__(self, bound: int):
        self.bound, self.is_complete = bound, True
        self._known: dict[tuple[int, ...], _Known] = {}  # by the choices before
        self._path: list[int] = []
        self._depth = 0

    def launch(self, program: Program, entry: str, launch: Any, params: Sequence[bytes], memory: Memory) -> None:
        """Give memory what it holds after the outcome that was chosen; `launch` is a protocol.Launch.

        Raises NeverEnds, Fault, Unsupported, ValueError.
        """
        key = tuple(self._path[: self._depth])
        bases = _bases(params, memory)
        if key not in self._known:
            from dsl.emulator.execute.executions import Executions
            from dsl.emulator.execute.outcomes import Outcomes

            found = Outcomes(
                program, entry, launch.grid, launch.block, list(params), memory, launch.smem_bytes, launch.cluster,
                bound=self.bound,
            )  # fmt: skip
            told = Executions(found)
            rows = sorted(found, key=lambda each: (bool(each.stuck), not told.is_interleaving(each)))
            self.is_complete &= found.is_complete
            if not rows:
                raise ValueError(
                    f"no execution of `{entry}` ends within {self.bound} executions of an instruction by a thread\n"
                    "fix: give a higher --bound"
                )
            self._known[key] = _Known(entry, rows, told, bases)
        known = self._known[key]
        if self._depth == len(self._path):
            self._path.append(0)
        chosen = known.rows[self._path[self._depth]]
        self._depth += 1
        if chosen.stuck:
            raise NeverEnds(f"`{entry}` never ends in this outcome")
        for place, value in chosen.final:
            address = known.moved(place.address, bases)
            ctypes.memmove(address, value.to_bytes(place.size_bytes, "little"), place.size_bytes)

    @property
    def choice(self) -> list[int]:
        """The outcome of each launch of this run, by number."""
        return self._path[: self._depth]

    def launches(self) -> list[dict[str, Any]]:
        """Each launch that was explored: the choices before it, its entry, and its outcomes: what memory holds at the
        end, the steps of an execution, whether an order of the accesses gives it, and who waits for ever."""
        return [
            {
                "after": list(key),
                "entry": known.entry,
                "outcomes": [
                    {
                        "final": known.told.final(one),
                        "steps": known.told.steps(one),
                        "interleaving": known.told.is_interleaving(one),
                        "stuck": known.told.stuck(one),
                    }
                    for one in known.rows
                ],
            }
            for key, known in self._known.items()
        ]

    def again(self) -> bool:
        """Choose the next combination; False after the last one."""
        del self._path[self._depth :]
        while self._path:
            depth = len(self._path) - 1
            if self._path[-1] + 1 < len(self._known[tuple(self._path[:depth])].rows):
                self._path[-1] += 1
                break
            self._path.pop()
        self._depth = 0
        return bool(self._path)
