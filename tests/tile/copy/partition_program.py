"""Prints layouts of tiles, partitions, fragments and coordinate tensors; run under both compilers by test_tiled.py."""

import random

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


def show(label, make):
    try:
        print(label, make())
    except Exception:
        print(label, "refused")


def layouts(rng):
    m, n = rng.choice(((1, 32), (4, 8), (8, 4), (2, 16))), rng.choice(((1, 4), (4, 1), (2, 2), (2, 4), (1, 1), (4, 2)))
    order = rng.choice(((0, 1), (1, 0)))
    return cute.make_ordered_layout(m, order), cute.make_ordered_layout(n, rng.choice(((0, 1), (1, 0))))


def one_case(rng, g, n):
    threads, values = layouts(rng)
    bits = rng.choice((32, 64, 128))
    shape = rng.choice(((32, 64), (64, 64), (64, 128), (32, 64, 3)))
    order = tuple(rng.sample(range(len(shape)), len(shape)))
    tensor = cute.make_tensor(g.iterator, cute.make_ordered_layout(shape, order))
    tile = rng.choice(((8, 4), (16, 32), (5, 7)))
    whole = (*tile, *(1,) * (len(shape) - 2))
    print("case", bits, threads, values, tensor.layout)
    show("tiles", lambda: cute.local_tile(tensor, whole, (None,) * len(shape)).layout)
    show("tile", lambda: cute.local_tile(tensor, whole, (n,) * len(shape)).layout)
    show("divided", lambda: cute.zipped_divide(tensor, tile).layout)
    show("like", lambda: cute.make_fragment_like(tensor[(None,) * 2 + (0,) * (len(shape) - 2)]).layout)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=bits)
    if cute.size(values) * 32 % bits != 0:
        return
    tiled = cute.make_tiled_copy_tv(atom, threads, values)
    mine = tiled.get_slice(n)
    show("tv", lambda: (tiled.layout_tv_tiled, tiled.layout_src_tv_tiled, tiled.size))
    show("source", lambda: mine.partition_S(tensor).layout)
    show("coordinates", lambda: mine.partition_D(cute.make_identity_tensor(shape)))
    show("fragment", lambda: cute.make_fragment_like(mine.partition_D(tensor)).layout)
    show("retiled", lambda: mine.retile(cute.make_rmem_tensor(mine.partition_S(tensor).shape, cutlass.Float32)).layout)


@cute.kernel
def kernel(g: cute.Tensor, n: cutlass.Int32):
    rng = random.Random(7)
    for _ in cutlass.range_constexpr(40):
        one_case(rng, g, n)


@cute.jit
def host(g: cute.Tensor, n: cutlass.Int32):
    kernel(g, n).launch(grid=(1, 1, 1), block=(32, 1, 1))


fake = make_fake_tensor(cutlass.Float32, (64, 64), (64, 1), assumed_align=16)
cute.compile(host, fake, 3, options="--gpu-arch sm_90a")
