"""The environment of a repro: a Python, and what it can import. Runs on the host, next to `agent.py`.

    managed    an environment of ours in the cache, made by uv once for each set of needs
    project    somebody's project: `uv run --no-sync`, which touches neither its lock nor its environment
    python     a named interpreter

Our own code is never installed: it is unpacked in the cache under its hash, and PYTHONPATH names it. Standard
library only, and Python 3.8.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import zipfile
from collections.abc import Callable
from typing import Any, NamedTuple

from harness.host.environment import disk_room, package_index, supplies
from harness.host.environment.supplies import Refused, Unreachable

_KEEP_PACKAGES_S = 7 * 86400.0
_NOTE_EVERY_S = 10.0
_SAID_BYTES = 4000
KEEP_UNUSED_S = 30 * 86400.0
_KEEP_RECENT_S = 86400.0
KEPT_ENVIRONMENTS = 16
_READY = "gpu-repro.json"  # in an environment that is whole


class Command(NamedTuple):
    """How a Python is started: argv, where, and with which variables besides its own."""

    argv: list
    cwd: Any
    variables: dict


def folder(cache: str) -> str:
    """The cache's path with `~` as the host knows it."""
    return os.path.abspath(os.path.expanduser(cache))


def packages(cache: str) -> list[str]:
    """The hashes of the packages that are here, whole."""
    try:
        return [name for name in os.listdir(os.path.join(cache, "packages")) if "." not in name]
    except FileNotFoundError:
        return []


def keep_package(cache: str, sha256: str, wheel: bytes) -> None:
    """Unpack our wheel as packages/<sha256>, whole or not at all. Raises Refused, OSError."""
    _check(sha256, wheel)
    top = os.path.join(cache, "packages")
    os.makedirs(top, exist_ok=True)
    part, whole = os.path.join(top, "%s.part.%d" % (sha256, os.getpid())), os.path.join(top, sha256)
    try:
        with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
            archive.extractall(part)
        if not os.path.isdir(whole):
            os.rename(part, whole)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    for name in os.listdir(top):
        path = os.path.join(top, name)
        if name != sha256 and time.time() - os.stat(path).st_mtime > _KEEP_PACKAGES_S:
            shutil.rmtree(path, ignore_errors=True)


def keep_uv(cache: str, sha256: str, program: bytes) -> None:
    """Keep the program uv as bin/uv of the cache. Raises Refused, OSError."""
    _check(sha256, program)
    top = os.path.join(cache, "bin")
    os.makedirs(top, exist_ok=True)
    part = os.path.join(top, "uv.part.%d" % os.getpid())
    try:
        with open(part, "wb") as file:
            file.write(program)
        os.chmod(part, 0o755)
        why = uv_trouble(part)
        if why:
            raise Refused("the uv that was brought %s" % why)
        os.rename(part, os.path.join(top, "uv"))
    finally:
        if os.path.exists(part):
            os.unlink(part)


def _check(sha256: str, data: bytes) -> None:
    if hashlib.sha256(data).hexdigest() != sha256:
        raise Refused("the transfer is damaged: its hash differs")


def find_uv(cache: str, broken: list | None = None) -> str | None:
    """The path of a uv that runs: the usual places, PATH, what runs this, a login shell's PATH, what we brought.

    `broken` takes a sentence about each that was met and does not run.
    """
    home = os.path.expanduser("~")
    places: list = [
        lambda: home + "/.local/bin/uv",
        lambda: home + "/.cargo/bin/uv",
        lambda: shutil.which("uv"),
        lambda: os.environ.get("UV"),
        _login_uv,
        lambda: cached_uv(cache),
    ]
    for place in places:
        path = place()
        if path and os.access(path, os.X_OK):
            why = uv_trouble(path)
            if not why:
                return path
            if broken is not None:
                broken.append("%s %s" % (path, why))
    return None


def cached_uv(cache: str) -> str:
    """The path of uv after it has been copied to this host."""
    return os.path.join(cache, "bin", "uv")


def uv_trouble(path: str) -> str:
    """Why a program that should be uv does not work as uv, or ''."""
    if path not in _asked:
        try:
            done = subprocess.run(
                [path, "--version"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                timeout=30,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return "does not run: %s" % (getattr(error, "strerror", None) or error)
        said = done.stdout.decode("utf-8", "replace").strip()
        if done.returncode != 0 or not said.startswith("uv "):
            return "does not run: %s" % (said[-300:] or "exit status %d" % done.returncode)
        if not path.endswith(".part.%d" % os.getpid()):
            _asked[path] = said
    return ""


_asked: dict = {}  # path of a uv that runs -> the version that it printed


def remove_broken_uv(cache: str) -> None:
    """Take the uv away that we brought, where it does not run."""
    path = cached_uv(cache)
    if os.path.lexists(path) and uv_trouble(path):
        os.unlink(path)


def _login_uv() -> str | None:
    try:
        done = subprocess.run(
            ["bash", "-lc", "command -v uv"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, timeout=10,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.decode("utf-8", "replace").split()
    return lines[-1] if lines and os.access(lines[-1], os.X_OK) else None


def uv_version(uv: str) -> str:
    """`0.13.8`, or what is wrong with it."""
    return uv_trouble(uv) or _asked[uv].replace("uv ", "", 1)


def prepare(
    environment: dict, cache: str, package: str, note: Callable[[str], None], brought: dict | None = None
) -> Command:
    """Make the environment if it is not there, and return how to start its Python. Raises Refused, OSError.

    `brought` is what was copied here for it (see `offline.py`); without it uv asks the package index, and Unreachable
    is raised where nothing leads there.
    """
    path = os.path.join(cache, "packages", package)
    try:
        os.utime(path)
    except OSError:
        raise Refused("our package is gone from %s: connect again" % path) from None
    variables = dict(environment["variables"], PYTHONPATH=path)
    kind = environment["kind"]
    if kind == "python":
        return _interpreter(environment["python"], variables)
    uv = find_uv(cache)
    if uv is None:
        why = package_index.no_way_out(variables)
        raise Unreachable(why) if why else Refused(NO_UV)
    if kind == "project":
        return _project(uv, environment["workdir"], cache, variables)
    return _managed(uv, environment, cache, variables, note, brought)


_OF_A_FILE = re.compile(r" \(from file://\S+\)$")  # after a package that was copied here: its name is enough
FULL_DISK = "the disk there is full: %s\nfix: make room, or name a folder on a larger disk by `cache`"
NO_UV = (
    "there is no uv on the host, in ~/.local/bin, ~/.cargo/bin or on PATH\n"
    "fix: `repro run --bootstrap`, `pytest --gpu-bootstrap` or `bootstrap = true` for this host brings this "
    "machine's uv into the cache there; or install it there as its page describes"
)


def _interpreter(python: str, variables: dict) -> Command:
    path = os.path.expanduser(python)
    if not shutil.which(path):
        raise Refused("there is no program %s on the host\nfix: correct `python` in the settings of this host" % path)
    return Command([path], None, variables)


def _project(uv: str, workdir: str, cache: str, variables: dict) -> Command:
    """`uv run --no-sync` in the project. Bytecode goes to our cache: nothing is written below the project."""
    path = folder(workdir)
    if not os.path.isdir(path):
        raise Refused("there is no folder %s on the host\nfix: correct `workdir` in the settings of this host" % path)
    if not os.path.exists(os.path.join(path, "pyproject.toml")):
        raise Refused("%s is not a project: it has no pyproject.toml" % path)
    where = os.environ.get("UV_PROJECT_ENVIRONMENT", ".venv")
    if not os.path.exists(os.path.join(path, where, "bin", "python")):
        raise Refused(
            "the project %s has no environment, and we make none there\nfix: run `uv sync` in it, on the host" % path
        )
    ours = variables["PYTHONPATH"]
    if os.environ.get("PYTHONPATH"):
        ours += os.pathsep + os.environ["PYTHONPATH"]
    more = {"PYTHONPATH": ours, "PYTHONPYCACHEPREFIX": os.path.join(cache, "bytecode"), "UV_NO_PROGRESS": "1"}
    return Command([uv, "run", "--quiet", "--no-sync", "--project", path, "python"], path, dict(variables, **more))


def environment_name(environment: dict) -> str:
    """The hash an environment goes by: its needs, its Python, its index."""
    facts = [sorted(environment["requires"]), environment["python"], environment["torch_index"], os.uname().machine]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:24]


def is_made(environment: dict, cache: str) -> bool:
    """Whether the environment is there, whole."""
    return os.path.exists(os.path.join(cache, "envs", environment_name(environment), _READY))


_not_made: dict = {}  # (environment, whether it was to be made of what was copied here) -> why it cannot be made


def _managed(
    uv: str, environment: dict, cache: str, variables: dict, note: Callable[[str], None], brought: dict | None
) -> Command:
    """The environment for these needs: made once, under a lock, and whole only with its marker."""
    top = os.path.join(cache, "envs")
    os.makedirs(top, exist_ok=True)
    path = os.path.join(top, environment_name(environment))
    marker, python = os.path.join(path, _READY), os.path.join(path, "bin", "python")
    lock = os.open(path + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _wait_for(lock, note)
        if not os.path.exists(marker):
            shutil.rmtree(path, ignore_errors=True)
            if (path, bool(brought)) in _not_made:
                raise _not_made[path, bool(brought)]  # each case reports it, none tries again
            prune(cache, note=note)
            try:
                if brought:
                    _make_of(brought, uv, environment, cache, path, note)
                else:
                    _make(uv, environment, path, python, note)
            except BaseException as error:
                shutil.rmtree(path, ignore_errors=True)
                if isinstance(error, Refused):
                    _not_made[path, bool(brought)] = error
                raise
            with open(marker + ".part", "w") as file:
                json.dump({"requires": environment["requires"], "made": time.time()}, file)
            os.rename(marker + ".part", marker)
        os.utime(marker)  # when it was used last
    finally:
        os.close(lock)
    return Command([python], None, variables)


def prune(cache: str, unused_s: float = KEEP_UNUSED_S, most: int = KEPT_ENVIRONMENTS, note: Any = None) -> list:
    """Remove environments that nobody used for `unused_s`, and of the others the longest unused beyond `most`.

    One that was used within a day stays, unless `unused_s` is shorter than a day. Returns the names of those removed.
    """
    now, gone = time.time(), []
    newest_first = sorted(environments(cache), key=lambda one: one["used"], reverse=True)
    for place, one in enumerate(newest_first):
        old_s = now - one["used"]
        if old_s >= unused_s or (place >= most and old_s >= _KEEP_RECENT_S):
            if _remove(os.path.join(cache, "envs", one["name"])):
                gone.append(one["name"])
                if note:
                    note("removed the environment %s, last used %d days ago" % (one["name"], old_s // 86400))
    supplies.prune(cache, unused_s)
    return gone


def _remove(path: str) -> bool:
    """Take an environment away that nobody is making; it is never seen half gone."""
    lock = os.open(path + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(os.path.join(path, _READY))
        shutil.rmtree(path, ignore_errors=True)
        return True
    except OSError:
        return False
    finally:
        os.close(lock)


def _wait_for(lock: int, note: Callable[[str], None]) -> None:
    """Take the lock, however long another run makes the same environment."""
    waited = 0.0
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if waited % _NOTE_EVERY_S == 0:
                note("another run is making this environment; waiting")
            time.sleep(0.5)
            waited += 0.5


def _make(uv: str, environment: dict, path: str, python: str, note: Callable[[str], None]) -> None:
    needs = environment["requires"]
    note("making an environment with %s" % ", ".join(needs))
    variables = environment["variables"]
    _uv([uv, "venv", "--quiet", "--no-project", "--python", environment["python"], path], "", variables, note)
    why = package_index.why_not(uv, environment, python)
    if why:
        raise Unreachable(why)
    option = package_index.index_options(environment["torch_index"])
    option += ["--compile-bytecode"] if environment.get("bytecode", True) else []
    argv = [uv, "pip", "install", "--python", python, *option, "-r", "-"]
    started = time.monotonic()
    _uv(argv, "\n".join(needs) + "\n", variables, note)
    note("the environment is made, in %.1f s" % (time.monotonic() - started))


def _make_of(brought: dict, uv: str, environment: dict, cache: str, path: str, note: Callable[[str], None]) -> None:
    """Make the environment of files that were copied here: nothing is asked of a network."""
    note("making an environment with %s, of what was copied here" % ", ".join(environment["requires"]))
    variables, python = environment["variables"], brought["python"]
    if isinstance(python, list):
        note("unpacking %s" % python[1])
        python = supplies.unpack_python(cache, *python)
    started = time.monotonic()
    _uv([uv, "venv", "--quiet", "--no-project", "--offline", "--python", python, path], "", variables, note)
    argv = [uv, "pip", "install", "--offline", "--no-index", "--no-deps", "--compile-bytecode", "--python"]
    _uv([*argv, path, "-r", "-"], supplies.install_list(cache, brought["wheels"]), variables, note)
    note("the environment is made, in %.1f s" % (time.monotonic() - started))


def _uv(argv: list, text: str, variables: dict, note: Callable[[str], None]) -> None:
    """Run uv, pass on its output, and note now and then that it lives. Raises Refused."""
    variables = dict(os.environ, UV_NO_PROGRESS="1", NO_COLOR="1", **variables)
    pipe = subprocess.PIPE
    raise_held = _hold_interrupts()
    try:
        process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, env=variables)
    except BaseException:
        raise_held()
        raise
    try:
        raise_held()
        said = _pass_on(process, text, note)
    except BaseException:  # Ctrl-C: nothing is left running
        process.kill()
        process.wait()
        raise
    if process.wait() != 0:
        text = "\n".join(said)[-_SAID_BYTES:]
        if process.returncode == -signal.SIGXFSZ or any(words in text for words in disk_room.WORDS):
            raise Refused(FULL_DISK % "uv could not make the environment")
        why = package_index.reason(text, variables)
        if why:
            raise Unreachable(why)
        raise Refused("uv could not make the environment (`%s`):\n%s" % (" ".join(argv[1:3]), text))


def _hold_interrupts() -> Callable[[], None]:
    """Keep Ctrl-C back until the returned function is called, which raises it: a process that is being started would
    be left running, because nobody has it yet. Signals come to the main thread alone."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        return lambda: None
    held: list[tuple] = []
    signal.signal(signal.SIGINT, lambda *signalled: held.append(signalled))

    def raise_held() -> None:
        signal.signal(signal.SIGINT, handler)
        if held:
            handler(*held[0])

    return raise_held


def _pass_on(process: subprocess.Popen, text: str, note: Callable[[str], None]) -> list:
    """Give uv its input, and pass on its output until it ends; returns its lines."""
    assert process.stdin is not None and process.stdout is not None
    stdin, stdout = process.stdin, process.stdout
    said: list[str] = []

    def listen() -> None:
        for line in stdout:
            said.append(line.decode("utf-8", "replace").rstrip())
            note("uv: " + _OF_A_FILE.sub("", said[-1]))

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        stdin.write(text.encode())
        stdin.close()
    except BrokenPipeError:
        pass  # it ended; its output is reported
    started = time.monotonic()
    while True:
        listener.join(_NOTE_EVERY_S)
        if not listener.is_alive():
            return said
        note("uv is at work (%d s)" % (time.monotonic() - started))


def environments(cache: str) -> list[dict[str, Any]]:
    """The managed environments that are whole: name, needs, and when it was used last (seconds)."""
    top, rows = os.path.join(cache, "envs"), []
    for name in sorted(os.listdir(top)) if os.path.isdir(top) else []:
        try:
            marker = os.path.join(top, name, _READY)
            with open(marker) as file:
                requires = json.load(file)["requires"]
            rows.append({"name": name, "requires": requires, "used": os.stat(marker).st_mtime})
        except (OSError, ValueError, KeyError):
            continue
    return rows
