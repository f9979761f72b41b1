"""The messages between this process and a supervisor: jobs go out, replies come in.

A transport starts one supervisor when it is first needed and keeps it. Another way of reaching a host is another
class with these two methods.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from harness.run.frames import BadFrame
from harness.run.supervisor_process import SupervisorProcess
from harness.terminal import printable

if TYPE_CHECKING:
    from harness.run.console import Console

RESULT_LIMIT_BYTES = 64 << 20
_START_S = 60.0  # for a supervisor to report that it is ready
WARM_S = 300.0  # for it to import torch and the compiler from a cold disk
SLACK_S = 20.0  # beyond a job's own timeout, which the supervisor keeps


class Progress(str):
    """A note on work that goes on, sent now and then while it lasts: a live line shows the newest."""


class LinkDown(Exception):
    """No reply came; the text names the reason. The claim was not judged."""


class Declined(LinkDown):
    """The host answered that it cannot do it; the way there is sound. `started`: the repro's process was there."""

    started = False


@dataclass(frozen=True)
class Job:
    """One case to run. `warm` names modules worth importing before the fork; `fresh` execs a new interpreter."""

    path: str
    source: str
    params: Mapping[str, Any]
    device: str
    timeout_s: float
    warm: tuple[str, ...] = ()
    fresh: bool = False
    sass: bool = False
    limit_bytes: int = RESULT_LIMIT_BYTES
    needs: tuple[str, ...] = ()  # requirements of the repro's own, for an environment made for it
    requires_python: str = ">=3.11"
    gpu: str = ""  # whose lock to hold meanwhile
    gpu_patience_s: float = 600.0  # for it; the reply `busy` with `locked` means that it was not to be had
    runs: int = 1  # how often run() is called
    preds: Mapping[str, str] = field(default_factory=dict)  # output -> the function that judges it
    near: tuple[str, ...] = ()  # outputs that are compared within a bound
    fill: int | None = None  # the byte that torch.empty and numpy.empty give; None: whatever is there
    seed: int = 0  # of the random numbers of Python, numpy and torch
    perturb: str = ""  # the delays of its kernels: `seed 5` or a list; '': none
    checks: str = "none"  # what the emulator looks for besides: names of findings.SOUGHT
    schedule: str = ""  # of the emulator's threads, as `7: 0-4 19`; '': the one of `seed`
    orders_s: float = 0  # seconds to try other orders of the threads in; 0: none
    notes: bool = False  # find synchronisation that the run does not need
    gpu_model: str = ""  # that the emulator is; '': as set where the job runs, or what the program is built for
    compiler: str = "ours"  # or nvidia: the package nvidia-cutlass-dsl of the place where the job runs
    bound: int = 0  # find all outcomes; a thread ends after this many executions of an instruction; 0: run it once
    as_outputs: bool = False  # give what is found as outputs of several runs
    lines: bool = False  # tell which lines of the program ran
    coverage: bool = False  # tell which lines and branches of device code ran
    script: bool = False  # run it as `python FILE ARGS` does, and tell its exit status
    args: tuple[str, ...] = ()
    options: tuple[str, ...] = ()  # for nvcc, of a .cu file
    modules: Mapping[str, tuple[str, str]] | None = None  # of the author: name -> path, source; None: they are here
    launch: Mapping[str, Any] | None = None  # of a .ptx file
    kernels: Mapping[str, Any] | None = None  # CUDA C++ of a Python file: path, text, headers, options
    console: Console | None = None  # where a program that is run live prints and reads

    def wire(self) -> dict[str, Any]:
        """The job as a frame's header."""
        table = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "console"}
        return table | {"live": self.console is not None}

    @property
    def compiles(self) -> bool:
        """Whether the package of the compiler takes part: it is the device of whatever uses one on the emulator."""
        return any(name != "torch" for name in self.warm) or bool(self.warm and self.device != "cuda")


class Transport(Protocol):
    """A way to one supervisor."""

    def run(self, job: Job) -> tuple[dict[str, Any], list[bytes]]:
        """Header and buffers of the reply. Raises LinkDown; whatever interrupts it leaves nothing running."""
        ...

    def close(self) -> None:
        """End the supervisor and all it started. May be called twice."""


class Start(NamedTuple):
    """A Python: argv, and the whole environment of its process."""

    argv: list[str]
    variables: dict[str, str]


class Local:
    """A supervisor that is a child of this process, started again after it was lost."""

    def __init__(self, note: Callable[[str], None] | None = None, command: Callable[[], Start] | None = None) -> None:
        self._note, self._command = note, command or (lambda: Start([sys.executable], dict(os.environ)))
        self._process: SupervisorProcess | None = None

    def run(self, job: Job) -> tuple[dict[str, Any], list[bytes]]:
        try:
            if self._process is None:
                self._process = SupervisorProcess(*self._command(), "the supervisor")
            process = self._process
            process.ready(_START_S)
            process.write(job.wire())
            if job.console:
                job.console.begin(process.write)
            warm_s = WARM_S if job.warm and not job.fresh else 0.0
            while True:
                frame = process.read(job.limit_bytes, job.timeout_s + warm_s + SLACK_S)
                if job.console and job.console.take(*frame):
                    continue
                if frame[0].get("kind") != "note":
                    return frame
                if self._note:
                    self._note(f"local: {printable(str(frame[0].get('text')))}")
        except (OSError, BadFrame, LinkDown) as error:
            said = printable(self._process.last_words()) if self._process else ""
            self.close()
            raise LinkDown(f"{error}{said}") from None
        except BaseException:
            self.close()
            raise
        finally:
            if job.console:
                job.console.end()

    def close(self) -> None:
        process, self._process = self._process, None
        if process:
            process.close()
