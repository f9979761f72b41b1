"""Pointers as arguments."""

import ctypes

import pytest

from dsl.core.ir import mlir
from dsl.core.number.dtypes import Float32
from dsl.core.number.pointer import AddressSpace
from dsl.launch.argument.runtime_pointer import make_ptr


def test_pointer_arguments():
    assert make_ptr(Float32, 64, AddressSpace.gmem, assumed_align=32).address == 64
    assert make_ptr(Float32, 64)._pointer == 64  # what cooperative_launch of NVIDIA's tutorials frees
    cell = ctypes.c_float(1)
    assert make_ptr(Float32, ctypes.pointer(cell)).address == ctypes.addressof(cell)
    with pytest.raises(ValueError, match="pointer must be 32 bytes aligned, got 0x10"):
        make_ptr(Float32, 16, assumed_align=32)
    with pytest.raises(TypeError, match="Expect int or ctypes.POINTER"):
        make_ptr(Float32, "a")


def test_generic_pointer_is_rebuilt_in_its_space():
    module = mlir.Module()
    _, entry = module.function("f", [mlir.ptr(1)])
    with mlir.inside(entry):
        pointer = make_ptr(Float32, 16).argument_type().rebuild(list(entry.arguments))
        mlir.op("llvm.return")
    assert pointer.space is AddressSpace.generic and pointer.alignment_bytes == 4
    assert "llvm.addrspacecast" in module.text()
