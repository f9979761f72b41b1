"""A connection with an agent at its end: frames out and in, calls by number, signs of life from both sides.

A thread here reads what the agent sends and another shows it that this process lives; each side gives up when it hears
nothing from the other. Calls have numbers, and an answer has the number of its call.
"""

from __future__ import annotations

import itertools
import queue
import secrets
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from harness.host.connection import agent
from harness.host.connection.agent_start import BOOT, MAGIC, program
from harness.host.connection.call_progress import Clock, Note, Talk
from harness.host.settings import Settings
from harness.run import frames, reply
from harness.run.frames import BadFrame, pack_frame, read_frame
from harness.run.transport import RESULT_LIMIT_BYTES, Declined, LinkDown
from harness.terminal import printable

if TYPE_CHECKING:
    from harness.host.connection.ssh import Address
    from harness.run.console import Console

T = TypeVar("T")
PING_S = 5.0
DEAD_S = 15.0  # without a word from the agent
LEASE_S = 20.0  # after which the agent gives up on a process that is silent
HELLO_S = 30.0
CALL_S = 120.0
CLOSE_S = 10.0
NOISE_BYTES = 64 << 10  # of what a shell's start-up files may print before the agent speaks
MOST_WAITING = 4  # frames that came and were not asked for yet
MOST_CALL_S = 6 * 3600.0  # for one call, however often the host reports that it is at work
SHOWN_NOTE = 500
PIECE_BYTES = 1 << 20
HELLO = 0  # the number of the call that nobody made


class Way(Protocol):
    """How to come to where the agent runs, where that is not the host of the address itself."""

    @property
    def name(self) -> str: ...

    @property
    def command(self) -> str:
        """The command that starts the agent's Python."""
        ...

    def connect(self) -> tuple[Any, Any]:
        """A connection, and the process it goes through or None. Raises LinkDown."""
        ...


class Link:
    """A connection with an agent at its end. Raises LinkDown from every method but `close`.

    A `way` passes on whole lines, so a frame that comes by it is followed by an end of line.
    """

    def __init__(self, address: Address, settings: Settings, way: Way | None = None) -> None:
        from harness.host.connection import ssh  # noqa: PLC0415

        try:
            self.connection, self.gateway = way.connect() if way else ssh.connect(address)
        except ssh.CannotConnect as error:
            raise LinkDown(str(error)) from None
        self.name, self._command = (way.name, way.command) if way else (address.alias, BOOT)
        self._in_lines = way is not None
        self._answers: dict[int, queue.Queue[tuple[dict[str, Any], list[bytes]] | str]] = {}  # of calls in progress
        self._numbers, self._last_word = itertools.count(1), ""
        self._answering = threading.Lock()
        self._sending = threading.Lock()
        self._closed = threading.Event()  # by this side
        self._ended = threading.Event()  # nothing more will come
        self._ended.set()
        try:
            self._start(settings)
        except BaseException:
            self.close()
            raise

    def _start(self, settings: Settings) -> None:
        import paramiko  # noqa: PLC0415

        try:
            transport: Any = self.connection.transport
            self.channel = transport.open_session(timeout=HELLO_S)
            self.channel.settimeout(HELLO_S)
            self.channel.exec_command(self._command)
            self._skip_noise()
            hello = {"protocol": frames.PROTOCOL, "lease_s": LEASE_S, "cache": settings.cache}
            hello["lines"] = self._in_lines
            self.channel.sendall(program(hello | {"run": f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}"}))
        except (OSError, EOFError, paramiko.SSHException) as error:
            raise LinkDown(f"the agent did not start: {error or type(error).__name__}") from None
        self.channel.settimeout(DEAD_S)
        self._ended.clear()
        greeting = self._expect(HELLO)
        threading.Thread(target=self._listen, daemon=True).start()
        threading.Thread(target=self._beat, daemon=True).start()
        self.hello = understood(reply.Hello, self._answer(greeting, HELLO_S)[0])
        self._forget(HELLO)
        self.packages, self.has_uv = set(self.hello.packages), False
        self.unequipped: dict[str, str] = {}  # by environment: why it cannot be equipped
        self.equipped: dict[str, Any] = {}  # by environment: of what it is made there, where nothing is to be copied
        if self.hello.protocol != agent.PROTOCOL:
            theirs = self.hello.protocol
            raise LinkDown(f"the agent there speaks protocol {theirs}, but this machine speaks {agent.PROTOCOL}")

    def _skip_noise(self) -> None:
        """Read up to the agent's first word, past what the shell's start-up files print."""
        seen, end = b"", time.monotonic() + HELLO_S
        while MAGIC not in seen:
            data = self.channel.recv(1)
            seen += data
            if not data or len(seen) > NOISE_BYTES or time.monotonic() > end:
                said = printable((seen + self._stderr()).decode("utf-8", "replace")).strip()[-1000:]
                raise LinkDown(f"the agent could not be started there; the host printed:\n{said or '(nothing)'}")

    def _stderr(self) -> bytes:
        """The stderr of the far side so far."""
        self.channel.settimeout(1.0)
        try:
            return self.channel.recv_stderr(4096)
        except OSError:
            return b""

    def _listen(self) -> None:
        """Take frames off the channel until it ends, or nothing came for DEAD_S. Runs in a thread."""
        try:
            while frame := read_frame(self._read, RESULT_LIMIT_BYTES):
                if self._in_lines:
                    self._read(1)
                if frame[0].get("kind") != "pong":
                    self._offer(frame[0].get("call"), frame)
            said = printable(self._stderr().decode("utf-8", "replace")).strip()
            self._end("the connection was lost" + (f"; the host printed:\n{said}" if said else ""))
        except BadFrame as error:
            self._end(f"the agent sent an invalid frame: {printable(str(error))}")
        except TimeoutError:
            self._end(f"the connection was lost: nothing arrived for {DEAD_S:g} s")
        except (OSError, EOFError) as error:
            self._end(f"the connection was lost: {error}")
        finally:
            self._ended.set()

    def _offer(self, number: Any, answer: tuple[dict[str, Any], list[bytes]] | str) -> None:
        """Hand over what came; if nobody takes it, nothing more is read, so that a flood stays with the host.

        The end of the connection is handed over even if this side closed it: somebody may wait for an answer.
        """
        while isinstance(answer, str) or not self._closed.is_set():
            with self._answering:
                answers = self._answers.get(number) if type(number) is int else None
            if answers is None:
                return  # of a call that was given up, or of none
            try:
                return answers.put(answer, timeout=0.5)
            except queue.Full:
                continue

    def _end(self, why: str) -> None:
        """Nothing more will come: tell every call, also those to come."""
        with self._answering:
            self._last_word = why
            numbers = list(self._answers)
        for number in numbers:
            self._offer(number, why)

    def _expect(self, number: int) -> queue.Queue[tuple[dict[str, Any], list[bytes]] | str]:
        """The queue for the answers to a call."""
        with self._answering:
            answers = self._answers[number] = queue.Queue(MOST_WAITING)
            if self._last_word:
                answers.put(self._last_word)
        return answers

    def _forget(self, number: int) -> None:
        with self._answering:
            self._answers.pop(number, None)

    def _read(self, count: int) -> bytes:
        pieces = []
        while count:
            piece = self.channel.recv(min(count, 1 << 20))
            if not piece:
                break
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)

    def _beat(self) -> None:
        while not self._closed.wait(PING_S):
            try:
                self._send({"kind": "ping"})
            except (OSError, EOFError):
                return

    def _send(self, header: dict[str, Any], buffers: Sequence[bytes] = (), note: Note = None) -> None:
        pieces = [memoryview(piece).cast("B") for piece in pack_frame(header, buffers)]
        total, sent = sum(piece.nbytes for piece in pieces), 0
        clock = Clock(lambda _: f"copying: {sent >> 20} of {total >> 20} MB", self.name, note)
        with self._sending:
            for piece in pieces:
                for start in range(0, piece.nbytes, PIECE_BYTES):
                    part = piece[start : start + PIECE_BYTES]
                    self.channel.sendall(part)  # pyright: ignore[reportArgumentType] - paramiko takes a memoryview
                    sent += part.nbytes
                    clock.tell()

    def _answer(
        self, answers: queue.Queue, timeout_s: float, clock: Clock | None = None
    ) -> tuple[dict[str, Any], list[bytes]]:
        end = time.monotonic() + timeout_s
        while True:
            left = end - time.monotonic()
            try:
                answer = answers.get(timeout=max(min(left, clock.wait_s()) if clock else left, 0))
                break
            except queue.Empty:
                if left <= 0:
                    raise LinkDown(f"no answer within {timeout_s:g} s") from None
                if clock:
                    clock.tell()
        if isinstance(answer, str):
            raise LinkDown(answer)
        if answer[0].get("kind") == "down":
            said = understood(reply.Said, answer[0])
            raise (Offline if said.offline else Declined)(said.text)
        return answer

    def call(
        self,
        header: dict[str, Any],
        buffers: Sequence[bytes] = (),
        note: Note = None,
        timeout_s: float = CALL_S,
        started_timeout_s: float = 0.0,
        console: Console | None = None,
    ) -> tuple[dict[str, Any], list[bytes]]:
        """The agent's answer. The time starts again with each note; from `started` on it is `started_timeout_s`.

        `console`: where a program that is run live prints and reads.
        """
        number = next(self._numbers)
        answers = self._expect(number)
        name = str(header.get("lane") or self.name)
        try:
            self._send(header | {"call": number}, buffers, note)
            talk = Talk(header, name, note)
            if console:
                said = {"lane": header["lane"], "call": number}
                talk.started = lambda: console.begin(lambda what, pieces: self._send(what | said, pieces))
            return self._converse(answers, talk, timeout_s, started_timeout_s, console)
        except (OSError, EOFError) as error:
            raise LinkDown(f"the connection was lost: {error or 'nothing is taken'}") from None
        finally:
            if console:
                console.end()
            self._forget(number)

    def _converse(
        self,
        answers: queue.Queue,
        talk: Talk,
        timeout_s: float,
        started_timeout_s: float,
        console: Console | None = None,
    ) -> tuple[dict[str, Any], list[bytes]]:
        """Tell what the agent tells, until it answers."""
        end = time.monotonic() + MOST_CALL_S
        while time.monotonic() < end:
            try:
                answer = self._answer(answers, timeout_s, talk.clock)
            except Declined as error:
                error.started = talk.is_running
                raise
            if console and console.take(*answer):
                talk.clock.restart()
            elif answer[0].get("kind") == "note":
                talk.tell(understood(reply.Said, answer[0]).text[:SHOWN_NOTE])
            elif answer[0].get("kind") == "started":
                timeout_s = started_timeout_s
                talk.start()
            else:
                return answer
        raise LinkDown(f"no answer within {MOST_CALL_S:g} s")

    def close(self) -> None:
        """End the agent, which kills what it started, and then the connection."""
        self._closed.set()
        try:
            if not self._ended.is_set():
                self.channel.shutdown_write()
                self._ended.wait(CLOSE_S)
        except (OSError, EOFError):
            pass
        self.connection.close()
        if self.gateway:
            self.gateway.close()


class Offline(Declined):
    """The host has no way to a package index; the text names the reason."""


def understood(cls: type[T], header: dict[str, Any]) -> T:
    """Read the header of the agent's frame. Raises LinkDown."""
    try:
        return reply.read(cls, header)
    except reply.Misfit as error:
        raise LinkDown(f"what the host answered is broken: {error}") from None
