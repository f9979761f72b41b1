"""Prints tensors that cutlass.torch makes. Run under both compilers by test_torch_tensors.py."""

import cutlass
import cutlass.cute as cute
import cutlass.torch as ct
import torch

Init = ct.TensorInitType


def show(tensor):
    print(tuple(tensor.shape), tensor.stride(), tensor.dtype, tensor.device.type, tensor.flatten()[:8].tolist())


def layout_of(argument):
    return str(argument).partition("@")[2]


@cute.jit
def negated(a: cute.Tensor):
    for i in range(cute.size(a)):
        a[i] = -a[i]


print(list(Init), ct.RandomInitConfig(), ct.GaussianInitConfig(), ct.ScalarInitConfig())
torch.manual_seed(1)
make = ct.create_and_permute_torch_tensor
show(make((2, 3, 4), torch.float16, (1, 2, 0), Init.RANDOM, ct.RandomInitConfig(-2, 2)))
show(make((2, 3, 4), torch.float16))
show(make((2, 3, 4), torch.float32, None, Init.GAUSSIAN))
show(make((2, 3, 4), torch.float32, None, Init.GAUSSIAN, ct.GaussianInitConfig(1.0, 2.0, 3.0)))
show(make((2, 3, 4), torch.int8, None, Init.SCALAR, ct.ScalarInitConfig(7)))
show(make((2, 3, 4), torch.uint8, None, Init.RANDOM, ct.RandomInitConfig(0, 4)))
print(make((2, 3, 4), torch.uint8, (2, 1, 0), Init.SKIP).shape)
for is_mode0_major in (True, False):
    for dtype in (
        cutlass.Float16,
        cutlass.Float32,
        cutlass.Int8,
        cutlass.Uint8,
        cutlass.BFloat16,
        cutlass.Float8E4M3FN,
    ):
        torch.manual_seed(1)
        matrix = ct.matrix(2, 8, 16, is_mode0_major, dtype)
        show(matrix)
        argument, tensor = ct.cute_tensor_like(matrix, dtype, is_dynamic_layout=True, assumed_align=16)
        print(dtype.__name__, layout_of(argument), argument.element_type.__name__)
        show(tensor)
        print(layout_of(ct.cute_tensor_like(matrix, dtype, is_dynamic_layout=False)[0]))
print(ct.get_leading_dim(torch.zeros(3, 4)), ct.get_leading_dim(torch.zeros(3, 4).T))

numbers = torch.tensor([0.0, 1.1, -2.3, 500.0, -1e6, 0.01, 3.3, float("inf")])
for dtype in (cutlass.Float8E4M3FN, cutlass.Float8E5M2, cutlass.Float16):
    narrow, kept = ct.cute_tensor_like(torch.zeros(8, dtype=torch.float32), dtype, True)
    given = ct.convert_cute_tensor(numbers.cuda(), narrow, dtype)
    print(given is narrow, kept.cpu().float().tolist())
    wide, out = ct.cute_tensor_like(torch.empty(8), cutlass.Float32, True)
    cute.testing.convert(narrow, wide)
    print(out.cpu().tolist())
