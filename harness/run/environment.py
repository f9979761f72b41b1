"""What is wrong with the machine and not with the program: such an error says nothing of a claim. Beside the repro.

An error that the repro raises itself, by a `raise` in its own file, is the program's, whatever its class: a claim may
be about one. Standard library only.
"""

from __future__ import annotations

import dis
import errno
import importlib.util
import re
import sys
from collections.abc import Sequence
from types import TracebackType

from harness.run.exception_protocol import device_error, is_missing, signal_of

_DEVICE = {  # names of CUDA's errors that are about the machine: CUDA driver API, CUresult
    "CUDA_ERROR_OUT_OF_MEMORY", "CUDA_ERROR_NOT_INITIALIZED", "CUDA_ERROR_DEINITIALIZED", "CUDA_ERROR_STUB_LIBRARY",
    "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA_ERROR_NO_DEVICE", "CUDA_ERROR_ECC_UNCORRECTABLE",
    "CUDA_ERROR_SYSTEM_NOT_READY", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
    "CUDA_ERROR_OPERATING_SYSTEM", "CUDA_ERROR_MPS_CONNECTION_FAILED", "CUDA_ERROR_DEVICE_NOT_LICENSED",
}  # fmt: skip
_ERRNO = {
    errno.ENOSPC: "the disk is full", errno.EDQUOT: "the disk quota is used up", errno.EROFS: "the disk is read-only",
    errno.EIO: "the disk or the device failed", errno.ENOMEM: "there is too little memory",
    errno.EMFILE: "too many files are open", errno.ENFILE: "too many files are open",
    errno.EAGAIN: "no more processes or threads can be started", errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
}  # fmt: skip
_FIX = {
    errno.ENOSPC: "free some space there, or name another folder in TMPDIR (on a host over SSH: `cache`)",
    errno.EACCES: "let this user write there, or name another folder in TMPDIR (on a host over SSH: `cache`)",
    errno.ENOMEM: "end other programs, or run fewer cases at once (pytest -n)",
    errno.EMFILE: "raise the limit: ulimit -n 4096", errno.EAGAIN: "raise the limit (ulimit -u), or end other programs",
    errno.EIO: "look into the system's log: dmesg",
}  # fmt: skip
_FIX |= {
    errno.EDQUOT: _FIX[errno.ENOSPC],
    errno.EROFS: _FIX[errno.EACCES],
    errno.EPERM: _FIX[errno.EACCES],
    errno.ENFILE: _FIX[errno.EMFILE],
}
_WORDS = (  # words of errors that have no class of their own: what is wrong, what to do
    (r"cannot open shared object file|undefined symbol|version `\S+' not found|invalid ELF header",
     "a library cannot be loaded", "install what it belongs to, or mend that installation"),
    (r"can't allocate memory|CUDA out of memory|CUDA error: out of memory|DefaultCPUAllocator",
     "there is too little memory", _FIX[errno.ENOMEM]),
    (r"can't start new thread", _ERRNO[errno.EAGAIN], _FIX[errno.EAGAIN]),
    (r"No usable temporary (?:directory|file ?name) found", "no temporary folder is writable",
     "let this user write there, or name another folder in TMPDIR"),
    (r"Found no NVIDIA driver|no NVIDIA GPU|driver version is insufficient|CUDA driver initialization failed|"
     r"no CUDA-capable device|No CUDA GPUs are available|forward compatibility was attempted",
     "the CUDA driver is missing, or does not work", "look what `nvidia-smi` says there"),
    (r"No space left on device", _ERRNO[errno.ENOSPC], _FIX[errno.ENOSPC]),
)  # fmt: skip
_DEEP = 20


def trouble(error: BaseException, path: str, needs: Sequence[str] = ()) -> str:
    """What is wrong with the machine and what to do, where that is why a repro ended; else ''.

    `path`: the repro's file. `needs`: the requirements in its block.
    """
    for one in _behind(error):
        if not _raised_by(one, path):
            said = _named(one, needs)
            if said:
                return said
    return ""


def _behind(error: BaseException) -> list[BaseException]:
    """The error and what its library says that it comes from."""
    errors: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in errors and len(errors) < _DEEP:
        errors.append(one)
        one = one.__cause__
    return errors


def _raised_by(error: BaseException, path: str) -> bool:
    """Whether a `raise` (or `assert`) of this file raised it, and no function that it calls."""
    last: TracebackType | None = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or last.tb_frame.f_code.co_filename != path:
        return False
    at = last.tb_lasti
    return any(
        one.offset == at and one.opname in ("RAISE_VARARGS", "RERAISE")
        for one in dis.get_instructions(last.tb_frame.f_code)
    )


def _named(error: BaseException, needs: Sequence[str]) -> str:
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, ModuleNotFoundError):
        return _absent(error, needs)
    if isinstance(error, KeyboardInterrupt):
        return f"{text}\nthe repro's process was interrupted from outside: run it again"
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return f"there is too little memory: {text}\nfix: {_FIX[errno.ENOMEM]}"
    if is_missing(error):
        return str(error)
    if signal_of(error) in ("SIGKILL", "SIGTERM"):
        return f"a process of the compiler was ended from outside: {text}\nfix: {_FIX[errno.ENOMEM]}"
    if device_error(error) in _DEVICE:
        return f"the device cannot be used: {text}\nfix: look what `nvidia-smi` says there"
    if isinstance(error, OSError) and error.errno in _ERRNO:
        return f"{_ERRNO[error.errno]}: {text}\nfix: {_FIX[error.errno]}"
    if isinstance(error, OSError | RuntimeError | ImportError):
        for words, wrong, fix in _WORDS:
            if re.search(words, text):
                return f"{wrong}: {text}\nfix: {fix}"
    return ""


def _absent(error: ModuleNotFoundError, needs: Sequence[str]) -> str:
    """A package that is not installed. A module that an installed package lacks is what the program finds there."""
    top = (error.name or "").partition(".")[0]
    if not top or top in sys.modules or _is_there(top):
        return ""
    declared = any(re.match(rf"{re.escape(top)}(?![\w.-])", re.sub(r"[-_.]+", "_", need), re.I) for need in needs)
    where = "its block declares it" if declared else "its block does not declare it"
    more = "" if declared else f"; name its package under `dependencies` in the block, or correct `import {top}`"
    return f"the module {top} is not installed where the repro runs; {where}\nfix: uv add --dev PACKAGE here{more}"


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False
