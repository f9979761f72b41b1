"""Calls of `@qd.kernel` functions, of our surface and of the package: fields and arrays with their contents."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from harness.capture import cute_hooks
from harness.capture.arguments.device_memory import DeviceMemory
from harness.capture.arguments.spelling import PUBLIC, Spelling
from harness.capture.importing import when_imported
from harness.capture.launches.driver_text import version
from harness.capture.recorder import Call, Recorder

FILLED = '''\
def _filled(container, data):
    """A field or an array with these contents."""
    container.from_numpy(data.reshape(container.to_numpy().shape))
    return container
'''
ARCHES = ("cpu", "gpu", "cuda", "x64", "arm64", "amdgpu", "metal", "vulkan")
PACKAGES = ("quadrants", "dsl")  # modules of these do not belong to the author

_init: list[tuple[tuple, dict[str, Any]]] = []  # the arguments of the program's last qd.init
_containers: dict[int, tuple[Any, DeviceMemory]] = {}


def install(recorder: Recorder) -> None:
    """Report every call from now on, as soon as quadrants is imported."""
    for module in ("dsl.quadrants.functions.kernel", "quadrants.lang.kernel"):
        when_imported(module, lambda found: _hook(found, recorder))
    for module in ("dsl.quadrants.runtime", "quadrants.lang.misc"):
        when_imported(module, _watch_init)


def _watch_init(module: types.ModuleType) -> None:
    original = getattr(module, "init", None)
    if original is None or hasattr(original, "_seen_by_capture"):
        return

    @functools.wraps(original)
    def init(*args, **keywords):
        _init[:] = [(args, keywords)]
        return original(*args, **keywords)

    init._seen_by_capture = True  # type: ignore[attr-defined]
    module.init = init  # type: ignore[attr-defined]


def _hook(module: types.ModuleType, recorder: Recorder) -> None:
    kind = module.Kernel
    original = kind.__call__

    @functools.wraps(original)
    def call(self, *args, **keywords):
        function = getattr(self, "function", None) or getattr(self, "func", None)
        if recorder.is_done or not isinstance(function, types.FunctionType):
            return original(self, *args, **keywords)
        if function.__module__.partition(".")[0] in PACKAGES:  # a kernel of the package itself
            return original(self, *args, **keywords)
        return recorder.around(
            lambda: kernel_call(function, args, keywords),
            lambda: cute_hooks.names_of(function, args),
            lambda: original(self, *args, **keywords),
        )

    kind.__call__ = call


def kernel_call(function: types.FunctionType, args: tuple, keywords: dict[str, Any]) -> Call:
    """The call of a kernel; the first argument of a method is its instance."""
    is_method = bool(args) and next(iter(inspect.signature(function).parameters), "") == "self"

    def text(spelling: Spelling) -> str:
        _begin(spelling)
        for name, container in _reached(function):
            spelling.of(_memory_of(container, f"_filled({name}, {{}})"), name)
        names = list(inspect.signature(function).parameters)
        words = [
            spelling.of(value, names[place] if place < len(names) else f"argument_{place}")
            for place, value in enumerate(args)
            if place or not is_method
        ]
        words += [f"{name}={spelling.of(value, name)}" for name, value in keywords.items()]
        callee = f"{spelling.of(args[0], 'instance')}.{function.__name__}" if is_method else spelling.root(function)
        return f"{callee}({', '.join(words)})"

    known = functools.partial(cute_hooks.names_of, function, args)
    return Call(function.__name__, known, text, args[is_method:], keywords, plain, spells=spelt)


def plain(value: Any) -> Any:
    """The author's function under a decorator; any other value as it is."""
    function = getattr(value, "fn", None)
    return function if isinstance(function, types.FunctionType) else cute_hooks.plain(value)


def _begin(spelling: Spelling) -> None:
    spelling.imports[PUBLIC["quadrants"]] = None
    spelling.packages |= {"quadrants": version("quadrants"), "numpy": np.__version__}
    spelling.helpers["_filled"] = FILLED
    _containers.clear()
    args, keywords = _init[-1] if _init else ((), {})
    words = [_option(spelling, "arch", value) for value in args[:1]]
    words += [_option(spelling, name, value) for name, value in keywords.items()]
    spelling.setting.append(f"qd.init({', '.join(word for word in words if word)})")


def _option(spelling: Spelling, name: str, value: Any) -> str:
    module = sys.modules.get("quadrants") or sys.modules.get("dsl.quadrants")
    if name == "arch":
        found = next((each for each in ARCHES if getattr(module, each, None) == value), None)
        return f"arch=qd.{found}" if found else ""
    if type(value) in (bool, int, float, str):
        return f"{name}={value!r}"
    dtype = _dtype(value)
    return f"{name}={dtype}" if dtype else ""


def _dtype(value: Any) -> str | None:
    """An element type as text: qd.f32."""
    module = sys.modules.get("quadrants") or sys.modules.get("dsl.quadrants")
    name = str(value)
    return f"qd.{name}" if name.isidentifier() and getattr(module, name, None) is not None else None


def _reached(function: types.FunctionType, depth: int = 4) -> Iterator[tuple[str, Any]]:
    """Fields that a kernel, and the functions that it calls, mention as global variables."""
    seen: set[int] = set()
    waiting = [(function, depth)]
    while waiting:
        each, left = waiting.pop()
        for name in each.__code__.co_names:
            value = each.__globals__.get(name)
            if id(value) in seen or value is None:
                continue
            seen.add(id(value))
            inner = plain(value)
            if is_container(value):
                yield name, value
            elif isinstance(inner, types.FunctionType) and left and inner.__module__ == each.__module__:
                waiting.append((inner, left - 1))


# ** values


def is_container(value: Any) -> bool:
    """Whether a value is a field or an array of quadrants."""
    kind = type(value)
    return _is_of_quadrants(kind) and kind.__name__ in ("ScalarField", "MatrixField", "ScalarNdarray", "MatrixNdarray",
                                                        "VectorNdarray")  # fmt: skip


def _is_of_quadrants(kind: type) -> bool:
    return kind.__module__.startswith(("quadrants.", "dsl.quadrants"))


def spelt(spelling: Spelling, value: Any, hint: str) -> str | None:
    """A field, an array, a vector, a matrix or an element type as text; None for any other value."""
    if not _is_of_quadrants(type(value)):
        return None
    if is_container(value):
        return spelling.of(_memory_of(value, f"_filled({_made(value)}, {{}})"), hint)
    if hasattr(value, "to_list"):
        rows = value.to_list()
        return f"qd.{'Matrix' if rows and isinstance(rows[0], list) else 'Vector'}({rows!r})"
    return _dtype(value)


def _made(value: Any) -> str:
    """The call that makes such a container."""
    dtype, shape = f"qd.{value.dtype}", tuple(value.shape)
    place = "ndarray" if "Ndarray" in type(value).__name__ else "field"
    offset = getattr(value, "offset", None)
    more = f", offset={tuple(offset)}" if place == "field" and isinstance(offset, tuple) else ""
    if type(value).__name__.startswith("Scalar"):
        return f"qd.{place}({dtype}, shape={shape}{more})"
    inner = value.to_numpy().shape[len(shape) :]
    if len(inner) == 1:
        return f"qd.Vector.{place}({inner[0]}, {dtype}, shape={shape}{more})"
    return f"qd.Matrix.{place}({inner[0]}, {inner[1]}, {dtype}, shape={shape}{more})"


def _memory_of(container: Any, making: str) -> DeviceMemory:
    """A container as memory of the call; its address is the address of the Python object."""
    known = _containers.get(id(container))
    if known is not None:
        return known[1]
    array = container.to_numpy()

    def read(_address: int, _nbytes: int) -> np.ndarray:
        return np.ascontiguousarray(container.to_numpy()).reshape(-1).view(np.uint8).copy()

    memory = DeviceMemory(id(container), array.nbytes, array.dtype.name, making, "{}.to_numpy()", read, array.shape)
    _containers[id(container)] = container, memory
    return memory
