"""Running on a host over SSH: one connection and one agent for each host and process.

The agent's source goes over the connection's stdin, so that nothing is installed for it. A thread here reads what the
agent says and another shows it that this process lives; each side gives up when it hears nothing from the other.
"""

from __future__ import annotations

import hashlib
import json
import os
import queue
import secrets
import shlex
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

from harness.host import agent, local_uv, own_wheel
from harness.host.settings import Settings
from harness.run import frames, reply
from harness.run.frames import BadFrame, pack_frame, read_frame
from harness.run.transport import RESULT_LIMIT_BYTES, SLACK_S, WARM_S, Job, LinkDown, Progress
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
SASS_TOOLS = ["nvidia-cuda-nvcc>=13.0", "nvidia-cuda-nvdisasm>=13.0"]  # in an environment that we make
SENT = ("run.frames", "run.supervisor", "host.remote_env", "host.agent")  # in the order in which they need one another

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


class Link:
    """A connection with an agent at its end. Raises LinkDown from every method but `close`."""

    def __init__(self, address: Address, settings: Settings) -> None:
        from harness.host import ssh

        try:
            self.connection, self.gateway = ssh.connect(address)
        except ssh.CannotConnect as error:
            raise LinkDown(str(error)) from None
        self.name = address.alias
        self._answers: queue.Queue[tuple[dict[str, Any], list[bytes]] | str] = queue.Queue(MOST_WAITING)
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
            self.channel.exec_command(BOOT)
            self._skip_noise()
            hello = {"protocol": frames.PROTOCOL, "lease_s": LEASE_S, "cache": settings.cache}
            self.channel.sendall(_program(hello | {"run": f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}"}))
        except (OSError, EOFError, paramiko.SSHException) as error:
            raise LinkDown(f"the agent did not start: {error or type(error).__name__}") from None
        self.channel.settimeout(DEAD_S)
        self._ended.clear()
        threading.Thread(target=self._listen, daemon=True).start()
        threading.Thread(target=self._beat, daemon=True).start()
        self.hello = understood(reply.Hello, self._answer(HELLO_S)[0])
        self.packages, self.has_uv = set(self.hello.packages), False
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
                if frame[0].get("kind") != "pong":
                    self._offer(frame)
            said = printable(self._stderr().decode("utf-8", "replace")).strip()
            self._offer("the connection was lost" + (f"; the host said:\n{said}" if said else ""))
        except BadFrame as error:
            self._offer(f"the agent sent an invalid frame: {printable(str(error))}")
        except TimeoutError:
            self._offer(f"the connection was lost: nothing arrived for {DEAD_S:g} s")
        except (OSError, EOFError) as error:
            self._offer(f"the connection was lost: {error}")
        finally:
            self._ended.set()

    def _offer(self, answer: tuple[dict[str, Any], list[bytes]] | str) -> None:
        """Hand over what came; where nobody takes it nothing more is read, so that a flood stays with the host."""
        while not self._closed.is_set():
            try:
                return self._answers.put(answer, timeout=0.5)
            except queue.Full:
                continue

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

    def _answer(self, timeout_s: float, clock: _Clock | None = None) -> tuple[dict[str, Any], list[bytes]]:
        end = time.monotonic() + timeout_s
        while True:
            left = end - time.monotonic()
            try:
                answer = self._answers.get(timeout=max(min(left, clock.wait_s()) if clock else left, 0))
                break
            except queue.Empty:
                if left <= 0:
                    raise LinkDown(f"no answer within {timeout_s:g} s") from None
                if clock:
                    clock.tell()
        if isinstance(answer, str):
            raise LinkDown(answer)
        if answer[0].get("kind") == "down":
            raise Declined(understood(reply.Said, answer[0]).text)
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
        try:
            self._send(header, buffers, note)
        except (OSError, EOFError) as error:
            raise LinkDown(f"the connection was lost: {error or 'nothing is taken'}") from None
        phase = _PHASES.get(str(header.get("kind")), "at work")
        clock = _Clock(lambda seconds: f"{phase} ({seconds:.0f} s)", self.name, note)
        end = time.monotonic() + MOST_CALL_S
        while time.monotonic() < end:
            answer = self._answer(timeout_s, clock)
            if answer[0].get("kind") == "note":
                if note:
                    note(f"{self.name}: {understood(reply.Said, answer[0]).text[:SHOWN_NOTE]}")
                clock.restart()
            elif answer[0].get("kind") == "started":
                timeout_s, phase = started_timeout_s, "running"
                clock.restart()
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


class Declined(LinkDown):
    """The agent answered that the host cannot do it; the connection is sound."""


def understood(cls: type[T], header: dict[str, Any]) -> T:
    """What the agent's frame says. Raises LinkDown."""
    try:
        return reply.read(cls, header)
    except reply.Misfit as error:
        raise LinkDown(f"what the host answered is broken: {error}") from None


class Remote:
    """A transport to one host over SSH. It connects when first used; what refused once is not asked again."""

    def __init__(self, address: Address, settings: Settings, note: Callable[[str], None] | None = None) -> None:
        self.address, self.settings, self.note = address, settings, note
        self._link: Link | None = None
        self._refusal = ""

    def open(self) -> Link:
        """The link, made anew after it was lost. Raises LinkDown."""
        if self._refusal:
            raise LinkDown(self._refusal)
        if self._link is None:
            try:
                self._link = Link(self.address, self.settings)
            except LinkDown as error:
                self._refusal = str(error)
                raise
        return self._link

    def device(self, probe: str, timeout_s: float) -> tuple[dict[str, Any] | None, str]:
        """What the probe says of the host's CUDA device, or None and why there is none. Raises LinkDown."""
        call = {"kind": "device", "probe": probe, "timeout_s": timeout_s, "variables": self.settings.variables}
        probed = self._guard(lambda link: understood(reply.Probed, link.call(call, timeout_s=timeout_s + SLACK_S)[0]))
        facts = probed.facts
        if facts is None:
            return None, probed.why
        if not (facts.name and facts.arch and facts.driver):
            lacks = next(key for key in ("name", "arch", "driver") if not getattr(facts, key))
            raise LinkDown(f"what {self.address.alias} answered of its GPU is broken: it has no {lacks}")
        about = ("name", "arch", "driver", "uuid")
        return {key: value for key in about if (value := getattr(facts, key))}, ""

    def run(self, job: Job) -> tuple[dict[str, Any], list[bytes]]:
        return self._guard(lambda link: self._run(link, job))

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

    def _run(self, link: Link, job: Job) -> tuple[dict[str, Any], list[bytes]]:
        ours = own_wheel.ours()
        if ours.sha256 not in link.packages:
            put = {"kind": "put", "what": "package", "sha256": ours.sha256}
            link.call(put, [ours.wheel], self.note, timeout_s=ENVIRONMENT_S)
            link.packages.add(ours.sha256)
        needs = (own_wheel.needs() if job.compiles else ["numpy"]) + list(job.needs)
        needs += SASS_TOOLS if job.sass and job.compiles and job.device == "cuda" else []
        environment = self.settings.environment(needs, job.requires_python)
        if self.settings.bootstrap and environment["kind"] != "python":
            self._bring_uv(link)
        call = {"kind": "job", "environment": environment, "package": ours.sha256, "job": asdict(job)}
        warm_s = WARM_S if job.warm and not job.fresh else 0.0
        run_s = job.timeout_s + warm_s + SLACK_S
        return link.call(call, note=self.note, timeout_s=ENVIRONMENT_S, started_timeout_s=run_s)

    def _bring_uv(self, link: Link) -> None:
        """Give a host without uv this machine's, once."""
        if link.has_uv or understood(reply.Uv, link.call({"kind": "uv"})[0]).uv:
            link.has_uv = True
            return
        if link.hello.machine != os.uname().machine:
            raise Declined(f"its processor is {link.hello.machine}: this machine's uv does not run there")
        try:
            data = local_uv.program().read_bytes()
        except local_uv.NoUv as error:
            raise Declined(f"the host has no uv, and this machine has none to copy there: {error}") from None
        if self.note:
            self.note(f"{self.address.alias}: bringing uv ({len(data) >> 20} MB)")
        put = {"kind": "put", "what": "uv", "sha256": hashlib.sha256(data).hexdigest()}
        link.call(put, [data], self.note, timeout_s=ENVIRONMENT_S)
        link.has_uv = True

    def _guard(self, ask: Callable[[Link], Any]) -> Any:
        """Ask, and close the link where it broke, so that the next call connects anew."""
        link = self.open()
        try:
            return ask(link)
        except Declined:
            raise
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()
