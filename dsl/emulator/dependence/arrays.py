"""Which device memory of a run holds open values: what launches may have stored there, one after another.

Arrays that kernels of a run had are followed one by one. Memory that no kernel had belongs to the host, and may come
from any array that is open by then; so may an array that a kernel gets for the first time, unless it is filled with one
value.
"""

from __future__ import annotations

import bisect
import ctypes
import os
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from dsl.emulator.dependence import dataflow, uses
from dsl.emulator.dependence.dataflow import Place, Pointers, Summary
from dsl.emulator.dependence.sources import Leeway
from dsl.emulator.execute.program import Program
from dsl.emulator.machine.memory import Memory

_WORD_BYTES = 8
Origins = frozenset["Origin"]
_NONE: Origins = frozenset()


@dataclass(frozen=True, slots=True)
class Origin:
    """An instruction that leaves its result open, with its author's file and line if the PTX names them."""

    instruction: str
    file: str | None
    line: int | None
    leeway: Leeway

    def as_table(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return {
            "instruction": self.instruction,
            "file": self.file and os.path.basename(self.file),
            "line": self.line,
            "bound": self.leeway.bound,
            "relative": self.leeway.relative,
            "absolute": self.leeway.absolute,
        }


@dataclass(frozen=True, slots=True)
class Decision:
    """A place in which a kernel decides by open values: `what` is one of uses.BRANCH and its like."""

    what: str
    instruction: str
    file: str | None
    line: int | None

    def as_table(self, origins: Origins) -> dict[str, Any]:
        """As plain data, for JSON."""
        return {
            "what": self.what,
            "instruction": self.instruction,
            "file": self.file and os.path.basename(self.file),
            "line": self.line,
            "through": [each.as_table() for each in _sorted(origins)],
        }


class Arrays:
    """The memory of one run."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._origins: dict[int, Origins] = {}  # by the start of an array that a kernel had
        self._learned: tuple[int, int] | None = None  # the ranges as they were last
        self._launched: tuple[Summary, dict[int, dict[int, int]]] = Summary(), {}
        self._uses: weakref.WeakKeyDictionary[Program, dict[tuple, tuple]] = weakref.WeakKeyDictionary()
        self._decisions: dict[Decision, Origins] = {}
        self._variables: weakref.WeakKeyDictionary[Program, dict[str, Origins]] = weakref.WeakKeyDictionary()
        self._summaries: weakref.WeakKeyDictionary[Program, dict[tuple, Summary]] = weakref.WeakKeyDictionary()

    def of(self, address: int | None, size_bytes: int) -> list[Origin]:
        """The origins that the bytes there may depend on, by line. Without an address: the host's own memory."""
        origins = _NONE
        starts = [] if address is None else [s for s, e in self._rows() if s < address + size_bytes and address < e]
        had = [start for start in starts if start in self._origins]
        for start in had or self._origins:
            origins |= self._origins[start]
        return _sorted(origins)

    def decisions(self) -> list[dict[str, Any]]:
        """The places in which kernels decided by open values, by line."""
        rows = sorted(self._decisions.items(), key=lambda row: (row[0].file or "", row[0].line or 0, row[0].what))
        return [each.as_table(origins) for each, origins in rows]

    def launch(self, program: Program, entry: str, params: Sequence[bytes], memory: Memory) -> None:
        """Take note of a launch that is about to run."""
        self._learn(memory)
        pointers = {number: words for number, data in enumerate(params) if (words := self._words(data))}
        rows = tuple((number, tuple(words)) for number, words in pointers.items())
        summary = self._summaries.setdefault(program, {}).get((entry, rows))
        if summary is None:
            offsets: Pointers = {number: tuple(words) for number, words in pointers.items()}
            summary = dataflow.summary_of(program.module, entry, program.tensor_core, offsets)
            self._summaries[program][entry, rows] = summary
        for words in pointers.values():
            self._touch(words.values())
        self._launched = summary, pointers
        self._join(program, summary, pointers)

    def ended(self, program: Program, entry: str) -> None:
        """Take note of what the last launch was seen to do."""
        if seen := program.seen.get(entry, 0):
            self._join(program, *self._launched, seen)
        if self._launched[0].sources or any(self._origins.values()) or any(self._variables.values()):
            self._note_decisions(program, entry, self._launched[1])

    def _note_decisions(self, program: Program, entry: str, pointers: dict[int, dict[int, int]]) -> None:
        offsets = {number: tuple(words) for number, words in pointers.items()}
        known, key = self._uses.setdefault(program, {}), (entry, tuple(offsets.items()))
        if key not in known:
            known[key] = uses.uses_of(program.module, entry, program.tensor_core, offsets)
        summary, found = known[key]
        sources = self._counted(program, summary, program.seen.get(entry, 0))
        for use in found:
            origins = {each for number, each in sources.items() if use.bits >> number & 1}
            for number, place in enumerate(summary.places):
                if use.bits >> len(summary.sources) + 2 * number & 1:
                    origins |= self._held(program, place, pointers)
            origins = {each for each in origins if each.leeway.decides}
            if origins:
                place = program.place_of(use.instr.loc)
                made = Decision(use.what, use.instr.name, place and place.file, place and place.line)
                self._decisions[made] = self._decisions.get(made, _NONE) | origins

    def _join(self, program: Program, summary: Summary, pointers: dict[int, dict[int, int]], seen: int = 0) -> None:
        sources = self._counted(program, summary, seen)
        changed = bool(summary.writes)
        while changed:
            changed = False
            for place, bits in summary.writes.items():
                origins = frozenset(each for number, each in sources.items() if bits >> number & 1)
                for number, other in enumerate(summary.places):
                    which = bits >> len(summary.sources) + 2 * number & 3
                    if which:
                        held = self._held(program, other, pointers)
                        origins |= held if which & 1 else frozenset(each for each in held if each.leeway.decides)
                changed |= self._add(program, place, pointers, origins)

    def _counted(self, program: Program, summary: Summary, seen: int) -> dict[int, Origin]:
        """The sources that count, by their bit."""
        origins = enumerate(_origin(program, each) for each in summary.sources)
        return {number: each for number, each in origins if not each.leeway.seen & ~seen}

    def _held(self, program: Program, place: Place, pointers: dict[int, dict[int, int]]) -> Origins:
        if place[0] == "variable":
            return self._variables.get(program, {}).get(place[2], _NONE)
        return _NONE.union(*(self._origins.get(start, _NONE) for start in self._targets(place, pointers)))

    def _add(self, program: Program, place: Place, pointers: dict[int, dict[int, int]], origins: Origins) -> bool:
        """Let a place depend on these too; whether that is new."""
        if place[0] == "variable":
            return _extend(self._variables.setdefault(program, {}), [place[2]], origins)
        return _extend(self._origins, self._targets(place, pointers), origins)

    def _targets(self, place: Place, pointers: dict[int, dict[int, int]]) -> list[int]:
        return [pointers[place[1]][place[2]]] if place[0] == "param" else self._starts

    # ** memory

    def _rows(self) -> Iterable[tuple[int, int]]:
        return zip(self._starts, self._ends)

    def _learn(self, memory: Memory) -> None:
        """Take over the ranges that are registered now; those that overlap are one array."""
        if self._learned == (memory.number, memory.signature):
            return
        self._learned = memory.number, memory.signature
        rows = sorted([*self._rows(), *((each.address, each.end) for each in memory.allocations())])
        starts: list[int] = []
        ends: list[int] = []
        for start, end in rows:
            if starts and start < ends[-1]:
                ends[-1] = max(ends[-1], end)
                if start != starts[-1] and start in self._origins:
                    self._origins[starts[-1]] = self._origins.get(starts[-1], _NONE) | self._origins.pop(start)
            else:
                starts.append(start)
                ends.append(end)
        self._starts, self._ends = starts, ends

    def _words(self, data: bytes) -> dict[int, int]:
        """Offsets of the words of a parameter that point into an array (or to its end) -> the start of that array."""
        words = {}
        for offset in range(0, len(data) - _WORD_BYTES + 1, _WORD_BYTES):
            address = int.from_bytes(data[offset : offset + _WORD_BYTES], "little")
            at = bisect.bisect_right(self._starts, address) - 1
            if at >= 0 and address <= self._ends[at]:
                words[offset] = self._starts[at]
        return words

    def _touch(self, starts: Iterable[int]) -> None:
        open_by_now = _NONE.union(*self._origins.values())
        for start in starts:
            if start not in self._origins:
                end = self._ends[self._starts.index(start)]
                self._origins[start] = open_by_now if open_by_now and not _is_filled(start, end - start) else _NONE


def _sorted(origins: Iterable[Origin]) -> list[Origin]:
    return sorted(origins, key=lambda one: (one.file or "", one.line or 0, one.instruction))


K = TypeVar("K")


def _extend(table: dict[K, Origins], keys: Iterable[K], origins: Origins) -> bool:
    new = [key for key in keys if not origins <= table.get(key, _NONE)]
    for key in new:
        table[key] = table.get(key, _NONE) | origins
    return bool(new)


def _is_filled(address: int, size_bytes: int) -> bool:
    """Whether memory holds one value over and over."""
    data = np.ctypeslib.as_array((ctypes.c_uint8 * size_bytes).from_address(address))
    return bool((data[_WORD_BYTES:] == data[:-_WORD_BYTES]).all())


def _origin(program: Program, source: dataflow.Source) -> Origin:
    place = program.place_of(source.loc)
    return Origin(source.instruction, place and place.file, place and place.line, source.leeway)
