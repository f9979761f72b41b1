"""Commands on a login node: over SSH, or in a shell of this machine where it is one itself."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from typing import Any

from harness.host.connection import ssh
from harness.run.transport import LinkDown
from harness.terminal import printable

ANSWER_S = 60.0
MOST_SAID_BYTES = 4 << 20
_END_S = 5.0


@dataclass(frozen=True)
class Said:
    """The output of a command, and its exit status."""

    status: int
    out: str
    errors: str


class Login:
    """A connection for short commands, and for others that stay open. `alias`: of ssh_config, '' for here."""

    def __init__(self, alias: str) -> None:
        self.alias = alias
        self.before: list[str] = []  # of every command, as in `env PATH=...`
        self._lock = threading.Lock()
        self._connection: Any = None
        self._gateway: Any = None

    @property
    def where(self) -> str:
        return self.alias or "this machine"

    def address(self, name: str) -> ssh.Address:
        """The address that connections of the name go to. Raises LinkDown."""
        if not self.alias:
            return ssh.Address(name, "localhost", {})
        try:
            found = ssh.lookup(self.alias)
        except ssh.CannotConnect as error:
            raise LinkDown(str(error)) from None
        if found is None or not found.is_configured:
            raise LinkDown(
                f"job.login = {self.alias!r}: ssh_config has no such host\nfix: name the alias of a login node"
            )
        return found

    def connect(self) -> tuple[Any, Any]:
        """A separate connection, and the process it goes through. Raises LinkDown."""
        if not self.alias:
            return LocalConnection(), None
        try:
            return ssh.connect(self.address(self.alias))
        except ssh.CannotConnect as error:
            raise LinkDown(str(error)) from None

    def start(self, argv: list[str]) -> Any:
        """A command as a channel. Raises LinkDown."""
        with self._lock:
            if self._connection is None:
                self._connection, self._gateway = self.connect()
            connection = self._connection
        try:
            channel = connection.transport.open_session(timeout=ANSWER_S)
            channel.settimeout(ANSWER_S)
            channel.exec_command("exec " + shlex.join([*self.before, *argv]))
            return channel
        except (OSError, EOFError) as error:
            raise LinkDown(f"{self.where}: the connection was lost: {error}") from None
        except Exception as error:  # of paramiko, which has no base but this
            raise LinkDown(f"{self.where}: no command can be started: {error}") from None

    def run(self, argv: list[str], text: str = "") -> Said:
        """Run a command with this on its stdin. Raises LinkDown."""
        channel = self.start(argv)
        try:
            try:
                channel.sendall(text.encode())
                channel.shutdown_write()
            except (BrokenPipeError, ConnectionResetError):
                pass  # it ended without reading; its output is reported
            out = _all_of(channel.recv)
            errors = _all_of(channel.recv_stderr)
            return Said(channel.recv_exit_status(), out, errors)
        except (OSError, EOFError) as error:
            raise LinkDown(f"{self.where}: `{argv[0]}` did not answer: {error or 'time is over'}") from None
        finally:
            channel.close()

    def close(self) -> None:
        with self._lock:
            connection, self._connection = self._connection, None
            gateway, self._gateway = self._gateway, None
        if connection is not None:
            connection.close()
        if gateway is not None:
            gateway.close()


def _all_of(receive: Any) -> str:
    pieces: list[bytes] = []
    try:
        while (piece := receive(1 << 16)) and sum(map(len, pieces)) < MOST_SAID_BYTES:
            pieces.append(piece)
    except ConnectionResetError:
        pass  # it ended and left something of its stdin unread
    return printable(b"".join(pieces).decode("utf-8", "replace"))


class LocalConnection:
    """As a connection over SSH, but to a shell of this machine."""

    def __init__(self) -> None:
        self.transport = self
        self._channels: list[LocalChannel] = []

    def open_session(self, timeout: float | None = None) -> LocalChannel:
        self._channels.append(LocalChannel())
        return self._channels[-1]

    def close(self) -> None:
        while self._channels:
            self._channels.pop().close()


class LocalChannel:
    """A process whose stdin and stdout are one socket. Ctrl-C of the terminal does not reach it."""

    def __init__(self) -> None:
        self._sock, self._theirs = socket.socketpair()
        self._errors, self._read = tempfile.TemporaryFile(), 0
        self._process: Any = None

    def settimeout(self, seconds: float | None) -> None:
        self._sock.settimeout(seconds)

    def exec_command(self, command: str) -> None:
        fd = self._theirs.fileno()
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", command], stdin=fd, stdout=fd, stderr=self._errors.fileno(), start_new_session=True
        )
        self._theirs.close()

    def recv(self, count: int) -> bytes:
        return self._sock.recv(count)

    def recv_stderr(self, count: int) -> bytes:
        """The stderr that was not read yet; the process has the file's offset, so the place is kept here."""
        data = os.pread(self._errors.fileno(), count, self._read)
        self._read += len(data)
        return data

    def sendall(self, data: Any) -> None:
        self._sock.sendall(data)

    def shutdown_write(self) -> None:
        self._sock.shutdown(socket.SHUT_WR)

    def recv_exit_status(self) -> int:
        return self._process.wait(ANSWER_S)

    def close(self) -> None:
        """The process reads the end of its stdin; one that does not end by that is killed."""
        self._sock.close()
        self._theirs.close()
        if self._process is not None:
            try:
                self._process.wait(_END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
