"""cutlass.experimental.cuda has NVIDIA's names."""

from dsl.cutlass import experimental, upstream
from dsl.cutlass.experimental import cuda


def test_names():
    assert set(cuda.__all__) == {*(upstream.names("cutlass.experimental.cuda") or ())} - {"tensor_map"}
    assert {*experimental.__all__} == upstream.names("cutlass.experimental")
