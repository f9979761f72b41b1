"""The engine: cases in, outcomes out; every slot has a thread, and takes the next case when it is free.

Providers open when the first case comes. A case that a place could not run, or that was running when its slot was lost,
goes to slots of other places; where none is left or to come it ends with the reasons.
"""

from __future__ import annotations

import bisect
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.fleet.slots import GpuBusy, Provider, Recalled, Slot
from harness.run.transport import Declined, Job, LinkDown, Progress
from harness.terminal import printable

MOST_LOSSES = 2  # of slots in which a case was running: it may be what loses them
MOST_RECALLS = 5
PATIENCE_S = 600.0  # for a GPU that another run holds
LOOK_S = 1.0  # for it in one call, after which the case goes back to the others
CLOSE_S = 15.0
NOTE_EVERY_S = 10.0
SHOWN = 300


@dataclass(eq=False)
class Task:
    """One case. `work(slot, transport)` runs it there; the case with the smallest `order` goes first."""

    key: Hashable
    work: Callable[[Slot, Any], Any]
    order: tuple = ()
    number: int = 0
    avoid: dict[str, str] = field(default_factory=dict)  # place -> why not there
    losses: int = 0
    recalls: int = 0
    once: bool = False  # what it did is seen already: it is not begun again elsewhere
    slot: Slot | None = None  # where it runs, or ran
    result: Any = None
    error: BaseException | None = None  # of ours
    unrun: str = ""  # why it ran nowhere
    is_done: bool = False

    @property
    def rank(self) -> tuple:
        return (*self.order, self.number)


class Events:
    """Reports of what happens, for a display. Called from the threads of slots."""

    def start(self, task: Task, slot: Slot) -> None:
        """A case begins in a slot."""

    def end(self, task: Task, slot: Slot) -> None:
        """It ended there; it may begin again in another."""

    def note(self, text: str) -> None:
        """Something a person should know."""


class Engine:
    """Hands cases to the slots of some providers. `busy` is the way to deal with a GPU that another run holds."""

    def __init__(self, providers: Sequence[Provider], events: Events | None = None, busy: str = "wait") -> None:
        self.providers, self.events, self.busy = list(providers), events or Events(), busy
        self._changed = threading.Condition()
        self._tasks: dict[Hashable, Task] = {}
        self._waiting: list[Task] = []  # by rank
        self._slots: list[Slot] = []
        self._failures: dict[str, str] = {}  # of providers and slots that give no slot
        self._coming = 0  # providers that may still offer slots
        self._opened = self._closed = False
        self._count = self._done = 0
        self._threads: list[threading.Thread] = []
        self._told: set[str] = set()
        self._waits: dict[str, float] = {}  # when it was last reported that a slot waits

    # --- for who has cases ---

    def submit(self, tasks: Iterable[Task]) -> None:
        """Take cases that are not there already."""
        with self._changed:
            for task in tasks:
                if task.key not in self._tasks:
                    self._count += 1
                    task.number = self._count
                    self._tasks[task.key] = task
                    bisect.insort(self._waiting, task, key=lambda one: one.rank)
            if not self._opened and self._waiting:
                self._open()
            self._give_up()
            self._changed.notify_all()

    def wait(self, key: Hashable) -> Task:
        """The case when it is done, which is then forgotten. Raises KeyError, and what its work raised of ours."""
        with self._changed:
            task = self._tasks[key]
            while not task.is_done:
                if self._closed:
                    raise LinkDown("the run was ended")
                self._changed.wait()
            self._tasks.pop(key, None)  # another may have waited for it too
        if task.error is not None:
            raise task.error
        return task

    def counts(self) -> dict[str, int]:
        """Cases that are done, running, waiting; slots."""
        with self._changed:
            waiting = len(self._waiting)
            running = self._count - self._done - waiting
            return {"done": self._done, "running": running, "waiting": waiting, "slots": len(self._slots)}

    def ahead(self, key: Hashable) -> int | None:
        """How many cases are handed out before this one; None where it does not wait."""
        with self._changed:
            return next((place for place, task in enumerate(self._waiting) if task.key == key), None)

    def close(self) -> None:
        """End everything, everywhere, at once."""
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()
        closers = [threading.Thread(target=provider.close, daemon=True) for provider in self.providers]
        for thread in closers:
            thread.start()
        end = time.monotonic() + CLOSE_S
        for thread in closers + self._threads:
            thread.join(max(end - time.monotonic(), 0))

    # --- for providers: see slots.Desk ---

    def offer(self, slot: Slot) -> None:
        with self._changed:
            if not self._closed:
                self._slots.append(slot)
                self._spawn(self._serve, slot)

    def withdraw(self, slot: Slot) -> None:
        with self._changed:
            self._drop(slot)

    def unfinished(self) -> int:
        with self._changed:
            return self._count - self._done

    def note(self, text: str) -> None:
        self.events.note(text)

    # --- inside ---

    def _spawn(self, target: Callable[[Any], None], argument: Any) -> None:
        thread = threading.Thread(target=target, args=(argument,), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _open(self) -> None:
        self._opened, self._coming = True, len(self.providers)
        for provider in self.providers:
            self._spawn(self._bring_up, provider)

    def _bring_up(self, provider: Provider) -> None:
        failure = ""
        try:
            provider.open(self)
        except LinkDown as error:
            failure = str(error)
        except BaseException as error:
            failure = f"{provider.name}: {type(error).__name__}: {error}"
        with self._changed:
            if failure:
                self._failures[provider.name] = failure
            is_said = failure and not self._closed and len(self.providers) > 1
        if is_said:
            self._tell(failure)  # before the run can end of it
        with self._changed:
            self._coming -= 1
            self._give_up()
            self._changed.notify_all()

    def _tell(self, text: str) -> None:
        """Say something once."""
        with self._changed:
            if self._closed or text in self._told:
                return
            self._told.add(text)
        self.events.note(text)

    def _serve(self, slot: Slot) -> None:
        """The thread of a slot."""
        busy_since = 0.0
        while (task := self._next(slot)) is not None:
            self.events.start(task, slot)
            watched = _Watched(slot.transport, self.busy)
            try:
                result = task.work(slot, watched)
            except GpuBusy as error:
                busy_since = busy_since or time.monotonic()
                self._put_back(task)
                self._tell_busy(slot, error, time.monotonic() - busy_since)
                continue
            except BaseException as error:
                task.error = error
                self._finish(task, None)
                continue
            finally:
                self.events.end(task, slot)
            busy_since = 0.0
            self._weigh(slot, task, result, watched.failure)

    def _next(self, slot: Slot) -> Task | None:
        """The case for a slot that is free; None where it is to end."""
        with self._changed:
            while not self._closed and slot in self._slots:
                for place, task in enumerate(self._waiting):
                    if slot.place not in task.avoid:
                        del self._waiting[place]
                        task.slot = slot
                        return task
                self._changed.wait()
        return None

    def _weigh(self, slot: Slot, task: Task, result: Any, failure: LinkDown | None) -> None:
        """Decide what a case's end means for it, and for its slot."""
        if failure is None or (isinstance(failure, Declined) and failure.started):
            self._finish(task, result)
        elif isinstance(failure, Declined):
            task.avoid[slot.place] = str(failure)
            self._put_back(task)
        elif isinstance(failure, Recalled):
            task.recalls += 1
            self._retire(slot, str(failure), is_told=True)
            self._put_back(task, result if task.once or task.recalls >= MOST_RECALLS else None)
        else:
            task.losses += 1
            task.avoid[slot.place] = str(failure)
            self._tell_lost(slot, failure)
            self._put_back(task, result if task.once or task.losses >= MOST_LOSSES else None)
            try:
                slot.revive()
            except LinkDown as error:
                self._retire(slot, str(error))

    def _tell_lost(self, slot: Slot, failure: LinkDown) -> None:
        with self._changed:
            others = any(one.place != slot.place for one in self._slots) or self._coming
        if others:
            self._tell(f"{slot.place}: {failure}; what ran there goes to other slots")

    def _tell_busy(self, slot: Slot, error: GpuBusy, waited_s: float) -> None:
        """Say that another run holds the GPU, now and then; leave the slot out where that is asked or lasts."""
        if self.busy == "skip":
            self._retire(slot, f"{slot.name} is left out: the GPU is busy: {error}")
        elif waited_s > PATIENCE_S:
            self._retire(slot, f"{slot.name} is left out: the GPU was not free within {PATIENCE_S:g} s: {error}")
        elif slot.name not in self._waits or time.monotonic() - self._waits[slot.name] > NOTE_EVERY_S:
            self._waits[slot.name] = time.monotonic()
            self.events.note(Progress(f"{slot.name}: waiting for the GPU: {error}"))

    def _finish(self, task: Task, result: Any) -> None:
        with self._changed:
            task.result, task.is_done = result, True
            self._done += 1
            self._changed.notify_all()

    def _put_back(self, task: Task, result: Any = None) -> None:
        """Let another slot have the case, or end it with `result`, or with the reasons where no slot can have it."""
        if result is not None:
            return self._finish(task, result)
        with self._changed:
            if not self._closed:
                bisect.insort(self._waiting, task, key=lambda one: one.rank)
                self._give_up()
                self._changed.notify_all()

    def _retire(self, slot: Slot, why: str, is_told: bool = False) -> None:
        """Hand the slot no more cases, and report it if other slots go on and its provider does not report it."""
        with self._changed:
            self._failures[slot.name] = why
            self._drop(slot)
            others = bool(self._slots) or self._coming
        if others and not is_told:
            self._tell(why)

    def _drop(self, slot: Slot) -> None:
        if slot in self._slots:
            self._slots.remove(slot)
        self._give_up()
        self._changed.notify_all()

    def _give_up(self) -> None:
        """End the cases that no slot can take, now or later. The lock is held."""
        if self._coming or not self._opened:
            return
        places = {slot.place for slot in self._slots}
        hopeless = [task for task in self._waiting if not places - task.avoid.keys()]
        if hopeless:
            self._waiting = [task for task in self._waiting if places - task.avoid.keys()]
        for task in hopeless:
            reasons = dict.fromkeys([*task.avoid.values(), *self._failures.values()])
            task.unrun = "\n".join(reasons) or "there is no slot"
            self._finish(task, None)


class _Watched:
    """A slot's transport for one case: it keeps what failed, and does not wait long for a GPU at its first job."""

    def __init__(self, transport: Any, busy: str) -> None:
        self._transport, self._busy = transport, busy
        self._has_run = False
        self.failure: LinkDown | None = None

    def run(self, job: Job) -> tuple[dict[str, Any], list[bytes]]:
        """As of a Transport. Raises GpuBusy where another run holds the GPU, before the case was begun."""
        if self._busy == "share":
            job = replace(job, gpu="")
        patience_s = PATIENCE_S if self._has_run else 0.0 if self._busy == "skip" else LOOK_S
        try:
            reply = self._transport.run(replace(job, gpu_patience_s=patience_s))
        except LinkDown as error:
            self.failure = error
            raise
        if reply[0].get("kind") == "busy" and reply[0].get("locked") is True and not self._has_run:
            raise GpuBusy(printable(str(reply[0].get("holder")))[:SHOWN] or "another run has it")
        self._has_run = True
        return reply

    def close(self) -> None:
        """The slot's transport stays open for the next case."""
