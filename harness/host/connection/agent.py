"""The process at the other end of an SSH connection: it answers this machine's calls and ends with it.

Its source comes over the connection (see `agent_start.py`), so nothing is installed for it: standard library only, and
Python 3.8, which is older than what repros need. It starts a supervisor for each environment and passes frames on.

Frames (see `frames.py`) come in on stdin and go out on stdout. In: `ping`, and calls, each with its number and its
lane; for a program that is run live also what its supervisor is to hear meanwhile. Out: `hello` once, `pong`, and of
each call, with its number, any number of `note` (text for a person), `started` and what the program prints, then the
answer: `reply`, or `down`, whose text is the reason why the host could not do it. A lane does one thing at a time,
lanes work side by side: one for each GPU. If nothing came in for `lease_s` seconds, or stdin ends, everything below
this process is killed.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import queue
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from typing import Any

from harness.host.connection.run_folders import RUN_MARK, environ, left_over, make_run_folder, marked, sweep
from harness.host.environment import disk_room, package_index, remote_env, supplies
from harness.host.environment.supplies import Refused, Unreachable
from harness.run import gpu_lock
from harness.run.frames import BadFrame, read_frame, write_frame
from harness.run.supervisor import descendants, kill_descendants
from harness.run.supervisor_process import SupervisorProcess

PROTOCOL = 3
HELLO = 0  # the number of the call that nobody made
LANE_MARK = "GPU_REPRO_LANE"  # and of everything a supervisor does
KEPT_SUPERVISORS = 2  # of a lane; each may hold 1 GB
PUT_LIMIT_BYTES = 256 << 20
OTHER_PROTOCOL = "the supervisor there speaks protocol %s and this machine %s: another gpu-repro is in the way of ours"
_SAID_BYTES = 4000
_END_S = 5.0
_PR_SET_CHILD_SUBREAPER = 36


class Agent:
    """Serves one client. The main thread reads; a thread for each lane does what is asked of it, in order."""

    def __init__(self, calls_fd: int, answers_fd: int, hello: dict[str, Any]) -> None:
        self.calls_fd, self.answers_fd, self.hello = calls_fd, answers_fd, hello
        self.lease_s, self.run_id = float(hello["lease_s"]), str(hello["run"])
        self.cache = remote_env.folder(hello["cache"])
        self.run_folder = os.path.join(self.cache, "runs", self.run_id)
        self.lock = -1
        self.lanes: dict[str, Lane] = {}
        self.preparing = threading.Lock()  # one environment at a time: others would only wait for its lock
        self.writing = threading.Lock()
        self.leaving = threading.Event()

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
            self.send({"kind": "down", "text": error_text(error), "call": HELLO})
            self.leave()
        self.send(
            {
                "kind": "hello",
                "call": HELLO,
                "protocol": PROTOCOL,
                "python": sys.version.split()[0],
                "machine": os.uname().machine,
                "packages": remote_env.packages(self.cache),
            }
        )
        try:
            while True:
                frame = read_frame(self.read, PUT_LIMIT_BYTES)
                if frame is None:
                    break
                if frame[0].get("kind") == "ping":
                    self.pong()
                elif frame[0].get("kind") in ("input", "interrupt"):
                    self.lane(str(frame[0].get("lane", ""))).pass_on(*frame)
                else:
                    self.lane(str(frame[0].get("lane", ""))).calls.put(frame)
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
            self.write(header, buffers)

    def write(self, header: dict[str, Any], buffers: Any = ()) -> None:
        """Write a frame; an end of line after it makes a program that passes on whole lines pass it on."""
        write_frame(self.answers_fd, header, buffers)
        if self.hello.get("lines"):
            os.write(self.answers_fd, b"\n")

    def pong(self) -> None:
        """Tell that this process lives; an answer that is being written tells as much."""
        if self.writing.acquire(blocking=False):
            try:
                self.write({"kind": "pong"})
            finally:
                self.writing.release()

    def lane(self, name: str) -> Lane:
        """The lane of this name, whose thread starts when it is first named."""
        if name not in self.lanes:
            self.lanes[name] = Lane(self, len(self.lanes))
            threading.Thread(target=self.lanes[name].work, daemon=True).start()
        return self.lanes[name]

    def leave(self) -> None:
        """Kill everything below, remove the run's folder, end."""
        self.leaving.set()
        kill_descendants()
        shutil.rmtree(self.run_folder, ignore_errors=True)
        os._exit(0)


class Lane:
    """Calls that are done one after another: the calls for one GPU, or for the host itself."""

    def __init__(self, agent: Agent, number: int) -> None:
        self.agent, self.cache, self.number = agent, agent.cache, number
        self.calls: queue.Queue = queue.Queue()
        self.call: Any = None  # the number of the one that is answered now
        self.supervisors: dict[str, LaneSupervisor] = {}  # by environment, the last used last
        self.made = 0
        self.telling = threading.Lock()
        self.running: LaneSupervisor | None = None  # the supervisor of the job that is run live

    def send(self, header: dict[str, Any], buffers: Any = ()) -> None:
        self.agent.send(dict(header, call=self.call), buffers)

    def note(self, text: str) -> None:
        self.send({"kind": "note", "text": text})

    def work(self) -> None:
        while not self.agent.leaving.is_set():
            header, buffers = self.calls.get()
            self.call = header.get("call")
            try:
                answer: Any = getattr(self, "do_" + str(header.get("kind")))(header, buffers)
            except (Refused, BadFrame, OSError) as error:
                offline = isinstance(error, Unreachable)
                answer = {"kind": "down", "text": error_text(error), "offline": offline}, []
            except BaseException:
                answer = {"kind": "down", "text": "the agent failed:\n" + traceback.format_exc()[-_SAID_BYTES:]}, []
            if not self.agent.leaving.is_set():
                try:
                    self.send(*answer)
                except OSError:
                    self.agent.leave()

    def do_device(self, header: dict, buffers: list) -> tuple[dict, list]:
        """Run the probe of the CUDA devices; what it found and who holds them, or why there are none."""
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
        gpus = json.loads(done.stdout.decode()) if done.returncode == 0 else []
        holders = [gpu_lock.holder(gpu["uuid"]) for gpu in gpus]
        return {"kind": "reply", "gpus": gpus, "holders": holders, "why": said}, []

    def do_put(self, header: dict, buffers: list) -> tuple[dict, list]:
        """Keep our package under its hash, or uv, which came in pieces."""
        if header["what"] == "uv":
            with open(supplies.use(self.cache, header["sha256"], "uv"), "rb") as file:
                remote_env.keep_uv(self.cache, header["sha256"], file.read())
            shutil.rmtree(os.path.dirname(file.name))
        else:
            remote_env.keep_package(self.cache, header["sha256"], buffers[0])
        return {"kind": "reply"}, []

    def do_stored(self, header: dict, buffers: list) -> tuple[dict, list]:
        """How many bytes of some files are here."""
        return {"kind": "reply", "sizes": supplies.stored(self.cache, header["files"])}, []

    def do_piece(self, header: dict, buffers: list) -> tuple[dict, list]:
        """Keep a piece of a file."""
        about = header["sha256"], header["name"], header["offset"], header["total"]
        return {"kind": "reply", "sizes": [supplies.append(self.cache, *about, buffers[0])]}, []

    def do_equipment(self, header: dict, buffers: list) -> tuple[dict, list]:
        """Report which parts that make an environment are here."""
        environment = header["environment"]
        uv, variables = remote_env.find_uv(self.cache), environment["variables"]
        wanted = environment.get("python") if environment["kind"] == "managed" else None
        python, version = supplies.find_python(uv, wanted, variables) if wanted else ("", "")
        return {
            "kind": "reply",
            "is_made": environment["kind"] == "managed" and remote_env.is_made(environment, self.cache),
            "uv": uv,
            "python": python,
            "python_version": version,
            "machine": os.uname().machine,
            "libc": supplies.libc(),
            "no_way_out": package_index.no_way_out(variables),
        }, []

    def do_index(self, header: dict, buffers: list) -> tuple[dict, list]:
        """Whether uv gets what an environment needs from its index, and what would help; uv must be here."""
        environment, uv = header["environment"], remote_env.find_uv(self.cache)
        known = dict(os.environ, **environment["variables"])
        found = package_index.trouble(uv, environment) if uv else None
        about = {"certificates": package_index.unreadable_certificates(known)}
        return dict(about, kind="reply", why=found.why if found else "", cure=found.cure if found else ""), []

    def do_uv(self, header: dict, buffers: list) -> tuple[dict, list]:
        """Find uv: its path, or None."""
        broken: list[str] = []
        return {"kind": "reply", "uv": remote_env.find_uv(self.cache, broken), "broken": broken}, []

    def do_job(self, header: dict, buffers: list) -> tuple[dict, list]:
        """Run a job in its environment, and pass on the supervisor's frames."""
        supervisor = self.supervisor(header)
        try:
            theirs, ours = supervisor.ready().get("protocol"), self.agent.hello["protocol"]
            if theirs != ours:
                raise Refused(OTHER_PROTOCOL % (theirs, ours))
            with self.telling:
                supervisor.write(header["job"])
                self.running = supervisor if header["job"]["live"] else None
            self.send({"kind": "started"})
            while True:
                frame = supervisor.read(header["job"]["limit_bytes"])
                if frame[0].get("kind") not in ("note", "output", "more"):
                    return frame
                self.send(*frame)
        except (BadFrame, OSError) as error:
            said = supervisor.last_words()
            while self.supervisors:
                self.supervisors.popitem()[1].close()
            raise Refused("%s%s" % (error_text(error), said)) from None
        finally:
            with self.telling:
                self.running = None

    def pass_on(self, header: dict, buffers: list) -> None:
        """Tell the supervisor of the job in progress what its program reads, or that it is interrupted."""
        with self.telling:
            if self.running is not None and header.get("call") == self.call:
                try:
                    self.running.write({"kind": header["kind"]}, buffers)
                except OSError:
                    pass  # it ended: the thread of this lane tells

    def supervisor(self, header: dict) -> LaneSupervisor:
        """That of the environment; of those not used for long one ends."""
        key = json.dumps(header["environment"], sort_keys=True)
        supervisor = self.supervisors.pop(key, None)
        if supervisor is None:
            while len(self.supervisors) >= KEPT_SUPERVISORS:
                self.supervisors.pop(next(iter(self.supervisors))).close()
            with self.agent.preparing:
                about = header["environment"], self.cache, header["package"], self.note
                command = remote_env.prepare(*about, header.get("brought"))
            self.made += 1
            mark = "%s/%d/%d" % (self.agent.run_id, self.number, self.made)
            supervisor = LaneSupervisor(command, self.agent.run_folder, mark)
        self.supervisors[key] = supervisor
        return supervisor

    def do_doctor(self, header: dict, buffers: list) -> tuple[dict, list]:
        """Report what is on this host; with `fix`, remove what was left over."""
        found = doctor(self.cache, self.agent.run_id, header["fix"], header["prune_s"])
        found["disk"] = disk_room.trouble(self.cache, header["need_bytes"])
        return {"kind": "reply", "found": found}, []


class LaneSupervisor(SupervisorProcess):
    """A supervisor in one environment. A mark in the variables of whatever it starts finds what left it."""

    def __init__(self, command: remote_env.Command, run_folder: str, mark: str) -> None:
        self.mark = mark
        variables = dict(os.environ, TMPDIR=run_folder, **command.variables)
        variables[LANE_MARK] = mark
        for name in ("PYTHONHOME", "PYTHONSTARTUP", "PYTHONSAFEPATH"):
            variables.pop(name, None)
        cwd = command.cwd or run_folder
        super().__init__(command.argv, variables, "the supervisor there", cwd, run_folder)

    def _end(self) -> None:
        """Kill it and what it started, also what left it; what other lanes run goes on."""
        mark = ("%s=%s\0" % (LANE_MARK, self.mark)).encode()
        end = time.monotonic() + _END_S
        while time.monotonic() < end:
            alive = [pid for pid in descendants() if mark in environ(pid)]
            if self._process.poll() is None:
                alive.append(self._process.pid)
            if not alive:
                break
            for pid in alive:
                kill(pid)
            time.sleep(0.002)


def kill(pid: int) -> None:
    """Kill a process that may be gone."""
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        pass


def error_text(error: BaseException) -> str:
    """An error for a person; a full disk is named."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return remote_env.FULL_DISK % (error.filename or error.strerror)
    return str(error)


def doctor(cache: str, own: str, fix: bool, prune_s: float | None = None) -> dict[str, Any]:
    """Report what there is, and what was left over; remove environments unused for `prune_s`."""
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
