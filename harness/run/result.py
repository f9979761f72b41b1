"""The result of one run of a case: a typed outcome, read from a reply that is not trusted."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from harness import compiler_name, store
from harness.claim import findings
from harness.compiler_name import OURS
from harness.run import reply
from harness.run.frames import FAILED
from harness.schema import Misfit

RAW = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


@dataclass(frozen=True, slots=True)
class Dtype:
    """An element type. `kind`: bool | int | uint | float | other | text (UTF-8).

    Floats: bits of exponent and mantissa.
    """

    name: str
    bits: int
    kind: str
    exponent: int = 0
    mantissa: int = 0
    infinite: bool = True  # the top exponent is infinity and NaN; otherwise only its all-ones mantissa is NaN


FROM_OUTSIDE = {  # signals that a program does not get by its own doing
    "SIGKILL": "a person, a job scheduler, or the kernel for want of memory (see `dmesg`)",
    "SIGTERM": "a person, a job scheduler or a shutdown",
    "SIGHUP": "the session that it ran in ended",
    "SIGINT": "a person or a job scheduler",
    "SIGSTOP": "it was stopped, and stood still until its time was over",
    "SIGXCPU": "it reached a limit on CPU time (`ulimit -t`)",
    "SIGXFSZ": "it reached a limit on the size of files (`ulimit -f`)",
    "SIGPWR": "the power fails",
}
_AGAIN = (
    "run it again; where memory is short, with fewer cases at once (pytest -n), or in a job of Slurm with more, by "
    '`job.sbatch = ["--mem=64G"]`'
)
SHOWN_STDERR = 2000
_RUNNER = re.compile(r'File "([^"]*/)harness/run/(?:runner|supervisor)\.py"')
_NOBODYS = re.compile(r'File "(<frozen |[^"]*/lib/python3\.\d+/threading\.py")')
_COMPILER = ("dsl/emulator/", "dsl/launch/", "dsl/core/", "dsl/lower/")
_ROOT = f"{Path(__file__).parents[2]}/"
_NO_FRAMES = "(most recent call first):"  # of a thread that runs no code of the author

DTYPES = {
    dtype.name: dtype
    for dtype in (
        Dtype("bool", 8, "bool"),
        *(Dtype(f"int{bits}", bits, "int") for bits in RAW),
        *(Dtype(f"uint{bits}", bits, "uint") for bits in RAW),
        Dtype("float64", 64, "float", 11, 52),
        Dtype("float32", 32, "float", 8, 23),
        Dtype("float16", 16, "float", 5, 10),
        Dtype("bfloat16", 16, "float", 8, 7),
        Dtype("float8_e5m2", 8, "float", 5, 2),
        Dtype("float8_e4m3fn", 8, "float", 4, 3, infinite=False),
        Dtype("float8_e8m0fnu", 8, "other"),
        Dtype("float4_e2m1fn_x2", 8, "other"),
    )
}


@dataclass(frozen=True)
class Array:
    """Elements as unsigned integers of their width, and the dtype they stand for."""

    dtype: Dtype
    raw: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.raw.shape

    def values(self) -> np.ndarray:
        """The elements as numbers numpy can print: bfloat16 and 8-bit floats become float32, exactly."""
        kind, bits = self.dtype.kind, self.dtype.bits
        if kind in ("uint", "other", "text"):
            return self.raw
        if kind == "bool":
            return self.raw != 0
        if kind == "int":
            return self.raw.view(f"int{bits}")
        if self.dtype.name == "bfloat16":
            return (self.raw.astype(np.uint32) << 16).view(np.float32)
        if bits == 8:
            return _decode_float8(self.dtype, self.raw)
        return self.raw.view(f"float{bits}")


def _decode_float8(dtype: Dtype, raw: np.ndarray) -> np.ndarray:
    """OCP 8-bit floating point specification: sign, exponent with bias 2**(e-1) - 1, mantissa."""
    bits = raw.astype(np.int32)
    mantissa = bits & ((1 << dtype.mantissa) - 1)
    exponent = (bits >> dtype.mantissa) & ((1 << dtype.exponent) - 1)
    bias = (1 << (dtype.exponent - 1)) - 1
    fraction = np.where(exponent == 0, mantissa, mantissa + (1 << dtype.mantissa)).astype(np.float32)
    value = np.ldexp(fraction, np.maximum(exponent, 1) - bias - dtype.mantissa)
    top = exponent == (1 << dtype.exponent) - 1
    if dtype.infinite:
        value = np.where(top, np.where(mantissa == 0, np.inf, np.nan), value)
    else:
        value = np.where(top & (mantissa == (1 << dtype.mantissa) - 1), np.nan, value)
    return np.where(bits >> 7, -value, value).astype(np.float32)


@dataclass(frozen=True)
class Other:
    """Another result that run() gave `count` times, if it was called often and did not always give the same."""

    count: int
    outputs: dict[str, Array]
    preds: dict[str, Array]


@dataclass
class Outcome:
    """One run of one case.

    kind: outputs | exited (of a script) | rejected | trap | deadlock | fault, or the fault's own name (findings.py);
    error | timeout | crash | infra | skipped. A claim may name those before the semicolon; error, timeout and crash
    are failures of the repro; infra (it could not be run) and skipped (the host has no such feature) show nothing about
    the claim.
    """

    kind: str
    text: str = ""
    full_text: str = ""
    detail: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Array] = field(default_factory=dict)
    expected: dict[str, Array] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    durations: dict[str, float] = field(default_factory=dict)
    stdout: str = ""
    stderr: str = ""
    preds: dict[str, Array] = field(default_factory=dict)  # output -> the answer of its predicate
    count: int = 1  # how often run() gave these outputs
    depends: dict[str, list[reply.Dependence]] = field(default_factory=dict)  # of the outputs whose ways were followed
    decisions: list[reply.Decision] = field(default_factory=list)  # of kernels, by open results
    others: list[Other] = field(default_factory=list)
    uncounted: int = 0  # runs with yet other outcomes
    spread: list[dict[str, Array]] = field(default_factory=list)  # of all runs: the lowest elements, and the highest
    refilled: dict[str, Array] = field(default_factory=dict)  # the outputs over other contents of new memory
    sites: int | None = None  # where delays could be put into the kernels of a run under delays
    delays: str = ""  # of this run, one a line
    orders: reply.Orders | None = None  # what other orders of the threads gave; None if none were asked for
    answers: list[Answer] = field(default_factory=list)  # of the runs under delays; the first is that without any
    lines: frozenset[int] = frozenset()  # those that ran, where the job asked for them
    coverage: dict[str, dict[str, list[int]]] = field(default_factory=dict)  # by file: see coverage_file.Lines
    compiler: str = OURS  # that was asked for; `facts` name its version where it took part

    @property
    def kernels(self) -> list[dict[str, Any]]:
        return self.facts.get("kernels", [])

    @property
    def device(self) -> dict[str, Any]:
        return self.facts.get("device", {})


@dataclass(frozen=True)
class Answer:
    """What `count` runs of a case gave alike; the first of them under the delays of `seed` (None: of no seed)."""

    outcome: Outcome
    count: int
    seed: int | None
    delays: str

    def again(self) -> Answer:
        """The same, seen once more."""
        return replace(self, count=self.count + 1)


def infra(text: str) -> Outcome:
    """The case could not be run; nothing is known about the claim."""
    return Outcome("infra", text)


def from_reply(
    header: dict[str, Any], buffers: list[bytes], preds: Collection[str] = (), script: bool = False
) -> Outcome:
    """The outcome of a supervisor's frame. `preds`: outputs that a predicate must have answered for. `script`: the
    program has its own exit status."""
    try:
        if header.get("kind") == "busy":
            return infra(reply.read(reply.Said, header).text)
        said = reply.read(reply.Reply, header)
        outcome = _from_status(said, script) or _from_result(cast(Any, said.result), buffers, preds)
    except Misfit as error:
        return infra(f"the reply of the runner is broken: {error}")
    begun = said.begun.facts if said.begun else None
    outcome.facts = outcome.facts or (_facts(begun) if begun else {})
    outcome.stdout, outcome.stderr = said.stdout, said.stderr
    outcome.durations |= said.durations
    return outcome


def _from_status(said: reply.Reply, script: bool) -> Outcome | None:
    status, fault = said.status, author_frames(said.fault)
    if status.timeout:
        where = f"\nit was here:\n{fault}" if fault else ""
        return Outcome("timeout", f"the repro did not end within {said.timeout_s:g} s and was killed{where}")
    if status.signal in FROM_OUTSIDE or status.exit == FAILED:
        return infra(_stopped(status, said.stderr))
    if status.signal:
        text = f"the repro's process died of {status.signal}" + (f"\n{fault}" if fault else "")
        return Outcome("crash", text, detail={"signal": status.signal})
    if said.broken:
        return infra(f"the runner's result cannot be read: {said.broken}")
    if said.result is None and script and status.exit is not None:
        return Outcome("exited", detail={"exit": status.exit})  # by os._exit
    if said.result is None:
        text = f"the repro's process ended with exit status {status.exit} before run() returned"
        return Outcome("error", text)
    return None


def _stopped(status: reply.Status, stderr: str) -> str:
    """The message for a process that something else than the repro ended."""
    if status.exit == FAILED:
        return f"the runner failed before it could report the repro's outcome:\n{stderr.strip()[-SHOWN_STDERR:]}"
    why = status.why or FROM_OUTSIDE[str(status.signal)]
    return f"the repro's process was ended by {status.signal}, which came from outside: {why}\nfix: {_AGAIN}"


def _from_result(result: reply.Result, buffers: list[bytes], preds: Collection[str]) -> Outcome:
    kind = findings.name(result.outcome, result.kind)
    outcome = Outcome(kind, result.text or "", result.full_text or "")
    about = {"class": result.class_, "id": result.id, "file": result.file, "line": result.line, "kind": result.kind}
    about |= {"no_sass": result.no_sass and asdict(result.no_sass)}
    about |= {"finding": result.finding and asdict(result.finding)}
    about |= {"explored": result.explored and asdict(result.explored)}
    if kind == "exited":
        about |= {"exit": result.exit or 0, "found": result.found and findings.name(result.found, result.kind)}
    outcome.detail = {key: value for key, value in about.items() if value is not None}
    outcome.facts = (_facts(result.facts) if result.facts else {}) | {"seed": result.seed}
    if result.perturbed is not None:
        outcome.sites, outcome.delays = result.perturbed.sites, result.perturbed.delays
    outcome.orders = result.orders
    outcome.versions, outcome.durations = result.versions, dict(result.durations)
    outcome.lines, outcome.coverage = frozenset(result.lines), result.coverage
    if kind == "outputs":
        data = iter(buffers)
        outcome.outputs = _arrays(result.outputs, data)
        outcome.expected = _arrays(result.expected, data)
        outcome.preds = _answers(result.preds, data, outcome.outputs, preds)
        outcome.depends = {name: rows for name, rows in result.depends.items() if rows is not None}
        outcome.decisions = result.decisions
        outcome.count, outcome.uncounted = result.count, result.uncounted
        for one in result.others:
            outputs = _arrays(one.outputs, data)
            outcome.others.append(Other(one.count, outputs, _answers(one.preds, data, outputs, preds)))
        outcome.spread = [_ends(one, data, outcome.outputs) for one in result.spread]
        if next(data, None) is not None:
            raise Misfit("there are more buffers than outputs")
    return outcome


def _ends(described: list[reply.Described], data: Iterator[bytes], outputs: dict[str, Array]) -> dict[str, Array]:
    """One end of the spread of some outputs: of their dtypes and shapes."""
    arrays = _arrays(described, data)
    for name, array in arrays.items():
        if name not in outputs or (array.dtype, array.shape) != (outputs[name].dtype, outputs[name].shape):
            raise Misfit(f"the spread of {name[:60]!r} must have the dtype and the shape of the output")
    return arrays


def _facts(facts: reply.Facts) -> dict[str, Any]:
    """As the record has them; the hash of PTX is computed from the PTX that came."""
    table: dict[str, Any] = {
        "kernels": [_kernel(one) for one in facts.kernels],
        "compiler": compiler_name.facts(facts.compiler),
    }
    if facts.device:
        about = asdict(facts.device)
        table["device"] = {
            key: about[key] for key in about if about[key] is not None or key not in ("uuid", "cuda", "gpu_model")
        }
    return table | ({"ptxas": facts.ptxas} if facts.ptxas else {})


def _kernel(kernel: reply.Kernel) -> dict[str, Any]:
    return asdict(kernel) | {"ptx_sha256": store.sha256(store.without_folders(kernel.ptx))}


def _answers(
    described: list[reply.Described], data: Iterator[bytes], outputs: dict[str, Array], preds: Collection[str]
) -> dict[str, Array]:
    """The answers of predicates: booleans, one or as many as the output has elements."""
    arrays = _arrays(described, data)
    for name, array in arrays.items():
        if array.dtype.kind != "bool" or name not in outputs or array.shape not in ((), outputs[name].shape):
            raise Misfit(f"the predicate of {name[:60]!r} must answer with booleans of its output's shape")
    absent = sorted(set(preds) & outputs.keys() - arrays.keys())
    if absent:
        raise Misfit(f"the predicate of {absent[0][:60]!r} did not answer")
    return arrays


def _arrays(described: list[reply.Described], data: Iterator[bytes]) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for one in described:
        buffer = next(data, None)
        if buffer is None:
            raise Misfit("there are fewer buffers than outputs")
        if one.name in arrays:
            raise Misfit(f"two outputs are called {one.name[:60]!r}")
        arrays[one.name] = _array(one, buffer)
    return arrays


def _array(described: reply.Described, data: bytes) -> Array:
    dtype, shape = DTYPES.get(described.dtype), tuple(described.shape)
    if dtype is None:
        raise Misfit(f"output {described.name[:60]!r} has the dtype {described.dtype!r}; known are {', '.join(DTYPES)}")
    if len(data) * 8 != math.prod(shape) * dtype.bits:
        raise Misfit(
            f"output {described.name[:60]!r} has {len(data)} bytes, and {dtype.name} {shape} needs "
            f"{math.prod(shape) * dtype.bits // 8}"
        )
    return Array(dtype, np.frombuffer(data, RAW[dtype.bits]).reshape(shape))


def author_frames(fault: str) -> str:
    """Python's fault report without the frames of the harness, in the order of the call: innermost first."""
    kept = []
    roots = {_ROOT, *_RUNNER.findall(fault)}  # a report from elsewhere shows where our package is
    ours = tuple(f'File "{root}{name}' for root in roots for name in (*_COMPILER, "harness/run/"))
    for line in fault.splitlines():
        if line.lstrip().startswith(ours) or _NOBODYS.search(line):
            continue
        if line.startswith("Extension modules:") or 'File "<string>", line 1 in <module>' in line:
            continue
        kept.append(re.sub(r"(?:Current thread|Thread) 0x[0-9a-f]+(?: \[.*\])? \(", "(", line))
    threads = "\n".join(kept).strip().split("\n\n")
    with_frames = [text for text in threads if text != _NO_FRAMES]
    return "\n\n".join(with_frames if any(_NO_FRAMES in text for text in with_frames) else threads)
