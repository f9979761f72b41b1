"""torch's products of half precision on the emulator equal the ones of its tensor cores, bit for bit."""

import numpy as np
import pytest
import torch

from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.launch import session
from dsl.launch.devices.torch_mapping.torch_products import product


@pytest.fixture(autouse=True)
def emulator():
    yield session.start("emulator")
    session.stop()


@cute.kernel
def tile_product(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    op = cute.nvgpu.warp.MmaF16BF16Op(a.element_type, cute.Float32, (16, 8, 16))
    own = cute.make_tiled_mma(op).get_slice(lane)
    of_a, of_b, of_c = own.partition_A(a), own.partition_B(b), own.partition_C(c)
    left, right, sums = own.make_fragment_A(of_a), own.make_fragment_B(of_b), own.make_fragment_C(of_c)
    cute.autovec_copy(of_a, left)
    cute.autovec_copy(of_b, right)
    sums.fill(0.0)
    for k in range(cute.size(left, mode=[2]), unroll_full=True):
        cute.gemm(cute.make_tiled_mma(op), sums, left[None, None, k], right[None, None, k], sums)
    cute.autovec_copy(sums, of_c)


@cute.jit
def multiply(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    tile_product(a, b, c).launch(grid=(1, 1, 1), block=(32, 1, 1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_product_is_what_mma_gives(dtype):
    torch.manual_seed(1)
    a = torch.randn(16, 64, device="cuda").to(dtype) * torch.tensor([2.0**-20, 1.0] * 8, device="cuda")[:, None].to(
        dtype
    )
    b = torch.randn(8, 64, device="cuda").to(dtype)
    sums = torch.zeros(16, 8, device="cuda")
    multiply(from_dlpack(a), from_dlpack(b), from_dlpack(sums))
    wanted = sums.to(dtype)
    assert torch.equal(a @ b.T, wanted) and torch.equal(torch.einsum("mk,nk->mn", a, b), wanted)
    assert torch.equal(torch.bmm(a[None], b.T[None])[0], wanted)
    assert torch.equal(torch.nn.functional.linear(a, b), wanted)


def test_terms_are_aligned_and_cut():
    a = np.array([[1.0, 2.0**-13, -(2.0**-12)]])
    b = np.array([[1.0], [2.0**-13], [2.0**-14]])  # 1 + 2**-26 - 2**-26: with 25 fraction bits both are cut to 0
    assert product(a, b, 16, 25, -14)[0, 0] == 1.0
    assert product(a[:, :2], b[:2], 16, 26, -14)[0, 0] == 1.0  # 1 + 2**-26 is not a float32: towards zero
    assert product(-a[:, 1:2], b[1:2], 16, 25, -14)[0, 0] == -(2.0**-26)


def test_products_that_are_not_finite_come_from_torch():
    a = torch.tensor([[float("inf"), 1.0]], dtype=torch.float16, device="cuda")
    b = torch.tensor([[1.0], [2.0]], dtype=torch.float16, device="cuda")
    assert (a @ b).tolist() == [[float("inf")]]


@pytest.mark.slow
def test_gradients_go_through():
    a = torch.ones(2, 4, dtype=torch.float16, device="cuda", requires_grad=True)
    (a @ torch.full((4, 3), 0.5, dtype=torch.float16, device="cuda")).sum().backward()
    assert a.grad.tolist() == [[1.5] * 4] * 2
