"""Copies tensors that no tile divides, by the copies of `cute.experimental`, and prints what is where; run under both
compilers by test_bounded.py."""

import sys
import warnings

import cutlass
import torch
from cutlass import cute
from cutlass.cute import experimental as ext
from cutlass.cute.nvgpu import CopyUniversalOp, cpasync
from cutlass.cute.runtime import from_dlpack

warnings.simplefilter("ignore")
VECTOR = 4
WAYS = ("vectors", "elements", "widest", "cp.async", "widest cp.async", "tiled", "origin", "loop", "each")


@ext.kernel
def moved(a: cute.Tensor, b: cute.Tensor, way: cutlass.Constexpr):
    """Blocks of 16 x 8 elements by 32 threads, VECTOR elements each."""
    tid, _, _ = cute.arch.thread_idx()
    x, y, _ = cute.arch.block_idx()
    bits = 32 if way == "elements" else 32 * VECTOR
    atom = cute.make_copy_atom(CopyUniversalOp(), a.element_type, num_bits_per_copy=bits)
    values = (1, VECTOR) if way == "elements" else (VECTOR, 1)
    tv = cute.make_layout(((4, 8), values), stride=((VECTOR, 16), (1, 0 if way != "elements" else 1)))
    tiler = cute.core._pack_tile((16, 8))
    if cutlass.const_expr(way == "origin"):  # another end than the parameter has
        a = ext.predicated_tensor_origin(cute.make_tensor(a.iterator, cute.make_layout((12, 5), stride=a.stride)))
    ga = cute.zipped_divide(a, cute.core._pack_shape((16, 8)))[(None, None), (x, y)]
    gb = cute.local_tile(b, (16, 8), (x, y))
    part = ext.partition(ga, tid, layout_tv=tv, tiler=tiler)
    to = ext.partition(gb, tid, layout_tv=tv, tiler=tiler)
    buffer = ext.allocate(a.element_type, cute.AddressSpace.rmem, cute.make_layout((values, (1, 1))), alignment=16)
    buffer.fill(-2.0)
    print(way, part, buffer)
    if cutlass.const_expr(way == "widest"):
        ext.simt_auto_vec_copy(part, buffer)
        ext.simt_auto_vec_copy(buffer, to)
    elif cutlass.const_expr(way in ("cp.async", "widest cp.async")):
        tile = ext.allocate(a.element_type, cute.AddressSpace.smem, cute.make_layout((16, 8)), alignment=16)
        mine = ext.partition(tile, tid, layout_tv=tv, tiler=tiler)
        if cutlass.const_expr(way == "cp.async"):
            asynchronous = cute.make_copy_atom(cpasync.CopyG2SOp(), a.element_type, num_bits_per_copy=bits)
            ext.copy(part, mine, copy_atom=asynchronous)
        else:
            ext.simt_auto_vec_copy(part, mine, async_op=True)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        ext.copy(mine, buffer, copy_atom=atom)
        ext.copy(buffer, to, copy_atom=atom)
    elif cutlass.const_expr(way == "tiled"):
        threads = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 8)), cute.make_layout((VECTOR, 1)))
        ext.partition_and_copy(threads.get_slice(tid), ga, buffer)
        ext.partition_and_copy(threads.get_slice(tid), buffer, gb)
    elif cutlass.const_expr(way == "loop"):
        for i in cutlass.range(2):
            half = cute.local_tile(a, (16, 8), (x, i * 2 + y % 2))
            ext.copy(ext.partition(half, tid, layout_tv=tv, tiler=tiler), buffer, copy_atom=atom)
            half = cute.local_tile(b, (16, 8), (x, i * 2 + y % 2))
            ext.copy(buffer, ext.partition(half, tid, layout_tv=tv, tiler=tiler), copy_atom=atom)
    else:
        ext.copy(part, buffer, copy_atom=atom)
        if cutlass.const_expr(way == "each"):
            ext.elementwise([buffer], [buffer], lambda elements: elements[0] + elements[1])
        ext.copy(buffer, to, copy_atom=atom)


@ext.jit
def host(a: cute.Tensor, b: cute.Tensor, grid: cutlass.Constexpr, way: cutlass.Constexpr):
    moved(a, b, way).launch(grid=grid, block=(32, 1, 1))


def run(m: int, n: int, way: str, dynamic: bool) -> torch.Tensor:
    """Copy m x n numbers, 0, 1, ..., into a tensor of as many, which were -1, and return the tensor."""
    a, b = torch.arange(m * n).float(), torch.full((m * n,), -1.0)
    arguments = [from_dlpack(t.reshape(n, m).t(), assumed_align=16) for t in (a, b)]
    if dynamic:
        arguments = [
            t.mark_layout_dynamic(leading_dim=0).mark_compact_shape_dynamic(
                mode=0, stride_order=(1, 0), divisibility=VECTOR
            )
            for t in arguments
        ]
    host(*arguments, (-(-m // 16), -(-n // 8), 1), way, no_cache=True)
    return b.reshape(n, m).t()


if __name__ == "__main__":
    torch.set_printoptions(profile="full", linewidth=200)
    for way in sys.argv[1:] or WAYS:
        for m, n, dynamic in ((36, 27, True), (20, 13, False)):
            print(way, m, n, run(m, n, way, dynamic).int())
