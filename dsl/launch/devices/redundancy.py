"""Synchronisation that a run does not need: each line's is left out of a launch, which then has to do the same.

A launch runs again, in a separate process and with all checks, without the barriers, fences or waits of one line. They
are not needed if nothing is found and memory is the same after it. That counts for all orders of the threads: a kernel
is tried only if one clean run speaks for all of them (emulator/families/order_dependence.py).
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dsl.launch.devices import forked
from dsl.launch.devices.protocol import Launch

if TYPE_CHECKING:
    from dsl.emulator.execute.program import Program
    from dsl.emulator.families.removal import Position
    from dsl.emulator.machine.memory import Memory
    from dsl.emulator.ptx.syntax import Instr

BUDGET_S = 60.0  # of a run
SEEDS = (0, 1, 2)
_LEAST_S, _TIMES = 10.0, 30.0  # a launch without synchronisation gets this long, or so many times its usual time
_TOLD_S = 2.0  # between two words on how far it is
_WRONG = "wrong"
Run = Callable[..., None]  # makes the launch, given a program, a seed and what gets the text that it prints


@dataclass(eq=False)
class Line:
    """All instructions of one kind in one line of the author. `either`: lines of which one is enough."""

    instr: Instr
    positions: list[Position] = field(default_factory=list)
    either: list[Line] = field(default_factory=list)


@dataclass
class _Kernel:
    program: Program
    entry_name: str
    shape: str
    lines: list[Line]
    why: str = ""  # it is not tried
    kept: list[Line] = field(default_factory=list)  # lines that can be left out together
    launches: int = 0
    orders: int = 0


class Redundancy:
    """The search in the launches of one run. `announce` gets a sentence now and then."""

    def __init__(self, seconds: float, announce: Callable[[], Callable[[str], None] | None]):
        self.left_s, self._announce = seconds, announce
        self._kernels: dict[tuple[str, str], _Kernel] = {}
        self._told = time.monotonic()

    def launch(self, program: Program, entry: str, launch: Launch, memory: Memory, run: Run) -> None:
        """Try the kernel of a launch that is about to be made."""
        key = program.sha256, entry
        is_first = key not in self._kernels
        if is_first:
            self._kernels[key] = self._kernel(program, entry, launch)
        kernel, self._told = self._kernels[key], time.monotonic()
        kernel.launches += 1
        if kernel.why or not kernel.lines or (not is_first and not kernel.kept):
            return
        trial = _Trial(kernel, memory, run)
        began = time.monotonic()
        try:
            self._search(kernel, trial) if is_first else self._confirm(kernel, trial)
        except _Over:
            kernel.why, kernel.kept = f"the {BUDGET_S:g} s for it were over after {trial.count} runs", []
        finally:
            self.left_s -= time.monotonic() - began

    def _kernel(self, program: Program, entry: str, launch: Launch) -> _Kernel:
        blocks, threads = math.prod(launch.grid), math.prod(launch.block)
        shape = f"{blocks} block{'s' * (blocks > 1)} of {threads} thread{'s' * (threads > 1)}"
        kernel = _Kernel(program, entry, shape, [])
        kernel.lines = _lines(program, entry)
        dependences = program.order_dependences(entry) if kernel.lines else {}
        kernel.why = next((why for why, is_peek in dependences.items() if not is_peek), "")
        kernel.orders = len(SEEDS) + bool(dependences)
        return kernel

    def _search(self, kernel: _Kernel, trial: _Trial) -> None:
        usual = self._base(kernel, trial)
        apart = []
        for number, line in enumerate(kernel.lines if usual else ()):
            self._tell(f"notes: {number} of {len(kernel.lines)} lines of `{kernel.entry_name}` tried")
            if self._gives(trial, usual, [line]):
                if self._gives(trial, usual, [*kernel.kept, line]):
                    if not self._gives(trial, usual, [line], trapped=True):
                        kernel.kept.append(line)
                else:
                    apart.append(line)
        for line in apart:
            for other in kernel.kept:
                if not self._gives(trial, usual, [other, line]):
                    other.either.append(line)
        self._confirm_orders(kernel, trial, usual)

    def _confirm(self, kernel: _Kernel, trial: _Trial) -> None:
        """Keep what a later launch does not need either."""
        usual = self._base(kernel, trial)
        if not usual or self._gives(trial, usual, kernel.kept, SEEDS):
            return
        lines, kernel.kept = kernel.kept, []
        for line in lines:
            line.either = []
            if self._gives(trial, usual, [line]) and self._gives(trial, usual, [*kernel.kept, line]):
                kernel.kept.append(line)
        self._confirm_orders(kernel, trial, usual)

    def _confirm_orders(self, kernel: _Kernel, trial: _Trial, usual: str) -> None:
        if kernel.kept and not self._gives(trial, usual, kernel.kept, SEEDS):
            kernel.kept = []

    def _base(self, kernel: _Kernel, trial: _Trial) -> str:
        """The digest of memory after the whole kernel; "", and the kernel has a reason, if there is none."""
        began = time.monotonic()
        usual = trial.row((), (0,), False, began + self._limit())
        trial.limit_s = max(_LEAST_S, _TIMES * (time.monotonic() - began))
        if usual[0] != forked.SAME:
            kernel.why, kernel.kept = usual[1] or "it ran for too long", []
            return ""
        return usual[1]

    def _gives(
        self, trial: _Trial, usual: str, lines: Sequence[Line], seeds: Sequence[int] = (0,), trapped: bool = False
    ) -> bool:
        """Whether the launch without these lines does as usual. Raises _Over."""
        end = time.monotonic() + min(self._limit() - trial.spent(), trial.limit_s)
        return trial.row(lines, seeds, trapped, end) == [forked.SAME, usual]

    def _limit(self) -> float:
        if self.left_s <= 0:
            raise _Over
        return self.left_s

    def _tell(self, sentence: str) -> None:
        announce, now = self._announce(), time.monotonic()
        if announce is not None and now - self._told > _TOLD_S:
            self._told = now
            announce(sentence)

    def report(self) -> None:
        """Warn of what no launch needed, and of kernels that were not tried."""
        from dsl.emulator.diagnosis import report

        for kernel in self._kernels.values():
            for line in kernel.kept:
                report.warn(kernel, "REDUNDANT_SYNC", line.instr, _note(kernel, line))
            if kernel.why:
                first = kernel.lines[0].instr
                about = f"whether `{kernel.entry_name}` needs all of its synchronisation was not tried: {kernel.why}"
                report.warn(kernel, "SYNC_NOT_TRIED", first, about)


class _Over(Exception):
    """No time is left."""


class _Trial:
    """One launch, made again and again in separate processes."""

    def __init__(self, kernel: _Kernel, memory: Memory, run: Run):
        self.kernel, self.memory, self.run = kernel, memory, run
        self.count, self.limit_s, self._began = 0, _LEAST_S, time.monotonic()

    def spent(self) -> float:
        return time.monotonic() - self._began

    def row(self, lines: Sequence[Line], seeds: Sequence[int], trapped: bool, end: float) -> list[str]:
        """SAME and a digest of memory, or another word and what was found. Raises _Over."""
        if end <= time.monotonic():
            raise _Over
        self.count += 1
        positions = [each for line in lines for each in line.positions]
        work = functools.partial(self._rows, positions, seeds, trapped)
        return next(forked.rows(work, end), [_WRONG, ""])

    def _rows(self, positions: Sequence[Position], seeds: Sequence[int], trapped: bool) -> Iterator[list[str]]:
        usual = self.kernel.program
        programs = [usual.without(positions, trapped)] if positions else [usual]
        if not trapped and usual.order_dependences(self.kernel.entry_name):
            programs.append(usual.without(positions, peeks_fail=True))
        before = self._contents()
        found = set()
        for program, seed in ((program, seed) for program in programs for seed in seeds):
            for address, data in before:
                ctypes.memmove(address, data, len(data))
            if problem := self._problem(program, seed):
                yield [_WRONG, problem]
                return
            found.add(self._digest())
        yield [forked.SAME, *found] if len(found) == 1 else [_WRONG, "orders of its threads differ"]

    def _problem(self, program: Program, seed: int) -> str:
        """Run the launch; what is wrong with it, if anything is."""
        printed: list[str] = []
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                self.run(program, seed, printed.append)
            except Exception as error:
                return f"it has a finding, {getattr(error, 'kind', type(error).__name__)}"
        if warned:
            return f"it has a finding, {str(warned[0].message).partition(':')[0]}"
        return "it prints, in an order that barriers may give" if printed else ""

    def _contents(self) -> list[tuple[int, bytes]]:
        rows = [*self.memory.allocations(), *self.kernel.program.allocations()]
        return [(each.address, ctypes.string_at(each.address, each.end - each.address)) for each in rows]

    def _digest(self) -> str:
        digest = hashlib.sha256()
        for _, data in self._contents():
            digest.update(data)
        return digest.hexdigest()


def _lines(program: Program, entry: str) -> list[Line]:
    """The instructions that may be left out, by line; those that go together are of the first one's line."""
    from dsl.emulator.diagnosis import frames

    lines: dict[tuple, Line] = {}
    of: dict[Position, Line] = {}
    hidden = set()
    for step in program.steps(entry):
        place = frames.place_of(_Kernel(program, entry, "", []), step.instr)
        key = (place.file, place.line, step.instr.name) if place else (step.instr.line, step.instr.name)
        hidden |= {key} if step.is_hidden else set()
        line = next((of[each] for each in step.others if each in of), None) or lines.setdefault(key, Line(step.instr))
        lines[key] = line
        for position in (step.position, *step.others):
            if of.setdefault(position, line) is line and position not in line.positions:
                line.positions.append(position)
    alone = {id(lines[key]) for key in hidden}
    return [each for each in dict.fromkeys(lines.values()) if id(each) not in alone]


def _note(kernel: _Kernel, line: Line) -> str:
    from dsl.emulator.diagnosis import places

    other = [f"the `{each.instr.name}` of {places.at(kernel, each.instr, line.instr)}" for each in line.either]
    ordered = f"by {' or '.join(other)} too" if other else "without it"
    launches = f" after each of {kernel.launches} launches" if kernel.launches > 1 else ""
    return (
        f"`{line.instr.name}` is not needed in this run ({kernel.shape}): what it separates is ordered {ordered}, or "
        f"touches other memory (left out: {kernel.orders} orders, complete, no finding, the same memory{launches})"
    )
