"""Keep the arrays that a script prints. This runs in the script's process and needs only numpy.

`execute` runs the recorded script as `__main__`. It returns the arrays, and as JSON in bytes what is known of each
printed value (an event): the site, the piece of it, how an array is had of it, which array it is, the arrays that its
names hold, the plain values that its scope holds, and whether the array was written to afterwards.
"""

from __future__ import annotations

import json
import linecache
import sys
import types
from typing import Any

import numpy as np

EVENTS = "events"
MOST_BYTES = 48 << 20


class Recorder:
    """`sites`: of each site its pieces' names, and the names of its scope."""

    def __init__(self, sites: list) -> None:
        self.sites, self.events = sites, []
        self.arrays: list[Any] = []
        self._places: dict[tuple, int] = {}
        self._live: list[tuple[dict, Any, str]] = []
        self._bytes = 0

    def __call__(self, site: int, piece: int, value: Any) -> Any:
        frame = sys._getframe(1)
        names, scope = self.sites[site]

        def held(name: str) -> Any:
            return frame.f_locals.get(name, frame.f_globals.get(name))

        named = {}
        for name in names[piece]:
            how = how_of(held(name))
            if how is not None:
                copied = ".clone()" if _is_torch(held(name)) else ".copy()"
                named[name] = [self._keep(_array(held(name), how)), how, copied]
        plain = {name: held(name) for name in scope if isinstance(held(name), bool | int | float | str)}
        event = {"site": site, "piece": piece, "how": how_of(value), "place": None, "named": named, "scope": plain}
        if event["how"] is not None:
            event["place"] = self._keep(_array(value, event["how"]))
            event["is_torch"] = _is_torch(value)
            self._live.append((event, value, event["how"]))
        elif named and (numbers := _numbers(value)) is not None:
            event |= {"how": "numbers", "place": self._keep(numbers)}
        self.events.append(event)
        return value

    def _keep(self, array: Any) -> int:
        """The number of an array with these contents."""
        key = _key(array)
        if key not in self._places:
            self._bytes += len(key[-1])
            if self._bytes > MOST_BYTES:
                raise ValueError(f"the script prints arrays of more than {MOST_BYTES >> 20} MB: print a part of them")
            self._places[key] = len(self.arrays)
            self.arrays.append(_copy(array))
        return self._places[key]

    def outputs(self) -> dict[str, Any]:
        """The arrays by number, and the events."""
        for event, value, how in self._live:
            event["changed"] = self._keep(_array(value, how)) != event["place"]
        text = json.dumps(self.events).encode()
        return {f"array_{i}": one for i, one in enumerate(self.arrays)} | {
            EVENTS: np.frombuffer(text or b" ", np.uint8)
        }


def how_of(value: Any) -> str | None:
    """The suffix that makes an array of an expression: '', `.to_numpy()`, `.numpy()`; None if it is not an array."""
    if _is_torch(value):
        return "" if str(value.layout) == "torch.strided" and not (value.is_complex() or value.is_quantized) else None
    if isinstance(value, np.ndarray | np.generic):
        return "" if value.dtype.kind in "biuf" and value.dtype.itemsize in (1, 2, 4, 8) else None
    if isinstance(value, type | types.ModuleType):
        return None
    for name in ("to_numpy", "numpy"):
        if callable(getattr(type(value), name, None)):
            try:
                is_array = how_of(getattr(value, name)()) == ""
            except Exception:  # an author's class whose method is for something else
                continue
            return f".{name}()" if is_array else None
    return None


def _array(value: Any, how: str) -> Any:
    return getattr(value, how[1:-2])() if how else value


def _is_torch(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach") and hasattr(value, "layout")


def _copy(array: Any) -> Any:
    return array.detach().clone() if _is_torch(array) else np.array(array)


def _key(array: Any) -> tuple:
    if _is_torch(array):
        torch: Any = sys.modules["torch"]
        flat = array.detach().cpu().contiguous().reshape(-1).view(torch.uint8) if array.numel() else array.cpu()
        return "torch", str(array.dtype), tuple(array.shape), flat.numpy().tobytes()
    return "numpy", str(array.dtype), array.shape, np.ascontiguousarray(array).tobytes()


def _numbers(value: Any) -> Any:
    """A number, or a list of numbers, as an array."""
    if isinstance(value, str | bytes) or not isinstance(value, bool | int | float | list | tuple):
        return None
    try:
        array = np.array(value)
    except (ValueError, OverflowError):
        return None
    return array if array.dtype.kind in "biuf" and array.size else None


def execute(path: str, text: str, recorded: str, sites: list, name: str) -> dict[str, Any]:
    """Run the script as `__main__`. Tracebacks and compilers read `text`. A last sys.exit(0) is not a failure."""
    recorder = Recorder(sites)
    module = types.ModuleType("__main__")
    module.__dict__.update({"__file__": path, name: recorder})
    sys.modules["__main__"] = module
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    try:
        exec(compile(recorded, path, "exec", dont_inherit=True), module.__dict__)
    except SystemExit as leaving:
        if leaving.code not in (None, 0):
            raise
    return recorder.outputs()
