"""cutlass.experimental.cuda has NVIDIA's names."""

import pytest

from dsl.core.diagnosis.unsupported_names import UnsupportedName
from dsl.cutlass import experimental, upstream
from dsl.cutlass.experimental import cuda


def test_names():
    assert set(cuda.__all__) == {*(upstream.names("cutlass.experimental.cuda") or ())} - {"tensor_map"}
    with pytest.raises(UnsupportedName):
        experimental.task_scheduling
