"""Copies: vectors, predicates in every shape, what is refused.

Modules tested here: dsl/tile/copy/atom.py, dsl/tile/vector/vector.py.
"""

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import cute
from dsl.cutlass.cute.nvgpu import CopyUniversalOp, cpasync

THREADS, ELEMENTS, POISON = 8, 16, -1.0


def source(aligned, dtype=np.float32):
    array = aligned((THREADS, ELEMENTS), dtype)
    array[:] = np.arange(1, THREADS * ELEMENTS + 1).reshape(THREADS, ELEMENTS)
    return array


@pytest.mark.parametrize("bits", [32, 64, 128])
@pytest.mark.parametrize("predicate", ["none", "each", "shared"])
def test_cp_async_zero_fills_vector_by_vector(run, aligned, bits, predicate):
    vector = bits // 32
    vectors = ELEMENTS // vector

    @cute.kernel
    def kernel(src: cute.Tensor, out: cute.Tensor, limit: cutlass.Int32):
        tid, _, _ = cute.arch.thread_idx()
        rows = cute.make_layout((THREADS, ELEMENTS), stride=(ELEMENTS, 1))
        tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, rows, 16)
        mine, theirs = (cute.zipped_divide(t[tid, None], (vector,)) for t in (tile, src))
        mine.fill(POISON)
        atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=bits)
        if cutlass.const_expr(predicate == "none"):
            cute.copy(atom, theirs, mine)
        elif cutlass.const_expr(predicate == "each"):
            pred = cute.make_fragment_like(mine, cutlass.Boolean)
            for i in cutlass.range_constexpr(vectors):
                for j in cutlass.range_constexpr(vector):
                    pred[j, i] = tid + i < limit if j == 0 else True  # only element 0 of a vector counts
            cute.copy(atom, theirs, mine, pred=pred)
        else:
            shared = cute.make_layout(((vector,), (vectors,)), stride=((0,), (0,)))
            pred = cute.make_rmem_tensor(shared, cutlass.Boolean)
            pred.fill(tid < limit)
            cute.copy(atom, theirs, mine, pred=pred)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        for i in cutlass.range_constexpr(ELEMENTS):
            out[tid, i] = tile[tid, i]

    src, out = source(aligned), np.zeros((THREADS, ELEMENTS), np.float32)
    run(kernel, src, out, 5, threads=THREADS)
    tid, vector_of = np.arange(THREADS)[:, None], np.arange(ELEMENTS)[None, :] // vector
    kept = {"none": tid >= 0, "each": tid + vector_of < 5, "shared": tid < 5}[predicate]
    assert (out == np.where(kept, src, 0)).all()


def test_the_profile_of_a_partition_takes_one_predicate_a_vector(run, aligned):
    @cute.kernel
    def kernel(src: cute.Tensor, out: cute.Tensor, limit: cutlass.Int32):
        tid, _, _ = cute.arch.thread_idx()
        profile = cute.make_layout(((4, 2), 2), stride=((1, 4), 8))
        theirs = cute.make_tensor(src[tid, None].iterator, profile)
        mine = cute.make_tensor(out[tid, None].iterator, profile)
        pred = cute.make_rmem_tensor((2, 2), cutlass.Boolean)
        for i in cutlass.range_constexpr(4):
            pred[i] = tid + i < limit
        atom = cute.make_copy_atom(CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
        cute.copy(atom, theirs, mine, pred=pred)

    src, out = source(aligned), aligned((THREADS, ELEMENTS))
    out[:] = POISON
    run(kernel, src, out, 6, threads=THREADS)
    kept = np.arange(THREADS)[:, None] + np.arange(ELEMENTS)[None, :] // 4 < 6
    assert (out == np.where(kept, src, POISON)).all()  # no zero fill: the destination stays


@pytest.mark.parametrize(
    "dtype, numpy_type",
    [
        (cutlass.Float16, np.float16),
        (cutlass.Float32, np.float32),
        (cutlass.Int8, np.int8),
        (cutlass.Float64, np.float64),
    ],
)
@pytest.mark.parametrize("bits", [0, 64, 128])
def test_universal_copy_moves_every_element(run, aligned, emulator, dtype, numpy_type, bits):
    @cute.kernel
    def kernel(src: cute.Tensor, out: cute.Tensor):
        tid, _, _ = cute.arch.thread_idx()
        atom = cute.make_copy_atom(CopyUniversalOp(), dtype, num_bits_per_copy=bits)
        fragment = cute.make_fragment_like(src[tid, None])
        cute.copy(atom, src[tid, None], fragment)
        cute.copy(atom, fragment, out[tid, None])

    src, out = source(aligned, numpy_type), aligned((THREADS, ELEMENTS), numpy_type)
    run(kernel, src, out, threads=THREADS)
    assert (out == src).all()
    if bits == 128:
        assert "ld.global.v4.b32" in emulator.show("ptx") or "ld.global.v2.b64" in emulator.show("ptx")


def test_autovec_copy_finds_the_vectors(run, aligned, emulator):
    @cute.kernel
    def kernel(src: cute.Tensor, out: cute.Tensor):
        tid, _, _ = cute.arch.thread_idx()
        tile = cute.make_layout((2, 8), stride=(8, 1))  # row-major: the vectors run along mode 1
        theirs = cute.make_tensor(src[tid, None].iterator, tile)
        fragment = cute.make_fragment_like(theirs)
        cute.autovec_copy(theirs, fragment)
        cute.autovec_copy(fragment, cute.make_tensor(out[tid, None].iterator, cute.make_layout((2, 8))))

    src, out = source(aligned), aligned((THREADS, ELEMENTS))
    run(kernel, src, out, threads=THREADS)
    assert (out.reshape(THREADS, 8, 2) == src.reshape(THREADS, 2, 8).transpose(0, 2, 1)).all()
    assert "ld.global.v4.b32" in emulator.show("ptx")


def test_basic_copies(run, aligned):
    @cute.kernel
    def kernel(src: cute.Tensor, out: cute.Tensor, some: cute.Tensor, limit: cutlass.Int32):
        tid, _, _ = cute.arch.thread_idx()
        cute.basic_copy(src[tid, None], out[tid, None])
        pred = cute.make_fragment_like(src[tid, None], cutlass.Boolean)
        for i in cutlass.range_constexpr(ELEMENTS):
            pred[i] = i < limit
        cute.basic_copy_if(pred, src[tid, None], some[tid, None])

    src, out, some = source(aligned), aligned((THREADS, ELEMENTS), np.int32), aligned((THREADS, ELEMENTS))
    some[:] = POISON
    run(kernel, src, out, some, 3, threads=THREADS)
    assert (out.view(np.float32) == src).all()  # bits, as under NVIDIA's compiler
    assert (some == np.where(np.arange(ELEMENTS) < 3, src, POISON)).all()


def smem_tile(elements, alignment=16):
    return cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(elements), alignment)


def atom_of(bits, op=None, dtype=cutlass.Float32):
    return cute.make_copy_atom(op or cpasync.CopyG2SOp(), dtype, num_bits_per_copy=bits)


@cute.kernel
def whole_row(a: cute.Tensor):
    cute.copy(atom_of(128), a[0, None], smem_tile(16))


@cute.kernel
def misaligned(a: cute.Tensor, n: cutlass.Int32):
    cute.copy(atom_of(64), cute.make_tensor(a.iterator + n, 2), smem_tile(2))


@cute.kernel
def column(a: cute.Tensor):
    cute.copy(atom_of(128, CopyUniversalOp()), a[None, 0], smem_tile(8))


@cute.kernel
def shapes(a: cute.Tensor):
    cute.copy(atom_of(128), a[0, None], smem_tile(4))


@cute.kernel
def scalar_pred(a: cute.Tensor, n: cutlass.Int32):
    cute.copy(atom_of(128), cute.make_tensor(a.iterator, 4), smem_tile(4), pred=n < 3)


@cute.kernel
def float_pred(a: cute.Tensor):
    tile = smem_tile(4)
    cute.copy(atom_of(128), cute.make_tensor(a.iterator, 4), tile, pred=cute.make_fragment_like(tile, cutlass.Float32))


@cute.kernel
def partition_pred(a: cute.Tensor):
    profile = cute.make_layout(((4, 1), 2), stride=((1, 0), 4))
    tile = cute.make_tensor(smem_tile(8).iterator, profile)
    pred = cute.make_fragment_like(tile, cutlass.Boolean)
    cute.copy(atom_of(128), cute.make_tensor(a.iterator, profile), tile, pred=pred)


@cute.kernel
def to_global(a: cute.Tensor):
    cute.copy(atom_of(128), cute.make_tensor(a.iterator, 4), cute.make_tensor(a.iterator, 4))


@cute.kernel
def sixteen_bits(a: cute.Tensor):
    atom_of(16)


@cute.kernel
def cached_globally(a: cute.Tensor):
    atom_of(32, cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL))


@cute.kernel
def other_type(a: cute.Tensor):
    cute.copy(atom_of(128, dtype=cutlass.Float16), cute.make_tensor(a.iterator, 8), smem_tile(8))


@pytest.mark.parametrize(
    "kernel, message, fix",
    [
        (
            whole_row,
            "one call of the atom copies 4 elements, but the first mode of the source (16) is 16: one call "
            "would not copy it",
            "tile both tensors by vectors: `cute.zipped_divide(t, (4,))`",
        ),
        (
            misaligned,
            "a copy of 64 bits needs addresses that are multiples of 8 bytes, but the addresses of the source are "
            "only known to be multiples of 4; `n` is only known to be a multiple of 1",
            "if it is a multiple of 2, declare it: `cute.assume(n, divby=2)`",
        ),
        (
            column,
            "a copy of 128 bits moves 4 contiguous elements, but the first mode of the source is 8:16",
            "put the contiguous mode first, or copy fewer bits with num_bits_per_copy=32",
        ),
        (
            shapes,
            "copy needs as many elements in each mode, got a source of (16) and a destination of 4",
            "tile both with the same tiler",
        ),
        (
            scalar_pred,
            "pred must be a tensor of Boolean, got a Boolean",
            "pred = cute.make_fragment_like(dst, cutlass.Boolean); pred.fill(condition)",
        ),
        (
            float_pred,
            "pred must be a tensor of Boolean, got a tensor of Float32",
            "make it with `cutlass.Boolean`, and store conditions such as `x != 0` in it",
        ),
        (
            partition_pred,
            "pred must have a shape like (1,2) for a copy of ((4,1),2), got ((4,1),2)",
            "cute.make_rmem_tensor((1,2), cutlass.Boolean)",
        ),
        (to_global, "cp.async copies gmem to smem, got gmem to gmem", "use a CopyUniversalOp atom for other memory"),
        (
            sixteen_bits,
            "cp.async.ca copies 32 or 64 or 128 bits, got 16",
            "num_bits_per_copy=32, 64 or 128 with LoadCacheMode.ALWAYS",
        ),
        (cached_globally, "cp.async.cg copies 128 bits, got 32", "num_bits_per_copy=128"),
        (
            other_type,
            "the atom copies Float16, but the source holds Float32",
            "make the atom with Float32, or recast the tensor",
        ),
    ],
    ids=lambda value: value.__name__ if hasattr(value, "rewritten") else "",
)
def test_mistakes_are_named(refused, aligned, kernel, message, fix):
    numbers = (3,) * (len(kernel.signature.parameters) - 1)
    assert refused(kernel, source(aligned), *numbers) == (message, fix)
