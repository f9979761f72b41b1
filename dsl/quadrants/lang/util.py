"""`quadrants.lang.util`: which packages there are, and element types under numpy's and torch's names."""

import importlib.util

from dsl.quadrants.values import dtypes
from dsl.quadrants.values.dtypes import of as cook_dtype, of as to_quadrants_type

__all__ = [
    "cook_dtype",
    "dtypes",
    "has_clangpp",
    "has_pytorch",
    "to_numpy_type",
    "to_pytorch_type",
    "to_quadrants_type",
]


def has_pytorch() -> bool:
    """Whether torch can be imported."""
    return importlib.util.find_spec("torch") is not None


def has_clangpp() -> bool:
    """Whether functions written in C++ can be called: they cannot."""
    return False


def to_numpy_type(dtype) -> type:
    """The numpy type of an element type."""
    import numpy

    return numpy.dtype(dtypes.existing(dtype).numpy_name).type


def to_pytorch_type(dtype):
    """The torch type of an element type."""
    import torch

    return torch.bool if dtypes.existing(dtype) is dtypes.u1 else getattr(torch, dtypes.existing(dtype).numpy_name)
