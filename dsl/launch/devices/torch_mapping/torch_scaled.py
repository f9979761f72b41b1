"""Products of matrices that have a scale for each block along K, which torch has on a GPU alone: torch._scaled_mm,
torch.nn.functional.scaled_mm and scaled_grouped_mm with elements of 4 or 8 bits and scales of e8m0 or e4m3.

Elements and scales are decoded exactly; products are summed in float64 and the sum is rounded once. Scales are in tiles
of 128 rows and 4 blocks, as tensor cores want them (cuBLAS, block scaling factors layout), or in rows; groups, which
`offs` ends, have tiles one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_OF_BLOCKS, _SWIZZLED = {2: 16, 3: 32}, 1  # of ScalingType, with the elements of a block, and of SwizzleType
_TENSORWISE = 0
_TILE_BYTES = 512  # of scales of 128 rows and 4 blocks


def stand_ins(torch: ModuleType, mapped: Any) -> dict[Any, Callable]:
    """The functions of torch that do this for tensors that are `mapped`."""
    scaled = _Scaled(torch)

    def made(a: Any, result: Any) -> Any:
        if mapped.holds(a):
            mapped.add_all([result])
        return result

    def scaled_mm(function, a, b, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, **kwargs):
        block = scaled.block_of(a, scale_a) if mapped.holds(a) else None
        if block is None:
            return made(a, function(a, b, scale_a, scale_b, bias, scale_result, out_dtype, **kwargs))
        sides = scaled.side(a, scale_a, block), scaled.side(b.t(), scale_b, block)
        return made(a, scaled.product(*sides, bias, out_dtype or torch.bfloat16))

    def scaled_mm_v2(function, a, b, *rest):
        scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, bias, out_dtype, *_ = rest
        if not mapped.holds(a) or recipe_a[0] not in _OF_BLOCKS:
            return made(a, function(a, b, *rest))
        sides = (scaled.side_of(a, scale_a, recipe_a, swizzle_a), scaled.side_of(b.t(), scale_b, recipe_b, swizzle_b))
        return made(a, scaled.product(*sides, bias, out_dtype or torch.bfloat16))

    def scaled_grouped_mm_v2(function, a, b, *rest):
        if not mapped.holds(a) or rest[1][0] not in _OF_BLOCKS:
            return made(a, function(a, b, *rest))
        return made(a, scaled.grouped(a, b, *rest))

    found = {"_scaled_mm": scaled_mm, "_scaled_mm_v2": scaled_mm_v2, "_scaled_grouped_mm_v2": scaled_grouped_mm_v2}
    return {getattr(torch, name): stand_in for name, stand_in in found.items() if hasattr(torch, name)}


class _Tiles:
    """The scales of groups, one after another."""

    def __init__(self, scales: Any, block: int):
        self.rest, self.block = scales.reshape(-1), block

    def take(self, matrix: Any, elements: int) -> Any:
        """The scales of the next group, a matrix of rows along K with this many `elements` in a value."""
        rows, blocks = matrix.shape[0], -(-matrix.shape[1] * elements // self.block)
        size = -(-rows // 128) * -(-blocks // 4) * _TILE_BYTES
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken


class _Scaled:
    """The arithmetic, on tensors of the CPU."""

    def __init__(self, torch: ModuleType):
        self.torch = torch
        self._packed = getattr(torch, "float4_e2m1fn_x2", None)
        self._e8m0 = getattr(torch, "float8_e8m0fnu", None)

    def block_of(self, a: Any, scale: Any) -> int | None:
        """How many elements a scale is for, by the types; None if one scale is for more than a block."""
        if scale.dtype is self._e8m0:
            return 32
        return 16 if a.dtype is self._packed and scale.dtype is self.torch.float8_e4m3fn else None

    def side(self, matrix: Any, scale: Any, block: int, is_swizzled: bool = True) -> Any:
        """A matrix of rows along K, times its scales, in float64."""
        values = self._decoded(matrix)
        rows, blocks = values.shape[0], -(-values.shape[1] // block)
        scales = self._unswizzled(scale, rows, blocks) if is_swizzled else scale.reshape(rows, blocks)
        return values * scales.double().repeat_interleave(block, 1)[:, : values.shape[1]]

    def side_of(self, matrix: Any, scales: Sequence[Any], recipes: Sequence[int], swizzles: Sequence[int]) -> Any:
        """The same with the scales of torch.nn.functional.scaled_mm: of blocks, and then perhaps one of the tensor."""
        if recipes[0] not in _OF_BLOCKS or any(each != _TENSORWISE for each in recipes[1:]):
            raise NotImplementedError(f"a product with scales of the kinds {[*recipes]} is not emulated on the CPU")
        values = self.side(matrix, scales[0], _OF_BLOCKS[recipes[0]], [*swizzles, 0][0] == _SWIZZLED)
        for scale in scales[1:]:
            values = values * scale.double()
        return values

    def grouped(self, a, b, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, offs, bias, dtype, *_) -> Any:
        """Products of groups: of rows of `a` with a matrix each, below one another, or of parts of K, stacked."""
        if bias is not None or {*swizzle_a[:1], *swizzle_b[:1]} != {_SWIZZLED}:
            raise NotImplementedError("scaled_grouped_mm with a bias or with scales in rows is not emulated on the CPU")
        elements = 2 if a.dtype is self._packed else 1
        sides = _Tiles(scale_a[0], _OF_BLOCKS[recipe_a[0]]), _Tiles(scale_b[0], _OF_BLOCKS[recipe_b[0]])
        made, start = [], 0
        for group, end in enumerate(offs.tolist()):
            ks = slice(start // elements, end // elements)
            pair = (a[start:end], b[group].t()) if b.dim() == 3 else (a[:, ks], b[ks].t())
            of_a, of_b = (self.side(each, side.take(each, elements), side.block) for each, side in zip(pair, sides))
            for scales in (*scale_a[1:], *scale_b[1:]):
                of_a = of_a * scales[group].double()
            made.append(self.product(of_a, of_b, None, dtype or self.torch.bfloat16))
            start = end
        return self.torch.cat(made) if b.dim() == 3 else self.torch.stack(made)

    def product(self, a: Any, b: Any, bias: Any, dtype: Any) -> Any:
        result = a @ b.t()
        return (result if bias is None else result + bias.double()).to(dtype)

    def _decoded(self, matrix: Any) -> Any:
        if matrix.dtype is not self._packed:
            return matrix.double()
        codes = matrix.view(self.torch.uint8)
        pairs = self.torch.stack([codes & 15, codes >> 4], -1)
        values = self.torch.tensor([sign * each for sign in (1, -1) for each in _E2M1], dtype=self.torch.float64)
        return values[pairs.long()].reshape(matrix.shape[0], 2 * matrix.shape[1])

    def _unswizzled(self, scale: Any, rows: int, blocks: int) -> Any:
        """Tile by tile of 128 rows and 4 blocks, 512 bytes: row r is at 16 * (r % 32) + 4 * (r // 32)."""
        high, wide = -(-rows // 128), -(-blocks // 4)
        tiles = scale.reshape(-1)[: high * wide * _TILE_BYTES].reshape(high, wide, 32, 4, 4)
        return tiles.permute(0, 3, 2, 1, 4).reshape(high * 128, wide * 4)[:rows, :blocks]
