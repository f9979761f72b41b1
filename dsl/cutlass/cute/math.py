"""`cutlass.cute.math`: functions of numbers, and of vectors element by element."""

from __future__ import annotations

import functools

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.gpu.arithmetic import functions as _functions
from dsl.gpu.arithmetic.functions import RoundingMode
from dsl.tile.vector.ssa import elementwise as _elementwise

_NAMES = (
    "abs absf absi acos acosh add asin asinh atan atan2 atanh cbrt ceil clamp copysign cos cosh div erf erfc exp "
    "exp2 expm1 floor fma fpowi ipowi isfinite isinf isnan isnormal log log10 log1p log2 max min mul neg pow rcp "
    "rem round roundeven rsqrt sin sincos sinh sqrt sub tan tanh trunc"
).split()
__all__ = ["RoundingMode", *_NAMES]


def _of_vectors(function):
    """`function` that takes vectors among its operands too."""

    @functools.wraps(function)
    def mapped(*operands, **options):
        return _elementwise(lambda *elements: function(*elements, **options), *operands)

    return mapped


globals().update({_name: _of_vectors(getattr(_functions, _name)) for _name in _NAMES})
__getattr__ = _refuser("cutlass.cute.math")
