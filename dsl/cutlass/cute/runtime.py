"""`cutlass.cute.runtime`: arguments from Python."""

from dsl.core.diagnosis.author_traceback import guard as _guard
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.launch.argument.fake_arguments import make_fake_compact_tensor, make_fake_stream, make_fake_tensor
from dsl.launch.argument.runtime_pointer import make_ptr, nullptr
from dsl.launch.argument.runtime_tensor import from_dlpack
from dsl.launch.call.compiling.exported import load_module

__all__ = [
    "AddressSpace",
    "Pointer",
    "find_runtime_libraries",
    "from_dlpack",
    "load_module",
    "make_fake_compact_tensor",
    "make_fake_stream",
    "make_fake_tensor",
    "make_ptr",
    "nullptr",
]


def find_runtime_libraries(*, enable_tvm_ffi: bool = True) -> list[str]:
    """The libraries that an exported object is linked with: the library of TVM FFI, if it was exported for that."""
    if not enable_tvm_ffi:
        return []
    from dsl.launch.call import ffi_function

    return [ffi_function.library_file()]


_guard(globals())
__getattr__ = _refuser("cutlass.cute.runtime")
