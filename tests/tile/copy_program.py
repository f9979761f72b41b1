"""Prints what copies of many pairs of shapes leave, with and without predicates; run under both compilers by test_copy.py.

A case that the compiler refuses prints so. `python copy_program.py SEED`.
"""

import random
import sys
import warnings

import cutlass
import cutlass.cute as cute
import torch
from cutlass import Boolean, Float32
from cutlass.cute.runtime import from_dlpack

SHAPES = (
    4,
    (4,),
    ((4,),),
    (4, 1),
    ((4, 1),),
    (1, 4),
    (2, 2),
    ((2, 2),),
    ((4, 1), 1),
    (4, 4),
    ((4, 4),),
    ((4, 1), 4),
    (4, (2, 2)),
    ((2, 2), 4),
    (4, 2, 2),
    ((4, 1), 4, 1),
    16,
    (16,),
    (4, 4, 1),
    ((4, 2), 2),
    (2, 4),
    ((4, 3),),
    3,
)


def size(shape):
    return shape if isinstance(shape, int) else size(shape[0]) * size(shape[1:]) if shape else 1


def cases(seed):
    rng, drawn = random.Random(seed), []
    pairs = [(a, b) for a in SHAPES for b in SHAPES if size(a) == size(b)]
    for how in ("copy", "basic_copy", "autovec_copy", "basic_copy_if"):
        drawn += [(how, *pair, pair[0] if how[-2:] == "if" else None, 32) for pair in rng.sample(pairs, 10)]
    drawn += [("copy", a, a, rng.choice(SHAPES), rng.choice((32, 128))) for a in rng.choices(SHAPES, k=20)]
    drawn += [("copy", a, a, a, 32) for a in rng.sample(SHAPES, 4)]
    # of V = (v, rest_v) one predicate decides v elements; `rest` is one mode
    drawn += [
        ("copy", ((4, 2), 2), ((4, 2), 2), (2, 2), 32),
        ("copy", ((4, 1), 2, 2), ((4, 1), 2, 2), (1, 4), 32),
        ("copy", (4,), 4, None, 128),
        ("basic_copy_if", (4, 4), ((4, 4),), (4, 4), 32),
    ]
    return drawn


@cute.jit
def host(
    src: cute.Tensor,
    dst: cute.Tensor,
    how: cutlass.Constexpr,
    a: cutlass.Constexpr,
    b: cutlass.Constexpr,
    pred: cutlass.Constexpr,
    bits: cutlass.Constexpr,
):
    s, d = cute.make_tensor(src.iterator, cute.make_layout(a)), cute.make_tensor(dst.iterator, cute.make_layout(b))
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=bits)
    if cutlass.const_expr(pred is None):
        if cutlass.const_expr(how == "copy"):
            cute.copy(atom, s, d)
        else:
            getattr(cute, how)(s, d)
    else:
        p = cute.make_rmem_tensor(cute.make_layout(pred), Boolean)
        for i in cutlass.range_constexpr(cute.size(p)):
            p[i] = i % 3 != 0
        if cutlass.const_expr(how == "copy"):
            cute.copy(atom, s, d, pred=p)
        else:
            cute.basic_copy_if(p, s, d)


warnings.simplefilter("ignore")
for case in cases(int(sys.argv[1])):
    out = torch.full((16,), -1.0)
    try:
        host(from_dlpack(torch.arange(1.0, 33.0), assumed_align=16), from_dlpack(out, assumed_align=16), *case)
        print(*case, [int(x) for x in out.tolist()], sep="; ", flush=True)
    except Exception:
        print(*case, "refused", sep="; ", flush=True)
