"""Functions compiled with --enable-tvm-ffi: real `tvm_ffi.Function`s, whose calls are machine code.

The machine code (packed_call) reads plain arguments itself and launches on devices that have machine code for it. All
else goes the way of every compiled function: the first call in a session, devices that must hear of storages, arguments
by name, containers, numbers to be converted, and everything that is wrong.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

from dsl.core.diagnosis import author_traceback
from dsl.core.errors import DSLUserCodeTypeError
from dsl.launch import session
from dsl.launch.argument import dlpack
from dsl.launch.argument.signature import Signature
from dsl.launch.call import packed_call
from dsl.launch.call.compiling import compiler
from dsl.launch.call.packed_call import CUDA, FAILED, State
from dsl.launch.devices.protocol import with_machine_code
from dsl.launch.export import object_file
from dsl.lower.host import native

_CAREFUL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32)


def library_file() -> str:
    """Where TVM FFI's own library is. Raises ImportError without apache-tvm-ffi."""
    import tvm_ffi.libinfo

    return tvm_ffi.libinfo.find_libtvm_ffi()


@functools.cache
def _library() -> ctypes.CDLL:
    """TVM FFI's own library."""
    library = ctypes.CDLL(library_file())
    library.TVMFFIErrorSetRaisedFromCStr.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    library.TVMFFIErrorSetRaisedFromCStr.restype = None
    library.TVMFFIEnvGetStream.restype = ctypes.c_void_p
    return library


class Machine:
    """The machine code of one function, and what it reaches. TVM FFI's objects keep it alive."""

    def __init__(self, signature: Signature, compiled: compiler.Compiled):
        self.signature, self.compiled, self.state = signature, compiled, State()
        self.frame: Any = None
        letters = "".join(type_.slot_formats() for type_ in signature.types)
        self.native = (
            letters == compiled.traced.slots and compiled.is_silent and packed_call.native_types(signature.types)
        )
        text = packed_call.llvm_ir(signature.types if self.native else (), compiled.block_bytes)
        library = _library()
        self._careful = _CAREFUL(self._explain)
        functions = library.TVMFFIErrorSetRaisedFromCStr, library.TVMFFIEnvGetStream, self._careful
        addresses = [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions]
        self.code = native(
            text, dict(zip(packed_call.IMPORTS, [*addresses, ctypes.addressof(self.state)])), packed_call.EXPORTS
        )
        self._take = self.code.function("take", ctypes.c_int32)
        self.state.host = compiled.code.address

    def __del__(self, is_ending=sys.is_finalizing):  # bound here: late at exit this module's names are None
        if not is_ending():
            self._drop_frame()

    # --- readiness --------------------------------------------------------------------------------------------------

    def prepare(self, running: session.Session | None) -> bool:
        """After a call that went well: let machine code make the next, if the device has some. Whether it has."""
        if not self.native:
            return False
        device, state = running and running.device, self.state
        if self.compiled.launches:
            assert device is not None  # what launches is given the session
            if device.native_calls is None or device.launch_entry is None:
                return False
            state.begin, state.begin_argument, state.sync = device.native_calls
            state.device_type = CUDA if device.kind == "cuda" else 0
        if self.frame is None or self.frame.device is not device or self.frame.table is not self.compiled.table:
            self._drop_frame()
            self.frame = compiler.enter(self.compiled, device)
            state.run = self.frame.handle
        state.ready = 1
        return True

    def retire(self) -> None:
        """Before the session ends: no more calls by machine code, and note what there were."""
        self.state.ready = 0
        self.settle()

    def settle(self) -> None:
        """Note the launches machine code made, unless it is making one."""
        if self.frame is not None and self.frame.native.count and self._take():
            try:
                self.frame.note()
            finally:
                self.state.busy = 0

    def _drop_frame(self) -> None:
        if self.frame is not None:
            compiler.leave(self.frame)
            self.frame = None

    # --- what machine code does not do --------------------------------------------------------------------------------

    def failure(self) -> BaseException | None:
        """The error that ended the last call, if it ran; None if it was refused."""
        state = self.state
        if state.outcome != FAILED:
            return None
        try:
            frame, device = self.frame, self.frame.device
            self.frame.note()
            error, code = frame.error, frame.native.code
            frame.error, frame.native.code = None, 0
            if error is not None:
                return error
            if code:
                return self.compiled.refused(device, code)
            if state.failed:
                return compiler.why(self.compiled, state.failed, state.number)
            try:
                device.sync()
            except Exception as waited:
                return waited
            return RuntimeError("a launch failed, but the device does not report how")
        finally:
            state.outcome = state.busy = 0

    def _explain(self, args: int, count: int, result: int, outcome: int) -> int:
        """`dsl_careful`: the call again in Python, or why it failed. Must not raise: machine code called."""
        try:
            error = self.failure() if outcome == FAILED else None
            if error is None:
                values = [_value(args + packed_call.ANY_BYTES * index) for index in range(count)]
                slots, binding = self.signature.bind(values)
                _return(self.compiled.call(slots, binding.storages), result)
                self.prepare(session.current() if self.compiled.launches else None)
                return 0
        except BaseException as raised:
            error = raised
        kind = next(base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins")
        _library().TVMFFIErrorSetRaisedFromCStr(kind.encode(), str(error).encode())
        return -1


# --- values of TVM FFI in Python --------------------------------------------------------------------------------------


class _Tensor:
    """A tensor of a packed call, for whoever binds arguments."""

    def __init__(self, address: int):
        self.view = dlpack.view_at(address, self)


def _value(address: int) -> Any:
    """The value of a TVMFFIAny. A Python object is its own value."""
    kind, at = ctypes.c_int32.from_address(address).value, address + 8
    if kind == packed_call.NONE:
        return None
    if kind == packed_call.INT:
        return ctypes.c_int64.from_address(at).value
    if kind == packed_call.BOOL:
        return bool(ctypes.c_int64.from_address(at).value)
    if kind == packed_call.FLOAT:
        return ctypes.c_double.from_address(at).value
    value = ctypes.c_uint64.from_address(at).value
    if kind == packed_call.OPAQUE_POINTER:
        return value
    if kind == packed_call.DL_TENSOR:
        return _Tensor(value)
    if kind == packed_call.TENSOR:
        return _Tensor(value + packed_call.OBJECT_BYTES)
    if kind == packed_call.OPAQUE_PYTHON:
        return ctypes.cast(ctypes.c_uint64.from_address(value + packed_call.OBJECT_BYTES).value, ctypes.py_object).value
    if kind in packed_call.SEQUENCES:
        cell = value + packed_call.OBJECT_BYTES
        data, size = (ctypes.c_uint64.from_address(cell + 8 * index).value for index in range(2))
        return [_value(data + packed_call.ANY_BYTES * index) for index in range(size)]
    return "" if kind in packed_call.STRINGS else object()  # which no parameter takes


def _return(value: Any, result: int) -> None:
    """Leave what the function returned. Raises DSLUserCodeTypeError for what a packed call cannot bring."""
    if value is None:
        return
    for python, kind, stored in (
        (bool, packed_call.BOOL, ctypes.c_int64),
        (int, packed_call.INT, ctypes.c_int64),
        (float, packed_call.FLOAT, ctypes.c_double),
    ):
        if type(value) is python:
            ctypes.c_int64.from_address(result).value = kind
            stored.from_address(result + 8).value = value
            return
    raise DSLUserCodeTypeError(
        f"returns a {type(value).__name__}, but a packed call returns a number or nothing",
        fix="call it from Python, or store the values in a tensor",
    )


# --- the function itself ----------------------------------------------------------------------------------------------


@functools.cache
def function_class(base: type) -> type:
    """`base`, a class of compiled functions, as one of `tvm_ffi.Function`s.
    Raises ImportError without apache-tvm-ffi."""
    import tvm_ffi

    class FFIFunction(base, tvm_ffi.Function):
        """A compiled function that is a `tvm_ffi.Function` too."""

        def __init__(self, *arguments):
            super().__init__(*arguments)
            self._machine = machine = Machine(self.arguments, self.compiled)
            make_function = tvm_ffi.Function.__from_extern_c__
            self.__move_handle_from__(make_function(machine.code.addresses["packed_call"], keep_alive_object=machine))
            self._machine_call = make_function(
                machine.code.addresses["packed_call_or_refusal"], keep_alive_object=machine
            )
            self._machine_call.release_gil = False
            self._quick: Any = None  # the same, while machine code is ready
            with_machine_code.add(self)

        def __call__(self, *args, **keywords):
            quick = self._quick
            if quick is not None and not keywords:
                try:
                    return quick(*args)
                except Exception:  # refused, or failed: which, the machine knows
                    error = self._machine.failure()
                if error is not None:
                    raise error
            try:
                returned = super().__call__(*args, **keywords)
            except DSLUserCodeTypeError:
                if not dlpack.requires_gradient([*args, *keywords.values()]):
                    raise
                # TVM FFI reads torch its own way, which takes them
                keywords = {name: dlpack.without_gradient(value) for name, value in keywords.items()}
                returned = super().__call__(*map(dlpack.without_gradient, args), **keywords)
            if quick is None and self._machine.prepare(session.current() if self.compiled.launches else None):
                self._quick = self._machine_call
            return returned

        @author_traceback.guarded
        def export_to_c(self, object_file_path: str, function_name: str = "main") -> None:
            """Write an object for `load_module(..., enable_tvm_ffi=True)`: docs/export.md. Raises NotExported."""
            traced, code = self.compiled.traced, self.compiled.code
            object_file.export_packed(self.arguments, traced, code.arch, code.ptx, object_file_path, function_name)

        def settle(self) -> None:
            self._machine.settle()

        def retire(self) -> None:
            self._quick = None
            self._machine.retire()

    return FFIFunction
