"""Running on a host over SSH: one connection and one agent for each host, whatever runs there at once.

The agent's source goes over the connection's stdin, so that nothing is installed for it. A thread here reads what the
agent says and another shows it that this process lives; each side gives up when it hears nothing from the other.
Calls have numbers, and an answer has that of its call; a call names its lane, and each lane does one thing at a time.
"""

from __future__ import annotations

import itertools
import json
import queue
import secrets
import shlex
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from harness.host import agent, offline, own_wheel, releases, wheels
from harness.host.settings import Settings
from harness.run import frames, reply
from harness.run.frames import BadFrame, pack_frame, read_frame
from harness.run.transport import RESULT_LIMIT_BYTES, SLACK_S, WARM_S, Declined, Job, LinkDown, Progress
from harness.terminal import printable

if TYPE_CHECKING:
    from harness.host.ssh import Address

T = TypeVar("T")
PING_S = 5.0
DEAD_S = 15.0  # without a word from the agent
LEASE_S = 20.0  # after which the agent gives up on a process that is silent
HELLO_S = 30.0
CALL_S = 120.0
ENVIRONMENT_S = 3600.0  # to fetch several gigabytes
CLOSE_S = 10.0
NOISE_BYTES = 64 << 10  # of what a shell's start-up files may print before the agent speaks
MOST_WAITING = 4  # frames that came and were not asked for yet
MOST_CALL_S = 6 * 3600.0  # for one call, however often the host says that it is at work
SHOWN_NOTE = 500
TELL_AFTER_S, TELL_EVERY_S = 2.0, 10.0  # what lasts is told
PIECE_BYTES = 1 << 20
MAGIC = b"\0GPU-REPRO\n"
HELLO = 0  # the number of the call that nobody made
SASS_TOOLS = ["nvidia-cuda-nvcc>=13.0", "nvidia-cuda-nvdisasm>=13.0"]  # in an environment that we make
SENT = (
    "run.frames",
    "run.gpu_lock",
    "run.supervisor",
    "host.supplies",
    "host.remote_env",
    "host.agent",
)  # in the order in which they need one another

# What the shell there is told: find a Python, and let it read its program. Data never goes this way.
_READ = (
    'import sys; o = sys.stdout.buffer; o.write(b"\\0GPU-REPRO\\n"); o.flush(); '
    "i = sys.stdin.buffer; exec(i.read(int(i.readline())))"
)
# One line without `!`, so that csh and fish take it too.
_FIND = " ".join(
    (
        'for p in python3 /usr/bin/python3 "$HOME"/.local/share/uv/python/*/bin/python3 python3.12 python3.11;',
        'do p=$("$p" -I -c "import sys; sys.version_info >= (3, 8) and print(sys.executable)" 2>/dev/null);',
        'if [ -n "$p" ]; then exec "$p" -I -u -c "$0"; fi; done;',
        'for u in uv "$HOME/.local/bin/uv" "$HOME/.cargo/bin/uv";',
        'do if p=$("$u" python find --no-project 2>/dev/null); then exec "$p" -I -u -c "$0"; fi; done;',
        'echo "there is no Python 3.8 or newer" >&2; exit 127',
    )
)
BOOT = f"exec sh -c {shlex.quote(_FIND)} {shlex.quote(_READ)}"

_LOAD = """\
import json, sys, types
bundle = json.loads({bundle!r})
for name in ("harness", "harness.run", "harness.host"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = []
for name, source in bundle["sources"]:
    folder, name = name.split(".")
    module = sys.modules["harness." + folder + "." + name] = types.ModuleType("harness." + folder + "." + name)
    setattr(sys.modules["harness." + folder], name, module)
    exec(compile(source, "<gpu-repro " + name + ">", "exec"), module.__dict__)
sys.modules["harness.host.agent"].main(bundle["hello"])
"""


@cache
def _sources() -> list[tuple[str, str]]:
    return [(name, files("harness").joinpath(name.replace(".", "/") + ".py").read_text()) for name in SENT]


def _program(hello: dict[str, Any]) -> bytes:
    source = _LOAD.format(bundle=json.dumps({"sources": _sources(), "hello": hello})).encode()
    return str(len(source)).encode() + b"\n" + source


Note = Callable[[str], None] | None
_PHASES = {"job": "starting", "put": "checking what was copied", "device": "asking for its GPU", "doctor": "looking"}


class _Clock:
    """Tells what lasts: after TELL_AFTER_S, and then every TELL_EVERY_S. `text` takes the seconds."""

    def __init__(self, text: Callable[[float], str], name: str, note: Note) -> None:
        self._text, self._name, self._note = text, name, note
        self.restart()

    def restart(self) -> None:
        self._began = time.monotonic()
        self._next = self._began + TELL_AFTER_S

    def wait_s(self) -> float:
        """How long until something is to be told."""
        return max(self._next - time.monotonic(), 0.01)

    def tell(self) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + TELL_EVERY_S
            if self._note:
                self._note(Progress(f"{self._name}: {self._text(now - self._began)}"))


class _Talk:
    """What is told of one call while it lasts."""

    def __init__(self, header: dict[str, Any], name: str, note: Note) -> None:
        self.is_running = False
        self._name, self._note, self._phase = name, note, _PHASES.get(str(header.get("kind")), "at work")
        self.clock = _Clock(lambda seconds: f"{self._phase} ({seconds:.0f} s)", name, note)

    def tell(self, text: str) -> None:
        if self._note:
            self._note(f"{self._name}: {text}")
        self.clock.restart()

    def start(self) -> None:
        """The repro's process is there."""
        self.is_running, self._phase = True, "running"
        self.clock.restart()


class Way(Protocol):
    """How to come to where the agent runs, where that is not the host of the address itself."""

    @property
    def name(self) -> str: ...

    @property
    def command(self) -> str:
        """What starts the agent's Python."""
        ...

    def connect(self) -> tuple[Any, Any]:
        """A connection, and the process it goes through or None. Raises LinkDown."""
        ...


class Link:
    """A connection with an agent at its end. Raises LinkDown from every method but `close`.

    What comes by a `way` comes in whole lines, so that a frame has an end of line behind it.
    """

    def __init__(self, address: Address, settings: Settings, way: Way | None = None) -> None:
        from harness.host import ssh

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
        import paramiko

        try:
            transport: Any = self.connection.transport
            self.channel = transport.open_session(timeout=HELLO_S)
            self.channel.settimeout(HELLO_S)
            self.channel.exec_command(self._command)
            self._skip_noise()
            hello = {"protocol": frames.PROTOCOL, "lease_s": LEASE_S, "cache": settings.cache}
            hello["lines"] = self._in_lines
            self.channel.sendall(_program(hello | {"run": f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}"}))
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
                raise LinkDown(f"the agent could not be started there; the host said:\n{said or '(nothing)'}")

    def _stderr(self) -> bytes:
        """What the far side wrote to stderr so far."""
        self.channel.settimeout(1.0)
        try:
            return self.channel.recv_stderr(4096)
        except OSError:
            return b""

    def _listen(self) -> None:
        """In a thread: take frames off the channel until it ends, or nothing came for DEAD_S."""
        try:
            while frame := read_frame(self._read, RESULT_LIMIT_BYTES):
                if self._in_lines:
                    self._read(1)
                if frame[0].get("kind") != "pong":
                    self._offer(frame[0].get("call"), frame)
            said = printable(self._stderr().decode("utf-8", "replace")).strip()
            self._end("the connection was lost" + (f"; the host said:\n{said}" if said else ""))
        except BadFrame as error:
            self._end(f"the agent sent an invalid frame: {printable(str(error))}")
        except TimeoutError:
            self._end(f"the connection was lost: nothing arrived for {DEAD_S:g} s")
        except (OSError, EOFError) as error:
            self._end(f"the connection was lost: {error}")
        finally:
            self._ended.set()

    def _offer(self, number: Any, answer: tuple[dict[str, Any], list[bytes]] | str) -> None:
        """Hand over what came; where nobody takes it nothing more is read, so that a flood stays with the host."""
        while not self._closed.is_set():
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
        """Where the answers to a call will be."""
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
        clock = _Clock(lambda _: f"copying: {sent >> 20} of {total >> 20} MB", self.name, note)
        with self._sending:
            for piece in pieces:
                for start in range(0, piece.nbytes, PIECE_BYTES):
                    part = piece[start : start + PIECE_BYTES]
                    self.channel.sendall(part)  # pyright: ignore[reportArgumentType] - paramiko takes a memoryview
                    sent += part.nbytes
                    clock.tell()

    def _answer(
        self, answers: queue.Queue, timeout_s: float, clock: _Clock | None = None
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
    ) -> tuple[dict[str, Any], list[bytes]]:
        """The agent's answer. The time starts anew with each note; from `started` on it is `started_timeout_s`."""
        number = next(self._numbers)
        answers = self._expect(number)
        name = str(header.get("lane") or self.name)
        try:
            self._send(header | {"call": number}, buffers, note)
            return self._converse(answers, _Talk(header, name, note), timeout_s, started_timeout_s)
        except (OSError, EOFError) as error:
            raise LinkDown(f"the connection was lost: {error or 'nothing is taken'}") from None
        finally:
            self._forget(number)

    def _converse(
        self, answers: queue.Queue, talk: _Talk, timeout_s: float, started_timeout_s: float
    ) -> tuple[dict[str, Any], list[bytes]]:
        """Tell what the agent tells, until it answers."""
        end = time.monotonic() + MOST_CALL_S
        while time.monotonic() < end:
            try:
                answer = self._answer(answers, timeout_s, talk.clock)
            except Declined as error:
                error.started = talk.is_running
                raise
            if answer[0].get("kind") == "note":
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
    """The host has no way to a package index; the text says why."""


def understood(cls: type[T], header: dict[str, Any]) -> T:
    """What the agent's frame says. Raises LinkDown."""
    try:
        return reply.read(cls, header)
    except reply.Misfit as error:
        raise LinkDown(f"what the host answered is broken: {error}") from None


class Remote:
    """A transport to one host over SSH. It connects when first used; what refused once is not asked again."""

    def __init__(self, address: Address, settings: Settings, note: Note = None, way: Way | None = None) -> None:
        self.address, self.settings, self.note, self._way = address, settings, note, way
        self._link: Link | None = None
        self._refusal = ""
        self._opening, self._bringing = threading.Lock(), threading.Lock()
        self.is_offline = settings.offline is True

    def open(self) -> Link:
        """The link, made anew after it was lost. Raises LinkDown."""
        with self._opening:
            if self._refusal:
                raise LinkDown(self._refusal)
            if self._link is None:
                try:
                    self._link = Link(self.address, self.settings, self._way)
                except LinkDown as error:
                    self._refusal = str(error)
                    raise
            return self._link

    def end(self) -> None:
        """Close it for good: what is asked from now on is refused."""
        self._refusal = self._refusal or "the run was ended"
        self.close()

    def lane(self, name: str, variables: Mapping[str, str]) -> Lane:
        """A transport over this connection for one thing at a time, beside those of other lanes."""
        return Lane(self, name, variables)

    def device(self, probe: str, timeout_s: float) -> tuple[dict[str, Any] | None, str]:
        """What the probe says of the host's CUDA device, or None and why there is none. Raises LinkDown."""
        rows, why = self.devices(probe, timeout_s, self.settings.variables)
        return (rows[0][0], "") if rows else (None, why)

    def devices(
        self, probe: str, timeout_s: float, variables: Mapping[str, str]
    ) -> tuple[list[tuple[dict[str, Any], reply.Holder | None]], str]:
        """Every CUDA device there and who holds its lock, or nothing and why. Raises LinkDown."""
        call = {"kind": "device", "probe": probe, "timeout_s": timeout_s, "variables": dict(variables)}
        probed = self._guard(lambda link: understood(reply.Probed, link.call(call, timeout_s=timeout_s + SLACK_S)[0]))
        about = ("name", "arch", "driver", "uuid")
        for facts in probed.gpus:
            lacks = next((key for key in about[:3] if not getattr(facts, key)), None)
            if lacks:
                raise LinkDown(f"what {self.address.alias} answered of its GPU is broken: it has no {lacks}")
        rows = [{key: value for key in about if (value := getattr(facts, key))} for facts in probed.gpus]
        return list(zip(rows, probed.holders, strict=False)), probed.why

    def run(self, job: Job) -> tuple[dict[str, Any], list[bytes]]:
        return self._guard(lambda link: self._run(link, job, self.address.alias, {}))

    def run_in_lane(self, job: Job, lane: str, variables: Mapping[str, str]) -> tuple[dict[str, Any], list[bytes]]:
        """As `run`, beside what other lanes do, with more environment variables. Raises LinkDown."""
        return self._guard(lambda link: self._run(link, job, lane, variables))

    def doctor(self, fix: bool, prune_s: float | None = None) -> reply.Found:
        """What is on the host; with `fix`, what runs left there is removed; environments unused for `prune_s` are too.

        With `fix` a uv of ours that does not run is removed and, with `bootstrap`, brought anew. Raises LinkDown.
        """
        call = {"kind": "doctor", "fix": fix, "prune_s": prune_s}

        def ask(link: Link) -> reply.Found:
            if fix and self.settings.bootstrap:
                link.call(call)
                self._bring_uv(link)
            answer: Any = link.call(call)[0].get("found")
            return understood(reply.Found, answer)

        return self._guard(ask)

    def lacks(self, has_gpu: bool) -> offline.Lack | None:
        """What would be copied for repros that compile; None where the host fetches it itself. Raises LinkDown."""
        needs = own_wheel.needs() + (SASS_TOOLS if has_gpu else [])
        environment = self.settings.environment(needs, ">=3.11")
        if self.settings.offline is False or environment["kind"] == "python":
            return None

        def ask(link: Link) -> offline.Lack | None:
            try:
                return offline.lack(link, environment, self.settings.python_archive, self.is_offline)
            except reply.Misfit as error:
                raise LinkDown(f"what the host answered is broken: {error}") from None

        return self._guard(ask)

    def _run(self, link: Link, job: Job, lane: str, variables: Mapping[str, str]) -> tuple[dict[str, Any], list[bytes]]:
        with self._bringing:
            ours = own_wheel.ours()
            if ours.sha256 not in link.packages:
                put = {"kind": "put", "what": "package", "sha256": ours.sha256}
                link.call(put, [ours.wheel], self.note, timeout_s=ENVIRONMENT_S)
                link.packages.add(ours.sha256)
        needs = (own_wheel.needs() if job.compiles else ["numpy"]) + list(job.needs)
        needs += SASS_TOOLS if job.sass and job.compiles and job.device == "cuda" else []
        environment = self.settings.environment(needs, job.requires_python)
        environment["variables"] |= variables
        if self.settings.bootstrap and environment["kind"] != "python":
            with self._bringing:
                self._bring_uv(link)
        call = {"kind": "job", "lane": lane, "environment": environment, "package": ours.sha256, "job": asdict(job)}
        warm_s = WARM_S if job.warm and not job.fresh else 0.0
        run_s = job.timeout_s + warm_s + SLACK_S

        def ask() -> tuple[dict[str, Any], list[bytes]]:
            with self._bringing:
                call["brought"] = self._equip(link, environment)
            return link.call(call, note=self.note, timeout_s=ENVIRONMENT_S, started_timeout_s=run_s)

        try:
            return ask()
        except Offline as error:
            if self.is_offline or self.settings.offline is False:
                raise
            self.is_offline = True
            self._tell(f"{self.address.alias} has no internet ({error}): what it needs is fetched here and copied")
            return ask()

    def _tell(self, text: str) -> None:
        if self.note:
            self.note(text)

    def _equip(self, link: Link, environment: dict[str, Any]) -> dict[str, Any] | None:
        """Bring a host without internet what this environment lacks, and say of what it is to be made."""
        if not self.is_offline or environment["kind"] == "python":
            return None
        key = json.dumps({**environment, "variables": {}}, sort_keys=True)
        cache = str(releases.cache_folder())
        try:
            if key in link.equipped:
                return link.equipped[key]
            brought = offline.equip(link, environment, self.settings.python_archive, cache, self._tell)
        except (offline.CannotBring, OSError) as error:
            raise Declined(f"{self.address.alias} has no internet, and it cannot be equipped: {error}") from None
        except reply.Misfit as error:
            raise LinkDown(f"what the host answered is broken: {error}") from None
        link.equipped[key] = brought
        return brought

    def _bring_uv(self, link: Link) -> None:
        """Give a host without uv this machine's, once."""
        if link.has_uv or understood(reply.Uv, link.call({"kind": "uv"})[0]).uv:
            link.has_uv = True
            return
        try:
            offline.check_machine(link.hello.machine)
            offline.bring(link, offline.Plan(wheels.own_file(wheels.uv_program(), "uv"), None, "", []), "", self._tell)
        except offline.CannotBring as error:
            raise Declined(f"{self.address.alias} has no uv, and none can be copied there: {error}") from None
        link.has_uv = True

    def _guard(self, ask: Callable[[Link], Any]) -> Any:
        """Ask, and close the link where it broke, so that the next call connects anew."""
        link = self.open()
        try:
            return ask(link)
        except Declined:
            raise
        except BaseException:
            self._drop(link)
            raise

    def close(self) -> None:
        self._drop(self._link)

    def _drop(self, link: Link | None) -> None:
        """Close this link; another that was made meanwhile stays."""
        if self._link is link:
            self._link = None
        if link is not None:
            link.close()


class Lane:
    """A transport to one lane of a host. The connection is its host's, and stays when it is closed."""

    def __init__(self, remote: Remote, name: str, variables: Mapping[str, str]) -> None:
        self.remote, self.name, self.variables = remote, name, variables

    def run(self, job: Job) -> tuple[dict[str, Any], list[bytes]]:
        return self.remote.run_in_lane(job, self.name, self.variables)

    def close(self) -> None:
        """Nothing of its own is open."""
