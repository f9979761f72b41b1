"""What came of running one case: a typed outcome, read from a reply that is not trusted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness import findings
from harness.repro import EMBEDDED, OUTCOMES

RAW = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


@dataclass(frozen=True, slots=True)
class Dtype:
    """An element type. `kind`: bool | int | uint | float | other. Floats: bits of exponent and mantissa."""

    name: str
    bits: int
    kind: str
    exponent: int = 0
    mantissa: int = 0
    infinite: bool = True  # the top exponent is infinity and NaN; otherwise only its all-ones mantissa is NaN


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
        if kind in ("uint", "other"):
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
    """What run() gave `count` times where it was called often and did not always give the same."""

    count: int
    outputs: dict[str, Array]
    preds: dict[str, Array]


@dataclass
class Outcome:
    """One run of one case.

    kind: outputs | rejected | trap | deadlock | fault, or the fault's own name (findings.py); error | timeout | crash |
    infra | skipped. Those before the semicolon are what a claim may say; error, timeout and crash are failures of the
    repro; infra (it could not be run) and skipped (the host has no such feature) say nothing about the claim.
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
    preds: dict[str, Array] = field(default_factory=dict)  # output -> what its predicate says
    count: int = 1  # how often run() gave these outputs
    others: list[Other] = field(default_factory=list)
    uncounted: int = 0  # runs with yet other outcomes
    refilled: dict[str, Array] = field(default_factory=dict)  # the outputs over other contents of new memory
    compiler: str = EMBEDDED  # that was asked for; `facts` name its version where it took part

    @property
    def kernels(self) -> list[dict[str, Any]]:
        return self.facts.get("kernels", [])

    @property
    def device(self) -> dict[str, Any]:
        return self.facts.get("device", {})


class BadReply(Exception):
    """A reply that does not hold what it must."""


def infra(text: str) -> Outcome:
    """The case could not be run; nothing is known about the claim."""
    return Outcome("infra", text)


def from_reply(header: dict[str, Any], buffers: list[bytes]) -> Outcome:
    """The outcome of a supervisor's reply (see supervisor.py and runner.py for its keys)."""
    if header.get("kind") == "busy":
        return infra(printable(str(header.get("text"))))
    try:
        outcome = _from_status(header) or _from_result(header["result"], buffers)
        outcome.facts = outcome.facts or _clean((header.get("begun") or {}).get("facts") or {})
        outcome.stdout, outcome.stderr = printable(header["stdout"]), printable(header["stderr"])
        outcome.durations |= {k: float(v) for k, v in header["durations"].items()}
    except (BadReply, KeyError, TypeError, ValueError, AttributeError) as error:
        return infra(f"the reply of the runner is broken: {type(error).__name__}: {error}")
    return outcome


def _from_status(header: dict[str, Any]) -> Outcome | None:
    status, fault = header["status"], author_frames(printable(header["fault"]))
    if status.get("timeout"):
        where = f"\nit was here:\n{fault}" if fault else ""
        return Outcome("timeout", f"the repro did not end within {header['timeout_s']:g} s and was killed{where}")
    if "signal" in status:
        text = f"the repro's process died of {status['signal']}" + (f"\n{fault}" if fault else "")
        return Outcome("crash", text, detail={"signal": status["signal"]})
    if header.get("broken"):
        return infra(f"the runner's result cannot be read: {header['broken']}")
    if header["result"] is None:
        text = f"the repro's process ended with exit status {status.get('exit')} before run() returned"
        return Outcome("error", text)
    return None


def _from_result(result: dict[str, Any], buffers: list[bytes]) -> Outcome:
    kind = findings.name(result["outcome"], result.get("kind"))
    if kind not in (*OUTCOMES, "error", "infra"):
        raise BadReply(f"unknown outcome {kind!r}")
    outcome = Outcome(kind, printable(result.get("text") or ""), printable(result.get("full_text") or ""))
    outcome.detail = {k: _clean(result[k]) for k in ("class", "id", "file", "line", "kind", "no_sass") if k in result}
    outcome.facts = _clean(result.get("facts") or {})
    if "seed" in result:
        outcome.facts["seed"] = int(result["seed"])
    outcome.versions = _clean(dict(result.get("versions") or {}))
    outcome.durations = {k: float(v) for k, v in (result.get("durations") or {}).items()}
    if kind == "outputs":
        data = iter(buffers)
        outcome.outputs = _arrays(result["outputs"], data)
        outcome.expected = _arrays(result["expected"], data)
        outcome.preds = _arrays(result.get("preds") or [], data)
        outcome.count, outcome.uncounted = int(result.get("count") or 1), int(result.get("uncounted") or 0)
        for one in result.get("others") or []:
            outcome.others.append(Other(int(one["count"]), _arrays(one["outputs"], data), _arrays(one["preds"], data)))
        if next(data, None) is not None:
            raise BadReply("there are more buffers than outputs")
    return outcome


def _arrays(described: list[dict[str, Any]], data: Iterator[bytes]) -> dict[str, Array]:
    found = {}
    for one in _clean(list(described)):
        buffer = next(data, None)
        if buffer is None:
            raise BadReply("there are fewer buffers than outputs")
        found[one["name"]] = _array(one, buffer)
    return found


def _array(described: dict[str, Any], data: bytes) -> Array:
    dtype = DTYPES.get(described["dtype"])
    if dtype is None:
        raise BadReply(
            f"output {described['name']!r} has the dtype {described['dtype']!r}; known are {', '.join(DTYPES)}"
        )
    shape = tuple(int(n) for n in described["shape"])
    raw = np.frombuffer(data, RAW[dtype.bits])
    if any(n < 0 for n in shape) or raw.size != int(np.prod(shape, dtype=np.int64)):
        raise BadReply(f"output {described['name']!r} has {raw.size} elements and the shape {shape}")
    return Array(dtype, raw.reshape(shape))


_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)


def printable(text: str) -> str:
    """Text from a repro without escape sequences and control characters."""
    return _ESCAPES.sub("", text)


def _clean(value: Any) -> Any:
    """JSON data with every text in it printable."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(str(key)): _clean(one) for key, one in value.items()}
    return [_clean(one) for one in value] if isinstance(value, list) else value


def author_frames(fault: str) -> str:
    """Python's fault report without the frames of the harness, in the order of the call: innermost first."""
    kept = []
    for line in fault.splitlines():
        if "/harness/runner.py" in line or "/harness/supervisor.py" in line or "<frozen " in line:
            continue
        if line.startswith("Extension modules:") or 'File "<string>", line 1 in <module>' in line:
            continue
        kept.append(re.sub(r"(?:Current thread|Thread) 0x[0-9a-f]+(?: \[.*\])? \(", "(", line))
    return "\n".join(kept).strip()
