"""The protocols of the DSL's own values."""

import pytest

from dsl.cutlass import Float32, Int32, cute
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
