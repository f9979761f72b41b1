"""One run at a time on a GPU, also between users: a lock in /tmp that ends with the process that holds it.

The holder writes a note of itself next to the lock, UUID.PID, which counts while that process holds the lock. A program
that knows nothing of the lock, such as a training job, is seen where the driver tells which processes compute on a GPU
(NVML). Whoever has just taken the lock has no process there yet: all that compute are others.

Runs next to the repro: standard library only, and Python 3.8.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import pwd
import time
from collections.abc import Callable
from typing import Any

FOLDER = "/tmp/gpu-repro-locks"
PATIENCE_S = 600.0
_LOOK_S = 0.05
_NOTE_EVERY_S = 10.0
_NOTE_BYTES = 4096
_MOST_PROCESSES = 256
_SHOWN = 60


class Busy(Exception):
    """Another run held the GPU all the while; the text names it, and `holder` is that name alone."""

    def __init__(self, text: str, holder: str) -> None:
        super().__init__(text)
        self.holder = holder


def take(uuid: str, waiting: Callable[[str], None], alive: Callable[[], None], patience_s: float = PATIENCE_S) -> int:
    """A descriptor that holds the lock until it is closed. Raises Busy, OSError.

    While it waits it calls `alive` often, and `waiting` now and then with a text.
    """
    fd = _open(os.path.join(FOLDER, uuid))
    began, told = time.monotonic(), -_NOTE_EVERY_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            who = _stranger(uuid)
            if not who:
                _sign(uuid)
                return fd
            fcntl.flock(fd, fcntl.LOCK_UN)
        except BlockingIOError:
            who = _holder(fd)
        waited = time.monotonic() - began
        if waited > patience_s:
            os.close(fd)
            raise Busy(f"the GPU was not free within {patience_s:g} s: {who}", who)
        if waited - told >= _NOTE_EVERY_S:
            waiting(f"waiting for the GPU: {who}")
            told = waited
        alive()
        time.sleep(_LOOK_S)


def _open(path: str) -> int:
    """Open the lock file, whoever made it: a lock needs no right to write."""
    try:
        os.mkdir(FOLDER)
        os.chmod(FOLDER, 0o1777)
    except FileExistsError:
        pass
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)


def release(fd: int, uuid: str) -> None:
    """Let go of the lock."""
    try:
        os.unlink(_note_of(uuid, os.getpid()))
    except OSError:
        pass
    os.close(fd)


def holder(uuid: str) -> Any:
    """Who holds the lock, or computes without it: {pid, user, since, run}, or None.

    `since`: seconds since 1970, 0 where nobody wrote it.
    """
    pid = None
    try:
        fd = os.open(os.path.join(FOLDER, uuid), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        pass  # nobody ever took it
    else:
        try:
            pid = _pid(fd)
        finally:
            os.close(fd)
    if pid is None:
        computing = processes(uuid)
        return {"pid": computing[0], "user": _user(computing[0]), "since": 0.0, "run": ""} if computing else None
    said: Any = {}
    try:
        with open(_note_of(uuid, pid)) as file:
            said = json.loads(file.read(_NOTE_BYTES))
    except (OSError, ValueError, RecursionError):
        pass  # of an older version, or of a process in another container
    since = said.get("since") if isinstance(said, dict) else None
    run = said.get("run") if isinstance(said, dict) else None
    is_time = isinstance(since, float) and 0 < since < 1e12
    return {"pid": pid, "user": _user(pid), "since": since if is_time else 0.0, "run": str(run or "")[:100]}


def _user(pid: int) -> str:
    try:
        uid = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return ""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _note_of(uuid: str, pid: int) -> str:
    return os.path.join(FOLDER, f"{uuid}.{pid}")


def _sign(uuid: str) -> None:
    """Write who holds the lock from now on, and take away the notes of this user's processes that are gone."""
    for name in os.listdir(FOLDER):
        owner, dot, pid = name.rpartition(".")
        if dot and owner == uuid and pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
            try:
                os.unlink(os.path.join(FOLDER, name))
            except OSError:
                pass  # of another user
    path = _note_of(uuid, os.getpid())
    try:
        os.unlink(path)
    except OSError:
        pass
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError:
        return  # a full disk: the lock is held all the same
    with open(fd, "w") as file:
        json.dump({"since": time.time(), "run": os.environ.get("GPU_REPRO_RUN", "")}, file)


def _holder(fd: int) -> str:
    """`process 1234 has it`, by the kernel's table of locks."""
    pid = _pid(fd)
    return "another run has it" if pid is None else f"process {pid} has it"


def _pid(fd: int) -> Any:
    """The process that holds the lock, or None."""
    inode = os.fstat(fd).st_ino
    with open("/proc/locks") as file:
        for line in file:
            fields = line.split()
            if fields[1] == "FLOCK" and fields[5].rpartition(":")[2] == str(inode):
                return int(fields[4])
    return None


# --- processes that know nothing of the lock ---


class _Process(ctypes.Structure):
    """nvmlProcessInfo_t, version 2 of NVML's API."""

    _fields_ = [
        ("pid", ctypes.c_uint),
        ("used_bytes", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    ]


_library: Any = None  # NVML, started; False where there is none


def device_name(uuid: str) -> str:
    """A GPU as CUDA_VISIBLE_DEVICES and NVML name it. `uuid`: 32 digits."""
    return "GPU-" + "-".join((uuid[:8], uuid[8:12], uuid[12:16], uuid[16:20], uuid[20:]))


def processes(uuid: str) -> list:
    """The ids of processes that compute on a GPU; none where the driver does not tell. `uuid`: 32 digits."""
    library = _nvml()
    find = getattr(library, "nvmlDeviceGetHandleByUUID", None)
    listing = getattr(library, "nvmlDeviceGetComputeRunningProcesses_v3", None) or getattr(
        library, "nvmlDeviceGetComputeRunningProcesses_v2", None
    )
    if find is None or listing is None:
        return []
    device, count, rows = ctypes.c_void_p(), ctypes.c_uint(_MOST_PROCESSES), (_Process * _MOST_PROCESSES)()
    if find(device_name(uuid).encode(), ctypes.byref(device)) or listing(device, ctypes.byref(count), rows):
        return []
    return [row.pid for row in rows[: count.value]]


def _nvml() -> Any:
    global _library
    if _library is None:
        try:
            _library = ctypes.CDLL("libnvidia-ml.so.1")
            if _library.nvmlInit_v2():
                _library = False
        except (OSError, AttributeError):
            _library = False
    return _library


def _stranger(uuid: str) -> str:
    """Who computes on the GPU without holding its lock, in words, or ''."""
    computing = processes(uuid)
    if not computing:
        return ""
    pid = computing[0]
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            command = file.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()[:_SHOWN]
    except OSError:
        command = ""  # of another container
    what = ", ".join(filter(None, (_user(pid), command)))
    return f"process {pid}{f' ({what})' if what else ''} computes on it"
