"""Python programs in forks of a process that has imported torch and a compiler: a program costs its own time alone.

    done = fork_server.run(["-m", "dsl", "author.py"], cwd=folder)

is `subprocess.run([sys.executable, "-m", "dsl", "author.py"], cwd=folder, capture_output=True, text=True)` without the
imports. A program gets its own session, working folder, environment and standard streams; it ends as Python
ends. Not for tests of how a process starts, of signals or of terminals: they start a Python.

The processes of a test session share one such process for each compiler and architecture; it ends with the session.
multiprocessing's forkserver belongs to one process and has one list of imports: each worker would import each
compiler, 22 s of processor time and 2 GB for the three, which here all workers do once.

Standard library only. Run as a script it is the process that forks: `python fork_server.py WARM ADDRESS SESSION`.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import gc
import hashlib
import importlib
import json
import linecache
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

# The process whose end ends what forks: pytest's own one where several run the tests.
SESSION = int(os.environ.setdefault("TESTS_SESSION", str(os.getpid())))
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "CUTE_DSL_ARCH"}
# The imports of a process: our compiler; NVIDIA's compiler, hooked to the emulator; NVIDIA's compiler as it is.
WARM = ("dsl", "hooked", "cutlass")
# Variables that Python or its libraries read when they start: a program with others starts a Python.
READ_AT_START = ("LD_", "LC_", "LANG", "OMP_", "CUTE_", "PYTHON")
# by what is below
READ_LATER = ("PYTHONPATH", "PYTHONWARNINGS", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "CUTE_DSL_ARCH")


def run(
    arguments: Sequence[object],
    *,
    warm: str | None = None,
    input: str | None = None,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 300,
    check: bool = False,
) -> subprocess.CompletedProcess:
    """Run `python ARGUMENTS`: options -W, then -m, -c, a file or `-`. `warm` is one of WARM; by default it is the
    compiler that `-m dsl` takes, or NVIDIA's compiler as it is.

    Raises subprocess.TimeoutExpired, and subprocess.CalledProcessError with `check`.
    """
    arguments, env = list(map(str, arguments)), dict(os.environ if env is None else env)
    command = [sys.executable, *arguments]
    if _read_at_start(env) != _read_at_start(ENVIRONMENT):
        return subprocess.run(
            command, input=input, cwd=cwd, env=env, timeout=timeout, check=check, capture_output=True, text=True
        )
    with contextlib.ExitStack() as files:
        streams = [files.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8")) for _ in range(3)]
        streams[0].write(input or "")
        streams[0].seek(0)
        ask = {"arguments": arguments, "cwd": str(cwd or os.getcwd()), "env": env}
        warm = warm or _compiler(arguments)
        which = warm, "" if warm == "dsl" else env.get("CUTE_DSL_ARCH", "")
        numbers = [stream.fileno() for stream in streams]
        try:
            status = _server(*which).ask(ask, numbers, timeout)
        except BrokenPipeError:  # it has ended since the last program, and nothing of this one has run
            warnings.warn("the process that forks has ended: another one starts", stacklevel=2)
            _server.cache_clear()
            status = _server(*which).ask(ask, numbers, timeout)
        texts = []
        for stream in streams[1:]:
            stream.seek(0)
            texts.append(stream.read())
    if status is None:
        raise subprocess.TimeoutExpired(command, timeout, *texts)
    done = subprocess.CompletedProcess(command, status, *texts)
    if check:
        done.check_returncode()
    return done


def _compiler(arguments: list[str]) -> str:
    if "dsl" not in arguments:
        return "cutlass"
    return "hooked" if "nvidia" in arguments else "dsl"


def _read_at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: env[name] for name in env if name.startswith(READ_AT_START) and name not in READ_LATER}


class Server:
    """A process that forks, seen from the tests."""

    def __init__(self, warm: str, arch: str) -> None:
        self.socket, self.lock = _connect(warm, arch), threading.Lock()

    def ask(self, ask: dict, streams: list[int], timeout: float) -> int | None:
        """The exit status of a program, negative for a signal; None where it ran longer than `timeout` seconds."""
        text = json.dumps(ask).encode()
        with self.lock:
            return self._ask(text, streams, timeout)

    def _ask(self, text: bytes, streams: list[int], timeout: float) -> int | None:
        self.socket.settimeout(120 + timeout)
        socket.send_fds(self.socket, [len(text).to_bytes(4, "little")], streams)
        self.socket.sendall(text)
        pid = self._number()
        try:
            self.socket.settimeout(timeout)
            return self._number()
        except TimeoutError:
            os.killpg(pid, signal.SIGKILL)
            self.socket.settimeout(60)
            self._number()
            return None

    def _number(self) -> int:
        got = self.socket.recv(4, socket.MSG_WAITALL)
        if len(got) < 4:
            _server.cache_clear()
            raise RuntimeError("the process that forks has ended")
        return int.from_bytes(got, "little", signed=True)


@functools.cache
def _server(warm: str, arch: str) -> Server:
    return Server(warm, arch)


def _address(warm: str, arch: str) -> str:
    """Of the socket (an abstract one, which no file stays of) that all of the session find it at."""
    what = [__file__, warm, arch, os.getuid(), sorted(_read_at_start(ENVIRONMENT).items())]
    return f"tests-{SESSION}-{hashlib.sha256(repr(what).encode()).hexdigest()[:16]}"


def _connect(warm: str, arch: str) -> socket.socket:
    """Connect to the process that forks; start it if there is none."""
    address, process = _address(warm, arch), None
    for _ in range(6000):
        client = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(ConnectionRefusedError):
            client.connect("\0" + address)
            return client
        client.close()
        if process is None:
            process = subprocess.Popen(
                [sys.executable, __file__, warm, address, str(SESSION)],
                env={**ENVIRONMENT, "CUTE_DSL_ARCH": arch} if arch else ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        if process.poll() not in (None, errno.EADDRINUSE):
            break
        time.sleep(0.01)
    raise RuntimeError(f"the process that forks did not start, and ended with {process and process.poll()}")


# ** in the process that forks


def listen(warm: str, address: str, session: int) -> None:
    """Fork for each process of the session that connects, until the session ends; at once where another listens."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind("\0" + address)
    except OSError as error:
        sys.exit(error.errno)
    listener.listen(64)
    ended = os.pidfd_open(session)
    gc.disable()
    _import(warm)
    gc.enable()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while ended not in select.select([listener, ended], [], [])[0]:
        client, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            os.close(ended)
            serve(client)
            os._exit(0)
        client.close()


def serve(client: socket.socket) -> None:
    """Run programs, one after the other, until the socket ends."""
    before = signal.getsignal(signal.SIGINT)
    while True:
        start, streams, _, _ = socket.recv_fds(client, 4, 3, socket.MSG_WAITALL)
        if len(start) < 4:
            return
        ask = json.loads(client.recv(int.from_bytes(start, "little"), socket.MSG_WAITALL))
        child = os.fork()
        if child == 0:
            client.close()
            signal.signal(signal.SIGINT, before)
            _become(ask, streams)
        for stream in streams:
            os.close(stream)
        client.sendall(child.to_bytes(4, "little"))
        ended = os.pidfd_open(child)
        if client in select.select([client, ended], [], [])[0]:  # the tests are gone
            os.killpg(child, signal.SIGKILL)
            return
        os.close(ended)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        client.sendall(status.to_bytes(4, "little", signed=True))


def _import(warm: str) -> None:
    import torch

    torch.set_num_threads(1)  # an OpenMP pool does not survive a fork
    if warm == "dsl":
        from dsl import alias

        alias.install("emulator")
        for name in ("cutlass.cute", "quadrants", "tvm.script.tirx"):
            importlib.import_module(name)
        alias.warm()
        alias.uninstall()
    elif warm == "hooked":
        from dsl import alias

        alias.warm("nvidia")
    else:
        importlib.import_module("cutlass.cute")


def _become(ask: dict, streams: list[int]) -> NoReturn:
    """In the fork: be `python ARGUMENTS`."""
    os.setsid()
    for target, fd in enumerate(streams):
        os.dup2(fd, target)
        os.close(fd)
    os.environ.clear()
    os.environ.update(ask["env"])
    os.chdir(ask["cwd"])
    arguments = ask["arguments"]
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.pycache_prefix = os.environ.get("PYTHONPYCACHEPREFIX") or None
    sys.warnoptions[:] = list(filter(None, os.environ.get("PYTHONWARNINGS", "").split(",")))
    while arguments[0] == "-W":
        sys.warnoptions.append(arguments[1])
        arguments = arguments[2:]
    warnings._processoptions(sys.warnoptions)
    folders = filter(None, os.environ.get("PYTHONPATH", "").split(":"))
    sys.path[:] = [*folders, *sys.path[1:]]
    status = 0
    try:
        _run(arguments)
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        if isinstance(leaving.code, str):
            print(leaving.code, file=sys.stderr)
    except BaseException as error:
        status = 1
        own = error.__traceback__
        while own is not None and own.tb_frame.f_code.co_filename in (__file__, runpy.__file__, "<frozen runpy>"):
            own = own.tb_next
        traceback.print_exception(type(error), error, own)
    # Like the end of Python, except that modules are not taken apart: this costs more than most programs.
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    os._exit(status & 0xFF)


def _run(arguments: list[str]) -> None:
    kind, rest = arguments[0], arguments[1:]
    if kind == "-m":
        sys.argv = ["-m", *rest[1:]]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        return
    if kind in ("-c", "-"):
        text, name = (rest[0], "<string>") if kind == "-c" else (sys.stdin.read(), "<stdin>")
        sys.argv = [kind, *rest[1:]] if kind == "-c" else [kind, *rest]
        sys.path.insert(0, "")
        main = sys.modules["__main__"] = types.ModuleType("__main__")
    else:
        text, name = Path(kind).read_bytes(), kind
        sys.argv = arguments
        sys.path.insert(0, str(Path(kind).resolve().parent))
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        main.__file__ = os.path.abspath(kind)
    main.__builtins__ = __builtins__
    code = compile(text, name, "exec", dont_inherit=True)
    if kind == "-c" and sys.version_info >= (3, 13):  # from this release on tracebacks show its lines
        linecache.cache[name] = len(text), None, [line + "\n" for line in text.splitlines()], name
    exec(code, main.__dict__)


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])
    listen(sys.argv[1], sys.argv[2], int(sys.argv[3]))
