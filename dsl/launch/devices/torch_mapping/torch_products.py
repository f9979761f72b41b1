"""Products of half-precision matrices by torch, as the tensor cores of the mapped GPU make them.

torch on a GPU gives such a product to its tensor cores: products of some k are summed at once, the terms aligned to the
largest exponent and truncated, and the sums follow each other in float32. torch on the CPU sums in another
order, which is another result in one element of a thousand. Products of more than MOST_TERMS terms, and those with
infinities or NaN, are left to the CPU.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any

import numpy as np

from dsl.launch.devices.torch_mapping import torch_modes

MOST_TERMS = 1 << 29  # a few seconds
_BLOCK = 1 << 15  # elements of a result that are computed together: they stay in the cache
_LEAST = -126
_NAMES = ("mm", "bmm", "addmm", "baddbmm")


def product(a: np.ndarray, b: np.ndarray, terms: int, fraction_bits: int, least: int) -> np.ndarray:
    """a @ b in float32 for float64 arrays (m, k) and (k, n) that hold numbers of a 16-bit type: sums of `terms`
    products, aligned to the largest exponent and truncated to `fraction_bits`. `least`: the type's least exponent."""
    missing = -a.shape[1] % terms
    a, b = np.pad(a, ((0, 0), (0, missing))), np.pad(b, ((0, missing), (0, 0)))
    of_a, of_b = _exponents(a, least), _exponents(b, least)
    result = np.zeros((a.shape[0], b.shape[1]), np.float32)
    rows = max(1, _BLOCK // max(1, b.shape[1]))
    for first in range(0, a.shape[0], rows):
        some = slice(first, first + rows)
        total = result[some]
        for k in range(0, a.shape[1], terms):
            ks = slice(k, k + terms)
            total = _sum(total, a[some, ks], b[ks], of_a[some, ks], of_b[ks], fraction_bits)
        result[some] = total
    return result


def _exponents(values: np.ndarray, least: int) -> np.ndarray:
    exponents = np.maximum(np.frexp(values)[1] - 1, least)
    return np.where(values == 0, _LEAST, exponents).astype(np.int16)


def _sum(start: np.ndarray, a: np.ndarray, b: np.ndarray, of_a: np.ndarray, of_b: np.ndarray, bits: int) -> np.ndarray:
    wide = start.astype(np.float64)
    greatest = _exponents(wide, _LEAST)
    for k in range(b.shape[0]):
        np.maximum(greatest, of_a[:, k, None] + of_b[k], out=greatest)
    scale = np.ldexp(1.0, bits - greatest)
    total = np.trunc(wide * scale)
    for k in range(b.shape[0]):
        total += np.trunc(a[:, k, None] * b[k] * scale)
    return _toward_zero(total / scale)


def _toward_zero(values: np.ndarray) -> np.ndarray:
    nearest = values.astype(np.float32)
    smaller = np.nextafter(nearest, np.float32(0))
    return np.where(np.abs(nearest) > np.abs(values), smaller, nearest) + np.float32(0)  # no -0


class Products:
    """Compute torch's products of half precision as the tensor cores of a device do: see its `half_sums`."""

    def __init__(self, torch: ModuleType, device: Any):
        self.torch, self.device = torch, device
        self._least = {torch.float16: -14, torch.bfloat16: _LEAST}
        owners = ((torch, ("einsum", "matmul", "tensordot", "inner", *_NAMES)), (torch.nn.functional, ("linear",)),
                  (torch.Tensor, ("__matmul__", "__rmatmul__", "matmul", *_NAMES)))  # fmt: skip
        self._functions = {getattr(owner, name) for owner, names in owners for name in names}
        self._mode = self._made_mode()

    def around(self, function: Any, tensors: list[Any]) -> AbstractContextManager:
        """Compute the products of half precision in a call of torch like the tensor cores, during this `with`."""
        is_product = function in self._functions and any(tensor.dtype in self._least for tensor in tensors)
        return self._mode if is_product else nullcontext()

    def _made_mode(self) -> Any:
        aten = self.torch.ops.aten
        plain, added = (aten.mm.default, aten.bmm.default), (aten.addmm.default, aten.baddbmm.default)
        products = self

        class Mode(torch_modes.dispatch_mode()):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                kwargs = kwargs or {}
                if function in plain:
                    result = products.of(*args)
                elif function in added and kwargs.get("alpha", 1) == kwargs.get("beta", 1) == 1:
                    result = products.of(*args[1:3], bias=args[0])
                else:
                    result = None
                return function(*args, **kwargs) if result is None else result

        return Mode()

    def of(self, a: Any, b: Any, bias: Any = None) -> Any:
        """a @ b, or bias + a @ b rounded once; None for what is left to torch."""
        if a.dtype not in self._least or a.dtype is not b.dtype or not 0 < a.numel() * b.shape[-1] <= MOST_TERMS:
            return None
        if not (bool(a.isfinite().all()) and bool(b.isfinite().all())):
            return None
        left, right = (each.detach().double().numpy().reshape(-1, *each.shape[-2:]) for each in (a, b))
        (terms, fraction_bits), least = self.device.half_sums, self._least[a.dtype]
        pairs = zip(left, right, strict=True)
        made = [product(one, other, terms, fraction_bits, least) for one, other in pairs]
        if not all(np.isfinite(each).all() for each in made):
            return None
        result = self.torch.from_numpy(np.stack(made)).reshape(*a.shape[:-1], b.shape[-1])
        return (result if bias is None else result + bias.float()).to(a.dtype)
