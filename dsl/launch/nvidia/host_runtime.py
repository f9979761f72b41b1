"""The CUDA runtime that host functions of nvidia-cutlass-dsl call by C names (CUTE_DSL_LIBS), on the device.

`_cudaX` and `_cuX` take the arguments of cudaX and cuX. A function that the device lacks ends the run with its name.
Compiled code knows no exceptions: the session keeps them.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import io
import re
import sys
from collections.abc import Callable
from typing import Any

from dsl.launch.devices.protocol import DeviceError, Launch
from dsl.launch.driver import library, results, shared_object
from dsl.launch.nvidia import errors

SONAME = "libcute_dsl_runtime_of_device.so"
_INT, _POINTER, _TEXT = ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p
_INIT = ctypes.CFUNCTYPE(_INT, _POINTER)
# The next release keeps all names of a release, 84 in 4.8.1; these are the ones not called like a function of CUDA.
_OWN = {
    "cuda_dialect_init_library_once": (_POINTER, _POINTER, _POINTER),
    "cuda_dialect_unload_library_once": (),
    "cuda_dialect_assert_success": (_INT,),
    "cuda_dialect_print_on_error": (_INT,),
    "CuteDSLRT_TVMFFISetRaisedCudaError": (_INT,),
    "CuteDSLRT_TVMFFISetRaisedCudaLaunchError": (_INT,),
}
_SAME = {"_cudaLaunchKernelEx": "cudaLaunchKernelExC"}  # of another name in CUDA
# Host functions leave out the last arguments of these functions: all their arguments (_KINDS), the values used instead.
_KINDS = {"p": _POINTER, "i": _INT, "u": ctypes.c_uint, "z": ctypes.c_size_t}
_FIRST, _DEFAULT_STREAM, _ANY_DIRECTION = 0, 0, 4
_SHORTER = {
    "_cudaDeviceGetAttribute": ("pii", (_FIRST,)),
    "_cuDeviceGet": ("pi", (_FIRST,)),
    "_cudaSetDevice": ("i", (_FIRST,)),
    "_cuKernelGetAttribute": ("pipi", (_FIRST,)),
    "_cudaKernelSetAttributeForDevice": ("piii", (_FIRST,)),
    "_cudaEventRecord": ("pp", (_DEFAULT_STREAM,)),
    "_cudaMallocAsync": ("pzp", (_DEFAULT_STREAM,)),
    "_cudaFreeAsync": ("pp", (_DEFAULT_STREAM,)),
    "_cudaMemcpy": ("ppzi", (_ANY_DIRECTION,)),
    "_cudaMemcpyAsync": ("ppzip", (_ANY_DIRECTION, _DEFAULT_STREAM)),
    "_cudaMemsetAsync": ("pizp", (_DEFAULT_STREAM,)),
    "_cudaStreamWaitEvent": ("ppu", (0,)),
}
_LACKING_TEXT = ("CuteDSLRT_GetErrorName", "CuteDSLRT_GetErrorString")
_LACKING = (
    "CuteDSLRT_Function_Run CuteDSLRT_Module_Create_From_Bytes CuteDSLRT_Module_Destroy CuteDSLRT_Module_Get_Function "
    "CuteDSLRT_NvJaxCutlassCallExecute CuteDSLRT_NvJaxCutlassCallExecuteNoCudaGraph "
    "CuteDSLRT_NvJaxCutlassCallExecuteNoCudaGraph_v1 CuteDSLRT_NvJaxCutlassCallExecuteNoCudaGraph_v2 "
    "CuteDSLRT_NvJaxCutlassCallExecute_v1 CuteDSLRT_NvJaxCutlassCallExecute_v2 "
    "CuteDSLRT_NvJaxCutlassCallInstantiate_v2 CuteDSLRT_NvJaxCutlassCallPrepare CuteDSLRT_NvJaxCutlassCallPrepare_v1 "
    "CuteDSLRT_NvJaxCutlassCallPrepare_v2 CuteDSLRT_NvJaxCutlassCallStateTypeId_v2 "
    "CuteDSLRT_NvJaxCutlassCallStateTypeInfo_v2 _cuLibraryGetManaged _cuLibraryGetUnifiedFunction _cudaGraphDestroy "
    "_cudaGraphExecDestroy _cudaGraphInstantiate _cudaGraphLaunch _cudaLaunchKernel _cudaLibraryGetManaged "
    "_cudaLibraryGetUnifiedFunction _cudaStreamBeginCapture _cudaStreamEndCapture"
).split()
_OF_DEVICE = (
    "_cudaLibraryLoadData _cuLibraryLoadData _cudaLibraryGetKernel _cuLibraryGetKernel _cudaLaunchKernelEx "
    "_cudaLibraryUnload _cuLibraryUnload _cuKernelGetAttribute _cudaFuncSetAttribute _cudaKernelSetAttributeForDevice "
    "_cudaOccupancyMaxActiveBlocksPerMultiprocessor _cudaGetDevice _cuDeviceGet _cudaGetDeviceCount _cudaSetDevice "
    "_cudaDeviceSynchronize _cudaDeviceGetAttribute _cudaGetDeviceProperties _cudaMalloc _cudaMallocAsync "
    "_cudaMallocHost _cudaMallocManaged _cudaFree _cudaFreeAsync _cudaFreeHost _cudaMemcpy _cudaMemcpyAsync "
    "_cudaMemset _cudaMemsetAsync _cudaStreamCreate _cudaStreamDestroy _cudaStreamSynchronize _cudaStreamWaitEvent "
    "_cudaStreamAddCallback _cudaEventCreate _cudaEventRecord _cudaEventDestroy _cudaEventElapsedTime "
    "_cudaProfilerStart _cudaProfilerStop _cuTensorMapEncodeTiled _cuLibraryGetGlobal _cudaLibraryGetGlobal "
    "_cuLibraryGetKernelCount _cudaLibraryGetKernelCount _cuLibraryGetModule _cuLibraryLoadFromFile "
    "_cudaLibraryLoadFromFile"
).split()


class Missing(Exception):
    """A compiled host function called a function of the CUDA runtime that the emulator has nothing for."""


class _Current:
    run: Any = None


@functools.cache
def functions() -> dict[str, Any]:
    """The functions of ctypes by their C names."""
    table: dict[str, Any] = {name: _lacking(name, _INT) for name in _LACKING}
    table |= {name: _lacking(name, _POINTER) for name in _LACKING_TEXT}
    table |= {name: ctypes.CFUNCTYPE(_INT, *kinds)(globals()[f"_{name}"]) for name, kinds in _OWN.items()}
    own, of_runtime = library.load(), library.runtime()
    assert own is not None  # a session has one
    for name in _OF_DEVICE:
        plain = _SAME.get(name, name[1:])
        function = of_runtime[plain] if plain.startswith("cuda") else own.library[plain]
        table[name] = _with_last(function, *_SHORTER[name]) if name in _SHORTER else function
    table["cuda_dialect_get_error_name"] = of_runtime["cudaGetErrorName"]
    get_kernel = _by_handle_or_its_place(
        _called(of_runtime["cudaLibraryGetKernel"], _POINTER, _POINTER, _TEXT), own.is_module
    )
    return table | dict.fromkeys(("_cudaLibraryGetKernel", "_cuLibraryGetKernel"), get_kernel)


@functools.cache
def path() -> str:
    """Where NVIDIA's JIT finds the library. Raises shared_object.NoSharedObject."""
    return shared_object.path_of(SONAME, list(functions()))


def use(run: Any) -> None:
    """Answer host functions for this session, on the driver that is in use."""
    shared_object.load(path(), list(functions()), functions().__getitem__)
    driver = library.load()
    assert driver is not None and driver.current is not None
    own, _Current.run = driver.current, run
    driver.library.cuInit(0)  # as NVIDIA's runtime does for its host functions
    driver.library.gpu_repro_use_primary()
    own.images.insert(0, lambda image: _ptx(run, image))
    own.failed, own.launched = lambda error: _failed(run, error), lambda *launch: _launched(run, *launch)
    _print_in_one_order()


def _print_in_one_order() -> None:
    """Let printf of host functions, print() and kernels write at once, as under `python -u`."""
    libc = ctypes.CDLL(None)
    libc.setvbuf(_POINTER.in_dll(libc, "stdout"), None, 2, 0)
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper) and isinstance(out.buffer, io.BufferedWriter):
        out.flush()
        raw = io.FileIO(out.fileno(), "w", closefd=False)
        sys.stdout = io.TextIOWrapper(raw, out.encoding, out.errors, write_through=True)  # type: ignore[arg-type]


def _ptx(run: Any, image: int) -> str | None:
    """The PTX of a fat binary whose cubin this run compiled."""
    module = run.module_of(image)
    if module is None:
        return None
    return _columns_from_1(module.ptx)


def _columns_from_1(ptx: str) -> str:
    """PTX whose places count columns from 1, as DWARF and our own do; this compiler counts from 0."""
    return _COLUMN.sub(lambda found: f"{found[1]}{int(found[2]) + 1}", ptx)


_COLUMN = re.compile(r"((?:^[ \t]*\.loc|\binlined_at)[ \t]+\d+[ \t]+\d+[ \t]+)(\d+)", re.MULTILINE)


def _failed(run: Any, error: BaseException) -> None:
    run.failure = error
    if isinstance(error, Missing) or not isinstance(error, Exception):
        run.broken = error


def _launched(run: Any, name: str, program: Any, launch: Launch) -> None:
    if run.broken is not None:
        raise run.broken
    for module in reversed(run.modules.values()):
        if name in module.kernels:
            module.kernels[name].launched(launch.grid, launch.block, launch.smem_bytes)
            return


def _lacking(name: str, result: Any) -> Any:
    """A function that ends the run with its name."""

    def call() -> int | None:
        run = _Current.run
        if run is not None:
            _failed(run, Missing(f"the compiled host function calls `{name}`, which the emulator does not have"))
        return results.NOT_SUPPORTED if result is _INT else None

    return ctypes.CFUNCTYPE(result)(call)


def _called(function: Any, *kinds: Any) -> Any:
    """A C function with these arguments, which Python may call."""
    return ctypes.cast(function, ctypes.CFUNCTYPE(_INT, *kinds))


def _with_last(function: Any, letters: str, last: tuple[int, ...]) -> Any:
    """A C function of the first arguments; the others are `last`."""
    kinds = [_KINDS[each] for each in letters]
    whole = _called(function, *kinds)
    return ctypes.CFUNCTYPE(_INT, *kinds[: -len(last)])(lambda *arguments: whole(*arguments, *last))


def _by_handle_or_its_place(get_kernel: Any, is_module: Callable[[int], bool]) -> Any:
    """Host functions of 4.3 give, through TVM FFI, the place where the library's handle is kept."""

    def call(kernel: int, handle: int, name: bytes) -> int:
        if not is_module(handle):
            handle = ctypes.c_size_t.from_address(handle).value
        return get_kernel(kernel, handle, name)

    return ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, _TEXT)(call)


# ** functions that CUDA does not have


def _cuda_dialect_init_library_once(library: int, init: int, load: int) -> int:
    """`init` and `load` are compiled with the host function: one loads its module, the other asks for the kernels."""
    code = 0 if _POINTER.from_address(library).value else _INIT(init)(library)
    code = code or _INIT(load)(library)
    if code:
        _CuteDSLRT_TVMFFISetRaisedCudaError(code)  # the caller is TVM FFI and raises no other error here
    return code


def _cuda_dialect_unload_library_once() -> int:
    return results.SUCCESS


def _cuda_dialect_assert_success(code: int) -> int:
    """A host function ends its process where a call failed that it counts on; here it ends the run."""
    run = _Current.run
    if code and run is not None and run.broken is None:
        _failed(run, run.failure or DeviceError(_name_of(code), "a call of the CUDA runtime failed"))
        run.broken = run.failure
    return code


def _cuda_dialect_print_on_error(code: int) -> int:
    if code:
        print(f"CUDA error {code}: {_name_of(code)}", file=sys.stderr)
    return code


def _name_of(code: int) -> str:
    from cuda.bindings.driver import CUresult  # noqa: PLC0415

    try:
        return CUresult(code).name
    except ValueError:
        return f"CUDA error {code}"


def _CuteDSLRT_TVMFFISetRaisedCudaError(code: int) -> int:
    """Leave the error that a failing function owes TVM FFI."""
    run = _Current.run
    if "tvm_ffi" in sys.modules and run is not None:
        ffi = importlib.import_module("tvm_ffi").LIB
        run.told = run.failure
        text = f"{errors.RAISED_FOR_FFI} {code}\n{run.told or ''}".rstrip().replace("\0", "")
        ffi.TVMFFIErrorSetRaisedFromCStr(b"RuntimeError", text.encode())
    return results.SUCCESS


_CuteDSLRT_TVMFFISetRaisedCudaLaunchError = _CuteDSLRT_TVMFFISetRaisedCudaError
