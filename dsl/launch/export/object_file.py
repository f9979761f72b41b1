"""`export_to_c`: a compiled function as NAME.o and NAME.h, or as one object for TVM FFI.

The object has the machine code of the host function and the PTX of its kernels. `about` is what Python reads to call
it: a line with the format, then the parameters, the kernels and the texts, pickled.
"""

from __future__ import annotations

import io
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dsl.core.errors import DSLUserCodeValueError
from dsl.core.trace import jump_slot
from dsl.core.traced_program import Traced
from dsl.launch.argument.abi import Static
from dsl.launch.argument.containers import ContainerType
from dsl.launch.argument.signature import Signature
from dsl.launch.export import c_header
from dsl.launch.export.c_header import NotExported
from dsl.lower import exported

FORMAT = b"compiled function, format 1, python %d.%d\n" % sys.version_info[:2]
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def export(
    signature: Signature, traced: Traced, arch: str, ptx: str, folder: str, file_name: str, name: str | None = None
) -> None:
    """Write `file_name`.o and `file_name`.h into `folder`, for a function called `name`. Raises NotExported."""
    name = _checked(name or file_name, "function_prefix")
    text = c_header.header(name, signature, traced)
    code = _object(name, signature, traced, arch, ptx)
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    (path / f"{file_name}.h").write_text(text)
    (path / f"{file_name}.o").write_bytes(code)


def export_packed(signature: Signature, traced: Traced, arch: str, ptx: str, file: str, name: str) -> None:
    """Write an object for `load_module(..., enable_tvm_ffi=True)`. Raises NotExported."""
    c_header.refuse_results(traced)
    code = _object(_checked(name, "function_name"), signature, traced, arch, ptx, _PACKED.format(name=name))
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_bytes(code)


def _checked(name: str, parameter: str) -> str:
    if not _IDENTIFIER.fullmatch(name):
        raise DSLUserCodeValueError(
            f"{parameter} must be a C identifier, got {name!r}", fix="letters, digits and _", id="EXPORT_BAD_NAME"
        )
    return name


def _object(name: str, signature: Signature, traced: Traced, arch: str, ptx: str, functions: str = "") -> bytes:
    about = FORMAT + _pickled({"signature": signature, "traced": traced, "arch": arch})
    symbols = exported.symbols(name)
    constants = {symbols["ptx"]: ptx.encode() + b"\0", symbols["about"]: len(about).to_bytes(8, "little") + about}
    if functions:
        constants |= {f"{name}__kind": b"RuntimeError\0", f"{name}__why": _WHY.encode() + b"\0"}
    jump = jump_slot(traced.slots) if traced.failures else None
    return exported.object_file(name, traced.host_mlir, jump, constants, functions)


# What TVM FFI's own loader finds: the function runs where Python can bind its arguments.
_WHY = "this function was exported for Python: cutlass.cute.runtime.load_module(FILE, enable_tvm_ffi=True)"
_PACKED = """
declare void @TVMFFIErrorSetRaisedFromCStr(ptr, ptr)
define i32 @__tvm_ffi_{name}(ptr %self, ptr %args, i32 %count, ptr %result) {{
  call void @TVMFFIErrorSetRaisedFromCStr(ptr @{name}__kind, ptr @{name}__why)
  ret i32 -1
}}
"""


# --- what Python reads ------------------------------------------------------------------------------------------------


class _Pickler(pickle.Pickler):
    """Types of arguments: a list's or tuple's without the functions that take it apart."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, ContainerType):
            if obj.kind not in (list, tuple):
                raise NotExported(f"an exported function cannot take a {obj}", "pass its parts")
            return _sequence, (obj.kind, obj.names, obj.types)
        if isinstance(obj, Static):
            _refuse_own(obj.value)
        return NotImplemented


def _sequence(kind: type, names: tuple, types: tuple) -> ContainerType:
    return ContainerType(kind, names, types, list, kind)


_PLAIN: tuple[type, ...] = (str, int, float, bool, bytes, type(None))


def _refuse_own(value: Any) -> None:
    """A static value that another process cannot have."""
    of_the_compiler = isinstance(value, type) and value.__module__.startswith("dsl.")
    if not isinstance(value, _PLAIN) and not of_the_compiler:
        raise NotExported(
            f"{value!r} is part of the code and checked at each call, which another process cannot",
            "mark its parameter as cutlass.Constexpr",
        )


def _pickled(value: Any) -> bytes:
    stream = io.BytesIO()
    try:
        _Pickler(stream, protocol=5).dump(value)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise NotExported(f"an argument is not exported: {error}", "pass tensors and numbers") from None
    return stream.getvalue()


def read_about(data: bytes, what: str) -> dict[str, Any]:
    """The data that `_object` wrote. Raises DSLUserCodeValueError for another format."""
    if not data.startswith(FORMAT):
        line = data.partition(b"\n")[0].decode("ascii", "replace")
        raise DSLUserCodeValueError(
            f"{what} was exported by another release ({line}), this one reads {FORMAT.decode().strip()}",
            fix="export it again",
            id="EXPORT_OTHER_FORMAT",
        )
    load: Callable[[bytes], dict] = pickle.loads
    return load(data[len(FORMAT) :])
