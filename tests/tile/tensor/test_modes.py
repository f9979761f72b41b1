"""Tiles and partitions of tensors against numpy's slices."""

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack

M, N = 12, 8


@pytest.fixture
def matrix(aligned):
    array = aligned((M, N))
    array[:] = np.arange(M * N).reshape(M, N)
    return array


def test_local_tile_is_a_slice(run, matrix):
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor, i: cutlass.Int32):
        tid, _, _ = cute.arch.thread_idx()
        tile = cute.local_tile(a, (4, 2), (i, 3))
        out[tid // 2, tid % 2] = tile[tid // 2, tid % 2]

    for i in range(3):
        out = np.zeros((4, 2), np.float32)
        run(kernel, matrix, out, i, threads=8)
        assert (out == matrix[4 * i : 4 * i + 4, 6:8]).all()


def test_local_tile_keeps_the_modes_of_none_and_projects(run, matrix):
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor, i: cutlass.Int32):
        tid, _, _ = cute.arch.thread_idx()
        tiles = cute.local_tile(a, (4, 16, 2), (i, 0, None), proj=(1, None, 1))  # (4, 2, tiles along N)
        for k in range(cute.size(tiles, mode=[2])):
            out[k, tid] = tiles[tid % 4, tid // 4, k]

    out = np.zeros((4, 8), np.float32)
    run(kernel, matrix, out, 1, threads=8)
    assert (out == [[matrix[4 + t % 4, 2 * k + t // 4] for t in range(8)] for k in range(4)]).all()


def test_local_partition_deals_the_elements_out(run, matrix):
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        tid, _, _ = cute.arch.thread_idx()
        mine = cute.local_partition(a, cute.make_layout((3, 4), stride=(4, 1)), tid)  # threads row-major
        for i in range(cute.size(mine)):
            out[tid, i] = mine[i]

    out = np.zeros((12, 8), np.float32)
    run(kernel, matrix, out, threads=12)
    for tid in range(12):
        assert (out[tid] == matrix[tid // 4 :: 3, tid % 4 :: 4].ravel(order="F")).all()


def test_dividing_dynamic_tensors(run, matrix):
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor, m: cutlass.Int32, n: cutlass.Int32):
        tid, _, _ = cute.arch.thread_idx()
        dynamic = cute.make_tensor(a.iterator, cute.make_layout((m, n), stride=(n, 1)))
        tiles = cute.zipped_divide(dynamic, (4, 4))
        rows, columns = tiles.shape[1]
        out[0, tid] = tiles[(tid % 4, tid // 4), (rows - 1, columns - 1)]
        flat = cute.flat_divide(dynamic, (4, 4))
        out[1, tid] = flat[tid % 4, tid // 4, 1, 0]
        last = cute.group_modes(flat, 0, 2)[tid, 1, 0]
        out[2, tid] = last

    out = np.zeros((3, 16), np.float32)
    run(kernel, matrix, out, M, N, threads=16)
    assert (out[0] == matrix[8:, 4:].ravel(order="F")).all()
    assert (out[1] == matrix[4:8, :4].ravel(order="F")).all()
    assert (out[2] == out[1]).all()


def test_a_slice_of_a_swizzled_layout_begins_at_its_first_element():  # as NVIDIA's compiler prints it
    rows = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))
    assert str(cute.slice_(rows, (3, None))) == "((8,4,2)):((1,-8,32))"
    assert [str(part) for part in cute.slice_and_offset((3, None), rows)] == ["((8,4,2)):((1,-8,32))", "216"]


def test_functions_of_layouts_take_tensors(run, matrix, capsys):
    @cute.kernel
    def kernel(a: cute.Tensor):
        print(
            cute.select(a, mode=[1]).layout,
            cute.coalesce(a).layout,
            cute.flatten(cute.tiled_divide(a, (4, 2))).layout,
            cute.composition(a, (4, 2)).layout,
            cute.slice_(a, (None, 1)).layout,
            cute.append_ones(a).layout,
            cute.filter(a).layout,
            cute.logical_divide(a, (4,)).layout,
            cute.size(a),
            cute.rank(a),
            cute.depth(a),
        )

    run(kernel, matrix)
    assert capsys.readouterr().out.split() == [
        "(8):(1)",
        "(12,8):(8,1)",
        "(4,2,3,4):(8,1,32,2)",
        "(4,2):(8,1)",
        "(12):(8)",
        "(12,8,1):(8,1,0)",
        "(12,8):(8,1)",
        "((4,3),8):((8,32),1)",
        "96",
        "2",
        "1",
    ]


NAMES = {  # ways to name a tile or an element of a (12, 8) tensor, and the least index in its mode that is outside
    "index": (lambda a, i: a[0, i], 8),
    "index of all": (lambda a, i: a[i], 96),
    "slice": (lambda a, i: a[None, i], 8),
    "slice_": (lambda a, i: cute.slice_(a, (None, i)), 8),
    "local_tile": (lambda a, i: cute.local_tile(a, (4, 2), (i, 0)), 3),
    "local_tile rounded up": (lambda a, i: cute.local_tile(a, (5, 2), (i, 0)), 3),
    "local_tile with None": (lambda a, i: cute.local_tile(a, (4, 2), (None, i)), 4),
    "local_tile of one mode": (lambda a, i: cute.local_tile(a, (4,), (i,)), 3),
    "local_tile with proj": (lambda a, i: cute.local_tile(a, (4, 16, 2), (i, 99, 0), proj=(1, None, 1)), 3),
    "local_tile of coordinates": (lambda a, i: cute.local_tile(cute.make_identity_tensor((12, 8)), (4, 2), (0, i)), 4),
    "local_partition": (lambda a, i: cute.local_partition(a, cute.make_layout((4, 2)), i), 8),
    "zipped_divide": (lambda a, i: cute.zipped_divide(a, (4, 2))[(None, None), (0, i)], 4),
    "tiled_divide": (lambda a, i: cute.tiled_divide(a, (4, 2))[(None, None), i, 0], 3),
    "flat_divide": (lambda a, i: cute.flat_divide(a, (4, 2))[None, None, 0, i], 4),
    "logical_divide": (lambda a, i: cute.logical_divide(a, (4, 2))[(None, i), (None, 0)], 3),
    "composition": (lambda a, i: cute.composition(a, (4, 2))[i, 0], 4),
    "domain_offset": (lambda a, i: cute.domain_offset((0, 2), a)[0, i], 8),
    "group_modes": (lambda a, i: cute.group_modes(a, 0, 2)[(0, i),], 8),
    "tiled copy": (lambda a, i: tiled_copy().get_slice(i).partition_S(a), 32),
    "tiled mma": (lambda a, i: tiled_mma().get_slice(i), 32),
}


def tiled_copy():
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32)
    return cute.make_tiled_copy_tv(atom, cute.make_layout((4, 8)), cute.make_layout((1, 1)))


def tiled_mma():
    op = cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    return cute.make_tiled_mma(op)


@cute.kernel
def names(a: cute.Tensor, n: cutlass.Int32, of: cutlass.Constexpr, i: cutlass.Constexpr):
    of(a, i)
    of(a, n)


@pytest.mark.parametrize("of, outside", NAMES.values(), ids=NAMES)
def test_every_way_to_name_a_tile_refuses_a_static_coordinate_outside(of, outside):
    a = from_dlpack(np.zeros((M, N), np.float32, order="F"))

    @cute.jit
    def host(a: cute.Tensor, n: cutlass.Int32, i: cutlass.Constexpr):
        names(a, n, of, i).launch(grid=1, block=1)

    cute.compile(host, a, 1000, outside - 1)
    for i in (outside, -1):
        with pytest.raises(DSLUserCodeError, match=rf"the index {i} is outside") as error:
            cute.compile(host, a, 1000, i)
        assert error.value.fix == f"valid are 0 to {outside - 1}"
