"""Threads of a block that wait at its mbarriers for ever, in words. Pipelines of mbarriers are in rings.py."""

from __future__ import annotations

import ctypes

from dsl.emulator import families
from dsl.emulator.diagnosis.places import line_of, shared_place
from dsl.emulator.diagnosis.ranges import of_bytes
from dsl.emulator.families.mbarrier import rings
from dsl.emulator.families.mbarrier.check import Mbarriers
from dsl.emulator.families.mbarrier.emit import State


class Waits:
    """Those of the block in the slot of a launch. A group of threads is a key, (OPCODE, site, address, parity), and its
    threads; see diagnosis/fault_report.py."""

    OPCODE = "mbarrier"

    def __init__(self, launch) -> None:
        self.launch, self.words = launch, rings.Words(launch)

    @staticmethod
    def key(ctx, thread: int) -> tuple[int, int]:
        """The address and the parity that a thread waits for."""
        return ctx.a[thread], ctx.b[thread] & 1

    @staticmethod
    def data(address: int, parity: int) -> dict | None:
        """The phase as data: arrivals that came, of how many, bytes that are missing; None where it has ended."""
        state = State.of(ctypes.c_uint64.from_address(address).value)
        if not state.count or state.parity != parity:
            return None
        return {"parity": parity, "came": state.came, "of": state.count, "bytes": state.pending_bytes}

    def phase(self, address: int, parity: int) -> list[str]:
        """Texts about the missing part of an mbarrier's phase."""
        offset = address - self.launch.ctx.smem
        place = shared_place(self.launch, offset, 1)
        state = State.of(ctypes.c_uint64.from_address(address).value)
        if state.count == 0:
            return [f"        for a phase of {place} to end, where no mbarrier was made: mbarrier.init comes first"]
        if state.parity != parity:
            return [f"        for the phase of parity {parity} of {place} to end, which it has"]
        came = f"{state.came} of {state.count} arrivals have come"
        if state.came > state.count:
            came = f"{state.came} arrivals have come, and it counts {state.count}"
        left = state.pending_bytes
        if left > 0:
            came += f", and {of_bytes(left)} that {'was expected has' if left == 1 else 'were expected have'} not"
        elif left < 0:
            came += f", and {of_bytes(-left)} more than were expected"
        return [
            f"        for the phase of parity {parity} of the mbarrier at {place} to end: {came},",
            "        and no thread arrives at the mbarrier any more",
            *(f"        ({text})" for text in self.words.lacks(offset) + [text for text, _ in self._lacking()]),
        ]

    def _lacking(self) -> list[tuple[str, str]]:
        """Texts of other families about what would arrive, each with its fix."""
        return [text for lacking in families.named("words", "lacking") for text in lacking(self.launch)]

    def lines(self, groups: dict[tuple, list[int]]) -> list[str]:
        """A line a stage of each pipeline that threads wait in."""
        return self.words.stages(self._waited(groups))

    def fix_of_bytes(self, groups: dict[tuple, list[int]]) -> str | None:
        """The fix for a phase whose bytes do not add up. Threads of other blocks may wait for it too."""
        return self.words.fix_of_bytes(self._waited(groups))

    def fix(self, groups: dict[tuple, list[int]]) -> str | None:
        """The fix; None if it is not known."""
        fixes = [fix for _, fix in self._lacking()] if any(key[0] == self.OPCODE for key in groups) else []
        return next(iter(fixes), None) or self.words.fix(self._waited(groups)) or self._of_one(groups)

    def _waited(self, groups: dict[tuple, list[int]]) -> dict[int, int]:
        """Offsets of mbarriers, each with the mask of the warps that wait there."""
        waited: dict[int, int] = {}
        for key, threads in groups.items():
            if key[0] == self.OPCODE:
                offset = key[2] - self.launch.ctx.smem
                waited[offset] = waited.get(offset, 0) | sum(1 << warp for warp in {each // 32 for each in threads})
        return waited

    def _of_one(self, groups: dict[tuple, list[int]]) -> str | None:
        """A wait for a phase that nobody has begun."""
        launch = self.launch
        for key, threads in groups.items():
            one = self.words.of.get(key[2] - launch.ctx.smem) if key[0] == self.OPCODE else None
            if one is None or one.state.pending != one.state.count or one.state.pending_bytes:
                continue
            at = line_of(launch, launch.code.sites[key[1]])
            if self._is_overrun(key[2], threads):
                return (
                    f"let who fills what {at} waits for wait until all have seen the phase before, at an empty "
                    "mbarrier where they arrive (`pipeline.producer_acquire`): the phase that they wait for has ended, "
                    "and so has the next one"
                )
            if one.noted["arrivers"]:
                return (
                    f"wait for parity {1 - key[3]} at {at}, if it is for what the threads have arrived for until now: "
                    f"that phase has ended, and nobody arrives for the one of parity {key[3]}"
                )
            times = "once" if one.state.count == 1 else f"{one.state.count} times"
            return (
                f"arrive at the mbarrier {one.name} {times} (mbarrier.arrive), as its mbarrier.init requires, or do "
                f"not wait at {at}"
            )
        return None

    def _is_overrun(self, address: int, threads: list[int]) -> bool:
        """Whether two phases of an mbarrier have ended that a thread has not seen; known where races are looked for."""
        order = self.launch.checks.order if self.launch.checks is not None else None
        one = order.of(Mbarriers).mbarriers.get(address) if order is not None else None
        if one is None:
            return False
        seen = [one.waits[thread].phase if thread in one.waits else -1 for thread in threads]
        return min(seen) + 2 < one.phase


WAITS = Waits
