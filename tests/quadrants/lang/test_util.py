"""Element types under numpy's and torch's names: arrays of them have the type's size and kind."""

import numpy as np
import torch

from dsl.quadrants.lang import util
from dsl.quadrants.values.dtypes import ALL, is_real, u1


def test_numpys_types_go_and_come_back():
    for dtype in ALL:
        theirs = util.to_numpy_type(dtype)
        assert np.zeros(1, theirs).itemsize == dtype.bytes and util.to_quadrants_type(theirs) is dtype


def test_torchs_types():
    for dtype in ALL:
        theirs = util.to_pytorch_type(dtype)
        assert torch.zeros(1, dtype=theirs).element_size() == dtype.bytes and theirs.is_floating_point == is_real(dtype)
        assert util.cook_dtype(theirs) is dtype or dtype is u1
    assert util.has_pytorch() and not util.has_clangpp()
