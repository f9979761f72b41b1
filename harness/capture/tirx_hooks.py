"""Calls of what `tvm.compile` or `tvm_tirx.tirx.compile` gave, of our TIRx surface: the function and its tensors."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from harness.capture import cute_hooks
from harness.capture.arguments.device_memory import DeviceMemory
from harness.capture.arguments.spelling import Spelling
from harness.capture.author import text as text_of_author
from harness.capture.importing import when_imported
from harness.capture.launches.driver_text import version
from harness.capture.recorder import Call, Recorder

REQUIREMENTS = {
    "tvm": lambda: {"apache-tvm": version("apache-tvm"), "apache-tvm-ffi": None},
    "tvm_tirx": lambda: {"apache-tvm-tirx": version("apache-tvm-tirx")},
}
_specialized: dict[int, tuple[Any, dict[str, Any]]] = {}  # what `T.jit` functions gave, and the constants


def install(recorder: Recorder) -> None:
    """Report every call from now on, as soon as a program imports tvm or tvm_tirx."""
    when_imported("dsl.tirx.syntax.function", lambda module: _watch_specialize(module.JitFunction))
    when_imported("dsl.tirx.build", lambda module: _hook(module.Entry, recorder))


def _watch_specialize(kind: type) -> None:
    original: Any = kind.specialize  # type: ignore[attr-defined]

    @functools.wraps(original)
    def specialize(self, **values):
        made = original(self, **values)
        _specialized[id(made)] = made, values
        return made

    kind.specialize = specialize  # type: ignore[attr-defined]


def _hook(kind: type, recorder: Recorder) -> None:
    original: Any = kind.__call__

    @functools.wraps(original)
    def call(self, *args):
        if recorder.is_done:
            return original(self, *args)
        function = self.function.function
        return recorder.around(
            lambda: compiled_call(self, args),
            lambda: cute_hooks.names_of(function, args),
            lambda: original(self, *args),
        )

    kind.__call__ = call  # type: ignore[method-assign]


def compiled_call(entry: Any, args: tuple) -> Call:
    """The call of one compiled function: it is compiled for the same target, then called."""
    traced = entry.function
    function: types.FunctionType = traced.function
    package = text_of_author.public_name(type(traced).__module__).partition(".")[0]
    kept: dict[int, DeviceMemory] = {}

    def text(spelling: Spelling) -> str:
        spelling.imports |= {f"import {package}": None, "import numpy as np": None}
        spelling.packages |= {**REQUIREMENTS[package](), "numpy": np.__version__}
        names = [name for name, _ in traced.signature.parameters]
        words = [
            spelling.of(value, names[place] if place < len(names) else f"argument_{place}")
            for place, value in enumerate(args)
        ]
        noted = _specialized.get(id(traced))
        callee = spelling.root(function)
        if noted is not None and noted[0] is traced:
            rows = ", ".join(f"{name}={spelling.of(value, name)}" for name, value in noted[1].items())
            callee = f"{callee}.specialize({rows})"
        arch = entry.options.gpu_arch
        target = f'{{"kind": "cuda", "arch": "{arch}"}}' if arch else '"cuda"' if entry.has_kernels else '"llvm"'
        compiled = spelling.name("compiled")
        spelling.statements.append((compiled, compilation(package, callee, target, entry.has_kernels)))
        return f"{compiled}({', '.join(words)})"

    def spells(spelling: Spelling, value: Any, hint: str) -> str | None:
        if type(value).__module__ != "dsl.tirx.runtime" or type(value).__name__ != "Tensor":
            return None
        if id(value) not in kept:
            memory = kept[id(value)] = memory_of(value, package)
            if memory.dtype != value.dtype:
                return spelling.lacks(f"{hint} is a tensor of {value.dtype}, which numpy has no type for")
        return spelling.of(kept[id(value)], hint)

    known = functools.partial(cute_hooks.names_of, function, ())
    return Call(function.__name__, known, text, args, {}, cute_hooks.plain, spells=spells)


def compilation(package: str, callee: str, target: str, has_kernels: bool) -> str:
    """The expression that compiles a function for a target."""
    if package == "tvm_tirx":
        return f"tvm_tirx.tirx.compile({callee}, target=tvm_tirx.target.Target({target}))"
    pipeline = ', tir_pipeline="tirx"' if has_kernels else ""
    return f'tvm.compile(tvm.IRModule({{"main": {callee}}}), target=tvm.target.Target({target}){pipeline})'


def memory_of(tensor: Any, package: str) -> DeviceMemory:
    """A tensor of tvm or tvm_tirx as memory of the call."""
    array = tensor.numpy()
    shape = "" if len(array.shape) == 1 else f".reshape({array.shape})"
    device = f"{package}.{tensor.device.kind}({tensor.device.index})"

    def read(_address: int, _nbytes: int) -> np.ndarray:
        return np.ascontiguousarray(tensor.numpy()).reshape(-1).view(np.uint8).copy()

    making = f"{package}.runtime.tensor({{}}{shape}, device={device})"
    return DeviceMemory(id(tensor), array.nbytes, array.dtype.name, making, "{}.numpy()", read, array.shape)
