"""Functions that torch calls by itself, outside the mode of a program's calls: ops, and its engine of derivatives."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any, Protocol

from dsl import span
from dsl.launch.devices.torch_mapping import torch_modes
from dsl.launch.devices.torch_mapping.torch_memory import storage_key, tensors_in

span.stands_for_python(__file__)


class Storages(Protocol):
    """The storages that pretend to be on the GPU."""

    def holds(self, tensor: Any) -> bool: ...
    def add_all(self, tensors: list[Any], function: Any = None) -> None: ...


def reentered(torch: ModuleType, mode: Any) -> Callable[[], Any]:
    """A function that enters `mode` again inside a call that went through it: torch suspends it there."""

    def enter() -> Any:
        return contextlib.nullcontext() if mode in torch.overrides._get_current_function_mode_stack() else mode

    return enter


def with_mapping(function: Callable, enter: Callable[[], Any]) -> Callable:
    """`function` in the mode that its calls of torch go through."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        with enter():
            return function(*args, **kwargs)

    return call


def library(torch: ModuleType, mapped: Storages, enter: Callable[[], Any]) -> Callable:
    """`torch.library.Library.impl`: an op's function for the GPU is called for tensors there, with the mapping, and so
    is one for all devices."""
    register = torch.library.Library.impl
    by_place: dict[tuple[str, str], dict[str, Callable]] = {}

    def impl(self, op_name, fn, dispatch_key="", **options):
        if dispatch_key in ("", "CompositeExplicitAutograd", "CompositeImplicitAutograd") and callable(fn):
            return register(self, op_name, with_mapping(fn, enter), dispatch_key, **options)
        if dispatch_key not in ("CPU", "CUDA"):
            return register(self, op_name, fn, dispatch_key, **options)
        key = self.ns, str(op_name)
        known = key in by_place
        by_place.setdefault(key, {})[dispatch_key] = fn
        return None if known else register(self, op_name, chosen(by_place[key]), "CPU", **options)

    def chosen(functions: dict[str, Callable]) -> Callable:
        def call(*args, **kwargs):
            on_gpu = any(map(mapped.holds, tensors_in(torch.Tensor, (args, kwargs))))
            place = "CUDA" if (on_gpu and "CUDA" in functions) or "CPU" not in functions else "CPU"
            with enter():
                return functions[place](*args, **kwargs)

        return call

    return impl


def derivatives(torch: ModuleType, mapped: Storages, enter: Callable[[], Any]) -> Callable:
    """torch's engine of derivatives: it calls the author's own functions, and what it computes of tensors on the GPU
    is there too."""
    run = torch.autograd.graph._engine_run_backward

    class Computed(torch_modes.dispatch_mode()):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            tensors = list(tensors_in(torch.Tensor, (args, kwargs)))
            is_the_engines = isinstance(enter(), contextlib.nullcontext)  # and no call that the mapping looks at
            if is_the_engines and any(map(mapped.holds, tensors)):
                own = set(map(storage_key, tensors))
                mapped.add_all([each for each in tensors_in(torch.Tensor, result) if storage_key(each) not in own])
            return result

    def run_backward(outputs, gradients=(), *args, **kwargs):
        made = [gradient for output, gradient in zip(outputs, gradients) if gradient is not None and holds(output)]
        mapped.add_all(made)  # the ones that torch itself begins with
        with enter(), Computed():
            return run(outputs, gradients, *args, **kwargs)

    def holds(output: Any) -> bool:  # an output may be an edge of the graph
        return isinstance(output, torch.Tensor) and mapped.holds(output)

    return run_backward


def saved_hooks(torch: ModuleType, enter: Callable[[], Any]) -> Callable:
    """`saved_tensors_hooks.__init__`: the hooks of the author and of checkpoints are called with the mapping."""
    begin = torch.autograd.graph.saved_tensors_hooks.__init__

    def __init__(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        begin(self, with_mapping(pack_hook, enter), with_mapping(unpack_hook, enter))

    return __init__


def without_a_driver() -> Callable[[], None]:
    """torch's engine of derivatives asks CUDA's runtime for GPUs, and warns that it has none. Returns the undoing."""
    warnings.filterwarnings("ignore", "CUDA initialization: ", UserWarning)
    rule = warnings.filters[0]

    def undo() -> None:
        if rule in warnings.filters:
            warnings.filters.remove(rule)

    return undo
