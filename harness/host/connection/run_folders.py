"""The folder of a run on its host, and what runs left there that ended without cleaning up.

A run's folder holds a lock as long as its agent lives; everything the run starts has its id in the environment.
Part of the agent: standard library of Python 3.8.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import time

RUN_MARK = "GPU_REPRO_RUN"  # in the environment of everything a run starts
_SWEEP_AFTER_S = 60.0  # a run's folder without its lock is left over, unless it is this young


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
                variables = environ(int(entry))
                if any(mark in variables for mark in marks):
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


def environ(pid: int) -> bytes:
    """The environment a process began with; nothing of one that is gone, or a zombie."""
    try:
        with open("/proc/%d/environ" % pid, "rb") as file:
            return file.read() + b"\0"
    except OSError:
        return b""
