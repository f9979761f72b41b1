"""Block-scaled products of torch on the mapped GPU, against ml_dtypes' decoding and a loop over blocks."""

import ml_dtypes
import numpy as np
import pytest
import torch

from dsl.launch import session

M, N, BLOCKS = 130, 40, 6


@pytest.fixture(autouse=True)
def emulator():
    yield session.start("emulator")
    session.stop()


def swizzled(scales: np.ndarray) -> np.ndarray:
    """cuBLAS, block scaling factors layout: tiles of 128 rows and 4 blocks, row by row of tiles."""
    rows, blocks = scales.shape
    wide = -(-blocks // 4)
    made = np.zeros(-(-rows // 128) * wide * 512, np.uint8)
    for row in range(rows):
        for block in range(blocks):
            tile = row // 128 * wide + block // 4
            made[512 * tile + 16 * (row % 32) + 4 * (row % 128 // 32) + block % 4] = scales[row, block]
    return made


ELEMENTS = {"float4_e2m1fn_x2": (4, ml_dtypes.float4_e2m1fn), "float8_e4m3fn": (8, ml_dtypes.float8_e4m3fn),
            "float8_e5m2": (8, ml_dtypes.float8_e5m2)}  # fmt: skip
SCALES = {"float8_e8m0fnu": (ml_dtypes.float8_e8m0fnu, 120, 134), "float8_e4m3fn": (ml_dtypes.float8_e4m3fn, 0, 0x7F)}


class Side:
    """A matrix of random codes and their scales: of torch, and in float64."""

    def __init__(self, rows: int, kind: str, scale: str, block: int, seed: int):
        rng, (bits, dtype), (of_scale, low, high) = np.random.default_rng(seed), ELEMENTS[kind], SCALES[scale]
        codes = rng.integers(0, 1 << bits, (rows, BLOCKS * block), dtype=np.uint8)
        codes[~np.isfinite(codes.view(dtype).astype(float))] = 0
        packed = codes[:, ::2] | codes[:, 1::2] << 4 if bits == 4 else codes
        self.matrix = torch.from_numpy(np.ascontiguousarray(packed)).view(getattr(torch, kind)).cuda()
        self.codes = rng.integers(low, high, (rows, BLOCKS), dtype=np.uint8)
        factors = self.codes.view(of_scale).astype(float)
        self.values = codes.view(dtype).astype(float) * np.repeat(factors, block, 1)
        self.dtype = getattr(torch, scale)

    def scales(self, is_swizzled: bool = True) -> torch.Tensor:
        codes = swizzled(self.codes) if is_swizzled else self.codes
        return torch.from_numpy(codes).view(self.dtype).cuda()


KINDS = [
    ("float4_e2m1fn_x2", "float8_e4m3fn", 16), ("float4_e2m1fn_x2", "float8_e8m0fnu", 32),
    ("float8_e4m3fn", "float8_e8m0fnu", 32), ("float8_e5m2", "float8_e8m0fnu", 32),
]  # fmt: skip


@pytest.mark.parametrize("kind, scale, block", KINDS)
def test_a_product_with_scales_of_blocks(kind, scale, block):
    a, b = Side(M, kind, scale, block, 1), Side(N, kind, scale, block, 2)
    got = torch._scaled_mm(a.matrix, b.matrix.t(), a.scales(), b.scales(), out_dtype=torch.float32)
    assert got.is_cuda and got.shape == (M, N)
    np.testing.assert_array_equal(got.cpu().numpy(), (a.values @ b.values.T).astype(np.float32))


@pytest.mark.parametrize("is_swizzled", [True, False])
def test_scaled_mm_takes_two_levels_of_scales(is_swizzled):
    functional = torch.nn.functional
    a, b = (Side(rows, "float4_e2m1fn_x2", "float8_e4m3fn", 16, seed) for rows, seed in ((M, 3), (N, 4)))
    whole = [torch.tensor([each], device="cuda") for each in (0.5, 3.0)]
    recipe = [functional.ScalingType.BlockWise1x16, functional.ScalingType.TensorWise]
    order = functional.SwizzleType.SWIZZLE_32_4_4 if is_swizzled else functional.SwizzleType.NO_SWIZZLE
    got = functional.scaled_mm(
        a.matrix, b.matrix.t(), [a.scales(is_swizzled), whole[0]], recipe, [b.scales(is_swizzled), whole[1]], recipe,
        [order, functional.SwizzleType.NO_SWIZZLE], [order, functional.SwizzleType.NO_SWIZZLE],
        output_dtype=torch.float32,
    )  # fmt: skip
    np.testing.assert_array_equal(got.cpu().numpy(), (a.values @ b.values.T * 1.5).astype(np.float32))


def test_one_scale_of_a_tensor_is_left_to_torch():
    one = torch.ones((), device="cuda")
    a = torch.full((16, 16), 2.0, device="cuda").to(torch.float8_e4m3fn)
    assert torch._scaled_mm(a, a.t(), one, one, out_dtype=torch.float32).tolist() == [[64.0] * 16] * 16


def test_scales_of_another_kind_are_refused():
    kinds = torch.nn.functional.ScalingType
    a = Side(16, "float8_e4m3fn", "float8_e8m0fnu", 32, 1)
    with pytest.raises(NotImplementedError, match=r"scales of the kinds \[4\] is not emulated"):
        torch.nn.functional.scaled_mm(a.matrix, a.matrix.t(), a.scales(False), kinds.BlockWise1x32, a.scales(False),
                                      kinds.BlockWise1x128)  # fmt: skip
