"""torch's streams and events on the emulator, whose one stream is always empty: launches return when done."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any

from dsl.launch.devices.torch_mapping.torch_devices import names_cuda

_BLOCKING_SYNC, _DISABLE_TIMING = 1, 2  # CU_EVENT_...


class Event:
    """A CUDA event; kernels are done when their launch returns, so its time is the time of the host."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, **_):
        self.seconds: float | None = None
        self._flags = blocking * _BLOCKING_SYNC | (not enable_timing) * _DISABLE_TIMING
        self._handle: Any = None

    @property
    def cuda_event(self) -> int:
        """The driver's handle, which there is once the event was recorded."""
        if self.seconds is None:
            return 0
        if self._handle is None:
            from cuda.bindings import driver

            status, self._handle = driver.cuEventCreate(self._flags)
            if status.value:
                raise RuntimeError(f"CUDA error: {status.name}")
            weakref.finalize(self, driver.cuEventDestroy, self._handle).atexit = False
        return int(self._handle)

    def record(self, stream: Any = None) -> None:
        self.seconds = time.perf_counter()

    def synchronize(self) -> None:
        """It has happened."""

    def wait(self, stream: Any = None) -> None:
        """It has happened."""

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this event to `end`. Raises RuntimeError where either was not recorded."""
        if self.seconds is None or end.seconds is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end.seconds - self.seconds) * 1e3


def only_stream(torch: ModuleType, device: Any) -> Any:
    """`torch.cuda.Stream()` of a device, whose `sync` waits."""

    class Stream:
        """The one stream: everything happens in order."""

        cuda_stream = 0
        one: Stream | None = None

        def __new__(cls, device=None, *args, **kwargs):
            names_cuda(torch, device)
            cls.one = cls.one or super().__new__(cls)
            return cls.one

        def synchronize(self) -> None:
            device.sync()

        def query(self) -> bool:
            return True

        def wait_stream(self, stream: Any) -> None:
            """Already in order."""

        wait_event = wait_stream

        def record_event(self, event: Event | None = None) -> Event:
            event = event or Event()
            event.record(self)
            return event

        def __enter__(self):
            return self

        def __exit__(self, *_) -> None:
            """Nothing was switched."""

    return Stream()


def record_stream(stream_type: type) -> Callable:
    """`Tensor.record_stream`. torch's own reads its argument before it asks a mode, and knows its own streams alone."""

    def record_stream(self: Any, stream: Any) -> None:
        if not isinstance(stream, stream_type):
            raise TypeError(f"record_stream() takes a torch.cuda.Stream, not {type(stream).__name__}")
        if not self.is_cuda:
            raise NotImplementedError(
                "record_stream() is for tensors on the GPU. fix: move the tensor there with .cuda()"
            )

    return record_stream
