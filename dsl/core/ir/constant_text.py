"""Texts that a traced function carries: NUL-terminated, in constant memory of its module."""

from __future__ import annotations

from dsl.core.ir import mlir


def address(module: mlir.Module, text: str, space: int) -> mlir.Value:
    """The address of `text` in `space` of `module`: 0 on the host, 1 (global) on a device."""
    name = module.texts.get((text, space))
    if name is None:
        name = module.texts[text, space] = f"text_{len(module.texts)}"
        escaped = "".join(f"\\{byte:02X}" for byte in text.encode() + b"\0")
        where = f"addr_space = {int(space)} : i32, " if space else ""
        module.declare(name, f'llvm.mlir.global internal constant @{name}("{escaped}") {{{where}alignment = 1 : i64}}')
    return mlir.op("llvm.mlir.addressof", [mlir.ptr(space)], [], {"global_name": mlir.symbol_attr(name)}).results[0]


def generic_address(module: mlir.Module, text: str) -> mlir.Value:
    """The generic address of `text` in global memory of a device module."""
    return mlir.result("llvm.addrspacecast", mlir.ptr(), address(module, text, 1))
