"""Allocations of a Slurm cluster: asked for, submitted and followed by Slurm's own commands on a login node.

A job holds its allocation and does nothing else; what runs in it comes by `srun --overlap`. It ends when its run is
silent for LEASE_S: a keeper on the login node writes a number to a file in the cache there, at this side's word, and
cancels the jobs at once where this side is gone.
"""

from __future__ import annotations

import dataclasses
import re
import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.host.connection.agent_start import BOOT
from harness.host.login import Login, Said
from harness.host.settings import Settings
from harness.run.transport import LinkDown

PREFIX = "slurm"
BEAT_S, LEASE_S = 5.0, 60.0
NOT_SHARED = 66  # the exit status of a job that does not see the login node's files
MOST_ARRAY = 64
_QUEUED = {"PENDING", "CONFIGURING", "REQUEUED", "RESIZING", "SUSPENDED", "REQUEUE_HOLD"}
_ENDING = {"COMPLETING", "STAGE_OUT", "SIGNALING"}
_LENT_NO_MORE = {
    "TIMEOUT": "its time limit was reached",
    "PREEMPTED": "it was preempted",
    "NODE_FAIL": "its node failed",
    "CANCELLED": "it was cancelled",
    "DEADLINE": "its deadline was reached",
    "REVOKED": "it was revoked",
    "BOOT_FAIL": "its node did not start",
}
_TO_BLAME = {"OUT_OF_MEMORY": "it used more memory than it asked for", "FAILED": "its script failed"}
_USED_UP = {
    "TIMEOUT": "where one case needs longer than the limit, ask for more, by `job.time`",
    "OUT_OF_MEMORY": 'ask for more memory, by `job.sbatch = ["--mem=64G"]`',
}
_AWAY = ("unable to contact slurm controller", "socket timed out on send/recv")
# Reasons for which a job waits for ever, and what to do.
_NEVER = {
    "PartitionTimeLimit": "ask for less time than the partition allows, by `job.time`",
    "PartitionNodeLimit": "the partition has fewer nodes: ask for less, by `job.gres`",
    "PartitionDown": "the partition is down: name another",
    "PartitionInactive": "the partition is inactive: name another",
    "BadConstraints": "no node fits `job.constraint` and `job.gres`: see `sinfo -o '%R %f %G'`",
    "InvalidAccount": "name an account of yours, by `job.account`: see `sacctmgr show associations user=$USER`",
    "AccountNotAllowed": "the partition does not take this account: name another, by `job.account`",
    "InvalidQOS": "the account has no such quality of service",
    "QOSNotAllowed": "the partition does not take this quality of service",
    "JobHeldAdmin": "an administrator holds the job: ask them",
    "JobHeldUser": "the job is held: `scontrol release` it",
    "AssocMaxWallDurationPerJobLimit": "ask for less time than the account allows, by `job.time`",
    "QOSMaxWallDurationPerJobLimit": "ask for less time than the quality of service allows, by `job.time`",
    "AssocMaxGRESPerJob": "the account allows fewer GPUs a job: ask for less, by `job.gres`",
    "QOSMaxGRESPerJob": "the quality of service allows fewer GPUs a job: ask for less, by `job.gres`",
}
_ADVICE = (
    ("slurm controller", "Slurm's controller must answer there: see `scontrol ping`"),
    ("partition", "name one of them: {partitions}"),
    ("account", "name an account of yours, by `job.account`: see `sacctmgr show associations user=$USER`"),
    ("gres", "ask for what the nodes have: {gres}"),
    ("feature", "no node has this `job.constraint`: see `sinfo -o '%R %f'`"),
    ("node configuration", "no node has that much: they have {gres}"),
    ("time", "write `job.time` as Slurm takes it: minutes, or 1-12:30:00"),
)

_LOGIN_SHELL = (
    'for s in "$SHELL" bash sh; do '
    """"$s" -lc 'command -v sbatch > /dev/null && echo "<$PATH|$SLURM_CONF>"' < /dev/null 2> /dev/null && exit; """
    "done; exit 1"
)
_KEEPER = (
    'd={folder}; mkdir -p "$d" && cd "$d" && echo 0 > beat && echo "at $(pwd)" || exit 1; '
    'while read -r n; do echo "$n" > beat; done; cd /; scancel --quiet --name={name}; rm -rf "$d"'
)
_HOLDER = """\
#!/bin/sh
cd {folder} 2>/dev/null && [ -e beat ] || exit {not_shared}
last= silent=0
while [ "$silent" -lt {silent} ]; do
    now=$(cat beat 2>/dev/null)
    if [ "$now" = "$last" ]; then silent=$((silent + 1)); else silent=0; last=$now; fi
    sleep {every}
done
"""


@dataclass(frozen=True)
class Wanted:
    """The request of a job, passed on as it was written."""

    partition: str
    gres: str = ""
    constraint: str = ""
    time: str = ""
    account: str = ""
    more: tuple[str, ...] = ()  # options of sbatch
    array: int = 1  # jobs at once, at most

    @property
    def gpus(self) -> int:
        """How many slots an allocation may have, according to `gres`: `gpu:h100:4`."""
        found = re.search(r"gpu(?::[^:,=]+)??[:=](\d+)", self.gres)
        return max(int(found[1]), 1) if found else 1

    def options(self) -> list[str]:
        named = {name: getattr(self, name) for name in ("partition", "gres", "constraint", "time", "account")}
        return [*(f"--{name}={value}" for name, value in named.items() if value), *self.more]


def wanted(target: str, settings: Settings) -> Wanted:
    """What `slurm:PARTITION[:gres]` asks for; what it leaves out is of the settings."""
    _, _, rest = target.partition(":")
    partition, _, gres = rest.partition(":")
    job = settings.job
    return Wanted(
        partition,
        gres or job.gres or "",
        *(one or "" for one in (job.constraint, job.time, job.account)),
        more=tuple(job.sbatch),
        array=min(job.array or 1, MOST_ARRAY),
    )


@dataclass(frozen=True)
class Job:
    """A line of squeue."""

    id: str
    state: str
    reason: str
    node: str

    @property
    def is_queued(self) -> bool:
        return self.state in _QUEUED

    @property
    def is_running(self) -> bool:
        return self.state == "RUNNING"

    @property
    def is_ending(self) -> bool:
        return self.state in _ENDING

    @property
    def ended_because(self) -> str:
        """Why its allocation is gone, where the job is not to blame; ''."""
        return _LENT_NO_MORE.get(self.state, "")

    @property
    def end(self) -> str:
        """`job 12 on gpu07: it was preempted (PREEMPTED)`"""
        words = self.ended_because or _TO_BLAME.get(self.state) or f"it ended as {self.state}"
        reason = f", {self.reason}" if self.reason not in ("None", "", self.state) else ""
        return f"job {self.id}{f' on {self.node}' if self.node else ''}: {words} ({self.state}{reason})"

    @property
    def advice(self) -> str:
        """Advice if it was not lent enough; else ''."""
        return f"\nfix: {_USED_UP[self.state]}" if self.state in _USED_UP else ""

    @property
    def never(self) -> str:
        """Advice if it would wait for ever; else ''."""
        return _NEVER.get(self.reason, "") if self.is_queued else ""


class ControllerAway(LinkDown):
    """Slurm's controller does not answer; jobs that run go on."""


class Cluster:
    """The jobs of one run, from its first submission to `close`. Every method raises LinkDown."""

    def __init__(self, login: Login, asked: Wanted, cache: str) -> None:
        self.login, self.asked, self._cache = login, asked, cache
        self.name = f"gpu-repro-{secrets.token_hex(5)}"
        self._keeper: Any = None
        self._folder, self._beats = "", 0

    def open(self) -> None:
        """Start the keeper, which makes the folder that the jobs look at."""
        self._find_slurm()
        top = self._cache.rstrip("/")
        folder = '"$HOME"' + shlex.quote(top[1:]) if top == "~" or top.startswith("~/") else shlex.quote(top)
        script = _KEEPER.format(folder=f"{folder}/slurm/{self.name}", name=self.name)
        self._keeper = self.login.start(["sh", "-c", script])
        said = b""
        try:
            while not said.endswith(b"\n"):
                piece = self._keeper.recv(1)
                if not piece:
                    errors = self._keeper.recv_stderr(4000).decode("utf-8", "replace").strip()
                    raise LinkDown(f"{self.login.where}: {self._cache} cannot be written: {errors}")
                said += piece
        except OSError as error:
            raise LinkDown(f"{self.login.where} did not answer: {error}") from None
        self._folder = said.decode("utf-8", "replace").strip().removeprefix("at ")

    def _find_slurm(self) -> None:
        """If a plain shell there lacks Slurm's programs, take PATH and SLURM_CONF of a login shell."""
        if self.login.run(["sh", "-c", "command -v sbatch"]).status == 0:
            return
        found = re.search(r"<([^|>\n]+)\|([^|>\n]*)>", self.login.run(["sh", "-c", _LOGIN_SHELL]).out)
        if found:
            conf = [f"SLURM_CONF={found[2]}"] if found[2] else []
            self.login.before = ["env", f"PATH={found[1]}", *conf]

    def beat(self) -> None:
        """Tell the jobs that this run lives."""
        self._beats += 1
        try:
            self._keeper.sendall(b"%d\n" % self._beats)
        except OSError as error:
            raise LinkDown(f"{self.login.where}: the connection was lost: {error}") from None

    def submit(self, count: int) -> None:
        """Ask for `count` allocations; as an array if they are several."""
        script = _HOLDER.format(
            folder=shlex.quote(self._folder), not_shared=NOT_SHARED, silent=int(LEASE_S / BEAT_S), every=int(BEAT_S)
        )
        argv = ["sbatch", "--parsable", f"--job-name={self.name}", "--nodes=1", "--ntasks=1", "--no-requeue"]
        argv += ["--output=/dev/null", "--error=/dev/null", *self.asked.options()]
        argv += [f"--array=0-{count - 1}"] if count > 1 else []
        said = self.login.run(argv, script)
        if said.status != 0:
            raise LinkDown(self._refused(argv[0], said))

    def jobs(self) -> list[Job]:
        """Those of this run, also ones that ended."""
        argv = ["squeue", "-h", "-r", "-t", "all", f"--name={self.name}", "-o", "%i|%A|%T|%r|%N"]
        said = self.login.run(argv)
        if said.status != 0:
            raise (ControllerAway if is_away(said.errors) else LinkDown)(self._refused(argv[0], said))
        rows = [line.split("|") for line in said.out.splitlines() if line.count("|") == 4]
        return [Job(row[1] if row[2] not in _QUEUED else row[0], *row[2:]) for row in rows]

    def waiting(self, job: Job) -> str:
        """`job 4711 waits, 3 before it: Slurm reports Resources`"""
        ahead, reason = self.ahead(job), "" if job.reason in ("None", "") else f"Slurm reports {job.reason}"
        place = "" if ahead is None else ", the first in its queue" if ahead == 0 else f", {ahead} before it"
        lacks = self._sinfo("%N is %t (%E)", "-R") if "DOWN, DRAINED" in reason or "NotAvail" in reason else ""
        why = "; ".join(filter(None, (lacks, reason)))
        return f"job {job.id} waits{place}" + (f": {why}" if why else "")

    def ahead(self, job: Job) -> int | None:
        """How many jobs of the partition are before it in the queue."""
        partition = [f"--partition={self.asked.partition}"] if self.asked.partition else []
        said = self.login.run(["squeue", "-h", "-r", "-t", "PENDING", "-S", "-p,i", "-o", "%i", *partition])
        queue = said.out.split()
        return queue.index(job.id) if said.status == 0 and job.id in queue else None

    def step(self, job: str) -> list[str]:
        """The words that run a command in the job's allocation, next to what runs there already."""
        return ["srun", f"--jobid={job}", "--overlap", "--nodes=1", "--ntasks=1", "--quiet"]

    def lent(self, job: str) -> list[str]:
        """The GPUs of an allocation as CUDA_VISIBLE_DEVICES names them there; [''] where it has none."""
        said = self.login.run([*self.step(job), "sh", "-c", 'echo "<$CUDA_VISIBLE_DEVICES>"'])
        found = re.search(r"<([\w,./:-]*)>", said.out)
        if said.status != 0 or not found:
            raise LinkDown(f"nothing can be started in job {job}: {_words(said)}")
        return found[1].split(",")

    def exit_status(self, job: str) -> int:
        """With which a job's script ended, -1 where nobody knows."""
        found = re.search(r"ExitCode=(\d+):", self.login.run(["scontrol", "show", "job", "-o", job]).out)
        return int(found[1]) if found else -1

    def cancel(self) -> None:
        """End every job of this run."""
        said = self.login.run(["scancel", "--quiet", f"--name={self.name}"])
        if said.status != 0:
            raise LinkDown(self._refused("scancel", said))

    def not_shared(self, job: Job) -> str:
        return (
            f"job {job.id} does not see {self._folder} of {self.login.where}: login node and compute nodes "
            "must share a home\nfix: name a folder that they share, by `cache`"
        )

    def close(self) -> None:
        """End the keeper, which cancels what is left."""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.close()
        self.login.close()

    def _refused(self, program: str, said: Said) -> str:
        """Slurm's own words, and what to do."""
        words = _words(said)
        if said.status == 127 or ("not found" in words.lower() and program in words):
            return (
                f"there is no {program} on {self.login.where}: {words}\n"
                'fix: name a login node of the cluster, by `job.login = "ALIAS"`, whose shells have Slurm on PATH'
            )
        fix = next((text for word, text in _ADVICE if word in words.lower()), "")
        if fix:
            none = "sinfo names none"
            fix = "\nfix: " + fix.format(
                partitions=self._sinfo("%R") or none if "{partitions" in fix else "",
                gres=self._sinfo("%R %G") or none if "{gres" in fix else "",
            )
        return f"{program} on {self.login.where} refused: {words}{fix}"

    def _sinfo(self, columns: str, *options: str) -> str:
        said = self.login.run(["sinfo", "-h", *options, "-o", columns])
        return ", ".join(dict.fromkeys(line.strip() for line in said.out.splitlines()))


def _words(said: Said) -> str:
    return (said.errors.strip() or said.out.strip() or f"exit status {said.status}")[-2000:]


@dataclass(frozen=True)
class IntoJob:
    """A way to the agent in an allocation: see link.Way."""

    login: Login
    cluster: Cluster
    job: str
    name: str

    @property
    def command(self) -> str:
        return (
            "exec " + shlex.join([*self.login.before, *self.cluster.step(self.job)]) + " " + BOOT.removeprefix("exec ")
        )

    def connect(self) -> tuple[Any, Any]:
        return self.login.connect()


def is_away(said: str) -> bool:
    """Whether Slurm's programs report that its controller does not answer."""
    return any(words in said.lower() for words in _AWAY)


def is_target(name: str) -> bool:
    return name.startswith(PREFIX + ":")


def not_alone() -> Any:
    """A stand-in for a connection, which only a job has. Raises LinkDown."""
    raise LinkDown("its GPUs are reached by jobs alone\nfix: ask `sinfo` on the login node; run with --gpu-host")


def settings_of(target: str, by_host: Any) -> Settings:
    """The settings of a target: the settings of `slurm`, changed by the settings of `slurm:PARTITION`."""
    base, own = by_host.get(PREFIX, Settings()), by_host.get(":".join(target.split(":")[:2]), Settings())
    return base if target == PREFIX else dataclasses.replace(_over(base, own), job=_over(base.job, own.job))


def _over(base: Any, own: Any) -> Any:
    """The settings `base`, changed by what `own` has."""
    values = ((one, getattr(own, one.name)) for one in dataclasses.fields(own))
    return dataclasses.replace(base, **{one.name: value for one, value in values if value and value != one.default})


def problems(rows: Sequence[Job]) -> str:
    """Why none of these jobs will ever run, or ''."""
    waiting = [row for row in rows if row.is_queued]
    if not waiting or any(row.is_running or row.is_ending or not row.never for row in rows if row in waiting):
        return ""
    return f"job {waiting[0].id} would wait for ever: Slurm reports {waiting[0].reason}\nfix: {waiting[0].never}"
