"""libcuda.so.1 in a process that has the device: what C++ asks here (in_process.h), and which device answers.

A process has one device at a time, and may have several, one after another.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import sys
from collections.abc import Callable
from typing import Any

from dsl.interrupts import Rang, called_by_machine_code, heard_in_caller, raise_in_caller
from dsl.launch.devices.protocol import INVALID_LAUNCH, DeviceError, Launch, with_machine_code
from dsl.launch.driver import answers, messages, results
from dsl.launch.driver.messages import Reader

LABEL = "memory allocated through the CUDA driver"
_REGISTERED = "host memory registered with the CUDA driver"
_LOCK_OF_PYTHON = "PyGILState_Check", "PyEval_SaveThread", "PyEval_RestoreThread"
_NOTED, _MOST_NOTED = struct.Struct("<QII11I4x"), 64  # as in in_process.cc
_ASK = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint64)
_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint64)


class InProcess(answers.Answers):
    """The answers of a device. `images` are asked in turn for the PTX of an image at an address, `launched` hears of
    each launch."""

    def __init__(self, device: Any) -> None:
        super().__init__(device)
        self.images: list[Callable[[int], str | None]] = []
        self.launched: Callable[[str, Any, Launch], None] | None = device.hears
        self.by_question |= {
            messages.IMAGE: self._image,
            messages.ALLOCATE: self._allocate,
            messages.FREE: self._free,
            messages.RANGE: self._range,
            messages.REGISTER: self._register,
            messages.UNREGISTER: self._unregister,
            messages.REFUSED: self._refused,
            messages.HAS_TORCH: self._has_torch,
            messages.FAILED: self._failed,
        }

    def failed(self, error: BaseException) -> None:
        """Hear why a call failed, if more is known than its code."""
        print(error, file=sys.stderr, flush=True)
        self.device.printed = error
        self.device.failed(error)

    # ** modules and launches

    def not_loaded(self, error: Exception) -> tuple[int, bytes]:
        self.failed(error)
        return results.INVALID_PTX, b""

    def told(self, sentence: str) -> None:
        self.failed(DeviceError("CUDA_ERROR_INVALID_VALUE", sentence))

    def run(self, work: Callable[[], None], name: str) -> tuple[int, bool]:
        """The launch itself answers an error, and the session hears of it: the context is not lost."""
        work()
        return results.SUCCESS, False

    def launch(self, program: Any, name: str, launch: Launch, params: list[bytes]) -> None:
        self.device.stopped_at = ""
        if self.launched is not None:
            self.launched(name, program, launch)
        self.device.launch(program, name, launch, params)

    def again(self, program: Any, name: str, launch: Launch) -> int:
        return super().again(program, name, launch) if getattr(self.device, "can_capture", False) else 0

    def _launch(self, reader: Reader) -> tuple[int, bytes]:
        """With the address of what tells machine code to let Python look at parameters."""
        result, more = super()._launch(reader)
        host_memory = getattr(self.device, "host_memory", None)
        return result, more + struct.pack("<Q", ctypes.addressof(host_memory.looks) if host_memory is not None else 0)

    def _failed(self, reader: Reader) -> tuple[int, bytes]:
        """Machine code made a launch, which failed."""
        self.device.stopped_at = ""
        raise self.device.refused(reader.take("QQ")[0])

    def noted(self, rows: bytes) -> None:
        """Hear of launches that machine code made."""
        for module, index, times, *words in _NOTED.iter_unpack(rows):
            program, kernels = self._programs[module]
            launch = Launch(tuple(words[:3]), tuple(words[3:6]), tuple(words[6:9]), words[9])
            for _ in range(times):
                if self.launched is not None:
                    self.launched(kernels[index].name, program, launch)

    def _image(self, reader: Reader) -> tuple[int, bytes]:
        address, _ = reader.take("QQ")
        texts = (look(address) for look in self.images)
        return results.SUCCESS, next((text.encode() for text in texts if text is not None), b"")

    def _refused(self, reader: Reader) -> tuple[int, bytes]:
        self.failed(DeviceError("CUDA_ERROR_INVALID_VALUE", reader.rest().decode(), INVALID_LAUNCH))
        return results.INVALID_VALUE, b""

    # ** memory

    def _allocate(self, reader: Reader) -> tuple[int, bytes]:
        nbytes, _ = reader.take("QQ")
        try:
            return results.SUCCESS, answers.ROW.pack(self.device.alloc(nbytes, LABEL), nbytes)
        except MemoryError:
            return results.OUT_OF_MEMORY, b""

    def _free(self, reader: Reader) -> tuple[int, bytes]:
        address, _ = reader.take("QQ")
        try:
            self.device.free(address)
        except ValueError:
            return results.INVALID_VALUE, b""
        return results.SUCCESS, b""

    def _range(self, reader: Reader) -> tuple[int, bytes]:
        """Start and size of the memory on the device that contains an address."""
        address, _ = reader.take("QQ")
        memory = getattr(self.device, "memory", None)
        for each in memory.allocations() if memory is not None else ():
            if each.address <= address < each.end:
                return results.SUCCESS, answers.ROW.pack(each.address, each.size_bytes)
        return results.INVALID_VALUE, b""

    def _register(self, reader: Reader) -> tuple[int, bytes]:
        self.device.register(*reader.take("QQ"), _REGISTERED)
        return results.SUCCESS, b""

    def _unregister(self, reader: Reader) -> tuple[int, bytes]:
        self.device.unregister(reader.take("QQ")[0])
        return results.SUCCESS, b""

    def _has_torch(self, reader: Reader) -> tuple[int, bytes]:
        """torch begins the driver on its first use, and programs count on that."""
        return results.SUCCESS if "torch" in sys.modules else results.NOT_INITIALIZED, b""


class _Functions(ctypes.Structure):
    """The functions that C++ calls, as in_process.cc has them."""

    _fields_ = [("ask", _ASK), ("launch", _LAUNCH), *((name, ctypes.c_void_p) for name in _LOCK_OF_PYTHON)]


class Driver:
    """The library in this process."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self.current: InProcess | None = None
        self._rows = ctypes.create_string_buffer(_NOTED.size * _MOST_NOTED)
        with_machine_code.add(self)
        pointers = [ctypes.cast(ctypes.pythonapi[name], ctypes.c_void_p) for name in _LOCK_OF_PYTHON]
        ask = _ASK(called_by_machine_code(self._answer))
        launch = _LAUNCH(heard_in_caller(functools.partial(self._answer, messages.LAUNCH), results.UNKNOWN))
        self._functions = _Functions(ask, launch, *pointers)
        self._attach(None)

    def use(self, device: InProcess | None) -> Callable[[], None]:
        """Answer by this device from now on, or as a machine without one; returns what ends that."""
        before = self.current
        self._attach(device)
        return functools.partial(self._attach, before)

    def settle(self) -> None:
        """Note the launches that machine code made since anybody looked."""
        count = self.library.gpu_repro_take_noted(self._rows)
        if count and self.current is not None:
            self.current.noted(self._rows.raw[: count * _NOTED.size])

    retire = settle

    def _attach(self, device: InProcess | None) -> None:
        self.settle()
        self.current = device
        self.library.gpu_repro_attach(ctypes.byref(self._functions) if self.current is not None else None)

    def end(self) -> None:
        """Python ends."""
        self.library.gpu_repro_end()

    def is_module(self, handle: int) -> bool:
        return bool(self.library.gpu_repro_is_module(ctypes.c_void_p(handle)))

    def _answer(self, what: int, data: int | None, nbytes: int) -> int:
        own = self.current
        assert own is not None
        try:
            if what in (messages.LAUNCH, messages.UNLOAD):
                self.settle()
            result, more = own.by_question[what](Reader(ctypes.string_at(data or 0, nbytes) if nbytes else b""))
        except Rang as rang:  # the signal's handler runs next
            own.device.stopped_at = "\n".join(getattr(rang, "__notes__", ()))
            return results.LAUNCH_FAILED
        except KeyboardInterrupt as error:
            raise_in_caller(error)
            return results.UNKNOWN
        except BaseException as error:
            own.failed(error)
            return results.of(error)
        if more:
            self.library.gpu_repro_answer(more, ctypes.c_uint64(len(more)))
        return result
