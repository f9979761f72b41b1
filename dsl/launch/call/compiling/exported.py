"""`load_module`: functions that `export_to_c` wrote, called from Python without compiling anything.

Their machine code is linked into this process, or found in a shared library; their kernels' PTX goes to the session's
device. Arguments are bound as for any compiled function.
"""

from __future__ import annotations

import ctypes
import dataclasses
import importlib.util
from pathlib import Path
from typing import Any

from dsl.core.diagnosis import author_traceback
from dsl.core.errors import DSLUserCodeAttributeError, DSLUserCodeError, DSLUserCodeValueError
from dsl.launch import session
from dsl.launch.call.compiling import compiler
from dsl.launch.call.jit import CompiledFunction
from dsl.launch.call.limits import launch_limits
from dsl.launch.devices.native_launch import entry_by_python
from dsl.launch.export.object_file import read_about
from dsl.lower import exported, host

_ABOUT = "__about"


class Module:
    """An object file or a shared library; its functions are attributes, and `module["name"]` is one too."""

    def __init__(self, path: str | Path, enable_tvm_ffi: bool = False):
        self._path, self._packed = Path(path), enable_tvm_ffi
        if not self._path.is_file():
            raise DSLUserCodeValueError(
                f"there is no file {str(path)!r}", fix="write it with export_to_c", id="EXPORT_NO_FILE"
            )
        self._bytes = self._path.read_bytes()
        if not self._bytes.startswith(b"\x7fELF"):
            raise DSLUserCodeValueError(
                f"{str(path)!r} is neither an object file nor a shared library",
                fix="name what export_to_c wrote, or what a linker made of it",
                id="EXPORT_NO_FILE",
            )
        self._needed = _tvm_ffi() if b"\0TVMFFIErrorSetRaisedFromCStr\0" in self._bytes else {}
        self._library = _shared(self._path) if int.from_bytes(self._bytes[16:18], "little") == _SHARED else None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if f"\0{name}{_ABOUT}\0".encode() not in self._bytes:
            raise DSLUserCodeAttributeError(
                f"{str(self._path)!r} has no function `{name}` of this compiler",
                fix="its name is the function_prefix (or function_name) of export_to_c",
                id="EXPORT_NO_FUNCTION",
            )
        function = _function_class(self._packed)(name, _addresses(self, name))
        setattr(self, name, function)
        return function

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    __iter__ = None  # its functions are asked by name


_SHARED = 3  # e_type ET_DYN


def _shared(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path.resolve()))
    except OSError as error:
        raise DSLUserCodeError(
            f"the shared library cannot be loaded: {error}",
            fix="link it with cute.runtime.find_runtime_libraries(...), where it was exported for TVM FFI",
            id="EXPORT_NOT_LOADED",
        ) from None


def _addresses(module: Module, name: str) -> tuple[dict[str, int], Any]:
    """The addresses of a function's parts in this process, and the object that keeps them there."""
    symbols = exported.symbols(name)
    if module._library is None:
        native = host.link(module._bytes, module._needed, tuple(symbols.values()))
        return {part: native.addresses[symbol] for part, symbol in symbols.items()}, native
    library = module._library
    return {part: ctypes.addressof(ctypes.c_char.in_dll(library, symbol)) for part, symbol in symbols.items()}, library


def _tvm_ffi() -> dict[str, int]:
    """The address of the TVM FFI function that an object exported for it calls; a shared library is linked with it.
    Without apache-tvm-ffi nobody reaches that call."""
    name = "TVMFFIErrorSetRaisedFromCStr"
    if importlib.util.find_spec("tvm_ffi") is None:
        return {name: 0}
    from dsl.launch.call import ffi_function

    library = ctypes.CDLL(ffi_function.library_file())
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0}


class ExportedFunction(CompiledFunction):
    """A function of a module, called as the compiled function that was exported."""

    def __init__(self, name: str, found: tuple[dict[str, int], Any]):
        addresses, self._keep_alive = found
        size = ctypes.c_uint64.from_address(addresses["about"]).value
        about = read_about(ctypes.string_at(addresses["about"] + 8, size), f"`{name}`")
        self.name, self.arguments, self._binder = name, about["signature"], None
        self._launch = ctypes.c_void_p.from_address(addresses["launch"])
        self._use_session()
        traced = dataclasses.replace(about["traced"], name=name)
        ptx = ctypes.string_at(addresses["ptx"]).decode()
        function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(addresses["host"])
        collectives = launch_limits.Collectives(traced.device_mlir)
        code = compiler.Code(about["arch"], "", ptx, function, addresses["host"], collectives)
        self.compiled = compiler.Compiled(traced, compiler.Options(gpu_arch=about["arch"]), code)

    def _use_session(self) -> None:
        """Launch on the session's device."""
        self._launch.value = session.current().device.launch_entry or entry_by_python()[0]

    def _run(self, args: tuple, keywords: dict):
        self._use_session()
        return super()._run(args, keywords)


def _function_class(packed: bool) -> type[ExportedFunction]:
    if packed and importlib.util.find_spec("tvm_ffi"):
        from dsl.launch.call import ffi_function

        return ffi_function.function_class(ExportedFunction)
    return ExportedFunction


@author_traceback.guarded
def load_module(file_path: str | Path, *, enable_tvm_ffi: bool = False) -> Module:
    """The functions of an object file that `export_to_c` wrote, or of a shared library made of such files.

    Raises DSLUserCodeValueError for another file; a name it has not raises an AttributeError.
    """
    return Module(file_path, enable_tvm_ffi)
