"""torch's graphs on the emulator: `torch.cuda.graph` writes down launches and torch's operations, `replay` makes
them again on the same memory.

As on a GPU, what is written down does not run: when the capture ends, a kernel has written nothing, and an operation
that writes into a tensor has left it as it was. The result of an operation has its place, which belongs to the graph.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Protocol

from dsl.launch.devices.torch_mapping import torch_modes

_NOT_PERMITTED = "CUDA error: operation not permitted when stream is capturing"
_MODES = ("global", "thread_local", "relaxed")


class Launching(Protocol):
    """A device whose launches can be written down."""

    captured: Callable[[Callable[[], None]], None] | None  # given: what gets each launch instead of its being made
    can_capture: bool


class Tensors(Protocol):
    """The tensors that pretend to be on the GPU."""

    capture: Capture | None

    def holds(self, tensor: Any) -> bool: ...
    def add_all(self, tensors: list[Any], function: Any = None) -> None: ...


class Capture:
    """A capture that goes on. Steps are functions without arguments, in order; `memory` belongs to the graph."""

    def __init__(self, torch: ModuleType, mapped: Tensors):
        self._torch, self._mapped = torch, mapped
        self.steps: list[Callable[[], None]] = []
        self.memory: list[Any] = []
        self._is_paused = self._makes_on_gpu = False
        self._mode = _recorder(self)

    def begin(self, device: Launching) -> None:
        """Write down what follows."""
        self._mapped.capture, device.captured = self, self.steps.append
        self._mode.__enter__()

    def end(self, device: Launching) -> None:
        """Write down no more."""
        self._mode.__exit__(None, None, None)
        self._mapped.capture = device.captured = None

    @contextlib.contextmanager
    def making(self, on_gpu: bool) -> Iterator[None]:
        """Tensors made in this `with` are on the GPU, or are not."""
        before, self._makes_on_gpu = self._makes_on_gpu, on_gpu
        try:
            yield
        finally:
            self._makes_on_gpu = before

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Operations in this `with` do not belong to the program."""
        before, self._is_paused = self._is_paused, True
        try:
            yield
        finally:
            self._is_paused = before

    def keep(self, tensors: list[Any]) -> None:
        """Hold memory that was made during the capture for as long as the graph lives."""
        self.memory += [tensor.detach() for tensor in tensors]

    def refuse(self, what: str) -> None:
        """Raise what torch raises where the host asks for a value that is not there yet."""
        raise _error(self._torch)(f"{_NOT_PERMITTED}: {what}")

    def operate(self, function: Any, args: tuple, kwargs: dict) -> Any:
        """One operation of torch, as its dispatcher sees it; what it returns."""
        tensors = _tensors(self._torch, (args, kwargs))
        if self._is_paused or not (self._makes_on_gpu or any(map(self._mapped.holds, tensors))):
            return function(*args, **kwargs)
        if function._schema.name in _ASKS:
            self.refuse(f"{function._schema.name.removeprefix('aten::_')} reads a tensor of the GPU")
        with self.paused():
            written = [(tensor, tensor.clone()) for tensor in _written(self._torch, function, args, kwargs)]
            result = function(*args, **kwargs)
            for tensor, before in written:
                tensor.copy_(before)
            own = {_storage(tensor) for tensor in tensors}
            made = [
                (index, each) for index, each in enumerate(_tensors(self._torch, result)) if _storage(each) not in own
            ]
            if function._schema.name in _UNWRITTEN:
                for _, each in made:
                    each.zero_()  # an index that no kernel has written yet is one that can be asked for
            self._mapped.add_all([each for _, each in made], function)
            if (made or written) and function._schema.name not in _UNWRITTEN:
                self.steps.append(self._again(function, args, kwargs, made))
        return result

    def _again(self, function: Any, args: tuple, kwargs: dict, made: list[tuple[int, Any]]) -> Callable[[], None]:
        """The step that repeats an operation on the tensors' memory, into the memory that it made first."""
        torch = self._torch
        from torch.utils._pytree import tree_map

        def bare(value: Any) -> Any:
            return value.detach() if isinstance(value, torch.Tensor) else value

        args, kwargs = tree_map(bare, args), tree_map(bare, kwargs)
        places = [(index, each.detach()) for index, each in made]

        def step() -> None:
            with torch.no_grad(), torch._C.DisableTorchFunction():
                results = _tensors(torch, function(*args, **kwargs))
                for index, place in places:
                    place.copy_(results[index])

        return step


_ASKS = {
    "aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::_unique2", "aten::equal",
    "aten::unique_consecutive", "aten::unique_dim",
}  # fmt: skip
_UNWRITTEN = {"aten::empty", "aten::empty_like", "aten::empty_strided", "aten::new_empty", "aten::new_empty_strided"}


def _error(torch: ModuleType) -> type[RuntimeError]:
    """torch's error of a GPU: since 2.9 it has a name."""
    return getattr(torch, "AcceleratorError", RuntimeError)


def _recorder(capture: Capture) -> Any:
    class Recorder(torch_modes.dispatch_mode()):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            return capture.operate(function, args, kwargs or {})

    return Recorder()


def _tensors(torch: ModuleType, value: Any) -> list[Any]:
    from torch.utils._pytree import tree_leaves

    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _storage(tensor: Any) -> int:
    return tensor.untyped_storage()._cdata


def _written(torch: ModuleType, function: Any, args: tuple, kwargs: dict) -> list[Any]:
    """The tensors that an operation writes into."""
    named = dict(zip((argument.name for argument in function._schema.arguments), args)) | kwargs
    writes = [argument.name for argument in function._schema.arguments if argument.is_write]
    return _tensors(torch, [named[name] for name in writes if name in named])


def stand_ins(torch: ModuleType, device: Any, mapped: Tensors) -> Iterator[tuple[Any, str, Any]]:
    """torch's names for graphs, mapped to this device: (owner, name, stand-in)."""
    handles = itertools.count(1)

    class CUDAGraph:
        """The operations that a capture has written down."""

        def __init__(self, keep_graph: bool = False):
            self._capture: Capture | None = None
            self._done: Capture | None = None
            self._pool = (0, next(handles))

        def capture_begin(self, pool=None, capture_error_mode: str = "global", check_input_liveness: bool = False):
            if capture_error_mode not in _MODES:
                raise RuntimeError(
                    f"Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, "
                    f"got {capture_error_mode}"
                )
            if not device.can_capture:
                raise RuntimeError("torch.cuda.graph: a session that records or plays back launches has no graphs")
            if mapped.capture is not None:
                raise _error(torch)(f"{_NOT_PERMITTED}: another capture goes on")
            self._pool = pool or self._pool
            self._capture = Capture(torch, mapped)
            self._capture.begin(device)

        def capture_end(self) -> None:
            if self._capture is None:
                raise RuntimeError("capture_end() needs a capture_begin() before it")
            self._capture.end(device)
            self._done, self._capture = self._capture, None

        def instantiate(self) -> None:
            """It can be replayed as it is."""
            self._ready()

        def replay(self) -> None:
            for step in self._ready().steps:
                step()

        def _ready(self) -> Capture:
            if self._done is None:
                raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
            return self._done

        def reset(self) -> None:
            self._done = None

        def pool(self) -> tuple[int, int]:
            return self._pool

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            raise NotImplementedError(f"torch.cuda.CUDAGraph.{name} is not part of the emulator")

    class graph(contextlib.ContextDecorator):
        """`with torch.cuda.graph(g):` captures into `g`."""

        def __init__(self, cuda_graph, pool=None, stream=None, capture_error_mode="global", **options):
            if wrong := {name for name, value in options.items() if value}:
                raise NotImplementedError(f"torch.cuda.graph: `{min(wrong)}` is not part of the emulator")
            self.cuda_graph, self._pool, self._mode = cuda_graph, pool, capture_error_mode

        def __enter__(self) -> None:
            self.cuda_graph.capture_begin(self._pool, self._mode)

        def __exit__(self, *_) -> None:
            self.cuda_graph.capture_end()

    def is_current_stream_capturing() -> bool:
        return mapped.capture is not None

    def graph_pool_handle() -> tuple[int, int]:
        return 0, next(handles)

    for owner in (torch.cuda, torch.cuda.graphs):
        for stand_in in (CUDAGraph, graph, is_current_stream_capturing, graph_pool_handle):
            yield owner, stand_in.__name__, stand_in
