"""One run at a time on a GPU, also between users: a lock in /tmp that ends with the process that holds it.

Runs beside the repro: standard library only.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable

FOLDER = "/tmp/gpu-repro-locks"
PATIENCE_S = 600.0
_LOOK_S = 0.05
_NOTE_EVERY_S = 10.0


class Busy(Exception):
    """Another run held the GPU all the while; the text says which."""


def take(uuid: str, waiting: Callable[[str], None], alive: Callable[[], None], patience_s: float = PATIENCE_S) -> int:
    """A descriptor that holds the lock until it is closed. Raises Busy, OSError.

    While it waits it calls `alive` often, and `waiting` now and then with a text.
    """
    fd = _open(os.path.join(FOLDER, uuid))
    began, told = time.monotonic(), -_NOTE_EVERY_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return fd
        except BlockingIOError:
            waited = time.monotonic() - began
        if waited > patience_s:
            text = f"the GPU was not free within {patience_s:g} s: {_holder(fd)}"
            os.close(fd)
            raise Busy(text)
        if waited - told >= _NOTE_EVERY_S:
            waiting(f"waiting for the GPU: {_holder(fd)}")
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


def _holder(fd: int) -> str:
    """`process 1234 has it`, by the kernel's table of locks."""
    inode = os.fstat(fd).st_ino
    with open("/proc/locks") as file:
        for line in file:
            fields = line.split()
            if fields[1] == "FLOCK" and fields[5].rpartition(":")[2] == str(inode):
                return f"process {fields[4]} has it"
    return "another run has it"
