"""The engines of a run, one for each target; hosts that several targets name have one connection."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import judge
from harness.claim.repro_file import Case
from harness.fleet.engine import Engine, Events, Task
from harness.fleet.shelf import Kept, Shelf
from harness.fleet.slots import Provider, Slot
from harness.fleet.slurm_slots import SlurmPartition
from harness.fleet.ssh_slots import SshHost
from harness.fleet.targets import Target
from harness.host.hosts import Host
from harness.perturb_options import Wanted
from harness.records.index import index
from harness.run.result import Outcome, infra
from harness.store import relative

if TYPE_CHECKING:
    from harness.host.connection.connection import Remote


@dataclass(frozen=True)
class Request:
    """A case to run on a target. `key` is its id in this run; compilers go in the order of `rank`."""

    key: str
    target: str
    case: Case
    compiler: str
    rank: int = 0
    timeout_s: float | None = None
    fresh: bool = False


@dataclass(frozen=True)
class Ran:
    """An outcome and where it ran: a host's name, its device and the device's facts ('' and nothing: nowhere)."""

    outcome: Outcome
    host: str = ""
    device: str = ""
    device_facts: Mapping[str, Any] | None = None
    slot: str = ""


@dataclass(frozen=True)
class Plan:
    """The settings that all cases of a run share."""

    root: Path
    seed: int = 0
    sass: bool = False
    checks: str | None = None
    gpu_model: str | None = None
    busy: str = "wait"
    perturb: Wanted | None = None
    console: Any = None  # where a script prints and reads; it runs once
    notes: bool = False


class Fleet:
    """`hosts`: each host by its name, with a way to connect. `width`: cases at once on a host without a GPU."""

    def __init__(
        self,
        plan: Plan,
        targets: Sequence[Target],
        hosts: Mapping[str, Host],
        events: Events | None = None,
        width: Callable[[], int] = lambda: 1,
    ) -> None:
        self.plan, self.targets, self.events = plan, {target.name: target for target in targets}, events or Events()
        self._hosts, self._width = hosts, width
        self._remotes: dict[str, Remote] = {}
        self._engines: dict[str, Engine] = {}
        self._lock = threading.RLock()
        self._shelf = Shelf()
        self._seconds: dict[tuple[str, str], float] | None = None
        self._middle_s = 0.0

    def submit(self, requests: Iterable[Request]) -> None:
        """Take cases whose outcomes are asked for later."""
        by_target: dict[str, list[Request]] = {}
        for request in requests:
            by_target.setdefault(request.target, []).append(request)
        for name, some in by_target.items():
            self._engine(name).submit([self._task(one) for one in some])

    def _task(self, request: Request) -> Task:
        return Task(request.key, self._work(request), self._order(request), once=self.plan.console is not None)

    def run(self, request: Request) -> Ran:
        """The outcome of a case, whether it was submitted before or not. Raises LinkDown at the end of the run."""
        while True:
            self.submit([request])
            try:
                task = self._engine(request.target).wait(request.key)
                break
            except KeyError:
                continue  # another took it meanwhile
        slot = task.slot
        if task.unrun or slot is None:
            return Ran(infra(task.unrun))
        return Ran(task.result.take(), slot.host.name, slot.host.device, slot.host.device_facts, slot.name)

    def engines(self) -> dict[str, Engine]:
        """Those that were needed so far."""
        with self._lock:
            return dict(self._engines)

    def close(self) -> None:
        """End everything on every host."""
        with self._lock:
            engines = list(self._engines.values())
            self._shelf.close()
            self._engines.clear()
            self._remotes.clear()
        closers = [threading.Thread(target=engine.close) for engine in engines]
        for thread in closers:
            thread.start()
        for thread in closers:
            thread.join()

    def _engine(self, name: str) -> Engine:
        with self._lock:
            if name not in self._engines:
                providers = [self._provider(name, number) for number in range(len(self.targets[name].members))]
                self._engines[name] = Engine(providers, self.events, self.plan.busy)
            return self._engines[name]

    def _provider(self, target: str, number: int) -> Provider:
        member = self.targets[target].members[number]
        host = self._hosts[member.host]
        if self.targets[target].is_slurm:
            return SlurmPartition(member.text, host)
        if member.host not in self._remotes:
            remote: Any = host.connect()
            self._remotes[member.host] = remote
        return SshHost(member, self._remotes[member.host], host, self._width)

    def _order(self, request: Request) -> tuple:
        """Compilers one after another; within each the longest first, by the record, where there are several slots."""
        members = self.targets[request.target].members
        if len(members) == 1 and members[0].gpus is None:
            return (request.rank,)
        return request.rank, -self._expected_s(request.case)

    def _expected_s(self, case: Case) -> float:
        """How long the case took last, or the middle of all where it never ran."""
        with self._lock:
            if self._seconds is None:
                self._seconds = _last_seconds(self.plan.root)
                known = sorted(self._seconds.values())
                self._middle_s = known[len(known) // 2] if known else 0.0
            return self._seconds.get((relative(case.repro.path, self.plan.root), case.name), self._middle_s)

    def _work(self, request: Request) -> Callable[[Slot, Any], Kept]:
        def work(slot: Slot, transport: Any) -> Kept:
            plan = self.plan
            model = {"gpu_model": plan.gpu_model} if plan.gpu_model else {}
            host = replace(slot.host, compiler=request.compiler, **model)
            about = host, request.timeout_s, request.fresh, request.compiler, plan.seed
            how = {"sass": plan.sass, "checks": plan.checks, "perturb": plan.perturb, "console": plan.console}
            how["notes"] = plan.notes
            outcome = judge.run(transport, request.case, *about, **how)
            return self._shelf.put(outcome)  # slots are often far ahead of who asks

        return work


def _last_seconds(root: Path) -> dict[tuple[str, str], float]:
    """(claim, case) -> the seconds of its last run; nothing where the record cannot be read."""
    try:
        with index.open_index(root) as records:
            return records.last_seconds()
    except (OSError, ValueError, sqlite3.Error):
        return {}
