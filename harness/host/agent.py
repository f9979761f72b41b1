"""The process at the other end of an SSH connection: it answers this machine's calls and ends with it.

Its source comes over the connection (see `remote.py`), so nothing is installed for it: standard library only, and
Python 3.8, which is older than what repros need. It starts a supervisor for each environment and passes frames on.

Frames (see `frames.py`) come in on stdin and go out on stdout. In: `ping`, and one call at a time. Out: `hello`
once, `pong`, any number of `note` (text for a person) and `started`, and the answer to a call: `reply`, or `down`,
whose text says why the host could not do it. Where nothing came in for `lease_s` seconds, or stdin ends, everything
below this process is killed.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import queue
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from typing import Any

from harness.host import remote_env
from harness.host.remote_env import Refused
from harness.run.frames import BadFrame, read_exactly, read_frame, write_frame
from harness.run.supervisor import kill_descendants

PROTOCOL = 1
RUN_MARK = "GPU_REPRO_RUN"  # in the environment of everything a run starts
PUT_LIMIT_BYTES = 256 << 20
_SWEEP_AFTER_S = 60.0  # a run's folder without its lock is left over, unless it is this young
_SAID_BYTES = 4000
_PR_SET_CHILD_SUBREAPER = 36


class Agent:
    """Serves one client. The main thread reads; one worker thread does what is asked, in order."""

    def __init__(self, calls_fd: int, answers_fd: int, hello: dict[str, Any]) -> None:
        self.calls_fd, self.answers_fd, self.hello = calls_fd, answers_fd, hello
        self.lease_s, self.run_id = float(hello["lease_s"]), str(hello["run"])
        self.cache = remote_env.folder(hello["cache"])
        self.run_folder = os.path.join(self.cache, "runs", self.run_id)
        self.lock = -1
        self.calls: queue.Queue = queue.Queue()
        self.writing = threading.Lock()
        self.leaving = threading.Event()
        self.supervisors: dict[str, Supervisor] = {}

    def serve(self) -> None:
        """Answer until stdin ends or the lease does."""
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: self.leave())
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.environ[RUN_MARK] = self.run_id
        try:
            self.lock = make_run_folder(self.run_folder)
            sweep(self.cache, self.run_id)
        except OSError as error:
            self.send({"kind": "down", "text": error_text(error)})
            self.leave()
        self.send(
            {
                "kind": "hello",
                "protocol": PROTOCOL,
                "python": sys.version.split()[0],
                "machine": os.uname().machine,
                "packages": remote_env.packages(self.cache),
            }
        )
        threading.Thread(target=self.work, daemon=True).start()
        try:
            while True:
                frame = read_frame(self.read, PUT_LIMIT_BYTES)
                if frame is None:
                    break
                if frame[0].get("kind") == "ping":
                    self.pong()
                else:
                    self.calls.put(frame)
        except (BadFrame, OSError):
            pass  # the client is gone, or is none
        self.leave()

    def read(self, count: int) -> bytes:
        """Exactly `count` bytes, fewer at the end of stdin; leaves where the lease ends first."""
        pieces = []
        while count:
            if not select.select([self.calls_fd], [], [], self.lease_s)[0]:
                self.leave()
            piece = os.read(self.calls_fd, min(count, 1 << 20))
            if not piece:
                break
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)

    def send(self, header: dict[str, Any], buffers: Any = ()) -> None:
        with self.writing:
            write_frame(self.answers_fd, header, buffers)

    def pong(self) -> None:
        """Tell that this process lives; an answer that is being written tells as much."""
        if self.writing.acquire(blocking=False):
            try:
                write_frame(self.answers_fd, {"kind": "pong"})
            finally:
                self.writing.release()

    def note(self, text: str) -> None:
        self.send({"kind": "note", "text": text})

    def leave(self) -> None:
        """Kill everything below, remove the run's folder, end."""
        self.leaving.set()
        kill_descendants()
        shutil.rmtree(self.run_folder, ignore_errors=True)
        os._exit(0)

    def work(self) -> None:
        while not self.leaving.is_set():
            header, buffers = self.calls.get()
            try:
                answer: Any = getattr(self, "do_" + str(header.get("kind")))(header, buffers)
            except (Refused, BadFrame, OSError) as error:
                answer = {"kind": "down", "text": error_text(error)}, []
            except BaseException:
                answer = {"kind": "down", "text": "the agent failed:\n" + traceback.format_exc()[-_SAID_BYTES:]}, []
            if not self.leaving.is_set():
                try:
                    self.send(*answer)
                except OSError:
                    self.leave()

    def do_device(self, header: dict, buffers: list) -> tuple[dict, list]:
        """Run the probe of the CUDA device; what it found, or why there is none."""
        argv = [sys.executable, "-I", "-c", header["probe"]]
        environment = dict(os.environ, **header["variables"])
        try:
            done = subprocess.run(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                timeout=header["timeout_s"], env=environment,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Refused("the CUDA driver did not answer within %g s" % header["timeout_s"]) from None
        said = (done.stderr.decode("utf-8", "replace").strip().splitlines() or [""])[-1]
        facts = json.loads(done.stdout.decode()) if done.returncode == 0 else None
        return {"kind": "reply", "facts": facts, "why": said}, []

    def do_put(self, header: dict, buffers: list) -> tuple[dict, list]:
        """Keep a package, or uv itself, under its hash."""
        keep = remote_env.keep_uv if header["what"] == "uv" else remote_env.keep_package
        keep(self.cache, header["sha256"], buffers[0])
        return {"kind": "reply"}, []

    def do_uv(self, header: dict, buffers: list) -> tuple[dict, list]:
        """Where uv is, or None."""
        broken: list[str] = []
        return {"kind": "reply", "uv": remote_env.find_uv(self.cache, broken), "broken": broken}, []

    def do_job(self, header: dict, buffers: list) -> tuple[dict, list]:
        """Run a job in its environment, and pass on what the supervisor says."""
        key = json.dumps(header["environment"], sort_keys=True)
        if key not in self.supervisors:
            command = remote_env.prepare(header["environment"], self.cache, header["package"], self.note)
            self.supervisors[key] = Supervisor(command, self.run_folder)
        supervisor = self.supervisors[key]
        try:
            supervisor.start(self.hello["protocol"])
            self.send({"kind": "started"})
            write_frame(supervisor.stdin, header["job"])
            while True:
                frame = supervisor.read(header["job"]["limit_bytes"])
                if frame[0].get("kind") != "note":
                    return frame
                self.send(*frame)
        except (BadFrame, OSError) as error:
            said = supervisor.last_words()
            self.supervisors.clear()
            kill_descendants()
            raise Refused("%s%s" % (error_text(error), said)) from None

    def do_doctor(self, header: dict, buffers: list) -> tuple[dict, list]:
        """What is on this host; with `fix`, what was left over is removed."""
        return {"kind": "reply", "found": doctor(self.cache, self.run_id, header["fix"], header["prune_s"])}, []


class Supervisor:
    """A supervisor in one environment, started when a job first needs it."""

    def __init__(self, command: remote_env.Command, run_folder: str) -> None:
        self.command, self.run_folder = command, run_folder
        self.process: Any = None
        self.errors: Any = None

    @property
    def stdin(self) -> int:
        return self.process.stdin.fileno()

    def start(self, protocol: int) -> None:
        if self.process is not None:
            return
        self.errors = tempfile.TemporaryFile(dir=self.run_folder)
        variables = dict(os.environ, TMPDIR=self.run_folder, **self.command.variables)
        for name in ("PYTHONHOME", "PYTHONSTARTUP", "PYTHONSAFEPATH"):
            variables.pop(name, None)
        self.process = subprocess.Popen(
            [*self.command.argv, "-P", "-m", "harness.run.supervisor"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, bufsize=0, start_new_session=True,
            cwd=self.command.cwd or self.run_folder, env=variables,
        )  # fmt: skip
        ready = self.read(0)[0]
        if ready.get("protocol") != protocol:
            raise Refused(
                "the supervisor there speaks protocol %s and this machine %s: another gpu-repro is in the way of ours"
                % (ready.get("protocol"), protocol)
            )

    def read(self, limit_bytes: int) -> tuple[dict[str, Any], list[bytes]]:
        frame = read_frame(read_exactly(self.process.stdout.fileno()), limit_bytes)
        if frame is None:
            raise BadFrame("the supervisor there ended")
        return frame

    def last_words(self) -> str:
        """What it wrote to stderr and how it ended, to put behind an error."""
        if self.process is None:
            return ""
        try:
            ended = " (exit status %d)" % self.process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            ended = ""
        self.errors.seek(0)
        text = self.errors.read()[-_SAID_BYTES:].decode("utf-8", "replace").strip()
        return "%s:\n%s" % (ended, text) if text else ended


def error_text(error: BaseException) -> str:
    """An error for a person; a full disk is named."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk there is full: %s" % (error.filename or error.strerror)
    return str(error)


def make_run_folder(path: str) -> int:
    """Make the folder of a run, for this user only; the descriptor returned holds its lock."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.mkdir(path, 0o700)
    lock = _open_lock(path)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with open(os.path.join(path, "about.json"), "w") as file:
        json.dump({"pid": os.getpid(), "since": time.time()}, file)
    return lock


def _open_lock(path: str) -> int:
    """The lock of a run's folder; open to write, which NFS wants for a lock."""
    return os.open(os.path.join(path, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def left_over(cache: str, own: str, older_than_s: float) -> list[str]:
    """Ids of runs whose agent is gone and whose folder is not."""
    names, top = [], os.path.join(cache, "runs")
    for name in sorted(os.listdir(top)) if os.path.isdir(top) else []:
        path = os.path.join(top, name)
        try:
            if name == own or time.time() - os.stat(path).st_mtime < older_than_s:
                continue
            fd = _open_lock(path)
        except OSError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            names.append(name)
        except OSError:
            pass  # its agent lives
        finally:
            os.close(fd)
    return names


def marked(runs: list[str]) -> dict[int, str]:
    """Processes of these runs: pid to command line."""
    marks = [("%s=%s\0" % (RUN_MARK, run)).encode() for run in runs]
    commands = {}
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and int(entry) != os.getpid():
                with open("/proc/%s/environ" % entry, "rb") as file:
                    environ = file.read() + b"\0"
                if any(mark in environ for mark in marks):
                    with open("/proc/%s/cmdline" % entry, "rb") as file:
                        commands[int(entry)] = file.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()
        except OSError:
            continue
    return commands


def sweep(cache: str, own: str, older_than_s: float = _SWEEP_AFTER_S) -> None:
    """Remove what runs left that ended without cleaning up: processes, then folders."""
    runs = left_over(cache, own, older_than_s)
    for pid in marked(runs) if runs else ():
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    for run in runs:
        shutil.rmtree(os.path.join(cache, "runs", run), ignore_errors=True)


def doctor(cache: str, own: str, fix: bool, prune_s: float | None = None) -> dict[str, Any]:
    """What there is, and what was left over; environments unused for `prune_s` are removed."""
    runs = left_over(cache, own, 0.0)
    processes = marked(runs) if runs else {}
    if fix:
        sweep(cache, own, 0.0)
        remote_env.remove_broken_uv(cache)
    pruned = [] if prune_s is None else remote_env.prune(cache, prune_s)
    disk = os.statvfs(cache)
    broken: list[str] = []
    uv = remote_env.find_uv(cache, broken)
    return {
        "python": sys.version.split()[0],
        "uv": uv,
        "broken": broken,
        "uv_version": remote_env.uv_version(uv) if uv else None,
        "cache": cache,
        "free_bytes": disk.f_bavail * disk.f_frsize,
        "packages": len(remote_env.packages(cache)),
        "environments": remote_env.environments(cache),
        "pruned": pruned,
        "left_runs": runs,
        "left_processes": sorted(processes.items()),
    }


def main(hello: dict[str, Any]) -> None:
    """Serve on stdin and stdout, which nothing else may touch from here on."""
    calls_fd, answers_fd = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    Agent(calls_fd, answers_fd, hello).serve()
