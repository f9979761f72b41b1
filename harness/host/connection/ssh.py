"""An SSH connection to a host: its address by `ssh -G`, its key enforced.

OpenSSH reads its own configuration (Include, Match, agents, jumps); fabric connects. A host key that is not in the
user's known_hosts is refused, whatever StrictHostKeyChecking is. `GPU_REPRO_SSH_CONFIG` names another ssh_config.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import os
import pwd
import random
import re
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.terminal import printable

if TYPE_CHECKING:
    from fabric import Connection

CONNECT_S = 10.0
ATTEMPTS = 3  # for a server that hangs up before it identifies itself: it has too many connections for the moment
_NAME = re.compile(r"[A-Za-z0-9._@][A-Za-z0-9._@-]*")


class CannotConnect(Exception):
    """There is no connection; the text names the reason and what to do."""


@dataclass(frozen=True)
class Address:
    """The answer of `ssh -G` for an alias."""

    alias: str
    hostname: str
    facts: Mapping[str, tuple[str, ...]]

    def one(self, key: str, default: str = "") -> str:
        value = self.facts.get(key, (default,))[0]
        return default if value == "none" else value

    @property
    def port(self) -> int:
        return int(self.one("port", "22"))

    @property
    def user(self) -> str:
        return self.one("user")

    @property
    def is_configured(self) -> bool:
        """Whether the configuration knows the alias, or it is written as user@host."""
        return self.hostname != self.alias or "@" in self.alias or self.alias in configured_names()

    def __str__(self) -> str:
        return f"{self.hostname}:{self.port}"


def _config() -> list[str]:
    path = os.environ.get("GPU_REPRO_SSH_CONFIG")
    return ["-F", path] if path else []


def command(alias: str) -> str:
    """How a person reaches the host."""
    return shlex.join(["ssh", *_config(), alias])


def lookup(alias: str) -> Address | None:
    """The address of an alias, or None where it can be no host's name. Raises CannotConnect without `ssh`."""
    if not _NAME.fullmatch(alias):
        return None
    program = shutil.which("ssh")
    if program is None:
        raise CannotConnect("there is no program `ssh` on this machine: install OpenSSH's client")
    done = subprocess.run([program, *_config(), "-G", alias], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise CannotConnect(f"`{shlex.join(['ssh', *_config(), '-G', alias])}` fails: {done.stderr.strip()}")
    facts: dict[str, tuple[str, ...]] = {}
    for line in done.stdout.splitlines():
        key, _, value = line.partition(" ")
        facts[key] = (*facts.get(key, ()), value)
    return Address(alias, facts["hostname"][0], facts)


def configured_names() -> list[str]:
    """The aliases that the user's ssh_config spells out."""
    path = Path(os.environ.get("GPU_REPRO_SSH_CONFIG") or Path.home() / ".ssh" / "config")
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return []
    words = [word for line in lines if re.match(r"\s*host\s", line, re.I) for word in line.split()[1:]]
    return [word for word in dict.fromkeys(words) if _NAME.fullmatch(word)]


def connect(address: Address) -> tuple[Connection, Gateway | None]:
    """An open connection, and the process it goes through where it does not go straight. Raises CannotConnect."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _connect(address)
        except _HungUp as error:
            if attempt == ATTEMPTS:
                raise CannotConnect(_unreachable(address, str(error))) from None
            time.sleep(attempt * random.uniform(0.2, 0.6))
    raise AssertionError


class _HungUp(Exception):
    """The server closed the connection before it identified itself."""


def _unreachable(address: Address, why: str) -> str:
    return f"{address.alias} ({address}) cannot be reached: {why}\ncheck: `{command(address.alias)} true`"


def _connect(address: Address) -> tuple[Connection, Gateway | None]:
    import fabric  # noqa: PLC0415

    _silence()
    agent = os.path.expanduser(address.one("identityagent"))
    if agent and agent != "SSH_AUTH_SOCK":
        os.environ["SSH_AUTH_SOCK"] = agent
    keys = [os.path.expanduser(path) for path in address.facts.get("identityfile", ())]
    policy, kinds = _trust(address)
    argv = _gateway(address)
    gateway = Gateway(argv) if argv else None
    connection = fabric.Connection(
        address.hostname,
        user=address.user,
        port=address.port,
        connect_timeout=CONNECT_S,
        config=fabric.Config(lazy=True),
        connect_kwargs={
            "key_filename": [path for path in keys if os.path.exists(path)],
            "allow_agent": address.one("identitiesonly") != "yes",
            "look_for_keys": False,
            "banner_timeout": CONNECT_S,
            "auth_timeout": CONNECT_S,
            "channel_timeout": CONNECT_S,
            "disabled_algorithms": {"keys": _unwanted(kinds)},
            **({"sock": gateway.sock} if gateway else {}),
        },
    )
    client: Any = connection.client
    client.set_missing_host_key_policy(policy)
    try:
        _open(connection, address, keys)
    except BaseException as error:
        connection.close()
        if gateway:
            said = gateway.close()
            if isinstance(error, _HungUp):
                raise CannotConnect(_unreachable(address, f"the way through `{argv[0]}` ended: {said}")) from None
        raise
    return connection, gateway


class Gateway:
    """A command whose stdin and stdout are the way to the host, as a socket; it ends when the socket is closed."""

    def __init__(self, argv: list[str]) -> None:
        self.sock, theirs = socket.socketpair()
        self._stderr = tempfile.TemporaryFile()
        with theirs:
            self._process = subprocess.Popen(
                argv, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=self._stderr, start_new_session=True
            )

    def close(self) -> str:
        """End it; returns what it wrote to stderr."""
        self.sock.close()
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with self._stderr:
            self._stderr.seek(0)
            return printable(self._stderr.read(4000).decode("utf-8", "replace")).strip()


def _open(connection: Connection, address: Address, keys: list[str]) -> None:
    """Connect and log in. Raises CannotConnect, and _HungUp where trying again may help."""
    import paramiko  # noqa: PLC0415

    try:
        connection.open()
    except paramiko.AuthenticationException as error:
        raise CannotConnect(_refused(address, keys, str(error))) from None
    except (paramiko.SSHException, EOFError, ConnectionResetError) as error:
        if "banner" in str(error) or isinstance(error, EOFError | ConnectionResetError):
            raise _HungUp(_no_greeting(str(error))) from None
        if "authentication" in str(error).lower():
            raise CannotConnect(_refused(address, keys, str(error))) from None
        raise CannotConnect(_unreachable(address, str(error))) from None
    except (OSError, TimeoutError, ValueError) as error:
        why = "no answer" if isinstance(error, TimeoutError | socket.timeout) else _reason(error)
        raise CannotConnect(_unreachable(address, why)) from None


def _no_greeting(said: str) -> str:
    """paramiko's message about a server that did not identify itself, in plain words."""
    _, is_so, rest = said.partition("Error reading SSH protocol banner")
    if is_so and not rest:
        return f"no SSH server greeted within {CONNECT_S:g} s: the machine hangs, or another program listens there"
    return f"it closed the connection before it identified itself{f' ({rest or said})' if rest or said else ''}"


def _reason(error: Exception) -> str:
    """The words of the system: `Connection refused`."""
    inner = list(getattr(error, "errors", {}).values())
    first = inner[0] if inner else error
    return getattr(first, "strerror", None) or str(first)


def _silence() -> None:
    """paramiko writes tracebacks of its threads to the log; what matters of them is raised too."""
    logger = logging.getLogger("paramiko")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())


def _gateway(address: Address) -> list[str]:
    """The command that leads to the host, or nothing. A jump is made by ssh itself, which checks the jump's key."""
    jumps = address.one("proxyjump")
    if not jumps:
        text = address.one("proxycommand")
        words = {"%h": address.hostname, "%p": str(address.port), "%r": address.user, "%n": address.alias, "%%": "%"}
        return ["sh", "-c", "exec " + re.sub("%[hprn%]", lambda found: words[found[0]], text)] if text else []
    *earlier, last = jumps.split(",")
    strict = ["-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", f"ConnectTimeout={CONNECT_S:g}"]
    through = ["-J", ",".join(earlier)] if earlier else []
    host = f"[{address.hostname}]" if ":" in address.hostname else address.hostname
    return ["ssh", *_config(), *strict, *through, "-W", f"{host}:{address.port}", *_jump_target(last)]


def _jump_target(jump: str) -> list[str]:
    """`user@host:port` as ssh's arguments."""
    host, colon, port = jump.removeprefix("ssh://").rpartition(":")
    return ["-p", port, host] if colon and port.isdigit() and "]" not in port else [jump]


def _trust(address: Address) -> tuple[Any, list[str]]:
    """The policy for the host's key, which takes only keys of known_hosts; and the kinds of these keys.

    OpenSSH's own program reads the files, with their patterns, hashes and markers.
    """
    import paramiko  # noqa: PLC0415

    name, keys, revoked = _known_as(address), {}, set()
    holders: list[Path] = []  # files that have a key of the host
    for path in _known_hosts(address):
        find = ["ssh-keygen", "-F", name, "-f", str(path)]
        said = subprocess.run(find, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
        for words in (line.split() for line in said.splitlines() if line[:1] not in ("", "#")):
            if words[0] == "@revoked":
                revoked.add(words[3])
            elif not words[0].startswith("@"):
                keys[words[2]] = words[1]
                holders += [path] if path not in holders else []

    class Check(paramiko.MissingHostKeyPolicy):
        def missing_host_key(self, client: Any, hostname: str, key: Any) -> None:
            if key.get_base64() in revoked:
                raise CannotConnect(
                    f"the host key of {address.alias} is revoked in known_hosts:\n    {fingerprint(key)}"
                )
            if key.get_base64() not in keys:
                raise CannotConnect(_changed_key(address, key, holders) if keys else _unknown_key(address, key))

    return Check(), list(keys.values())


_KEY_KINDS = {
    "ssh-ed25519": ["ssh-ed25519"],
    "ecdsa-sha2-nistp256": ["ecdsa-sha2-nistp256"],
    "ecdsa-sha2-nistp384": ["ecdsa-sha2-nistp384"],
    "ecdsa-sha2-nistp521": ["ecdsa-sha2-nistp521"],
    "ssh-rsa": ["rsa-sha2-512", "rsa-sha2-256"],
}


def _unwanted(kinds: list[str]) -> list[str]:
    """The algorithms not to ask a host for that is known by keys of these kinds."""
    if not any(kind in _KEY_KINDS for kind in kinds):
        return []
    return [name for kind, names in _KEY_KINDS.items() if kind not in kinds for name in names]


def _known_as(address: Address) -> str:
    """How known_hosts names the host: by its alias there, or by its name, with a port that is not ssh's own."""
    if address.one("hostkeyalias"):
        return address.one("hostkeyalias")
    return address.hostname if address.port == 22 else f"[{address.hostname}]:{address.port}"


def _known_hosts(address: Address) -> list[Path]:
    """The files of known keys that the configuration names and that are there.  ssh_config(5): UserKnownHostsFile."""
    files = " ".join([address.one("userknownhostsfile"), address.one("globalknownhostsfile")])
    paths = [Path(os.path.expanduser(_expanded(path, address))) for path in shlex.split(files)]
    return [path for path in paths if path.is_file()]


def _expanded(path: str, address: Address) -> str:
    """A path with its tokens and variables, which `ssh -G` prints as they were written.  ssh_config(5): TOKENS."""
    words = {
        "%": "%", "h": address.hostname, "p": str(address.port), "r": address.user, "n": address.alias,
        "k": address.one("hostkeyalias") or address.hostname, "d": os.path.expanduser("~"), "i": str(os.getuid()),
        "u": pwd.getpwuid(os.getuid()).pw_name, "l": socket.gethostname(), "L": socket.gethostname().partition(".")[0],
    }  # fmt: skip
    path = re.sub(r"%([%hprnkdiulL])", lambda found: words[found[1]], path)
    return re.sub(r"\$\{(\w+)\}", lambda found: os.environ.get(found[1], found[0]), path)


def fingerprint(key: Any) -> str:
    """`ssh-ed25519 SHA256:...`, as ssh prints it."""
    digest = base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")
    return f"{key.get_name()} SHA256:{digest}"


def _unknown_key(address: Address, key: Any) -> str:
    return (
        f"{address.alias} ({address}) shows a host key that is not in known_hosts:\n    {fingerprint(key)}\n"
        f"fix: compare it with the host's own, then accept it by `{command(address.alias)} true`"
    )


def _changed_key(address: Address, key: Any, holders: list[Path]) -> str:
    """`holders`: the files that have another key of the host."""
    name, files = _known_as(address), " and ".join(map(str, holders))
    removals = [f"`{shlex.join(['ssh-keygen', '-R', name, '-f', str(path)])}`, " for path in holders]
    return (
        f"{address.alias} ({address}) shows a host key other than the one in {files}:\n    {fingerprint(key)}\n"
        "somebody may be in between, or the host was set up again\n"
        f"fix: ask who runs it; if the key is right, {''.join(removals)}then `{command(address.alias)} true`"
    )


def _refused(address: Address, keys: list[str], why: str) -> str:
    there = [path for path in keys if os.path.exists(path)]
    tried = ", ".join(there) if there else "no key file"
    if address.one("identitiesonly") != "yes" and os.environ.get("SSH_AUTH_SOCK"):
        tried += " and the keys of ssh-agent"
    return (
        f"{address.alias} ({address}) refused to log in {address.user}: {why.rstrip('.')}\n"
        f"tried: {tried}\nfix: make `{command(address.alias)} true` work without a question"
    )
