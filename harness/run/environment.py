"""Errors of the machine and not of the program: they show nothing about a claim. Runs next to the repro.

An error that the repro raises itself, by a `raise` in its own file, belongs to the program, whatever its class: a claim
may be about one. Standard library only.
"""

from __future__ import annotations

import dis
import errno
import importlib.metadata
import importlib.util
import json
import os
import re
import shlex
import shutil
import sys
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
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
_NO_DRIVER, _LOOK_AT_GPU = "the CUDA driver is missing, or does not work", "look at the output of `nvidia-smi` there"
_ASK_FOR_LESS = "ask for less memory: the emulator has the memory of this machine"
_DRIVER_WORDS = (
    r"Found no NVIDIA driver|no NVIDIA GPU|driver version is insufficient|CUDA driver initialization failed|"
    r"no CUDA-capable device|No CUDA GPUs are available|forward compatibility was attempted"
)
_WORDS = (  # words of errors that have no separate class: what is wrong, what to do
    (r"cannot open shared object file|undefined symbol|version `\S+' not found|invalid ELF header|"
     r"Failure finding \"lib",
     "a library cannot be loaded", "install what it belongs to, or mend that installation"),
    (r"can't allocate memory|CUDA out of memory|CUDA error: out of memory|DefaultCPUAllocator",
     "there is too little memory", _FIX[errno.ENOMEM]),
    (r"can't start new thread", _ERRNO[errno.EAGAIN], _FIX[errno.EAGAIN]),
    (r"No usable temporary (?:directory|file ?name) found", "no temporary folder is writable",
     "let this user write there, or name another folder in TMPDIR"),
    (r"No space left on device", _ERRNO[errno.ENOSPC], _FIX[errno.ENOSPC]),
)  # fmt: skip
RUN_MARK = "GPU_REPRO_RUN"  # in the environment of everything that runs on a host over SSH (agent.py)
OUR_LANGUAGES = (
    "nvidia-cutlass-dsl",
    "quadrants",
    "apache-tvm",
    "apache-tvm-tirx",
)  # packages that our compiler stands for
_DEEP = 20


def trouble(error: BaseException, path: str, needs: Sequence[str] = (), on_gpu: bool = True) -> str:
    """The error of the machine and what to do, if that is why a repro ended; else ''.

    `path`: the repro's file. `needs`: the requirements in its block. `on_gpu`: the device is a GPU.
    """
    for one in _behind(error):
        if not _raised_by(one, path):
            said = _named(one, path, needs) or _of_device(one, on_gpu)
            if said:
                return said
    return ""


def _behind(error: BaseException) -> list[BaseException]:
    """The error and the errors that its library names as its causes."""
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


def _named(error: BaseException, path: str, needs: Sequence[str]) -> str:
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, ModuleNotFoundError):
        return _absent(error, path, needs)
    if isinstance(error, KeyboardInterrupt):
        return f"{text}\nthe repro's process was interrupted from outside: run it again"
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return f"there is too little memory: {text}\nfix: {_FIX[errno.ENOMEM]}"
    if is_missing(error):
        return str(error)
    if signal_of(error) in ("SIGKILL", "SIGTERM"):
        return f"a process of the compiler was ended from outside: {text}\nfix: {_FIX[errno.ENOMEM]}"
    if isinstance(error, OSError) and error.errno in _ERRNO:
        return f"{_ERRNO[error.errno]}: {text}\nfix: {_FIX[error.errno]}"
    if extras := [need for need in needs if "[" in need and type(error).__name__ == "DynamicLibNotFoundError"]:
        return f"a library cannot be found: {text}\nfix: {install_command(extras, _again(path))}"  # cuda.pathfinder
    if isinstance(error, OSError | RuntimeError | ImportError):
        for words, wrong, fix in _WORDS:
            if re.search(words, text):
                return f"{wrong}: {text}\nfix: {fix}"
    return ""


def _of_device(error: BaseException, on_gpu: bool) -> str:
    """An error of a device that is about the device; on the emulator a lack of memory, or a call to a driver."""
    text, name = f"{type(error).__name__}: {error}", device_error(error)
    if on_gpu and (name in _DEVICE or _is_of_driver(error, text)):
        return f"{'the device cannot be used' if name in _DEVICE else _NO_DRIVER}: {text}\nfix: {_LOOK_AT_GPU}"
    if name == "CUDA_ERROR_OUT_OF_MEMORY":
        return f"there is too little memory: {text}\nfix: {_ASK_FOR_LESS}"
    if _is_of_driver(error, text):
        return (
            f"the emulator does not answer this function: {text}\n"
            "fix: leave the function out, or run the repro on a GPU (--gpu-host NAME)"
        )
    return ""


def _is_of_driver(error: BaseException, text: str) -> bool:
    return isinstance(error, OSError | RuntimeError | ImportError) and re.search(_DRIVER_WORDS, text) is not None


def _absent(error: ModuleNotFoundError, path: str, needs: Sequence[str]) -> str:
    """A package that is not installed. A module that an installed package lacks is what the program finds there."""
    top = (error.name or "").partition(".")[0]
    if not top or top in sys.modules or _is_there(top):
        return ""
    text = f"the module {top} is not installed where the repro runs"
    missing = [need for need in needs if not _is_installed(need)]
    if top == "torch" and "torch" not in map(_name_of, missing):
        missing = ["torch", *missing]  # its module and its package have one name: no block needs it
    if not missing:
        return (
            f"{text}; its block does not declare it\nfix: name its package under `dependencies` in the block, "
            f"or correct `import {top}`"
        )
    if list(map(_name_of, missing)) != [top]:
        text += f"; of what its block declares this is not: {', '.join(missing)}"
    if os.environ.get(RUN_MARK):
        return f"{text}\nfix: install it in the environment that the settings of this host name (`workdir` or `python`)"
    return f"{text}\nfix: {install_command(missing, _again(path))}"


def _again(path: str) -> str:
    return f"repro run {shlex.quote(os.path.relpath(path))}"


def install_command(needs: Sequence[str], program: str, is_for_good: bool = False) -> str:
    """The command that brings packages into this process's environment, or runs `program` with them if uv made it.

    `is_for_good`: add them to the project that uv made the environment for.
    """
    words = [shlex.quote(need) for need in needs]
    options, prefix = " ".join(f"--with {word}" for word in words), Path(sys.prefix)
    if (prefix / "pipx_metadata.json").exists():
        return f"pipx inject gpu-repro {' '.join(words)}"
    if (prefix / "uv-receipt.toml").exists():
        return f"uv tool install {options} {_own_source()}"
    if "archive-v0" in prefix.parts and "UV_RUN_RECURSION_DEPTH" not in os.environ:
        return f"uvx {options} --from {_own_source()} {program}"
    if _is_run_by_uv():
        return f"uv add --dev {' '.join(words)}" if is_for_good else f"uv run {options} {program}"
    if importlib.util.find_spec("pip") is not None:
        return f"{shlex.quote(sys.executable)} -m pip install {' '.join(words)}"
    return f"uv pip install --python {shlex.quote(sys.prefix)} {' '.join(words)}"


def as_typed(command: str) -> str:
    """A command that begins with `uv run repro`, as it is typed where uv does not run this project: with `repro` if the
    shell finds this one, else with its path."""
    if _is_run_by_uv():
        return command
    prefix = Path(sys.prefix)
    own, found = prefix / "bin/repro", shutil.which("repro")
    if "archive-v0" in prefix.parts:
        words = f"uvx --from {_own_source()} repro"
    elif (found and Path(found).resolve() == own.resolve()) or not own.exists():
        words = "repro"
    else:
        here = Path.cwd()
        words = shlex.quote(str(own.relative_to(here) if own.is_relative_to(here) else own))
    return re.sub("^uv run repro", lambda _: words, command)


def _is_run_by_uv() -> bool:
    """Whether uv made this environment for the project that it is in, or runs this process."""
    prefix = Path(sys.prefix)
    settings = prefix / "pyvenv.cfg"
    is_of_uv = settings.exists() and re.search(r"(?m)^uv\s*=", settings.read_text()) is not None
    return "UV_RUN_RECURSION_DEPTH" in os.environ or (is_of_uv and (prefix.parent / "pyproject.toml").exists())


def _own_source() -> str:
    """The source that this package was installed from: its name, or the address of a file or a folder."""
    try:
        told = importlib.metadata.distribution("gpu-repro").read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        told = None
    url = json.loads(told)["url"] if told else "gpu-repro"
    return shlex.quote(urllib.parse.unquote(url.removeprefix("file://")))


def _name_of(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement.strip())
    return re.sub(r"[-_.]+", "-", match[0]).lower() if match else ""


def _is_installed(requirement: str) -> bool:
    """Whether some version of the package is, or our compiler stands for it."""
    name = _name_of(requirement)
    if name in OUR_LANGUAGES:
        return True
    try:
        importlib.metadata.version(name)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return False
    return True


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False
