"""Random tensors of a seeded generator: torch's draws since the last `torch.manual_seed`, to be repeated in a file."""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

FUNCTIONS = ("randn", "rand", "randint", "randn_like", "rand_like", "randint_like", "randperm", "normal")
METHODS = ("normal_", "uniform_", "random_")
MOST_DRAWS = 24
MOST_BYTES = 1 << 30


@dataclass
class Draw:
    """`expression` draws from torch's generators again what the program drew."""

    expression: str
    nbytes: int


@dataclass
class Draws:
    seed: int | None = None
    drawn: list[Draw] = field(default_factory=list)
    is_known: bool = True  # whether each draw since the seed can be written down


_seen = Draws()
_is_watching: list[bool] = []
_is_inside = contextvars.ContextVar("_is_inside", default=False)  # a draw: modes of torch call it again by its name


def watch(torch: ModuleType) -> None:
    """Note seeds and draws from now on."""
    if _is_watching:
        return
    _is_watching.append(True)
    seed = torch.manual_seed

    @functools.wraps(seed)
    def manual_seed(number):
        _seen.seed, _seen.drawn, _seen.is_known = int(number), [], True
        return seed(number)

    torch.manual_seed = torch.random.manual_seed = manual_seed  # pyright: ignore[reportAttributeAccessIssue] - a module
    for name in FUNCTIONS:
        setattr(torch, name, _function(torch, name, getattr(torch, name)))
    for name in METHODS:
        setattr(torch.Tensor, name, _method(torch, name, getattr(torch.Tensor, name)))


def _function(torch: ModuleType, name: str, draw: Any) -> Any:
    @functools.wraps(draw)
    def drawing(*args, **keywords):
        result = draw(*args, **keywords)
        if _may_note(result):
            _note(torch, _spelt(torch, name, result, args, keywords), result)
        return result

    return drawing


def _method(torch: ModuleType, name: str, draw: Any) -> Any:
    @functools.wraps(draw)
    def drawing(self, *args, **keywords):
        if _is_inside.get():
            return draw(self, *args, **keywords)
        with _inside():
            result = draw(self, *args, **keywords)
        if _may_note(self):
            new = _empty(torch, self) if self.is_contiguous() else None
            words = _arguments(torch, args, keywords)
            _note(torch, None if new is None or words is None else f"{new}.{name}({', '.join(words)})", self)
        return result

    return drawing


@contextlib.contextmanager
def _inside() -> Iterator[None]:
    token = _is_inside.set(True)
    try:
        yield
    finally:
        _is_inside.reset(token)


def _may_note(result: Any) -> bool:
    return _seen.seed is not None and _seen.is_known and len(_seen.drawn) < MOST_DRAWS and hasattr(result, "nbytes")


def _note(torch: ModuleType, expression: str | None, result: Any) -> None:
    if expression is None:
        _seen.is_known = False
    else:
        _seen.drawn.append(Draw(expression, result.nbytes))


def _spelt(torch: ModuleType, name: str, result: Any, args: tuple, keywords: dict) -> str | None:
    keywords = {key: value for key, value in keywords.items() if key not in ("requires_grad", "pin_memory")}
    if name.endswith("_like"):
        rest = _arguments(torch, args[1:], {k: v for k, v in keywords.items() if k not in ("dtype", "device")})
        if rest is None:
            return None
        return f"torch.{name}({', '.join([_empty(torch, result), *rest])})"
    words = _arguments(torch, args, keywords)
    return None if words is None else f"torch.{name}({', '.join(words)})"


def _empty(torch: ModuleType, tensor: Any) -> str:
    device = "" if tensor.device.type == "cpu" else f', device="{tensor.device.type}"'
    return f"torch.empty({tuple(tensor.shape)}, dtype={tensor.dtype}{device})"


def _arguments(torch: ModuleType, args: tuple, keywords: dict) -> list[str] | None:
    """Arguments as text; None where one is not plain, as a generator of the program's own."""
    words = [_word(torch, value) for value in args]
    words += [None if (word := _word(torch, v)) is None else f"{key}={word}" for key, v in keywords.items()]
    return None if None in words else [word for word in words if word is not None]


def _word(torch: ModuleType, value: Any) -> str | None:
    if isinstance(value, torch.device):
        return f'"{value.type}"'
    if isinstance(value, torch.dtype) or value is None or type(value) in (int, float, bool, str):
        return str(value) if not isinstance(value, str) else repr(value.partition(":")[0] if ":" in value else value)
    if isinstance(value, (tuple, list)):
        words = [_word(torch, each) for each in value]
        return None if None in words else repr(tuple(value)) if words else "()"
    return None


@contextlib.contextmanager
def replayed(torch: ModuleType) -> Iterator[list[tuple[str, Any]]]:
    """The draws since the last seed again, each with its tensor; the program's generators stay as they are."""
    if _seen.seed is None or not _seen.drawn or sum(draw.nbytes for draw in _seen.drawn) > MOST_BYTES:
        yield []
        return
    before = _seen.seed, list(_seen.drawn), _seen.is_known
    state = torch.get_rng_state()
    gpu = torch.cuda.get_rng_state() if torch.cuda.is_available() else None
    try:
        torch.manual_seed(before[0])
        yield [(draw.expression, eval(draw.expression, {"torch": torch})) for draw in before[1]]
    finally:
        torch.set_rng_state(state)
        if gpu is not None:
            torch.cuda.set_rng_state(gpu)
        _seen.seed, _seen.drawn, _seen.is_known = before


def seed() -> int | None:
    """The seed that the program gave torch last."""
    return _seen.seed
