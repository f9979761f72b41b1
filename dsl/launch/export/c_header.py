"""The C header of an exported function: a type for each tensor, and `cute_dsl_NAME_wrapper`, which calls the function.

A tensor's type has its address, its dynamic extents and its dynamic strides; what is static is part of the code. The
wrapper puts its arguments into the 8-byte slots that the function reads (core.trace).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dsl.core.errors import DSLUserCodeRuntimeError
from dsl.core.trace import out_slot
from dsl.core.traced_program import Traced
from dsl.launch.argument.abi import PointerType, ScalarType, Static, StreamType, TensorType
from dsl.launch.argument.containers import ContainerType
from dsl.launch.argument.signature import Signature
from dsl.launch.argument.symbolic_int import SymInt

LAUNCH_H = Path(__file__).with_name("launch.h")
_C_TYPES = {
    "i": "int32_t",
    "I": "uint32_t",
    "q": "int64_t",
    "Q": "uint64_t",
    "h": "int16_t",
    "H": "uint16_t",
    "b": "int8_t",
    "B": "uint8_t",
    "?": "int8_t",
    "f": "float",
    "d": "double",
    "e": "uint16_t",
}
_KEYWORDS = """auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while module
block call failed handle bool class delete new namespace operator private public template this throw typename using
virtual"""
_RESERVED = frozenset(_KEYWORDS.split())


class NotExported(DSLUserCodeRuntimeError):
    """A function that C cannot call; the text names the argument or the result in the way."""

    def __init__(self, message: str, fix: str):
        super().__init__(message, fix=fix, id="EXPORT_UNSUPPORTED")


@dataclass
class _Wrapper:
    """The parts of a header that its arguments make."""

    name: str
    types: list[str] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)
    stores: list[str] = field(default_factory=list)
    slots: int = 1  # slot 0 is the call

    def store(self, expression: str) -> None:
        self.stores.append(f"    memcpy(&block[{self.slots}], &{expression}, sizeof {expression});")
        self.slots += 1


def header(name: str, signature: Signature, traced: Traced) -> str:
    """The header's text. Raises NotExported."""
    refuse_results(traced)
    wrapper = _Wrapper(name)
    for parameter, type_ in zip(signature.names, signature.types):
        _parameter(wrapper, parameter + "_" * (parameter in _RESERVED), type_)
    count = len(traced.kernels)
    names = ", ".join(f'"{kernel.name}"' for kernel in traced.kernels) or "0"
    parameters = ", ".join([f"{name}_Kernel_Module_t *module", *wrapper.parameters])
    return "\n".join(
        [
            f"/* {name}: {signature} */",
            "#pragma once",
            "",
            LAUNCH_H.read_text(),
            '#ifdef __cplusplus\nextern "C" {\n#endif',
            f"extern const char {name}__ptx[];",
            f"extern int32_t (*{name}__launch)(void *, int32_t, const void *, void *);",
            f"int32_t {name}__host(void *block);",
            "#ifdef __cplusplus\n}\n#endif",
            "",
            f"typedef struct {{\n    void *library, *kernels[{count or 1}];\n}} {name}_Kernel_Module_t;",
            "",
            "/* 0, or the CUresult of what failed. */",
            f"static inline int32_t {name}_Kernel_Module_Load({name}_Kernel_Module_t *module) {{",
            f"    static const char *const names[] = {{{names}}};",
            f"    {name}__launch = cute_dsl_launch;",
            f"    return cute_dsl_load({name}__ptx, {count}, names, &module->library, module->kernels);",
            "}",
            "",
            f"static inline int32_t {name}_Kernel_Module_Unload({name}_Kernel_Module_t *module) {{",
            "    return cute_dsl_unload(module->library);",
            "}",
            "",
            *wrapper.types,
            "/* 0, the CUresult of the launch that failed, or the negative number of the `raise` that it came to. */",
            f"static inline int32_t cute_dsl_{name}_wrapper({parameters}) {{",
            f"    uint64_t block[{out_slot(traced.slots, 0)}] = {{0}};",
            "    cute_dsl_Call call = {module->kernels, 0};",
            "    void *handle = &call;",
            "    memcpy(&block[0], &handle, sizeof handle);",
            *wrapper.stores,
            f"    int32_t failed = {name}__host(block);",
            "    return call.code ? call.code : -failed;",
            "}",
            "",
        ]
    )


def refuse_results(traced: Traced) -> None:
    """Raise NotExported for a function that gives numbers back."""
    if getattr(traced.result, "slots", 0):
        raise NotExported(
            f"`{traced.name}` returns numbers, which an exported function cannot", "store them in a tensor"
        )


def _parameter(wrapper: _Wrapper, name: str, type_: Any) -> None:
    """Add one parameter of the function."""
    if isinstance(type_, Static):
        return
    if isinstance(type_, StreamType) and type_.from_environment:
        wrapper.slots += 1
    elif isinstance(type_, StreamType):
        _plain(wrapper, "struct CUstream_st *", name)
    elif isinstance(type_, PointerType):
        _plain(wrapper, "void *", name)
    elif isinstance(type_, ScalarType):
        _plain(wrapper, f"{_C_TYPES[type_.slot_formats()]} ", name)
    elif isinstance(type_, TensorType):
        wrapper.types.append(_descriptor(wrapper.name, name, [type_]))
        wrapper.parameters.append(f"const {wrapper.name}_Tensor_{name}_t *{name}")
        _store_tensor(wrapper, f"{name}->", type_)
    elif isinstance(type_, ContainerType) and type_.kind in (list, tuple):
        _sequence(wrapper, name, type_.types)
    else:
        raise NotExported(f"`{name}` is a {type_}, which an exported function cannot take", "pass its parts")


def _plain(wrapper: _Wrapper, c_type: str, name: str) -> None:
    wrapper.parameters.append(f"{c_type}{name}")
    wrapper.store(name)


def _sequence(wrapper: _Wrapper, name: str, parts: Sequence[Any]) -> None:
    """A list or tuple: an array of its parts, which are all tensors of one descriptor, or all numbers of one type."""
    if parts and all(isinstance(part, TensorType) for part in parts):
        wrapper.types.append(_descriptor(wrapper.name, name, parts))
        wrapper.parameters.append(f"const {wrapper.name}_Tensor_{name}_t *{name}")
        for index, part in enumerate(parts):
            _store_tensor(wrapper, f"{name}[{index}].", part)
    elif parts and all(isinstance(part, ScalarType) for part in parts) and len({p.slot_formats() for p in parts}) == 1:
        wrapper.parameters.append(f"const {_C_TYPES[parts[0].slot_formats()]} *{name}")
        for index in range(len(parts)):
            wrapper.store(f"{name}[{index}]")
    elif parts:
        raise NotExported(f"the parts of `{name}` have different types, which an array cannot", "pass them one by one")


def _dynamic(leaves: Sequence[int | SymInt]) -> list[SymInt]:
    return [leaf for leaf in leaves if isinstance(leaf, SymInt)]


def _descriptor(function: str, name: str, tensors: Sequence[TensorType]) -> str:
    """The C type of a tensor argument, or of each tensor in a list of them. Raises NotExported."""
    fields = {_fields(name, tensor) for tensor in tensors}
    if len(fields) > 1:
        raise NotExported(
            f"the tensors of `{name}` differ in dynamic shape width, or in which extents and strides are dynamic: "
            "one descriptor cannot have both",
            "make them alike, or pass them one by one",
        )
    return f"typedef struct {{\n    void *data;\n{fields.pop()}}} {function}_Tensor_{name}_t;\n"


def _fields(name: str, tensor: TensorType) -> str:
    text = ""
    for what, part, leaves in (("shapes", "extents", tensor.shape), ("strides", "strides", tensor.stride)):
        dynamic = _dynamic(leaves)
        widths = sorted({leaf.width for leaf in dynamic})
        if len(widths) > 1:
            raise NotExported(
                f"the dynamic {part} of `{name}` have to be of the same width, got int32 and int64",
                "use sym_int32 or sym_int64 for all of them",
            )
        text += f"    int{widths[0]}_t dynamic_{what}[{len(dynamic)}];\n" if dynamic else ""
    return text


def _store_tensor(wrapper: _Wrapper, place: str, tensor: TensorType) -> None:
    wrapper.store(f"{place}data")
    for what, leaves in (("shapes", tensor.shape), ("strides", tensor.stride)):
        for index in range(len(_dynamic(leaves))):
            wrapper.store(f"{place}dynamic_{what}[{index}]")
