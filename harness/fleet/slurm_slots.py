"""Slots of a Slurm cluster: one for each GPU of each allocation that it lends to this run.

An allocation is used for many cases. A time limit or a preemption that takes it back takes the slot back: the case runs
again in another slot, for which a new job is submitted.
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import replace
from typing import Any

from harness.fleet.slots import Desk, Recalled, Slot
from harness.host import hosts
from harness.host.connection.connection import Lane, Remote
from harness.host.hosts import Host
from harness.host.login import Login
from harness.host.slurm import (
    BEAT_S,
    NOT_SHARED,
    Cluster,
    ControllerAway,
    IntoJob,
    Job as SlurmJob,
    is_away,
    problems,
    wanted,
)
from harness.run.transport import Declined, Job, LinkDown, Progress

POLL_S, MOST_POLL_S = 1.0, 10.0  # often where something happens
AWAY_S = 600.0  # for Slurm's controller to come back
MOST_RESUBMITTED = 8
_SETTLE_S = 15.0  # for Slurm to report how a job ended


class SlurmPartition:
    """A provider of slots: see slots.Provider. `host` has the settings and the name of the target."""

    def __init__(self, target: str, host: Host) -> None:
        self.name, self.host = target, host
        self.login = Login(host.settings.job.login or "")
        self.cluster = Cluster(self.login, wanted(target, host.settings), host.settings.cache)
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._remotes: list[Remote] = []
        self._slots: dict[str, list[Slot]] = {}  # by job
        self._attached: set[str] = set()
        self._ended: dict[str, SlurmJob] = {}
        self._resubmitted = self._owed = 0
        self._failure = ""

    def open(self, desk: Desk) -> None:
        try:
            self.cluster.open()
            asked = self.cluster.asked
            self.cluster.submit(max(1, min(asked.array, math.ceil(desk.unfinished() / asked.gpus))))
            self._follow(desk)
        except LinkDown as error:
            if not self._closed.is_set():
                self._end()
                raise LinkDown(f"{self.name}: {error}") from None

    def _follow(self, desk: Desk) -> None:
        """Attend to the jobs until the end. Raises LinkDown where there are none any more."""
        threading.Thread(target=self._beat, daemon=True).start()
        seen, seen_at, away_at = [], time.monotonic(), 0.0
        while not self._closed.is_set():
            try:
                rows = self.cluster.jobs()
                if away_at:
                    desk.note(f"{self.name}: Slurm's controller answers again")
                away_at = 0.0
                self._attend_all(rows, desk)
            except ControllerAway as error:
                if not away_at:
                    away_at = time.monotonic()
                    desk.note(f"{self.name}: Slurm's controller does not answer; jobs that run go on")
                if time.monotonic() - away_at > AWAY_S:
                    raise LinkDown(f"{error}, for {AWAY_S / 60:g} minutes") from None
                rows = seen
            if self._failure:
                raise LinkDown(self._failure)
            if rows != seen:
                seen, seen_at = rows, time.monotonic()
            self._closed.wait(min(max((time.monotonic() - seen_at) / 10, POLL_S), MOST_POLL_S))

    def _beat(self) -> None:
        """Show the jobs that this run lives, however long Slurm takes to answer. Runs in a thread."""
        try:
            while not self._closed.wait(BEAT_S):
                self.cluster.beat()
        except LinkDown as error:
            self._failure = self._failure or str(error)

    def _attend_all(self, rows: list[SlurmJob], desk: Desk) -> None:
        """Raises LinkDown where nothing will ever run, ControllerAway."""
        why = problems(rows)
        if why:
            raise LinkDown(why)
        for row in rows:
            self._attend(row, desk)
        if not rows:
            raise LinkDown("Slurm knows the jobs of this run no more")
        if not self._owed and all(row.id in self._ended for row in rows):
            raise LinkDown(f"{rows[-1].end}, and no other is asked for{rows[-1].advice}")
        while self._owed:
            self.cluster.submit(1)
            self._owed -= 1
        self._tell(rows, desk)

    def _attend(self, row: SlurmJob, desk: Desk) -> None:
        """A job that began to run is used; for one that ended another is owed where there is work for it."""
        if row.is_running and row.id not in self._attached:
            self._attached.add(row.id)
            threading.Thread(target=self._attach, args=(row, desk), daemon=True).start()
        if row.is_queued or row.is_running or row.is_ending or row.id in self._ended:
            return
        self._ended[row.id] = row
        if self.cluster.exit_status(row.id) == NOT_SHARED:
            raise LinkDown(self.cluster.not_shared(row))
        if row.ended_because and desk.unfinished() and self._resubmitted < MOST_RESUBMITTED:
            self._resubmitted += 1
            self._owed += 1
            desk.note(f"{self.name}: {row.end}; another is asked for")
        else:
            desk.note(f"{self.name}: {row.end}")
        for slot in self._slots.pop(row.id, ()):
            desk.withdraw(slot)

    def _attach(self, row: SlurmJob, desk: Desk) -> None:
        """Connect to the allocation and offer its GPUs. Runs in a thread."""
        try:
            gpus = self.cluster.lent(row.id)
            way = IntoJob(self.login, self.cluster, row.id, f"{self.host.name}/{row.id}")
            remote = Remote(self.login.address(self.host.name), self.host.settings, desk.note, way)
            with self._lock:
                self._remotes.append(remote)
            for number, host in enumerate(self._probed(remote, row, gpus)):
                slot = self._slot(row, remote, f"{way.name}.{number}", host, gpus[number])
                if self._closed.is_set():
                    return
                self._slots.setdefault(row.id, []).append(slot)
                desk.offer(slot)
        except LinkDown as error:
            if is_away(str(error)):
                self._attached.discard(row.id)  # which is tried again
            elif not self.ended(row.id) and not self._closed.is_set():
                self._failure = f"job {row.id} on {row.node}: {error}"

    def _slot(self, row: SlurmJob, remote: Remote, name: str, host: Host, gpu: str) -> Slot:
        lane = remote.lane(name, {"CUDA_VISIBLE_DEVICES": gpu} if gpu else {})
        return Slot(name, f"Slurm job {row.id}", host, Lent(self, row.id, lane), lambda: self._revive(row, remote))

    def _probed(self, remote: Remote, row: SlurmJob, gpus: list[str]) -> list[Host]:
        """A host with the facts of its device for each GPU of the allocation. Raises LinkDown."""
        emulated = [replace(self.host, device="emulator", device_facts={})] * len(gpus)
        if self.host.settings.device == "emulator":
            remote.open()
            return emulated
        visible = {**self.host.settings.env, "CUDA_VISIBLE_DEVICES": ",".join(gpus)}
        rows, why = remote.devices(hosts.PROBE, hosts.PROBE_TIMEOUT_S, visible)
        if not rows and self.host.settings.device == "cuda":
            raise LinkDown(f"{row.node} has no CUDA device that can be used: {why}")
        if rows and len(rows) != len(gpus):
            raise LinkDown(f"{row.node} shows {len(rows)} GPUs, but Slurm lent {len(gpus)}")
        return [replace(self.host, device="cuda", device_facts=facts) for facts, _ in rows] or emulated

    def _revive(self, row: SlurmJob, remote: Remote) -> None:
        """Raises LinkDown where the job is gone."""
        ended = self.ended(row.id)
        if ended:
            raise LinkDown(ended)
        remote.open()

    def _tell(self, rows: list[SlurmJob], desk: Desk) -> None:
        """Note what the run waits for, if no job runs yet."""
        waiting = [row for row in rows if row.is_queued]
        if waiting and not any(row.is_running for row in rows):
            desk.note(Progress(f"{self.name}: {self.cluster.waiting(waiting[0])}"))

    def ended(self, job: str) -> str:
        """Why an allocation is gone, '' while it is there. Waits for Slurm to make up its mind."""
        end = time.monotonic() + _SETTLE_S
        while not self._closed.is_set():
            try:
                row = next((row for row in self.cluster.jobs() if row.id == job), None)
            except LinkDown:
                return ""
            if row is None:
                return f"Slurm job {job} is gone"
            if row.is_running:
                return ""
            if not row.is_ending or time.monotonic() > end:
                return row.end + row.advice
            self._closed.wait(0.2)
        return "the run was ended"

    def close(self) -> None:
        """Cancel the jobs, whatever runs in them."""
        if not self._closed.is_set():
            self._closed.set()
            self._end()

    def _end(self) -> None:
        try:
            self.cluster.cancel()
        except LinkDown:
            pass  # the keeper cancels them when it is closed, and their lease ends
        with self._lock:
            remotes, self._remotes = self._remotes, []
        for remote in remotes:
            remote.end()
        self.cluster.close()


class Lent:
    """The transport of one slot: it raises Recalled for a failure in a job that was taken back."""

    def __init__(self, partition: SlurmPartition, job: str, lane: Lane) -> None:
        self._partition, self._job, self._lane = partition, job, lane

    def run(self, job: Job) -> tuple[dict[str, Any], list[bytes]]:
        try:
            return self._lane.run(job)
        except Declined:
            raise
        except LinkDown as error:
            ended = self._partition.ended(self._job)
            if ended:
                raise Recalled(f"{self._partition.name}: {ended}") from None
            raise error from None

    def close(self) -> None:
        self._lane.close()
