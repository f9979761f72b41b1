"""One fleet for all processes of a run: xdist's workers ask the controller over a Unix socket in a private folder.

The messages are pickled by multiprocessing.connection, which admits only processes that know the run's key.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Iterable
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

from harness.fleet.fleet import Fleet, Ran, Request
from harness.run.transport import LinkDown


class Door:
    """The controller's end: serves every worker that connects, each in a thread."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet, self.key = fleet, os.urandom(32)
        self._folder = tempfile.mkdtemp(prefix="gpu-repro-fleet-")  # of this user alone
        self.address = os.path.join(self._folder, "door")
        self._listener = Listener(self.address, "AF_UNIX", backlog=256, authkey=self.key)
        self._closed = False
        threading.Thread(target=self._admit, daemon=True).start()

    def _admit(self) -> None:
        while not self._closed:
            try:
                connection = self._listener.accept()
            except OSError:
                return  # it was closed
            except Exception:
                continue  # a stranger, who did not know the key
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        try:
            while True:
                verb, argument = connection.recv()
                try:
                    answer: Any = getattr(self.fleet, verb)(argument)
                except Exception as error:
                    answer = error
                connection.send(answer)
        except (EOFError, OSError):
            connection.close()  # the worker is gone

    def close(self) -> None:
        self._closed = True
        self._listener.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class Visitor:
    """The worker's end: a Fleet whose engines are in the controller."""

    def __init__(self, address: str, key: bytes) -> None:
        self._address, self._key = address, key
        self._connection: Connection | None = None

    def submit(self, requests: Iterable[Request]) -> None:
        self._ask("submit", list(requests))

    def run(self, request: Request) -> Ran:
        return self._ask("run", request)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _ask(self, verb: str, argument: Any) -> Any:
        """Raises what was raised there, and LinkDown where nobody is there any more."""
        try:
            if self._connection is None:
                self._connection = Client(self._address, "AF_UNIX", authkey=self._key)
            self._connection.send((verb, argument))
            answer = self._connection.recv()
        except (EOFError, OSError) as error:
            raise LinkDown(f"the process that holds the connections is gone: {error}") from None
        if isinstance(answer, BaseException):
            raise answer
        return answer
