"""Errors, the device, contexts, streams and events.  CUDA driver API, sections 6.3 to 6.19.

There is one device, and one queue that is always empty: a launch returns when its kernel has. So a wait for a stream
or an event returns at once, and the time of an event is the time of the host.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from dsl.launch.devices.protocol import Device
from dsl.launch.driver import attributes, results, tables
from dsl.launch.driver.calls import Handles, Int, Long, Pointer, Refused, Unsigned, put, put_if, refuse_if

_INT, _UNSIGNED, _SIZE, _POINTER, _FLOAT = (
    ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_float,
)  # fmt: skip
_LEGACY_STREAMS = (0, 1, 2)  # the null stream, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD
_DISABLE_TIMING = 2  # CU_EVENT_DISABLE_TIMING
_LIMITS = {0: 1024, 1: 1 << 20, 2: 8 << 20, 3: 2, 4: 2048, 5: 64, 6: 0}  # CUlimit: its value at first
_PRIORITIES = (0, -5)  # the least and the greatest priority of a stream


@dataclass
class Context:
    """A context; the primary one is the one that the runtime and torch use."""

    flags: int = 0
    limits: dict[int, int] = field(default_factory=lambda: dict(_LIMITS))
    cache: int = 0


@dataclass
class Stream:
    flags: int = 0
    priority: int = 0


@dataclass
class Event:
    """`seconds`: when it was recorded last."""

    flags: int = 0
    seconds: float | None = None


class _Process:
    has_begun = False  # by cuInit, once for all drivers of the process


class Contexts:
    """The first part of the driver API; the others build on its `handles`."""

    def __init__(self, device: Device):
        self.device = device
        self.handles = Handles()
        self.primary = Context()
        self.primary_handle = self.handles.add(self.primary)
        self.retained = 0
        self.uses_primary = False  # where no context is current
        self._stacks = threading.local()
        self._texts: dict[str, Any] = {}

    # ** what ended badly

    def failed(self, error: BaseException) -> None:
        """Hear why a call failed, if more is known than its code."""
        print(error, file=sys.stderr, flush=True)
        if self.device is not None:
            self.device.failed(error)

    def stopped(self, rang: BaseException) -> None:
        """Hear that a signal has ended a launch."""

        self.device.stopped_at = "\n".join(getattr(rang, "__notes__", ()))

    def variables(self) -> list[Any]:
        """The memory of the variables of loaded modules, as allocations of the emulator."""
        return []

    # ** errors and versions

    def cuInit(self, flags: Unsigned) -> None:
        refuse_if(flags)
        _Process.has_begun = True

    def cuDriverGetVersion(self, version: Pointer) -> None:
        put(version, _INT, attributes.DRIVER_VERSION)

    def cuGetErrorName(self, code: Int, text: Pointer) -> None:
        self._text(code, text, 0)

    def cuGetErrorString(self, code: Int, text: Pointer) -> None:
        self._text(code, text, 1)

    def _text(self, code: int, text: int | None, part: int) -> None:
        row = tables.errors().get(code)
        if row is None:
            put_if(text, _POINTER, None)
            raise Refused(results.INVALID_VALUE)
        kept = self._texts.setdefault(row[part], ctypes.create_string_buffer(row[part].encode()))
        put(text, _POINTER, ctypes.addressof(kept))

    # ** the device

    def ready(self) -> None:
        """Refuse a call before cuInit; torch begins the driver on its first use, and programs count on that."""
        refuse_if(not (_Process.has_begun or "torch" in sys.modules), results.NOT_INITIALIZED)

    def _of(self, device: int) -> None:
        self.ready()
        refuse_if(device != 0, results.INVALID_DEVICE)

    def cuDeviceGet(self, device: Pointer, ordinal: Int) -> None:
        self._of(ordinal)
        put(device, _INT, 0)

    def cuDeviceGetCount(self, count: Pointer) -> None:
        self.ready()
        put(count, _INT, 1)

    def cuDeviceGetName(self, name: Pointer, room: Int, device: Int) -> None:
        self._of(device)
        refuse_if(not name or room < 1)
        text = attributes.NAME.encode()[: room - 1] + b"\0"
        ctypes.memmove(name or 0, text, len(text))

    def cuDeviceGetUuid(self, uuid: Pointer, device: Int) -> None:
        self._of(device)
        refuse_if(not uuid)
        ctypes.memmove(uuid or 0, attributes.UUID, 16)

    def cuDeviceTotalMem(self, nbytes: Pointer, device: Int) -> None:
        self._of(device)
        put(nbytes, _SIZE, attributes.TOTAL_BYTES)

    def cuDeviceGetAttribute(self, value: Pointer, attribute: Int, device: Int) -> None:
        self._of(device)
        refuse_if(not 1 <= attribute < attributes.COUNT)
        put(value, _INT, attributes.ATTRIBUTES.get(attribute, 0))

    def cuDeviceComputeCapability(self, major: Pointer, minor: Pointer, device: Int) -> None:
        self.cuDeviceGetAttribute(major, 75, device)
        self.cuDeviceGetAttribute(minor, 76, device)

    def cuDeviceCanAccessPeer(self, can: Pointer, device: Int, peer: Int) -> None:
        self._of(device)
        self._of(peer)
        put(can, _INT, 0)

    def cuDeviceGetPCIBusId(self, text: Pointer, room: Int, device: Int) -> None:
        self._of(device)
        refuse_if(not text or room < 13)
        ctypes.memmove(text or 0, b"0000:01:00.0\0", 13)

    # ** contexts

    @property
    def _stack(self) -> list[int]:
        """The contexts that this thread pushed, the current one last."""
        if not hasattr(self._stacks, "pushed"):
            self._stacks.pushed = []
        return self._stacks.pushed

    def current(self) -> Context:
        """The current context; refused if there is none."""
        self.ready()
        handle = self.current_handle()
        refuse_if(not handle, results.INVALID_CONTEXT)
        return self.handles.get(handle, Context, results.INVALID_CONTEXT)

    def current_handle(self) -> int:
        """Compiled host functions and torch have the primary context where none is current."""
        if self._stack:
            return self._stack[-1]
        return self.primary_handle if self.uses_primary or "torch" in sys.modules else 0

    def cuDevicePrimaryCtxRetain(self, context: Pointer, device: Int) -> None:
        self._of(device)
        put(context, _POINTER, self.primary_handle)
        self.retained += 1

    def cuDevicePrimaryCtxRelease(self, device: Int) -> None:
        self._of(device)
        refuse_if(not self.retained, results.INVALID_CONTEXT)
        self.retained -= 1

    def cuDevicePrimaryCtxReset(self, device: Int) -> None:
        self._of(device)

    def cuDevicePrimaryCtxSetFlags(self, device: Int, flags: Unsigned) -> None:
        self._of(device)
        self.primary.flags = flags

    def cuDevicePrimaryCtxGetState(self, device: Int, flags: Pointer, active: Pointer) -> None:
        self._of(device)
        put(flags, _UNSIGNED, self.primary.flags)
        put(active, _INT, int(bool(self.retained or self.uses_primary)))

    def cuCtxCreate(self, context: Pointer, flags: Unsigned, device: Int) -> None:
        self._of(device)
        handle = self.handles.add(Context(flags))
        put(context, _POINTER, handle)
        self._stack.append(handle)

    def cuCtxCreate_v3(self, context: Pointer, affinity: Pointer, count: Int, flags: Unsigned, device: Int) -> None:
        refuse_if(count, results.NOT_SUPPORTED)
        self.cuCtxCreate(context, flags, device)

    def cuCtxCreate_v4(self, context: Pointer, parameters: Pointer, flags: Unsigned, device: Int) -> None:
        self.cuCtxCreate(context, flags, device)

    def cuCtxDestroy(self, context: Pointer) -> None:
        self.ready()
        refuse_if(context == self.primary_handle, results.INVALID_CONTEXT)
        self.handles.get(context, Context, results.INVALID_CONTEXT)
        self.handles.remove(context, Context)
        if self._stack and self._stack[-1] == context:
            self._stack.pop()

    def cuCtxPushCurrent(self, context: Pointer) -> None:
        self.ready()
        self.handles.get(context, Context, results.INVALID_CONTEXT)
        self._stack.append(context or 0)

    def cuCtxPopCurrent(self, context: Pointer) -> None:
        self.current()
        put_if(context, _POINTER, self.current_handle())
        if self._stack:
            self._stack.pop()

    def cuCtxSetCurrent(self, context: Pointer) -> None:
        self.ready()
        if context:
            self.handles.get(context, Context, results.INVALID_CONTEXT)
        if self._stack:
            self._stack.pop()
        if context:
            self._stack.append(context)

    def cuCtxGetCurrent(self, context: Pointer) -> None:
        self.ready()
        put(context, _POINTER, self.current_handle())

    def cuCtxGetDevice(self, device: Pointer) -> None:
        self.current()
        put(device, _INT, 0)

    def cuCtxGetDevice_v2(self, device: Pointer, context: Pointer) -> None:
        self._context(context)
        put(device, _INT, 0)

    def _context(self, handle: int | None) -> Context:
        """A context, or for 0 the current one."""
        return self.handles.get(handle, Context, results.INVALID_CONTEXT) if handle else self.current()

    def cuCtxGetFlags(self, flags: Pointer) -> None:
        put(flags, _UNSIGNED, self.current().flags)

    def cuCtxGetId(self, context: Pointer, number: Pointer) -> None:
        self._context(context)
        put(number, ctypes.c_uint64, (context or self.current_handle()) >> 4)

    def cuCtxGetApiVersion(self, context: Pointer, version: Pointer) -> None:
        self._context(context)
        put(version, _UNSIGNED, 3020)

    def cuCtxSynchronize(self) -> None:
        self.current()
        self.device.sync()

    def cuCtxSynchronize_v2(self, context: Pointer) -> None:
        self._context(context)
        self.device.sync()

    def cuCtxGetLimit(self, value: Pointer, limit: Int) -> None:
        limits = self.current().limits
        refuse_if(limit not in limits)
        put(value, _SIZE, limits[limit])

    def cuCtxSetLimit(self, limit: Int, value: Long) -> None:
        limits = self.current().limits
        refuse_if(limit not in limits)
        limits[limit] = value

    def cuCtxGetCacheConfig(self, config: Pointer) -> None:
        put(config, _INT, self.current().cache)

    def cuCtxSetCacheConfig(self, config: Int) -> None:
        self.current().cache = config

    def cuCtxGetStreamPriorityRange(self, least: Pointer, greatest: Pointer) -> None:
        self.current()
        put_if(least, _INT, _PRIORITIES[0])
        put_if(greatest, _INT, _PRIORITIES[1])

    def cuCtxResetPersistingL2Cache(self) -> None:
        self.current()

    def cuProfilerStart(self) -> None:
        self.current()

    def cuProfilerStop(self) -> None:
        self.current()

    # ** streams

    def stream(self, handle: int | None) -> Stream:
        """A stream; the default ones are always there."""
        self.current()
        return Stream() if (handle or 0) in _LEGACY_STREAMS else self.handles.get(handle, Stream)

    def cuStreamCreate(self, stream: Pointer, flags: Unsigned) -> None:
        self.cuStreamCreateWithPriority(stream, flags, 0)

    def cuStreamCreateWithPriority(self, stream: Pointer, flags: Unsigned, priority: Int) -> None:
        self.current()
        refuse_if(flags > 1 or not stream)
        least, greatest = _PRIORITIES
        put(stream, _POINTER, self.handles.add(Stream(flags, min(max(priority, greatest), least))))

    def cuStreamDestroy(self, stream: Pointer) -> None:
        self.current()
        self.handles.remove(stream, Stream)

    def cuStreamSynchronize(self, stream: Pointer) -> None:
        self.stream(stream)
        self.device.sync()

    def cuStreamQuery(self, stream: Pointer) -> None:
        self.stream(stream)

    def cuStreamWaitEvent(self, stream: Pointer, event: Pointer, flags: Unsigned) -> None:
        self.stream(stream)
        self.handles.get(event, Event)

    def cuStreamGetFlags(self, stream: Pointer, flags: Pointer) -> None:
        put(flags, _UNSIGNED, self.stream(stream).flags)

    def cuStreamGetPriority(self, stream: Pointer, priority: Pointer) -> None:
        put(priority, _INT, self.stream(stream).priority)

    def cuStreamGetCtx(self, stream: Pointer, context: Pointer) -> None:
        self.stream(stream)
        put(context, _POINTER, self.current_handle())

    def cuStreamGetDevice(self, stream: Pointer, device: Pointer) -> None:
        self.stream(stream)
        put(device, _INT, 0)

    def cuStreamGetId(self, stream: Pointer, number: Pointer) -> None:
        self.stream(stream)
        put(number, ctypes.c_uint64, (stream or 0) >> 4 or stream or 0)

    def cuStreamIsCapturing(self, stream: Pointer, status: Pointer) -> None:
        self.stream(stream)
        put(status, _INT, 0)

    def cuLaunchHostFunc(self, stream: Pointer, function: Pointer, data: Pointer) -> None:
        self.stream(stream)
        refuse_if(not function)
        ctypes.CFUNCTYPE(None, _POINTER)(function or 0)(data)

    def cuStreamAddCallback(self, stream: Pointer, function: Pointer, data: Pointer, flags: Unsigned) -> None:
        self.stream(stream)
        refuse_if(not function or flags)
        ctypes.CFUNCTYPE(None, _POINTER, _INT, _POINTER)(function or 0)(stream, results.SUCCESS, data)

    # ** events

    def cuEventCreate(self, event: Pointer, flags: Unsigned) -> None:
        self.current()
        refuse_if(flags & ~7 or not event)
        put(event, _POINTER, self.handles.add(Event(flags)))

    def cuEventDestroy(self, event: Pointer) -> None:
        self.current()
        self.handles.remove(event, Event)

    def cuEventRecord(self, event: Pointer, stream: Pointer) -> None:
        self.stream(stream)
        self.handles.get(event, Event).seconds = time.perf_counter()

    def cuEventRecordWithFlags(self, event: Pointer, stream: Pointer, flags: Unsigned) -> None:
        refuse_if(flags > 1)
        self.cuEventRecord(event, stream)

    def cuEventQuery(self, event: Pointer) -> None:
        self.current()
        self.handles.get(event, Event)

    def cuEventSynchronize(self, event: Pointer) -> None:
        self.cuEventQuery(event)
        self.device.sync()

    def cuEventElapsedTime(self, milliseconds: Pointer, start: Pointer, end: Pointer) -> None:
        self.current()
        events = [self.handles.get(each, Event) for each in (start, end)]
        refuse_if(any(each.seconds is None or each.flags & _DISABLE_TIMING for each in events), results.INVALID_HANDLE)
        put(milliseconds, _FLOAT, (events[1].seconds - events[0].seconds) * 1e3)

    def cuGetExportTable(self, table: Pointer, key: Pointer) -> None:
        """NVIDIA's tables of functions without names: there are none."""
        put_if(table, _POINTER, None)
        raise Refused(results.NOT_FOUND)

    def cuModuleGetLoadingMode(self, mode: Pointer) -> None:
        put(mode, _INT, 2)  # CU_MODULE_LAZY_LOADING
