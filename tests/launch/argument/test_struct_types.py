"""The author's C structs, which ctypes lays out, as arguments: every member arrives."""

import ctypes

import numpy as np
import pytest

from dsl import alias
from dsl.core.errors import DSLUserCodeTypeError


class Inner(ctypes.Structure):
    _fields_ = [("small", ctypes.c_int32), ("large", ctypes.c_int64), ("half", ctypes.c_int16)]


class Outer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("count", ctypes.c_int32), ("inner", Inner), ("scale", ctypes.c_double)]


TEXT = "!llvm.struct<(ptr, i32, struct<(i32, i64, i16)>, f64)>"


class Argument:
    """`TEXT` at an address."""

    def __init__(self, outer, text=TEXT):
        self.outer, self.text = outer, text

    def __get_mlir_types__(self):
        from cutlass._mlir import ir

        return [ir.Type.parse(self.text)]

    def __c_pointers__(self):
        return [ctypes.addressof(self.outer)]

    def __new_from_mlir_values__(self, values):
        return values[0]


def test_members_of_a_struct_arrive():
    alias.install("emulator")
    try:
        import cutlass
        import cutlass.cute as cute
        from cutlass._mlir import ir
        from cutlass._mlir.dialects import llvm

        @cute.jit
        def host(value):
            def member(type_, *path):
                return llvm.extractvalue(type_, value, list(path))

            i32, i64, i16 = (ir.IntegerType.get_signless(width) for width in (32, 64, 16))
            pointer = cute.make_ptr(cutlass.Float32, member(llvm.PointerType.get(), 0))
            out = cute.make_tensor(pointer, cute.make_layout(5))
            out[0] = cutlass.Float32(cutlass.Int32(member(i32, 1)))
            out[1] = cutlass.Float32(cutlass.Int32(member(i32, 2, 0)))
            out[2] = cutlass.Float32(cutlass.Int64(member(i64, 2, 1)))
            out[3] = cutlass.Float32(cutlass.Int16(member(i16, 2, 2)))
            out[4] = cutlass.Float32(cutlass.Float64(member(ir.F64Type.get(), 3)))

        out = np.zeros(5, np.float32)
        for count in (1, -7):
            host(Argument(Outer(out.ctypes.data, count, Inner(2, 1 << 40, -3), 0.5)))
            assert out.tolist() == [count, 2, 1 << 40, -3, 0.5]
        with pytest.raises(DSLUserCodeTypeError, match="made of a vector<4xf32>, which no call can bring"):
            host(Argument(Outer(), "!llvm.struct<(i32, vector<4xf32>)>"))
    finally:
        alias.uninstall()
