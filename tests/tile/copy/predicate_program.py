"""Prints which values of a predicate count as true; run under both compilers by test_copy.py."""

import warnings

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Float32
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import from_dlpack

warnings.simplefilter("ignore")
INTEGERS, FLOATS = [0, 1, 2, 3, -1, 4, 127, -2], [0.0, 1.0, 2.0, 0.5, -0.0, float("nan"), -1.0, 1e-30]


@cute.kernel
def kernel(src: cute.Tensor, out: cute.Tensor, pred: cute.Tensor, how: cutlass.Constexpr):
    shape = cute.make_layout((1, 8))
    s = cutlass.memory.SmemAllocator().allocate_tensor(Float32, shape, 16)
    s.fill(-7.0)
    cute.arch.sync_threads()
    p = cute.make_rmem_tensor(shape, pred.element_type)
    for i in cutlass.range_constexpr(8):
        p[i] = pred[i]
    given = cute.make_tensor(src.iterator, shape)
    if cutlass.const_expr(how == "cp.async"):
        cute.copy(cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=32), given, s, pred=p)
    elif cutlass.const_expr(how == "universal"):
        cute.copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=32), given, s, pred=p)
    else:
        cute.basic_copy_if(p, given, s)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(8):
        out[i] = s[0, i]


@cute.jit
def host(src: cute.Tensor, out: cute.Tensor, pred: cute.Tensor, how: cutlass.Constexpr):
    kernel(src, out, pred, how).launch(grid=1, block=1)


for how, names in (
    ("cp.async", "bool int8 int32"),
    ("universal", "uint8 int32 int64"),
    ("if", "int16 float16 float32"),
):
    for name in names.split():
        dtype, out = getattr(torch, name), torch.zeros(8)
        values = FLOATS if dtype.is_floating_point else [x % 256 for x in INTEGERS] if name == "uint8" else INTEGERS
        host(from_dlpack(torch.arange(11.0, 19.0)), from_dlpack(out), from_dlpack(torch.tensor(values).to(dtype)), how)
        print(how, name, [int(x) for x in out.tolist()])
