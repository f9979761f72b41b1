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


GROUPS = (130, 0, 40)  # rows
GROUPED = [KINDS[0], KINDS[2]]


@pytest.mark.parametrize("kind, scale, block", GROUPED)
def test_groups_of_rows(kind, scale, block):
    """Each group has its own matrix, and its scales are in separate tiles."""
    functional = torch.nn.functional
    recipe = functional.ScalingType.BlockWise1x16 if block == 16 else functional.ScalingType.BlockWise1x32
    rows = [Side(count, kind, scale, block, seed) for seed, count in enumerate(GROUPS)]
    others = [Side(N, kind, scale, block, 10 + seed) for seed in range(3)]
    whole = torch.tensor([1.0, 2.0, 3.0], device="cuda")
    is_nvfp4 = block == 16
    scales = [joined([each.scales() for each in side]) for side in (rows, others)]
    got = functional.scaled_grouped_mm(
        joined([each.matrix for each in rows]),
        torch.stack([each.matrix.view(torch.uint8) for each in others]).view(others[0].matrix.dtype).transpose(1, 2),
        [scales[0], whole] if is_nvfp4 else scales[0],
        [recipe, functional.ScalingType.TensorWise] if is_nvfp4 else recipe,
        [scales[1].view(torch.uint8).reshape(3, -1).view(scales[1].dtype), whole] if is_nvfp4 else scales[1],
        [recipe, functional.ScalingType.TensorWise] if is_nvfp4 else recipe,
        functional.SwizzleType.SWIZZLE_32_4_4,
        functional.SwizzleType.SWIZZLE_32_4_4,
        offs=torch.tensor(np.cumsum(GROUPS), dtype=torch.int32, device="cuda"),
        output_dtype=torch.float32,
    )
    factor = [1.0, 4.0, 9.0] if is_nvfp4 else [1.0] * 3
    expected = np.concatenate([a.values @ b.values.T * each for a, b, each in zip(rows, others, factor)])
    np.testing.assert_array_equal(got.cpu().numpy(), expected.astype(np.float32))


def joined(parts: list[torch.Tensor]) -> torch.Tensor:
    return torch.cat([each.view(torch.uint8) for each in parts]).view(parts[0].dtype)


def test_groups_along_k():
    """The products of parts of K are stacked."""
    functional = torch.nn.functional
    kind = functional.ScalingType.BlockWise1x32
    parts = [[Side(count, "float8_e4m3fn", "float8_e8m0fnu", 32, seed) for seed in (1 + i, 5 + i)] for i, count in
             enumerate((M, M))]  # fmt: skip
    a = torch.cat([part[0].matrix.view(torch.uint8) for part in parts], 1).view(torch.float8_e4m3fn)
    b = torch.cat([part[1].matrix.view(torch.uint8) for part in parts], 1).view(torch.float8_e4m3fn)
    swizzle = functional.SwizzleType.SWIZZLE_32_4_4
    got = functional.scaled_grouped_mm(
        a, b.t(), joined([part[0].scales() for part in parts]), kind, joined([part[1].scales() for part in parts]), kind,
        swizzle, swizzle, offs=torch.tensor([192, 384], dtype=torch.int32, device="cuda"), output_dtype=torch.float32,
    )  # fmt: skip
    expected = np.stack([part[0].values @ part[1].values.T for part in parts])
    np.testing.assert_array_equal(got.cpu().numpy(), expected.astype(np.float32))


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
