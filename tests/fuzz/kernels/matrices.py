"""Generated copies of matrices through ldmatrix and stmatrix, and the product of what was loaded by a warp's instruction."""

from __future__ import annotations

from tests.fuzz.kernels.choices import Choices
from tests.fuzz.kernels.text import BFLOAT16, FLOAT16, HEAD, strides

TEXT = """
M, N, K = {m}, {n}, {k}


@cute.kernel
def kernel(a: cute.Tensor, b: cute.Tensor, out_a: cute.Tensor, out_b: cute.Tensor, c: cute.Tensor, out_c: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op({type}, cutlass.Float32, {shape}), {atoms}{permutation})
    smem = cutlass.memory.SmemAllocator()
    s_a = smem.allocate_tensor({type}, {layout_a}, 1024{swizzle})
    s_b = smem.allocate_tensor({type}, {layout_b}, 1024{swizzle})
    s_c = smem.allocate_tensor({type}, {layout_c}, 1024{swizzle})
    for i in range(thread, M * K, {threads}):
        s_a[i % M, i // M] = a[i % M, i // M]
    for i in range(thread, N * K, {threads}):
        s_b[i % N, i // N] = b[i % N, i // N]
    cute.arch.sync_threads()
    mine = mma.get_slice(thread)
    load_a = cute.make_tiled_copy_A(cute.make_copy_atom(warp.LdMatrix8x8x16bOp({transposed}, {count_a}), {type}), mma)
    load_b = cute.make_tiled_copy_B(cute.make_copy_atom(warp.LdMatrix8x8x16bOp({transposed}, {count_b}), {type}), mma)
    values_a, values_b = mma.make_fragment_A(mine.partition_A(s_a)), mma.make_fragment_B(mine.partition_B(s_b))
    for load, shared, values in ((load_a, s_a, values_a), (load_b, s_b, values_b)):
        lane = load.get_slice(thread)
        cute.copy(load, lane.partition_S(shared), lane.retile(values))
    part_a, part_b, part_c = mine.partition_A(out_a), mine.partition_B(out_b), mine.partition_C(c)
    for i in cutlass.range_constexpr(cute.size(values_a)):
        part_a[i] = values_a[i]
    for i in cutlass.range_constexpr(cute.size(values_b)):
        part_b[i] = values_b[i]
    sums = mma.make_fragment_C(part_c.shape)
    sums.fill(0)
{product}
    for i in cutlass.range_constexpr(cute.size(sums)):
        part_c[i] = sums[i]
    store = cute.make_tiled_copy_C(cute.make_copy_atom({store}), mma)
    rounded = cute.make_fragment_like(sums, {type})
    rounded.store(sums.load().to({type}))
    lane = store.get_slice(thread)
    cute.copy(store, lane.retile(rounded), lane.partition_D(s_c))
    cute.arch.sync_threads()
    for i in range(thread, M * N, {threads}):
        out_c[i % M, i // M] = s_c[i % M, i // M]


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor, out_a: cute.Tensor, out_b: cute.Tensor, c: cute.Tensor, out_c: cute.Tensor):
    kernel(a, b, out_a, out_b, c, out_c).launch(grid=(1, 1, 1), block=({threads}, 1, 1))


def given():
    return numbers(M * K, -2, 2, {seed}).reshape(M, K), numbers(N * K, -2, 2, {seed} + 1).reshape(N, K)


def run():
    a, b = (device(each, {torch}) for each in given())
    out_a, out_b = device(np.zeros((M, K)), {torch}), device(np.zeros((N, K)), {torch})
    c, out_c = device(np.zeros((M, N)), torch.float32), device(np.zeros((M, N)), {torch})
    host(*(from_dlpack(each, assumed_align=16) for each in (a, b, out_a, out_b, c, out_c)))
    return {{"a": plain(out_a), "b": plain(out_b), "c": plain(c), "out_c": plain(out_c)}}


def expected():
    a, b = given()
    return {{"a": a, "b": b, "c": a @ b.T, "out_c": a @ b.T}}
"""

PRODUCTS = (
    "    cute.gemm(mma, sums, values_a, values_b, sums)",
    "    for k in cutlass.range_constexpr(cute.size(values_a, mode=[2])):\n"
    "        cute.gemm(mma, sums, values_a[None, None, k], values_b[None, None, k], sums)",
)


def matrices(pick: Choices) -> str:
    """A and B through ldmatrix, their product through stmatrix; sums are below 256, exact in either type."""
    kind, odd = pick(FLOAT16, BFLOAT16), pick(*(False,) * 9, True)
    depth = pick(16, 8)
    atoms = pick((1, 1, 1), (2, 1, 1), (1, 2, 1), (2, 2, 1), (4, 1, 1))
    wide = pick(False, True)  # two instructions of N for each warp
    tile_n = 8 * atoms[1] * (2 if wide else 1)
    m, n, k = 16 * atoms[0] * pick(1, 2), tile_n * pick(1, 2, 3), pick(32, 16, 48)
    transposed = pick(False, True)
    swizzle = pick("", f", cute.make_swizzle({pick(1, 2, 3)}, 4, 3)")
    padding = 0 if swizzle else pick(0, 8)
    order = (0, 1) if transposed else (1, 0)
    if transposed:
        m, n = max(m, 16), -(-n // 16) * 16
    layouts = [
        f"cute.make_layout({shape}, stride={strides(shape, each, padding)})"
        for shape, each in (((m, k), order), ((n, k), order), ((m, n), (1, 0)))
    ]
    counts = (1, 2, 4) if odd else (1, 2, 4) if depth == 16 else (1, 2)
    counts_b = (1, 2, 4) if odd else ((1, 2, 4) if wide else (1, 2)) if depth == 16 else (1, 2) if wide else (1,)
    matrix = f"warp.StMatrix8x8x16bOp(False, {pick(1, 2, *([4] if wide or odd else []))}), {kind}"
    return HEAD.format(title="Matrices through shared memory.") + TEXT.format(
        m=m, n=n, k=k, type=kind, torch=kind.torch, shape=(16, 8, depth), atoms=atoms,
        permutation=f", permutation_mnk={(16 * atoms[0], tile_n, depth)}" if wide else "", layout_a=layouts[0], layout_b=layouts[1],
        layout_c=layouts[2], swizzle=swizzle, threads=32 * atoms[0] * atoms[1], transposed=transposed, count_a=pick(*counts),
        count_b=pick(*counts_b), product=pick(*PRODUCTS), store=pick(matrix, f"CopyUniversalOp(), {kind}"), seed=pick(*range(9)),
    )  # fmt: skip
