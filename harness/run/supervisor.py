"""The process that starts repros and sees to their end: one at a time, each in its own session.

It runs next to the repro (standard library only), reads jobs from stdin and writes replies to stdout, both as frames.
It imports what the repros need once and forks for each job; a job that is `fresh` execs a new interpreter instead.
Whatever a repro started - also in other sessions - is killed when the repro ends, when its time is over, and when
the other end of stdin goes away: the process is the subreaper of all its descendants.

While a job that is `live` runs, what it prints goes out as it comes, in `output` frames with the number of its file
descriptor. Its input comes in `input` frames of one piece each (an empty one is the end); each is answered by
`more` when the program has taken it. An `interrupt` frame is Ctrl-C.
"""

from __future__ import annotations

import ctypes
import functools
import os
import resource
import select
import selectors
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from harness.run.frames import (
    DUMP_SIGNAL,
    FAILED,
    HEADER_LIMIT_BYTES,
    MOST_INPUT_BYTES,
    PROTOCOL,
    STOP_SIGNAL,
    TEXT_LIMIT_BYTES,
    BadFrame,
    read_exactly,
    read_frame,
    read_from,
    write_frame,
)

_STOP_S, _DUMP_S = 1.0, 0.25  # for a process whose time is over to print where it is
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None, use_errno=True)


def descendants() -> list[int]:
    """Process ids below this process, by /proc."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:
                    stat = file.read()
            except OSError:
                continue
            fields = stat[stat.rindex(b")") + 2 :].split()
            children.setdefault(int(fields[1]), []).append(int(entry))
    pids, todo = [], [os.getpid()]
    while todo:
        below = children.get(todo.pop(), [])
        pids += below
        todo += below
    return pids


def kill_descendants(patience_s: float = 5.0) -> None:
    """Kill and reap everything below this process, also what changed its session or forks meanwhile."""
    end = time.monotonic() + patience_s
    while _has_children() and time.monotonic() < end:
        for pid in descendants():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.002)


def _killed_for_memory() -> int:
    """How many processes this system has killed for memory so far."""
    try:
        with open("/proc/vmstat") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("oom_kill ")), 0)
    except (OSError, ValueError):
        return 0


def _has_children() -> bool:
    """Whether anything is left below this process, after those that ended are reaped: what loses its parent is ours."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


class _Stream:
    """The bytes of one pipe: the first and last of them, or all up to a limit. `pass_on` gets every piece."""

    def __init__(self, fd: int, limit_bytes: int, pass_on: Callable[[bytes], None] | None = None) -> None:
        self.fd, self.limit_bytes, self.pass_on = fd, limit_bytes, pass_on
        self.head, self.tail, self.size = bytearray(), bytearray(), 0
        os.set_blocking(fd, False)

    def drain(self) -> bool:
        """Take what is there; False at the end of the stream."""
        while True:
            try:
                data = os.read(self.fd, 1 << 18)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.size += len(data)
            if self.pass_on:
                self.pass_on(data)
            room = self.limit_bytes // 2 - len(self.head)
            self.head += data[: max(room, 0)]
            self.tail = (self.tail + data[max(room, 0) :])[-(self.limit_bytes // 2) :]

    def text(self) -> str:
        dropped = self.size - len(self.head) - len(self.tail)
        gap = f"\n[... {dropped} bytes left out ...]\n".encode() if dropped else b""
        return bytes(self.head + gap + self.tail).decode("utf-8", "replace")


class _Input:
    """The input of a live program: one piece at a time, so that no more is here than it takes."""

    def __init__(self, fd: int, taken: Callable[[], None]) -> None:
        self.fd, self.taken, self.left = fd, taken, b""
        os.set_blocking(fd, False)

    def put(self, piece: bytes) -> None:
        """The next piece; an empty one is the end."""
        if piece and self.fd >= 0:
            self.left += piece
        else:
            self.close()

    def write(self) -> None:
        """Hand over what the pipe takes now."""
        try:
            self.left = self.left[os.write(self.fd, self.left) :]
        except BlockingIOError:
            return
        except OSError:  # the program closed its end
            self.close()
        if not self.left:
            self.taken()

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        self.fd, self.left = -1, b""


class Supervisor:
    """Runs jobs that come in on one file descriptor and answers on another."""

    def __init__(self, jobs_fd: int, replies_fd: int) -> None:
        self.jobs_fd, self.replies_fd, self.gpu_fd = jobs_fd, replies_fd, -1
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.wake_fd, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self.leave())
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def leave(self) -> None:
        kill_descendants()
        os._exit(0)

    def serve(self) -> None:
        """Answer jobs until stdin ends."""
        from harness.run import gpu_lock, runner  # next to this file; needs numpy  # noqa: PLC0415

        ready = {"kind": "ready", "protocol": PROTOCOL, "pid": os.getpid(), "python": sys.version.split()[0]}
        write_frame(self.replies_fd, ready)
        used: Any = None
        while frame := read_frame(read_exactly(self.jobs_fd), limit_bytes=0):
            job = frame[0]
            if "kind" in job:
                continue  # for a program that has ended
            started = time.monotonic()
            if not job["fresh"]:
                runner.warm(job["warm"], job["compiler"], job["device"])
                if used:
                    runner.warm_as(used)
                used = None  # what the package `dsl` needed for the last job
            warm_s = time.monotonic() - started
            try:
                self.gpu_fd = self._take_gpu(job["gpu"], job["gpu_patience_s"])
            except (gpu_lock.Busy, OSError) as error:
                about = {"locked": isinstance(error, gpu_lock.Busy), "holder": getattr(error, "holder", "")}
                write_frame(self.replies_fd, {"kind": "busy", "text": str(error), **about})
                continue
            try:
                header, buffers = self.run(job, runner.run_job)
            except OSError as error:  # no more processes, files or memory
                header, buffers = {"kind": "busy", "text": f"no process could be started: {error}", "durations": {}}, []
            if self.gpu_fd >= 0:
                gpu_lock.release(self.gpu_fd, job["gpu"])
            header["durations"]["warm_s"] = round(warm_s, 4)
            used = (header.get("result") or {}).pop("used", None)
            write_frame(self.replies_fd, header, buffers)
        self.leave()

    def _take_gpu(self, uuid: str, patience_s: float) -> int:
        """Wait for the GPU's lock, telling so; leave when the client is gone. -1 where there is no GPU to lock."""
        from harness.run import gpu_lock  # noqa: PLC0415

        def waiting(text: str) -> None:
            if patience_s >= gpu_lock.PATIENCE_S:  # who asks for less tells it
                write_frame(self.replies_fd, {"kind": "note", "text": text})

        def alive() -> None:
            poll = select.poll()
            poll.register(self.jobs_fd, 0)  # its end alone: a live program's input may wait already
            if poll.poll(0):
                self.leave()

        return gpu_lock.take(uuid, waiting, alive, patience_s) if uuid else -1

    def run(self, job: dict[str, Any], body: Callable[[dict, int, int], None]) -> tuple[dict[str, Any], list[bytes]]:
        """Run one job in a child, and reply with its result frame, what it printed and how it ended."""
        pipes = [os.pipe2(os.O_CLOEXEC) for _ in range(4)]
        stdin, feed = os.pipe2(os.O_CLOEXEC) if job["live"] else (os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), -1)
        started = time.monotonic()
        killed_before = _killed_for_memory()
        pid = os.fork()
        if pid == 0:
            self._become_child(job, (stdin, feed), [write for _, write in pipes], body)
        for fd in (stdin, *(write for _, write in pipes)):
            os.close(fd)
        limit = job["limit_bytes"] + HEADER_LIMIT_BYTES
        limits = (TEXT_LIMIT_BYTES, TEXT_LIMIT_BYTES, 2 * limit, TEXT_LIMIT_BYTES)
        streams = [_Stream(read, size) for (read, _), size in zip(pipes, limits, strict=True)]
        given = None
        if feed >= 0:
            given = _Input(feed, lambda: write_frame(self.replies_fd, {"kind": "more"}))
            for number in (1, 2):
                streams[number - 1].pass_on = functools.partial(self._pass_on, number)
        status = self._watch(pid, streams, started + job["timeout_s"], given)
        if status.get("signal") == "SIGKILL" and _killed_for_memory() > killed_before:
            status["why"] = "the system ran out of memory, and killed it"
        kill_descendants()
        for stream in streams:
            stream.drain()
            os.close(stream.fd)
        if given:
            given.close()
        return self._reply(job, status, streams, time.monotonic() - started)

    def _pass_on(self, number: int, data: bytes) -> None:
        """Tell what a live program printed."""
        write_frame(self.replies_fd, {"kind": "output", "fd": number}, [data])

    def _become_child(
        self, job: dict[str, Any], stdin: tuple[int, int], writes: list[int], body: Callable[[dict, int, int], None]
    ) -> None:
        """Leave the parent's session, signals and files, run the body, and never return. Runs in the child."""
        try:
            os.setsid()
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.dup2(writes[0], 1)
            os.dup2(writes[1], 2)
            os.dup2(stdin[0], 0)
            for fd in (self.jobs_fd, self.replies_fd, self.wake_fd, self.gpu_fd, writes[0], writes[1], *stdin):
                if fd > 2:
                    os.close(fd)
            if job["fresh"]:
                self._exec_fresh(job, writes[2], writes[3])
            body(job, writes[2], writes[3])
        except BaseException:
            import traceback  # noqa: PLC0415

            os.write(2, traceback.format_exc().encode())
            os._exit(FAILED)
        os._exit(0)

    def _exec_fresh(self, job: dict[str, Any], result_fd: int, fault_fd: int) -> None:
        read, write = os.pipe()
        if os.fork() == 0:
            os.close(read)
            write_frame(write, job)
            os._exit(0)
        os.close(write)
        for fd in (read, result_fd, fault_fd):
            os.set_inheritable(fd, True)
        argv = [sys.executable, "-P", "-m", "harness.run.runner", str(read), str(result_fd), str(fault_fd)]
        os.execv(sys.executable, argv)

    def _watch(self, pid: int, streams: list[_Stream], deadline: float, given: _Input | None) -> dict[str, Any]:
        """Drain the streams until the child ends or its time is over; leave when the client is gone."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.wake_fd, selectors.EVENT_READ)
            selector.register(self.jobs_fd, selectors.EVENT_READ)
            for stream in streams:
                selector.register(stream.fd, selectors.EVENT_READ, stream)
            while True:
                status = self._ended(pid)
                if status is not None:
                    return status
                left = deadline - time.monotonic()
                if left <= 0:
                    return self._stop(pid, streams)
                for key, _ in selector.select(left):
                    if key.fd == self.jobs_fd:
                        self._hear(pid, given, selector)
                    elif given and key.data is given:
                        fd = given.fd
                        given.write()
                        if not given.left:
                            selector.unregister(fd)
                    elif key.fd == self.wake_fd:
                        os.read(self.wake_fd, 4096)
                    elif not key.data.drain():
                        selector.unregister(key.fd)

    def _hear(self, pid: int, given: _Input | None, selector: selectors.BaseSelector) -> None:
        """Take a frame that the client sends meanwhile; leave at the end of the stream, and if it may send none."""
        frame = read_frame(read_exactly(self.jobs_fd), MOST_INPUT_BYTES) if given else None
        if frame is None or given is None:
            return self.leave()
        header, buffers = frame
        if header.get("kind") == "interrupt":
            try:
                os.killpg(pid, signal.SIGINT)
            except ProcessLookupError:
                pass
        elif header.get("kind") == "input":
            given.put(buffers[0] if buffers else b"")
            if given.left:
                selector.register(given.fd, selectors.EVENT_WRITE, given)

    def _ended(self, pid: int) -> dict[str, Any] | None:
        """How the child ended, or None while it runs. Adopted orphans that ended are reaped on the way."""
        while True:
            try:
                done, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return {"exit": 255}
            if done == 0:
                return None
            if done == pid:
                code = os.waitstatus_to_exitcode(status)
                return {"exit": code} if code >= 0 else {"signal": signal.Signals(-code).name}

    def _stop(self, pid: int, streams: list[_Stream]) -> dict[str, Any]:
        """Ask a child whose time is over where it is, then let it be killed."""
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                if file.read().rpartition(b") ")[2][:1] == b"T":
                    return {"signal": "SIGSTOP"}
        except OSError:
            pass
        fault = streams[3]
        for number, patience_s in ((STOP_SIGNAL, _STOP_S), (DUMP_SIGNAL, _DUMP_S)):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
            end = time.monotonic() + patience_s
            while time.monotonic() < end and not fault.size:
                time.sleep(0.005)
                fault.drain()
        return {"timeout": True}

    def _reply(
        self, job: dict, status: dict, streams: list[_Stream], run_s: float
    ) -> tuple[dict[str, Any], list[bytes]]:
        stdout, stderr, result, fault = streams
        header: dict[str, Any] = {"kind": "reply", "status": status, "timeout_s": job["timeout_s"], "result": None}
        header |= {"stdout": stdout.text(), "stderr": stderr.text(), "fault": fault.text()}
        header["durations"] = {"run_s": round(run_s, 4)}
        buffers: list[bytes] = []
        try:
            read = read_from(bytes(result.head + result.tail))
            frame = read_frame(read, job["limit_bytes"])
            if frame and frame[0].get("outcome") == "begun":
                header["begun"] = frame[0]
                frame = read_frame(read, job["limit_bytes"])
            if frame and "timeout" not in status and "signal" not in status:
                header["result"], buffers = frame
        except BadFrame as error:
            header["broken"] = str(error)
        return header, buffers


def main() -> None:
    """Serve on stdin and stdout; what is printed meanwhile goes to stderr."""
    jobs_fd, replies_fd = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    Supervisor(jobs_fd, replies_fd).serve()


if __name__ == "__main__":
    from harness.run import supervisor  # one copy of this module, under its own name

    supervisor.main()
