"""The answers of a host, typed and bounded: all of them are checked here, and nothing later checks again.

A supervisor's reply is a `Reply`; the agent of a host over SSH also answers with a `Hello`, a `Device`, a `Found`, a
`Said`. `read` makes each from a frame's header, or raises schema.Misfit, whose text is one sentence. Hashes are never
taken from a host: `Kernel` has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from harness.claim.findings import MEANINGS
from harness.schema import (
    Check,
    Misfit,
    boolean,
    either,
    fields,
    integer,
    many,
    must,
    one_of,
    optional,
    real,
    string,
    table,
)

__all__ = [
    "ARCH",
    "DEVICE",
    "Described",
    "Device",
    "Facts",
    "Found",
    "Hello",
    "Kernel",
    "Misfit",
    "Reply",
    "Result",
    "Said",
    "read",
]

ARCH = r"sm_[1-9]\d{1,2}[af]?"
SHA256 = r"[0-9a-f]{64}"
MOST_TEXT = 1 << 20  # characters of what a person reads
MOST_CODE = 32 << 20  # characters of PTX or SASS; a whole header may have no more bytes
MOST_NAME = 4096  # a kernel's name holds its arguments' types
MOST_KERNELS = 10_000
MOST_LAUNCHES = 100_000
MOST_OUTPUTS = 4096
MOST_DEPENDENCES = 10_000
MOST_RUNS = 10**9
MOST_LINES = 1_000_000
MOST_FILES = 10_000
MOST_SECONDS = 1e9
MOST_BYTES = 1 << 62
MOST_GPUS = 1024  # of a host

_NAME, _SHORT, _PROSE = string(MOST_NAME), string(300), string(MOST_TEXT)
_SCALAR = either(
    optional(string(1000)),
    boolean,
    integer(-(1 << 62), 1 << 62),
    real(-1e300, 1e300),
    called="a short text or a number",
)
_SECONDS = table(real(0, MOST_SECONDS), 100, _SHORT)
_ARCH = string(8, ARCH, "an arch such as sm_90a")
DEVICE = {"kind", "name", "driver", "arch", "uuid", "cuda", "gpu_model"}


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel: blocks of the grid, threads of a block."""

    grid: list[int] = must(many(integer(1, 2**31 - 1), exactly=3))
    block: list[int] = must(many(integer(1, 2**31 - 1), exactly=3))
    smem_bytes: int = must(integer(0, 2**31 - 1), 0)


@dataclass(frozen=True)
class Kernel:
    """A kernel that was compiled."""

    name: str = must(_NAME)
    arch: str = must(_ARCH)
    ptx: str = must(string(MOST_CODE))
    sass: str | None = must(optional(string(MOST_CODE)), None)
    launches: list[Launch] = must(many(fields(Launch), MOST_LAUNCHES), list)


@dataclass(frozen=True)
class Device:
    """The device that executes PTX there: a GPU, or the emulator."""

    kind: str = must(string(20, r"[a-z]+", "a word"), "cuda")
    name: str = must(_SHORT, "")
    arch: str | None = must(optional(_ARCH), None)
    driver: str | None = must(optional(string(100, r"[\w. +-]*", "a version")), None)
    uuid: str | None = must(optional(string(64, r"[0-9A-Za-z-]+", "letters, digits and -")), None)
    cuda: str | None = must(optional(string(20, r"[\w.]+", "a version")), None)
    gpu_model: str | None = must(optional(string(20, r"[a-z0-9]+", "a GPU model such as h100")), None)


@dataclass(frozen=True)
class Facts:
    """The kernels that were compiled and launched, the compiler and the device."""

    device: Device | None = must(optional(fields(Device)), None)
    compiler: dict[str, Any] | None = must(optional(table(_SCALAR, 20, _SHORT)), None)
    kernels: list[Kernel] = must(many(fields(Kernel), MOST_KERNELS), list)
    ptxas: str | None = must(optional(_SHORT), None)


@dataclass(frozen=True)
class Described:
    """An array whose bytes are one of the reply's buffers."""

    name: str = must(string(1000))
    dtype: str = must(_SHORT)
    shape: list[int] = must(many(integer(0, 1 << 40), 32))


_ARRAYS = many(fields(Described), MOST_OUTPUTS)


@dataclass(frozen=True)
class Dependence:
    """An instruction whose result the PTX ISA leaves open, and on which an output depends. `relative`, `absolute`: the
    largest error that the ISA allows, None where it states none."""

    instruction: str = must(_SHORT)
    bound: str = must(_SHORT)
    file: str | None = must(optional(string(MOST_NAME)), None)
    line: int | None = must(optional(integer(0, 1 << 31)), None)
    relative: float | None = must(optional(real(0, 1)), None)
    absolute: float | None = must(optional(real(0, 1)), None)


@dataclass(frozen=True)
class Decision:
    """A place in which a kernel decided by open results."""

    what: str = must(one_of("branch", "loop", "address", "count"))
    instruction: str = must(_SHORT)
    file: str | None = must(optional(string(MOST_NAME)), None)
    line: int | None = must(optional(integer(0, 1 << 31)), None)
    through: list[Dependence] = must(many(fields(Dependence), MOST_DEPENDENCES), list)


@dataclass(frozen=True)
class Other:
    """Another result, which run() gave `count` times."""

    count: int = must(integer(1, MOST_RUNS))
    outputs: list[Described] = must(_ARRAYS)
    preds: list[Described] = must(_ARRAYS, list)


@dataclass(frozen=True)
class NoSass:
    """Why there is no machine code; whether only a tool is missing."""

    missing: bool = must(boolean)
    text: str = must(_PROSE)


_FOUND = ("rejected", "trap", "deadlock", "fault", *MEANINGS, "error")


@dataclass(frozen=True)
class Orders:
    """The results of other orders of the threads; see dsl/launch/every_order.py."""

    tried: int = must(integer(1, MOST_RUNS))
    reasons: list[str] = must(many(_PROSE, 10_000), list)
    what: str = must(one_of("same", "outputs", "finding"), "same")
    schedule: str = must(_PROSE, "")


@dataclass(frozen=True)
class Perturbed:
    """The delays of a run, a line each, and among how many places they were chosen."""

    sites: int = must(integer(0, 1 << 31))
    delays: str = must(_PROSE, "")


_LINE, _INDEX = integer(0, 1 << 31), many(integer(0, 1 << 31), exactly=3)
_LINES = many(_LINE, MOST_LINES)


@dataclass(frozen=True)
class Phase:
    """The phase of an mbarrier that is waited for: arrivals that came, of how many; bytes that are missing."""

    parity: int = must(integer(0, 1))
    came: int = must(_LINE)
    of: int = must(_LINE)
    bytes: int = must(integer(-(1 << 62), 1 << 62))


@dataclass(frozen=True)
class RelatedPlace:
    """Another place of a finding, with the text for it. Of an access or a wait: what it `does`, by which instruction
    (`code`); of a wait what for (`awaited`)."""

    text: str = must(_PROSE)
    file: str | None = must(optional(string(MOST_NAME)), None)
    line: int | None = must(optional(_LINE), None)
    column: int | None = must(optional(_LINE), None)
    does: str = must(_SHORT, "")
    code: str = must(_PROSE, "")
    awaited: str = must(_PROSE, "")
    phase: Phase | None = must(optional(fields(Phase)), None)


@dataclass(frozen=True)
class Edit:
    """A change of the program that a finding proposes. `file`: empty for the PTX of the kernel; `text`: whole lines;
    `old`: the line now."""

    file: str = must(string(MOST_NAME))
    line: int = must(integer(1, 1 << 31))
    kind: str = must(one_of("insert_before", "insert_after", "replace"))
    text: str = must(_PROSE)
    old: str = must(_PROSE)


@dataclass(frozen=True)
class Finding:
    """The report of a compiler or a device as data. `block`, `thread`: of the kernel, (x, y, z)."""

    id: str = must(_SHORT)
    message: str = must(_PROSE)
    fix: str = must(_PROSE, "")
    file: str | None = must(optional(string(MOST_NAME)), None)
    line: int | None = must(optional(_LINE), None)
    column: int | None = must(optional(_LINE), None)
    kernel: str = must(_NAME, "")
    block: list[int] | None = must(optional(_INDEX), None)
    thread: list[int] | None = must(optional(_INDEX), None)
    related: list[RelatedPlace] = must(many(fields(RelatedPlace), 10_000), list)
    edit: Edit | None = must(optional(fields(Edit)), None)


@dataclass(frozen=True)
class Waiting:
    """A thread that waits for ever, both by their linear numbers, and where."""

    block: int = must(_LINE)
    thread: int = must(_LINE)
    instruction: str = must(_SHORT)
    file: str | None = must(optional(string(MOST_NAME)), None)
    line: int = must(_LINE, 0)
    code: str = must(_PROSE, "")


@dataclass(frozen=True)
class Step(Waiting):
    """An access, a fence or a barrier of an execution. `read_from`: the step that wrote what it reads; `early`: that
    step comes later; `unseen`: an earlier step that wrote the place too."""

    does: str = must(_SHORT, "")
    place: str = must(_SHORT, "")
    value: str = must(_SHORT, "")
    read_from: int | None = must(optional(_LINE), None)
    early: bool = must(boolean, False)
    unseen: int | None = must(optional(_LINE), None)


@dataclass(frozen=True)
class Explored:
    """One outcome of a launch: the places that it changed with their bits, an execution, whether an order of the
    accesses gives it, and who waits for ever."""

    final: list[list[Any]] = must(many(many(_SCALAR, exactly=2), MOST_OUTPUTS), list)
    steps: list[Step] = must(many(fields(Step), 10_000), list)
    interleaving: bool = must(boolean, True)
    stuck: list[Waiting] = must(many(fields(Waiting), 10_000), list)


@dataclass(frozen=True)
class ExploredLaunch:
    """The outcomes of a launch, which comes `after` the outcomes with these numbers of the launches before."""

    entry: str = must(_NAME)
    after: list[int] = must(many(_LINE, 1000), list)
    outcomes: list[Explored] = must(many(fields(Explored), 100_000), list)


@dataclass(frozen=True)
class ExploredResult:
    """The answer of run(), or that a launch does not end, and the outcome of each launch that led to it."""

    ends: bool = must(boolean)
    outputs: dict[str, str] = must(table(_PROSE, MOST_OUTPUTS, string(1000)), dict)
    choice: list[int] = must(many(_LINE, 1000), list)


@dataclass(frozen=True)
class Exploration:
    """All outcomes of a program that the PTX memory model allows; not all if it is not complete."""

    complete: bool = must(boolean)
    bound: int = must(_LINE)
    launches: list[ExploredLaunch] = must(many(fields(ExploredLaunch), 10_000), list)
    results: list[ExploredResult] = must(many(fields(ExploredResult), 100_000), list)


@dataclass(frozen=True)
class Result:
    """The result that the runner wrote (see runner.py)."""

    outcome: str = must(one_of("outputs", "exited", "explored", *_FOUND, "infra"))
    exit: int | None = must(optional(integer(0, 255)), None)
    found: str | None = must(optional(one_of(*_FOUND)), None)
    kind: str | None = must(optional(_SHORT), None)
    text: str | None = must(optional(_PROSE), None)
    full_text: str | None = must(optional(_PROSE), None)
    class_: str | None = must(optional(_SHORT), None, "class")
    id: str | None = must(optional(_SHORT), None)
    file: str | None = must(optional(string(MOST_NAME)), None)
    line: int | None = must(optional(integer(0, 1 << 31)), None)
    finding: Finding | None = must(optional(fields(Finding)), None)
    no_sass: NoSass | None = must(optional(fields(NoSass)), None)
    facts: Facts | None = must(optional(fields(Facts)), None)
    seed: int = must(integer(-(1 << 63), 1 << 63), 0)
    perturbed: Perturbed | None = must(optional(fields(Perturbed)), None)
    orders: Orders | None = must(optional(fields(Orders)), None)
    versions: dict[str, str] = must(table(string(100), 100, _SHORT), dict)
    durations: dict[str, float] = must(_SECONDS, dict)
    outputs: list[Described] = must(_ARRAYS, list)
    expected: list[Described] = must(_ARRAYS, list)
    preds: list[Described] = must(_ARRAYS, list)
    depends: dict[str, list[Dependence] | None] = must(
        table(optional(many(fields(Dependence), MOST_DEPENDENCES)), MOST_OUTPUTS, string(1000)), dict
    )
    decisions: list[Decision] = must(many(fields(Decision), MOST_DEPENDENCES), list)
    explored: Exploration | None = must(optional(fields(Exploration)), None)
    lines: list[int] = must(_LINES, list)
    coverage: dict[str, dict[str, list[int]]] = must(
        table(table(_LINES, 3, _SHORT), MOST_FILES, string(MOST_NAME)), dict
    )
    count: int = must(integer(1, MOST_RUNS), 1)
    uncounted: int = must(integer(0, MOST_RUNS), 0)
    others: list[Other] = must(many(fields(Other), 64), list)
    spread: list[list[Described]] = must(many(_ARRAYS, 2), list)


@dataclass(frozen=True)
class Begun:
    """The facts that the runner wrote before the repro ran."""

    facts: Facts | None = must(optional(fields(Facts)), None)


@dataclass(frozen=True)
class Status:
    """How the repro's process ended."""

    timeout: bool = must(boolean, False)
    signal: str | None = must(optional(string(20, r"SIG[A-Z0-9+]+|\d+", "the name of a signal")), None)
    exit: int | None = must(optional(integer(-(1 << 31), 1 << 31)), None)
    why: str = must(_PROSE, "")  # the reason that the system gives


@dataclass(frozen=True)
class Reply:
    """A supervisor's answer to one job (see supervisor.py)."""

    status: Status = must(fields(Status))
    stdout: str = must(_PROSE)
    stderr: str = must(_PROSE)
    fault: str = must(_PROSE)
    timeout_s: float = must(real(0, MOST_SECONDS))
    durations: dict[str, float] = must(_SECONDS)
    result: Result | None = must(optional(fields(Result)), None)
    begun: Begun | None = must(optional(fields(Begun)), None)
    broken: str = must(_PROSE, "")


# --- other answers of an agent --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Said:
    """A frame of any kind: what it is, and its text for a person."""

    kind: str = must(string(20))
    text: str = must(_PROSE, "")
    offline: bool = must(boolean, False)  # "down": because no package index can be reached from there


@dataclass(frozen=True)
class Hello:
    """An agent's first word."""

    protocol: int = must(integer(0, 1 << 31))
    machine: str = must(_SHORT, "")
    packages: list[str] = must(many(string(64), 100_000), list)


@dataclass(frozen=True)
class Holder:
    """Who holds a GPU's lock. `since`: in seconds since 1970, 0 where it is not known; `run`: the id of a run."""

    pid: int = must(integer(0, 1 << 31))
    user: str = must(_SHORT, "")
    since: float = must(real(0, 1e12), 0.0)
    run: str = must(_SHORT, "")


@dataclass(frozen=True)
class Probed:
    """The CUDA devices there and who holds the lock of each, or why there are none."""

    gpus: list[Device] = must(many(fields(Device), MOST_GPUS), list)
    holders: list[Holder | None] = must(many(optional(fields(Holder)), MOST_GPUS), list)
    why: str = must(_PROSE, "")


@dataclass(frozen=True)
class Uv:
    """The path of uv there; why another uv does not run."""

    uv: str | None = must(optional(string(MOST_NAME)), None)
    broken: list[str] = must(many(_PROSE, 100), list)


@dataclass(frozen=True)
class Stored:
    """How many bytes of each file are there."""

    sizes: list[int] = must(many(integer(0, MOST_BYTES), 100_000))


@dataclass(frozen=True)
class Equipment:
    """The parts there that an environment is made with."""

    is_made: bool = must(boolean)
    machine: str = must(_SHORT)
    libc: str = must(_SHORT, "")
    uv: str | None = must(optional(string(MOST_NAME)), None)
    python: str = must(string(MOST_NAME), "")
    python_version: str = must(string(30, r"(\d+(\.\w+)*\+?)?", "a version"), "")
    no_way_out: str = must(_PROSE, "")


@dataclass(frozen=True)
class Index:
    """Whether uv gets packages there: why not, what to do, and what is wrong with SSL_CERT_FILE."""

    why: str = must(_PROSE, "")
    cure: str = must(_PROSE, "")
    certificates: str = must(_PROSE, "")


@dataclass(frozen=True)
class Environment:
    """An environment that is kept there. `used`: when, in seconds since 1970."""

    name: str = must(_SHORT)
    requires: list[str] = must(many(string(1000), 1000))
    used: float = must(real(0, 1e12))


@dataclass(frozen=True)
class Found:
    """What `repro doctor` finds there."""

    python: str = must(_SHORT)
    cache: str = must(string(MOST_NAME))
    free_bytes: int = must(integer(0, MOST_BYTES))
    packages: int = must(integer(0, 1 << 31))
    uv: str | None = must(optional(string(MOST_NAME)), None)
    uv_version: str | None = must(optional(_PROSE), None)
    broken: list[str] = must(many(_PROSE, 100), list)
    environments: list[Environment] = must(many(fields(Environment), 10_000), list)
    pruned: list[str] = must(many(_SHORT, 10_000), list)
    left_runs: list[str] = must(many(_SHORT, 100_000), list)
    disk: str = must(_PROSE, "")  # why no environment fits there, with the fix
    left_processes: list[tuple[int, str]] = must(many(lambda row, place: _process(row, place), 100_000), list)


def _process(row: Any, place: str) -> tuple[int, str]:
    pid, line = many(either(integer(0, 1 << 31), _PROSE, called="a process"), exactly=2)(row, place)
    return integer(0, 1 << 31)(pid, place), _PROSE(line, place)


T = TypeVar("T")
_CHECKS: dict[type, Check] = {cls: fields(cls) for cls in (Reply, Said, Hello, Probed, Uv, Device)}


def read(cls: type[T], header: Any, place: str = "") -> T:
    """Read a frame's header as one of the types above. Raises Misfit."""
    if cls not in _CHECKS:
        _CHECKS[cls] = fields(cls)
    return _CHECKS[cls](header, place)
