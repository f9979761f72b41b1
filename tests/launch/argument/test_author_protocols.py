"""The protocols of the DSL's own values."""

import ctypes

import numpy as np
import pytest

from dsl.cutlass import Float32, Int32, cute
from dsl.cutlass.cute.runtime import from_dlpack, make_ptr
from dsl.launch import session


@pytest.fixture(autouse=True)
def emulator():
    yield session.start("emulator")
    session.stop()


def test_types_and_pointers_are_asked_by_functions():
    from dsl.cutlass.base_dsl.typing import get_c_pointers, get_mlir_types

    from dsl.cutlass.cute.runtime import make_fake_compact_tensor

    fake = make_fake_compact_tensor(Float32, (cute.sym_int(), 8))
    given = (Int32(3), (Float32(0.5), fake))
    assert [str(type_) for type_ in get_mlir_types(given)] == ["i32", "f32", "!llvm.ptr<1>", "i32", "i64"]
    assert [slot.number for slot in get_c_pointers(given)[:2]] == [3, 0.5]
    assert len(get_c_pointers(given)) == len(get_mlir_types(given))

    @cute.jit
    def program(n: Int32, x: Float32):
        assert [str(type_) for type_ in get_mlir_types([n, (x, n)])] == ["i32", "f32", "i32"]
        return n + 1

    assert program(2, 0.5) == 3


def test_another_address_may_be_written_where_the_c_pointer_points():
    """Programs keep one argument, and put the next tensor's address into it."""

    @cute.kernel
    def copied(a: cute.Tensor, out: cute.Tensor):
        out[0] = a[1]

    @cute.jit
    def program(a: cute.Tensor, out: cute.Tensor):
        copied(a, out).launch(grid=(1, 1, 1), block=(1, 1, 1))

    first, second, out = np.arange(3, dtype=np.float32), np.arange(10, 13, dtype=np.float32), np.zeros(1, np.float32)
    a = from_dlpack(first).mark_layout_dynamic()
    p = make_ptr(Float32, first.ctypes.data, cute.AddressSpace.gmem)
    compiled = cute.compile(program, a, out)
    compiled(a, out)
    assert out == 1
    assert ctypes.cast(a.__c_pointers__()[-1], ctypes.POINTER(ctypes.c_int32))[0] == 3
    for argument in (a, p):
        words = ctypes.cast(argument.__c_pointers__()[0], ctypes.POINTER(ctypes.c_int64))
        assert words[0] == first.ctypes.data
        words[0] = second.ctypes.data
    ctypes.c_uint64.from_address(a.__c_pointers__()[0]).value += 4  # it is an int, as in upstream
    compiled(a, out)
    assert out == 12 and p.toint() == second.ctypes.data
    compiled(from_dlpack(first).mark_layout_dynamic(), out)
    assert out == 1


def test_types_of_values_are_asked_as_upstream_spells_it():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

        def __c_pointers__(self):
            return [*Int32(self.a).__c_pointers__(), *Float32(self.b).__c_pointers__()]

        def __get_mlir_types__(self):
            return [Int32.mlir_type, Float32.mlir_type]

        def __extract_mlir_values__(self):
            return [self.a.ir_value(), self.b.ir_value()]

        def __new_from_mlir_values__(self, values):
            return Pair(Int32(values[0]), Float32(values[1]))

    @cute.jit
    def program(pair: Pair, n: Int32):
        for i in range(n):
            pair = Pair(pair.a + i, pair.b * 2.0)
        return pair.a, pair.b

    assert program(Pair(2, 0.5), 4) == (8, 8.0)
