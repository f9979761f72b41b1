"""tvm.testing: arrays that are close and arrays that are not, and what the device can do."""

import numpy as np
import pytest

from dsl.tirx import runtime, testing


def test_close_is_by_values_and_shape():
    testing.assert_allclose([1.0, 2.0], np.array([1.0, 2.0 + 1e-9]))
    testing.assert_allclose(runtime.tensor([1, 2]), [1, 2])
    testing.assert_allclose([1.0], [1.05], rtol=0.1)
    for actual, desired in (([1.0], [1.1]), ([1.0, 1.0], 1.0), ([np.nan], [0.0])):
        with pytest.raises(AssertionError):
            testing.assert_allclose(actual, desired)


def test_abilities_of_the_device():
    assert testing.env.has_gpu() and testing.env.has_cuda_compute(9) and testing.env.has_cuda_compute(8, 6)
    assert not testing.env.has_cuda_compute(9, 1) and not testing.env.has_cuda_compute(10)
    assert testing.run_with_gpu_lock(lambda x, y: x - y, 5, 3) == 2
