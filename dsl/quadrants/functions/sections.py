"""A `@qd.kernel(graph=True)` in sections: what the host launches again in a `qd.graph.do_while` loop, or leaves out
after a `qd.checkpoint` that paused.

The host function launches the tasks of one section, whose number a slot brings. The flags that decide are copied to
scratch memory by the section's last task, and read there between two calls. Source: Quadrants user guide, Graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class GraphStatus:
    """How a launch of a kernel with checkpoints ended: whether one paused, and its label (None where none did)."""

    __slots__ = ("yielded", "checkpoint")

    def __init__(self, yielded: bool, checkpoint: Any):
        self.yielded, self.checkpoint = yielded, checkpoint

    def __repr__(self) -> str:
        return f"GraphStatus(yielded=True, checkpoint={self.checkpoint!r})" if self.yielded else (
            "GraphStatus(yielded=False)"
        )  # fmt: skip


@dataclass
class Section:
    """Tasks that one call of the host function launches. `stage`: of the checkpoint they belong to, None for none."""

    number: int
    stage: int | None


@dataclass
class Loop:
    """A `qd.graph.do_while`: its parts run until the flag at this offset of scratch memory is 0."""

    stage: int | None
    flag_at: int
    parts: list = field(default_factory=list)


@dataclass
class Pause:
    """The end of a checkpoint: if the flag is not 0, what belongs to later stages is left out."""

    stage: int
    flag_at: int
    label: Any


class Sections:
    """The sections of a kernel being traced."""

    def __init__(self):
        self.parts: list = []
        self._open = [self.parts]
        self.count, self.stages = 0, 0
        self.stage: int | None = None
        self.labels: dict[Any, int] = {}
        self.add()

    @property
    def is_repeated(self) -> bool:
        """Whether what is traced now may run several times."""
        return len(self._open) > 1

    def add(self) -> None:
        """Begin a section."""
        self._open[-1].append(Section(self.count, self.stage))
        self.count += 1

    def begin_loop(self, flag_at: int) -> None:
        loop = Loop(self.stage, flag_at)
        self._open[-1].append(loop)
        self._open.append(loop.parts)
        self.add()

    def end_loop(self) -> None:
        self._open.pop()
        self.add()

    def begin_stage(self) -> None:
        """A loop or a checkpoint that a resumed launch may leave out."""
        self.stage = self.stages
        self.stages += 1
        self.add()

    def end_stage(self, pause: Pause | None = None) -> None:
        if pause is not None:
            self._open[-1].append(pause)
        self.stage = None
        self.add()


class Run:
    """One launch: `launch(number)` runs a section, `read(offset)` gives a flag, `first` is the stage to resume at."""

    def __init__(self, launch: Callable[[int], None], read: Callable[[int], int], first: int):
        self._launch, self._read, self._first = launch, read, first
        self.paused: Pause | None = None

    def _runs(self, stage: int | None) -> bool:
        return stage is None or (self.paused is None and stage >= self._first)

    def run(self, parts: list) -> None:
        for part in parts:
            if not self._runs(part.stage):
                continue
            if isinstance(part, Section):
                self._launch(part.number)
            elif isinstance(part, Pause):
                self.paused = part if self._read(part.flag_at) else None
            else:
                self._repeat(part)

    def _repeat(self, loop: Loop) -> None:
        while True:
            self.run(loop.parts)
            if self.paused is not None or not self._read(loop.flag_at):
                return
            self._first = 0  # a resumed launch leaves out what comes before its checkpoint in one trip alone

    @property
    def status(self) -> GraphStatus:
        return GraphStatus(self.paused is not None, self.paused.label if self.paused is not None else None)
