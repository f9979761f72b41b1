"""Traced text to a callable: PTX, a native host function, and the calls between it and the device."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import struct
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dsl import interrupts
from dsl.core.state import Stack
from dsl.core.trace import EVENTS, SLOT_BYTES, Traced, jump_slot, out_slot
from dsl.launch import disk_cache, session
from dsl.launch.argument.returned_values import Result
from dsl.launch.call.compiling import compile_options as options
from dsl.launch.call.compiling.artifacts import Kept
from dsl.launch.call.limits import launch_limits, launch_refusal
from dsl.launch.devices.native_launch import NOTED_BYTES, Noted, Record, Run, Table, entry_by_python
from dsl.launch.devices.protocol import INVALID_LAUNCH, Device, DeviceError, Launch, with_machine_code
from dsl.lower.host import link
from dsl.lower.machine_code import compile_modules


@dataclass(frozen=True)
class Options:
    """How to compile. `gpu_arch` None is the device's own (or CUTE_DSL_ARCH); PTX is kept as a file in `dump_dir`."""

    gpu_arch: str | None = None
    opt_level: int = 3
    keep_ptx: bool = False
    keep_cubin: bool = False
    keep_sass: bool = False
    ptxas_options: str = ""
    nvdisasm_options: str | None = None
    dump_dir: str | None = None
    enable_tvm_ffi: bool = False
    no_cache: bool = False

    @staticmethod
    def from_text(text: str) -> Options:
        """Options as upstream spells them: "--gpu-arch sm_90a --keep-ptx". Raises DSLUserCodeError for others."""
        values = options.parse(text)
        if os.environ.get("CUTE_DSL_ENABLE_TVM_FFI", "0") not in ("", "0"):
            values["enable_tvm_ffi"] = True
        return Options(**values)


@dataclass(frozen=True)
class Code:
    """The code that a traced module was compiled to."""

    arch: str
    llvm: str
    ptx: str
    host: Any  # a ctypes function of the argument block
    address: int  # where it begins
    collectives: launch_limits.Collectives


DoesNotFit = struct.error  # a number is too large for its slot in the argument block

_codes: dict[tuple, Code] = {}
_CALLED = re.compile(r"(?:@|callee = @)([A-Za-z_]\w*)")
_PLACES = re.compile(r" loc\([^()\n]*\)|^#loc.*\n", re.MULTILINE)


def _code(traced: Traced, arch: str, opt_level: int, cached: bool = True) -> Code:
    """Compiled, or found by its text; from which line the host function is called makes no difference."""
    device_mlir = traced.device_mlir
    entry = session.current().device.launch_entry or entry_by_python()[0] if device_mlir else None
    jump = jump_slot(traced.slots) if traced.failures else None
    source = _PLACES.sub("", traced.host_mlir), device_mlir, arch, opt_level, jump
    key = (*source, entry)
    if key not in _codes:
        llvm, ptx, host_object = _stored(traced.host_mlir, source) if cached else _compile(traced.host_mlir, source)
        host = link(host_object, {"dsl_launch": entry, **interrupts.functions()} if entry else interrupts.functions())
        function = host.function("host", ctypes.c_int32, ctypes.c_void_p)
        _codes[key] = Code(arch, llvm, ptx, function, host.addresses["host"], launch_limits.Collectives(device_mlir))
    return _codes[key]


def _stored(host_mlir: str, source: tuple) -> tuple[str, str, bytes]:
    """`_compile` by way of the disk cache."""
    disk = disk_cache.current()
    if disk is None:
        return _compile(host_mlir, source)
    key = disk_cache.key("code", *source)
    cached = disk.get(key)
    if cached is None:
        compiled = _compile(host_mlir, source)
        disk.put(key, disk_cache.pack(compiled[0].encode(), compiled[1].encode(), compiled[2]))
        return compiled
    llvm, ptx, host_object = disk_cache.unpack(cached)
    return llvm.decode(), ptx.decode(), host_object


def _compile(host_mlir: str, source: tuple) -> tuple[str, str, bytes]:
    """LLVM IR and PTX of the kernels, and the host function's machine code."""
    placeless, device_mlir, arch, opt_level, jump = source
    host_mlir = host_mlir if "loc(" in placeless else placeless  # half as long
    launch_limits.check_collectives(device_mlir)
    return compile_modules(host_mlir, device_mlir, arch, opt_level, jump)


def compile(traced: Traced, options: Options = Options()) -> Compiled:
    """Compile both modules, or find them by their text. Raises lower's LoweringError and LoweringCrash."""
    with _targets.pushed(options):
        arch = architecture() if traced.kernels or options.gpu_arch else "sm_90a"
    launch_limits.check_shared_memory(traced, arch)
    launch_limits.check_needs(traced, arch)
    return Compiled(traced, options, _code(traced, arch, options.opt_level, not options.no_cache))


_targets: Stack[Options] = Stack()  # of the functions being traced


@contextmanager
def targeting(options: Options) -> Iterator[None]:
    """Compile the functions that are traced in this `with` with `options`."""
    with _targets.pushed(options):
        yield


def architecture() -> str:
    """The architecture that is compiled for: from the option, CUTE_DSL_ARCH, or the device."""
    chosen = _targets.top(Options()).gpu_arch or os.environ.get("CUTE_DSL_ARCH")
    return chosen or session.current().device.arch


class Compiled:
    """A compiled host function and its kernels, which a device loads when they first run."""

    lends_memory = False  # whether its language passes arrays of the host as they are, and does not copy them

    def __init__(self, traced: Traced, options: Options, code: Code):
        self.traced, self.options, self.code = traced, options, code
        slots = traced.slots.replace("P", "Q")
        self._pack_into = struct.Struct(
            "<Q" + "".join(f"{letter}{SLOT_BYTES - struct.calcsize(letter)}x" for letter in slots)
        ).pack_into
        self._prints = bool(set(_CALLED.findall(traced.host_mlir)) - {"host", "dsl_launch"})
        self.launches = bool(traced.kernels)
        self._returns = isinstance(traced.result, Result)
        self._frames: list[_Frame] = []  # of calls that have ended
        self._noted: dict[bytes, tuple] = {}  # by the log's bytes: their meaning
        self._out_bytes = SLOT_BYTES * out_slot(traced.slots, 0)
        self.block_bytes = self._out_bytes + SLOT_BYTES * getattr(traced.result, "slots", 0)
        self._loaded: tuple[Any, Any] | None = None  # device, program
        self._recorded: tuple[Any, list] | None = None  # session, its records of these kernels
        self.table = Table(len(traced.kernels))  # what machine code knows of the loaded program
        if traced.kernels:
            self.records(session.current())
        self.kept = Kept(traced.name, code.arch, code.ptx, lambda: traced.device_mlir, options)
        self.kept.write()

    @property
    def is_silent(self) -> bool:
        """Whether a call neither returns nor prints anything on the host."""
        return self.traced.result is None and not self._prints

    @property
    def ptx(self) -> str:
        """The PTX of all kernels, "" where none is launched."""
        return self.code.ptx

    def records(self, running: session.Session) -> list[session.KernelRecord]:
        """This module's kernels as `running` records them, in the order of `traced.kernels`."""
        if self._recorded is None or self._recorded[0] is not running:
            by_name = {(record.name, record.ptx): record for record in running.kernels}
            new_records = []
            for kernel in self.traced.kernels:
                record = by_name.get((kernel.name, self.code.ptx))
                if record is None:
                    code = self.code
                    record = session.KernelRecord(kernel.name, code.arch, self.traced.device_mlir, code.llvm, code.ptx)
                    running.kernels.append(record)
                new_records.append(record)
            self._recorded = running, new_records
            self._noted.clear()
        return self._recorded[1]

    def noted(self, one: bytes, running: session.Session) -> tuple:
        """An entry of a frame's log: the list it goes to, its facts, and kernel name and launch for the device."""
        self.records(running)  # of another session's than before the rows are others
        kept_record = self._noted.get(one)
        if kept_record is not None:
            return kept_record
        entry = Noted.from_buffer_copy(one.ljust(NOTED_BYTES))
        if len(self._noted) > 1024:
            self._noted.clear()
        launch = _launch_of(entry.record)
        facts = {"grid": list(launch.grid), "block": list(launch.block), "smem_bytes": launch.smem_bytes}
        record, name = self.records(running)[entry.index], self.traced.kernels[entry.index].name
        row = self._noted[one] = record.noted, facts, name, launch
        return row

    def call(
        self, slots: Sequence[int | float], storages: Sequence[tuple[int, int, str]] = (), device: Device | None = None
    ) -> Any:
        """Run the host function; what it returned. `storages` (address, bytes, label) are memory its kernels may touch.

        `device` is the device of the running session, if the caller knows it. Raises what a launch raised; the host
        function ends with the launch that failed. Raises DoesNotFit where a number is too large for its slot.
        """
        if device is None and self.launches:
            device = session.current().device
        if not storages or device is None:
            return self._run(device, slots)
        lent = device.lend(storages) if self.lends_memory and self.launches else []
        for storage in storages:
            device.register(*storage)
        try:
            return self._run(device, slots)
        finally:
            for address, _, _ in storages:
                device.unregister(address)
            device.take_back(lent)

    def _run(self, device: Device | None, slots: Sequence[int | float]) -> Any:
        """Call the native function; what it returned."""
        frame = self._frame(device)
        if frame.begin is not None and device is not None:
            frame.begin()
            device.unread = frame
        handle = frame.handle
        try:
            self._pack_into(frame.block, 0, handle, *slots)
        except DoesNotFit:
            self._frames.append(frame)
            raise
        _runs[handle] = frame
        if self._prints:
            print(end="", flush=True)  # printf of the host function writes past Python's buffer
        try:
            failed = self.code.host(frame.address)
        finally:
            del _runs[handle]
        if failed or frame.error is not None:
            frame.note()
            if frame.error is not None:
                raise frame.error
            if frame.native.code and device is not None:
                raise self.refused(device, frame.native.code)
            raise why(self, failed, struct.unpack_from("<q", frame.block)[0])
        if device is not None:
            try:
                device.sync()
            except BaseException:
                frame.note()
                raise
            if frame.begin is not None:
                native = frame.native
                native.ended = native.launched
        result = self.traced.result
        if self._returns:
            result = result.of_call(memoryview(frame.block)[self._out_bytes :])
        self._frames.append(frame)
        return result

    def refused(self, device: Device, code: int) -> BaseException:
        """The error of the last launch, which machine code made and which returned `code`."""
        error, kernels = device.refused(code), self.traced.kernels
        return launch_refusal.located(error, kernels[0], None) if len(kernels) == 1 else error

    def _frame(self, device: Device | None) -> _Frame:
        """A frame that no call uses; frames of another device are dropped."""
        if self._loaded is not None and self._loaded[0] is not device:
            self.table = Table(len(self.traced.kernels))
        frame = self._frames.pop() if self._frames else _Frame(self, device)
        if frame.device is device and frame.table is self.table:
            return frame
        frame.note()
        self.settle()
        self._frames.clear()
        return _Frame(self, device)

    def settle(self) -> None:
        """Note the launches of calls that have ended."""
        for frame in list(self._frames):
            frame.note()

    retire = settle

    def program(self, device: Device) -> Any:
        """The kernels, loaded by `device`."""
        if self._loaded is None or self._loaded[0] is not device:
            self._loaded = device, device.load(self.code.ptx)
        return self._loaded[1]


# --- from the native function back to Python ----------------------------------------------------------------------


class _Frame:
    """One call at a time of a host function: what machine code sees of it, and its argument block."""

    __slots__ = ("compiled", "device", "table", "native", "handle", "error", "block", "address", "log", "begin")

    def __init__(self, compiled: Compiled, device: Device | None):
        self.compiled, self.device, self.table = compiled, device, compiled.table
        self.error: BaseException | None = None
        self.native = self.table.run(_entry)
        self.handle = ctypes.addressof(self.native)
        self.block = ctypes.create_string_buffer(compiled.block_bytes)
        self.address, self.log = ctypes.addressof(self.block), memoryview(self.native).cast("B")[Run.log.offset :]
        self.begin: Callable[[], None] | None = None
        if device is not None and device.launch_entry is not None:
            if device.ends_launches_later:
                self.begin = device.begin
            with_machine_code.add(compiled)

    def note(self) -> None:
        """Write down what machine code launched: all of it, even if a signal's handler raises meanwhile."""
        native = self.native
        count = native.count
        if not count:
            return
        running, at = session.current(), -native.ended
        lists, additions, unheard = [], [], []
        for begin in range(0, count * NOTED_BYTES, NOTED_BYTES):
            one = bytes(self.log[begin : begin + Noted.times.offset])
            noted, facts, name, launch = self.compiled.noted(one, running)
            times = 1 if native.launched == count else Noted.from_address(self.handle + Run.log.offset + begin).times
            at += times
            lists.append(noted)
            additions.append([facts] * times)
            unheard += [(name, launch)] * (min(times, at) if self.begin is not None else 0)
        writing = map(list.extend, lists, additions)
        # Python hears signals after a call: between taking the counts back and the one call that writes there is none.
        native.count = native.launched = native.ended = 0
        deque(writing, maxlen=0)
        if self.device is not None:
            for name, launch in unheard:
                self.device.launched(name, launch)


_runs: dict[int, _Frame] = {}  # by handle: a native function may be running in every thread


def enter(compiled: Compiled, device: Device | None) -> _Frame:
    """A frame for machine code that calls the host function without `Compiled.call`, until `leave`."""
    frame = _Frame(compiled, device)
    _runs[frame.handle] = frame
    return frame


def leave(frame: _Frame) -> None:
    """No machine code runs in this frame any more."""
    frame.note()
    _runs.pop(frame.handle, None)


def why(compiled: Compiled, failed: int, number: int) -> BaseException:
    """The error that ended a host function that returned `failed`, which is not 0, if no launch of it has failed.

    `number`: what it left in the first slot of its block.
    """
    return interrupts.raised() if failed == interrupts.RAISED else compiled.traced.failures[failed - 1].error(number)


def _entry(handle: int, index: int, record: int, params: int) -> int:
    """`dsl_launch`: 0, or 1 once a launch of this run has failed. Machine code keeps what a signal's handler raises
    before the first statement: see emu_call_python."""
    run = _runs[handle]
    if run.error is None:
        try:
            run.note()
            _launch(run, index, Record.from_address(record), params)
        except BaseException as error:
            run.error = error
    return 0 if run.error is None else 1  # no call: after one Python hears signals, and here nobody would catch


def _launch_of(record: Record) -> Launch:
    return _launch_of_bytes(bytes(record))


@functools.lru_cache(1024)
def _launch_of_bytes(text: bytes) -> Launch:
    record = Record.from_buffer_copy(text)
    return Launch(
        tuple(record.grid),
        tuple(record.block),
        tuple(record.cluster),
        record.smem_bytes,
        record.stream,
        record.flags & ~EVENTS,
        tuple(record.events) if record.flags & EVENTS else (0, 0),
    )


def _launch(run: _Frame, index: int, record: Record, params: int) -> None:
    kernel, launch, device = run.compiled.traced.kernels[index], _launch_of(record), run.device
    assert device is not None  # the frame of a function that launches has one
    addresses = (ctypes.c_void_p * max(len(kernel.params), 1)).from_address(params)
    values = [ctypes.string_at(address, size_bytes) for address, (_, size_bytes) in zip(addresses, kernel.params)]
    noted = run.compiled.records(session.current())[index]
    noted.launched(launch.grid, launch.block, launch.smem_bytes)
    try:
        if launch.smem_bytes < 0:
            raise DeviceError("CUDA_ERROR_INVALID_VALUE", "", INVALID_LAUNCH)
        run.compiled.code.collectives.check(kernel.name, launch.block)
        program = run.compiled.program(device)
        device.launch(program, kernel.name, launch, values)
    except DeviceError as error:
        raise launch_refusal.located(error, kernel, launch) from None
    if device.launch_entry is not None:  # from now on without Python
        handle, allowed_smem_bytes = device.function(program, kernel.name, launch)
        run.table.allowed_smem_bytes[index] = allowed_smem_bytes
        run.table.functions[index], run.table.program = handle, program
