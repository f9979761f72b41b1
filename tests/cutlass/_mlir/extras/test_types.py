"""cutlass._mlir.extras.types: MLIR types by short names."""

from dsl.cutlass._mlir.extras import types as T


def test_types_print_as_mlir_writes_them():
    shown = [T.i32(), T.bool(), T.f16(), T.bf16(), T.i(7), T.vector(4, T.f32()), T.index()]
    assert [str(each) for each in shown] == ["i32", "i1", "f16", "bf16", "i7", "vector<4xf32>", "index"]
