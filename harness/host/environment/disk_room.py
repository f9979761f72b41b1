"""Whether files can be written here: free space, the user's quota, limits of processes.

Runs on the host, next to `agent.py`. Standard library only, and Python 3.8.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import tempfile

WORDS = ("No space left on device", "Disk quota exceeded", "File too large", "Read-only file system")
LARGE_FILE_BYTES = 2 << 30  # the largest libraries of torch and CUDA are somewhat smaller
_KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE
_IN_MEMORY = ("tmpfs", "ramfs")  # to reserve there takes memory


def trouble(folder: str, need_bytes: int) -> str:
    """The reason why `need_bytes` in large files cannot be written below a folder, and the fix; or ''.

    Room is reserved and given back at once: only so a quota shows.
    """
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if limit != resource.RLIM_INFINITY and limit < min(LARGE_FILE_BYTES, need_bytes):
        return (
            "a file there may have at most %d MB (`ulimit -f`), and libraries of torch have up to %d MB\n"
            "fix: raise the limit there, as `fsize` in /etc/security/limits.conf"
            % (limit // 1000000, LARGE_FILE_BYTES // 1000000)
        )
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"0" * 4096)
            file.flush()
            if _file_system(os.fstat(file.fileno()).st_dev) not in _IN_MEMORY:
                _reserve(file.fileno(), need_bytes)
    except OSError as error:
        gigabytes = "%.0f GB" % (need_bytes / 1e9)
        if error.errno == errno.EDQUOT:
            return "the quota there leaves less than %s in %s\nfix: name a folder on another disk by `cache`" % (
                gigabytes, folder,
            )  # fmt: skip
        if error.errno == errno.ENOSPC:
            return "less than %s are free in %s\nfix: make room, or name a folder on a larger disk by `cache`" % (
                gigabytes, folder,
            )  # fmt: skip
        return "nothing can be written in %s: %s\nfix: name another folder by `cache`" % (folder, error.strerror)
    return ""


def _reserve(fd: int, count_bytes: int) -> None:
    """Ask the file system for room; nothing is written. Raises OSError with ENOSPC or EDQUOT."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.fallocate64.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    if libc.fallocate64(fd, _KEEP_SIZE, 0, count_bytes):
        code = ctypes.get_errno()
        if code in (errno.ENOSPC, errno.EDQUOT):
            raise OSError(code, os.strerror(code))


def _file_system(device: int) -> str:
    """`ext4`, or '' if the list of mounts does not have the device."""
    wanted = "%d:%d" % (os.major(device), os.minor(device))
    try:
        with open("/proc/self/mountinfo") as file:
            for line in file:
                fields = line.split()
                if fields[2] == wanted:
                    return fields[fields.index("-") + 1]
    except (OSError, ValueError):
        pass
    return ""
