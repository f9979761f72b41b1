"""What runs beside a repro to see more than one answer: run() called often, memory filled before, predicates asked."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

MOST_OTHERS = 32  # different outcomes that are kept
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
            answer = getattr(module, name)(returned[output])
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


def others(
    module: ModuleType,
    job: dict[str, Any],
    first: tuple[Any, list, list],
    buffers: list[np.ndarray],
    arrays: Callable,
    schedule: Callable[[int], None],
) -> dict[str, Any]:
    """Call run() again, and count: how often it gave what it gave first, and each other outcome.

    Before each call `schedule(seed)` is told another seed, the same ones for the same job. `arrays` is runner._arrays.
    The buffers of each other outcome follow: its outputs, then its predicates' answers.
    """
    counts = {_key(first[1], first[2]): 1}
    kept: list[tuple[bytes, dict[str, Any]]] = []
    uncounted = 0
    for number in range(1, job["runs"]):
        schedule(job["seed"] * SEEDS + number)
        mine: list[np.ndarray] = []
        returned = module.run(**job["params"])
        described = arrays(module.run, returned, mine, job["limit_bytes"])
        key = _key(described, mine)
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
    return {"count": counts[_key(first[1], first[2])], "others": rows, "uncounted": uncounted}


def _key(described: list[dict[str, Any]], arrays: list[np.ndarray]) -> bytes:
    return repr(described).encode() + b"".join(array.tobytes() for array in arrays)


def fill_new_memory(byte: int) -> None:
    """Let torch.empty and numpy.empty, and their like, give memory whose every byte is `byte`, in this process.

    torch's only where torch has been imported.
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
    torch = sys.modules.get("torch")
    if torch is None:
        return
    for name in ("empty", "empty_like", "empty_strided", "empty_permuted"):
        setattr(torch, name, torchs(getattr(torch, name)))
    for name in ("new_empty", "new_empty_strided"):
        setattr(torch.Tensor, name, torchs(getattr(torch.Tensor, name)))
