"""Ways to see more than one answer of a repro: run() called often, or once for each outcome of its launches;
memory filled before; predicates asked."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

MOST_OTHERS = 32  # different outcomes that are kept
MOST_RESULTS = 512  # different answers of all outcomes
MOST_RUNS = 64  # different results that a reply has
MOST_ELEMENTS = 64  # of an output that is given whole
SEEDS = 1 << 20  # more than there are runs of one job


def judged(
    module: ModuleType,
    preds: dict[str, str],
    returned: dict[str, Any],
    described: list[dict[str, Any]],
    buffers: list[np.ndarray],
) -> list[dict[str, Any]]:
    """Ask the predicates about what run() returned; append and describe their answers, booleans."""
    shapes = {one["name"]: one["shape"] for one in described}
    outputs = []
    for output, name in preds.items():
        if output in returned:
            answer = _asked(getattr(module, name), returned[output])
            if hasattr(answer, "detach"):
                answer = answer.detach().cpu().numpy()
            array = np.asarray(answer)
            if array.dtype != bool or list(array.shape) not in ([], shapes[output]):
                said = f"{name}() returned {array.dtype} {array.shape}"
                raise TypeError(f"{said}: it must return a bool, or a boolean array of the output's shape")
            array = np.ascontiguousarray(array).reshape(array.shape)
            buffers.append(array.view(np.uint8))
            outputs.append({"name": output, "dtype": "bool", "shape": list(array.shape)})
    return outputs


def _asked(predicate: Callable, output: Any) -> Any:
    """The predicate's answer about an output, which it gets on the host. An error in it is the author's error."""
    try:
        return predicate(output.detach().cpu() if hasattr(output, "detach") else output)
    except Exception as error:
        error.is_authors = True  # pyright: ignore[reportAttributeAccessIssue]
        raise


class Spread:
    """The lowest and the highest value that each element of some outputs had, over all runs.

    Bits of floats are ordered by sign and magnitude, so that NaNs are at the ends.
    """

    def __init__(self, names: list[str], described: list[dict[str, Any]], arrays: list[np.ndarray]) -> None:
        self.places = [place for place, one in enumerate(described) if one["name"] in names]
        self.described = [described[place] for place in self.places]
        self.first = [_ordered(described[place], arrays[place].copy()) for place in self.places]
        self.ends = [list(self.first), list(self.first)]

    def take(self, arrays: list[np.ndarray]) -> None:
        """Another run, whose outputs have the same dtypes and shapes."""
        for at, place in enumerate(self.places):
            values = _ordered(self.described[at], arrays[place])
            for end, choose in zip(self.ends, (np.minimum, np.maximum), strict=True):
                end[at] = choose(end[at], values)

    def rows(self, buffers: list[np.ndarray]) -> list[list[dict[str, Any]]]:
        """The outputs of both ends, whose arrays are appended; nothing where all runs gave the same."""
        if all(np.array_equal(*ends) for ends in zip(*self.ends, strict=True)):
            return []
        buffers += [_raw(one, array) for end in self.ends for one, array in zip(self.described, end, strict=True)]
        return [self.described, self.described]


def _ordered(described: dict[str, Any], raw: np.ndarray) -> np.ndarray:
    """Raw elements as unsigned integers in the order of their values."""
    top = raw.dtype.type(1 << (8 * raw.dtype.itemsize - 1))
    if described["dtype"].startswith("uint"):
        return raw
    return raw ^ top if described["dtype"].startswith("int") else np.where(raw & top, ~raw, raw ^ top)


def _raw(described: dict[str, Any], ordered: np.ndarray) -> np.ndarray:
    """What `_ordered` was made of."""
    top = ordered.dtype.type(1 << (8 * ordered.dtype.itemsize - 1))
    if described["dtype"].startswith("uint"):
        return ordered
    return ordered ^ top if described["dtype"].startswith("int") else np.where(ordered & top, ordered ^ top, ~ordered)


def others(
    module: ModuleType,
    job: dict[str, Any],
    first: tuple[Any, list, list],
    buffers: list[np.ndarray],
    arrays: Callable,
    schedule: Callable[[int], None],
) -> dict[str, Any]:
    """Call run() again, and count: how often it gave what it gave first, and each other outcome.

    Before each call `schedule(seed)` gets another seed, the same seeds for the same job. `arrays` is runner._arrays.
    The buffers of each other outcome follow: its outputs, then its predicates' answers. Outputs that the job calls
    `near` do not make an outcome different; their `spread` comes after all others.
    """
    spread = Spread(job["near"], first[1], first[2])
    near = spread.places
    counts = {answer_key(first[1], first[2], near): 1}
    kept: list[tuple[bytes, dict[str, Any]]] = []
    uncounted = 0
    for number in range(1, job["runs"]):
        schedule(job["seed"] * SEEDS + number)
        mine: list[np.ndarray] = []
        returned = module.run(**job["params"])
        described = arrays(module.run, returned, mine, job["limit_bytes"])
        if described == first[1]:
            spread.take(mine)
        key = answer_key(described, mine, near if described == first[1] else [])
        if key in counts:
            counts[key] += 1
        elif len(kept) == MOST_OTHERS:
            uncounted += 1
        else:
            counts[key] = 1
            table = {"outputs": described, "preds": judged(module, job["preds"], returned, described, mine)}
            mine = [array.copy() for array in mine]
            if sum(array.nbytes for array in [*buffers, *mine]) > job["limit_bytes"]:
                raise MemoryError(f"the different outcomes of run() are more than {job['limit_bytes']} bytes")
            buffers += mine
            kept.append((key, table))
    rows = [table | {"count": counts[key]} for key, table in kept]
    about = {"count": counts[answer_key(first[1], first[2], near)], "others": rows, "uncounted": uncounted}
    return about | {"spread": spread.rows(buffers)}


def answer_key(described: list[dict[str, Any]], arrays: list[np.ndarray], left_out: list[int]) -> bytes:
    """A key that is equal for equal outcomes: all except the outputs that are compared within a bound."""
    kept = (array.tobytes() for place, array in enumerate(arrays) if place not in left_out)
    return repr(described).encode() + b"".join(kept)


def fill_new_memory(byte: int) -> None:
    """Let torch.empty and numpy.empty, and their like, give memory whose every byte is `byte`, in this process.

    torch's from its import on.
    """

    def numpys(function: Callable) -> Callable:
        @functools.wraps(function)
        def filled(*args: Any, **kw: Any) -> Any:
            array = function(*args, **kw)
            if array.dtype.hasobject is False and array.size:
                array.view(np.ndarray).fill(np.frombuffer(bytes([byte]) * array.dtype.itemsize, array.dtype)[0])
            return array

        return filled

    def torchs(function: Callable) -> Callable:
        @functools.wraps(function)
        def filled(*args: Any, **kw: Any) -> Any:
            tensor = function(*args, **kw)
            if tensor.device.type != "meta" and tensor.numel():
                tensor.untyped_storage().fill_(byte)
            return tensor

        return filled

    for name in ("empty", "empty_like"):
        setattr(np, name, numpys(getattr(np, name)))

    def fill(torch: Any) -> None:
        for name in ("empty", "empty_like", "empty_strided", "empty_permuted"):
            setattr(torch, name, torchs(getattr(torch, name)))
        for name in ("new_empty", "new_empty_strided"):
            setattr(torch.Tensor, name, torchs(getattr(torch.Tensor, name)))

    once_imported("torch", fill)


def once_imported(name: str, then: Callable[[Any], Any]) -> None:
    """Call `then(module)` now, or after the first import of `name` that comes to its end."""
    if name in sys.modules:
        then(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Awaited(name, then))


class _Awaited:
    def __init__(self, name: str, then: Callable[[Any], Any]) -> None:
        self._name, self._then = name, then
        self._asks_others = False

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname != self._name or self._asks_others:
            return None
        self._asks_others = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._asks_others = False
        if spec is not None and (loader := spec.loader) is not None:
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                vars(loader).pop("exec_module", None)  # gone where another waits for the same import
                execute(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                    self._then(module)

            loader.exec_module = exec_module
        return spec


# ** all outcomes that the PTX memory model allows


def for_each_outcome(run: Callable[[], dict[str, Any]], exploration: Any) -> dict[str, Any]:
    """Call run() for each combination of outcomes; each different answer once, with a combination that gives it.

    `exploration` is what session.explore gave (dsl/launch/devices/exploration.py).
    """
    results: dict[str, dict[str, Any]] = {}
    is_complete = True
    while True:
        try:
            returned, ends = run(), True
        except Exception as error:
            if type(error).__name__ != "NeverEnds":
                raise
            returned, ends = {}, False
        outputs = {name: _values_of(value) for name, value in returned.items()}
        key = repr((ends, outputs)) if ends else repr(exploration.choice)
        results.setdefault(key, {"outputs": outputs, "ends": ends, "choice": exploration.choice})
        if not exploration.again():
            break
        if len(results) >= MOST_RESULTS:
            is_complete = False
            break
    return explored(exploration, list(results.values()), is_complete)


def as_runs(
    run: Callable[[], dict[str, Any]], exploration: Any, buffers: list[np.ndarray], arrays: Callable[..., list]
) -> dict[str, Any]:
    """The same as the outputs of several runs, each different one once; `arrays` describes what a run returned."""
    rows: list[list] = []
    known: set[bytes] = set()
    while True:
        mine: list[np.ndarray] = []
        described = arrays(run(), mine)
        key = repr(described).encode() + b"".join(array.tobytes() for array in mine)
        if key not in known:
            known.add(key)
            rows.append(described)
            buffers += [array.copy() for array in mine]
        if len(rows) > MOST_RUNS:
            raise ValueError(f"the memory model allows more than {MOST_RUNS} different results: claim fewer outputs")
        if not exploration.again():
            break
    others = [{"count": 1, "outputs": described, "preds": []} for described in rows[1:]]
    return {"outputs": rows[0], "expected": [], "preds": [], "count": 1, "others": others, "uncounted": 0}


def explored(exploration: Any, results: list[dict[str, Any]], is_complete: bool = True) -> dict[str, Any]:
    """The outcomes, for the reply."""
    return {
        "complete": exploration.is_complete and is_complete,
        "bound": exploration.bound,
        "launches": exploration.launches(),
        "results": results,
    }


def _values_of(value: Any) -> str:
    """The values of an output as nested lists; of a large one its first elements."""
    array = np.asarray(
        value.detach().cpu().float() if _has_no_numpy_type(value) else getattr(value, "cpu", lambda: value)()
    )
    if array.size <= MOST_ELEMENTS:
        return str(array.tolist())
    return f"{array.reshape(-1)[:MOST_ELEMENTS].tolist()} ... ({array.size} elements)"


def _has_no_numpy_type(value: Any) -> bool:
    return str(getattr(value, "dtype", "")) in ("torch.bfloat16", "torch.float8_e4m3fn", "torch.float8_e5m2")
