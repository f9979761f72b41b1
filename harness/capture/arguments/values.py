"""Bytes of a storage as an expression that makes them: zeros, a constant, arange, a draw; else data in a file."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.capture.arguments.memory import Storage

HELPER = {
    "torch": '''\
def _stored(name, dtype, device):
    """What the program had in memory: the bytes in the file of this name beside this one."""
    data = np.load(Path(__file__).parent / "data" / f"{name}.npz")["bytes"]
    return torch.from_numpy(data).view(dtype).to(device)
''',
    "numpy": '''\
def _stored_array(name, dtype):
    """What the program had in memory: the bytes in the file of this name beside this one."""
    return np.load(Path(__file__).parent / "data" / f"{name}.npz")["bytes"].view(dtype)
''',
}


@dataclass(frozen=True)
class Made:
    """An expression for the elements of a storage. `shaped` takes their shape; a flat one has them in one mode."""

    text: str  # with {shape} where it can be of any shape
    shaped: bool
    draw: int | None = None  # its place among the draws since the seed
    data: str | None = None  # the name of its data


def name_of(data: np.ndarray) -> str:
    """Equal bytes have the same name."""
    return hashlib.sha256(data.tobytes()).hexdigest()[:20]


def made(storage: Storage, dtype: str, draws: list[tuple[str, Any]]) -> Made:
    """How the storage's bytes are made again, seen as elements of `dtype`."""
    if storage.library == "torch":
        return _torch_made(storage, dtype, draws)
    made = _numpy_made(storage, dtype)
    if storage.library == "driver":
        return replace(made, text=storage.owner.making.replace("{}", made.text))
    return made


def _torch_made(storage: Storage, dtype: str, draws: list[tuple[str, Any]]) -> Made:
    torch = sys.modules["torch"]
    kind = getattr(torch, dtype.removeprefix("torch."))
    place = "" if storage.device == "cpu" else f', device="{storage.device}"'
    if not storage.nbytes:
        return Made(f"torch.empty({{shape}}, dtype={dtype}{place})", True)
    bits = storage.before
    elements = torch.from_numpy(bits.copy()).view(kind)
    with torch.no_grad():
        for text, shaped in _torch_candidates(torch, elements, bits, dtype, place):
            if _gives(torch, text.replace("{shape}", f"({elements.numel()},)"), bits):
                return Made(text, shaped)
        for number, (expression, drawn) in enumerate(draws):
            if drawn.numel() != elements.numel():
                continue
            if drawn.device.type != storage.device:
                suffix = f'.to("{storage.device}")'
            else:
                suffix = ""
            if _same(torch, drawn, bits):
                return Made(f"{expression}{suffix}", False, number)
            if drawn.dtype != kind and _same(torch, drawn.to(kind), bits):
                return Made(f"{expression}{suffix}.to({dtype})", False, number)
    name = name_of(bits)
    return Made(f'_stored("{name}", {dtype}, "{storage.device}")', False, data=name)


def _torch_candidates(
    torch: Any, elements: Any, bits: np.ndarray, dtype: str, place: str
) -> Iterable[tuple[str, bool]]:
    words = elements.view(torch.uint8).numpy().view(f"u{elements.element_size()}")
    if dtype == "torch.bool" or not dtype.startswith("torch.complex"):
        if not words.any():
            yield f"torch.zeros({{shape}}, dtype={dtype}{place})", True
            return
        if (words == words[0]).all():
            value = elements[0].to(torch.float64 if elements.is_floating_point() else torch.int64).item()
            if value == 1:
                yield f"torch.ones({{shape}}, dtype={dtype}{place})", True
                yield f"torch.ones({{shape}}{place}).to({dtype})", True
            text = f'float("{value}")' if value != value or value in (float("inf"), -float("inf")) else repr(value)
            yield f"torch.full({{shape}}, {text}, dtype={dtype}{place})", True
            yield f"torch.full({{shape}}, {text}{place}).to({dtype})", True
            return
    if elements.numel() > 2 and dtype not in ("torch.bool",) and not dtype.startswith("torch.complex"):
        first, second = (elements[at].to(torch.float64).item() for at in (0, 1))
        step, count = second - first, elements.numel()
        if step and all(value == value and abs(value) < 1 << 53 and value == int(value) for value in (first, step)):
            start, step = int(first), int(step)
            span = f"{count}" if (start, step) == (0, 1) else f"{start}, {start + count * step}"
            span += f", {step}" if step != 1 else ""
            yield f"torch.arange({span}, dtype={dtype}{place})", False
            yield f"torch.arange({span}{place}).to({dtype})", False


def _gives(torch: Any, expression: str, bits: np.ndarray) -> bool:
    try:
        return _same(torch, eval(expression, {"torch": torch}), bits)
    except (RuntimeError, TypeError, ValueError, NotImplementedError, OverflowError):
        return False  # torch makes no such tensor of this type: the contents are data


def _same(torch: Any, tensor: Any, bits: np.ndarray) -> bool:
    flat = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    return np.array_equal(flat, bits)


def _numpy_made(storage: Storage, dtype: str) -> Made:
    kind = np.dtype(dtype)
    elements = storage.before.view(kind)
    if not elements.size:
        return Made(f'np.empty({{shape}}, "{dtype}")', True)
    words = storage.before.view(f"u{kind.itemsize}")
    if not words.any():
        return Made(f'np.zeros({{shape}}, "{dtype}")', True)
    if (words == words[0]).all() and kind.kind in "biuf":
        value = elements[0].item()
        if value == 1:
            return Made(f'np.ones({{shape}}, "{dtype}")', True)
        if np.full(1, value, kind).tobytes() == elements[:1].tobytes() and value == value and abs(value) < 1e300:
            return Made(f'np.full({{shape}}, {value!r}, "{dtype}")', True)
    if elements.size > 2 and np.array_equal(np.arange(elements.size, dtype=kind).view(words.dtype), words):
        return Made(f'np.arange({elements.size}, dtype="{dtype}")', False)
    name = name_of(storage.before)
    return Made(f'_stored_array("{name}", "{dtype}")', False, data=name)
