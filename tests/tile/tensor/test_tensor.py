"""Tensors: indexing, slices, fragments, coordinates, and what is refused."""

import warnings

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack

ROWS, COLUMNS = 8, 4


@pytest.fixture
def matrix(aligned):
    array = aligned((ROWS, COLUMNS))
    array[:] = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    return array


def test_elements_by_coordinate_by_index_and_by_slice(run, matrix):
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        tid, _, _ = cute.arch.thread_idx()
        row, column = tid // 4, tid % 4
        out[tid, 0] = a[row, column]
        out[tid, 1] = a[tid]
        out[tid, 2] = a[row, None][column]
        out[tid, 3] = a[None, column][row]

    out = np.zeros((32, 4), np.float32)
    run(kernel, matrix, out)
    index = np.arange(32)
    wanted = matrix.ravel(order="F")[index]  # an index counts column-major
    by_coordinate = matrix[index // 4, index % 4]
    assert (out == np.stack([by_coordinate, wanted, by_coordinate, by_coordinate], axis=1)).all()


@pytest.mark.parametrize(
    "dtype, numpy_type",
    [
        (cutlass.Int8, np.int8),
        (cutlass.Uint16, np.uint16),
        (cutlass.Int32, np.int32),
        (cutlass.Int64, np.int64),
        (cutlass.Float16, np.float16),
        (cutlass.Float32, np.float32),
        (cutlass.Float64, np.float64),
    ],
)
def test_stores_convert_to_the_element_type(run, dtype, numpy_type):
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        tid, _, _ = cute.arch.thread_idx()
        fragment = cute.make_rmem_tensor(2, dtype)
        fragment[0] = tid
        fragment[1] = a[tid]
        out[tid, 0] = fragment[0]
        out[tid, 1] = fragment[1]

    a = np.linspace(0, 100, 32).astype(np.float32)
    out = np.zeros((32, 2), numpy_type)
    run(kernel, a, out)
    assert (out == np.stack([np.arange(32).astype(numpy_type), a.astype(numpy_type)], axis=1)).all()


def test_a_boolean_takes_a_byte(run):
    @cute.kernel
    def kernel(flags: cute.Tensor, out: cute.Tensor):
        tid, _, _ = cute.arch.thread_idx()
        fragment = cute.make_rmem_tensor(2, cutlass.Boolean)
        fragment.fill(tid < 5)
        fragment[1] = flags[tid]
        flags[tid] = fragment[0]
        out[tid] = cutlass.Int32(fragment[1])

    flags, out = np.arange(32) % 3 == 0, np.zeros(32, np.int32)
    before = flags.copy()
    run(kernel, flags, out)
    assert (flags == (np.arange(32) < 5)).all() and (out == before).all()


def test_a_fragment_is_private_and_indexed_dynamically(run):
    @cute.kernel
    def kernel(out: cute.Tensor, n: cutlass.Int32):
        tid, _, _ = cute.arch.thread_idx()
        counts = cute.make_rmem_tensor((2, 2), cutlass.Int32)
        counts.fill(0)
        for i in range(n):
            counts[(tid + i) % 4] += i
        for j in cutlass.range_constexpr(4):
            out[tid, j] = counts[j]

    out = np.zeros((32, 4), np.int32)
    run(kernel, out, 7)
    wanted = np.zeros((32, 4), np.int32)
    for tid in range(32):
        for i in range(7):
            wanted[tid, (tid + i) % 4] += i
    assert (out == wanted).all()


def test_coordinate_tensors_follow_tiles(run):
    @cute.kernel
    def kernel(out: cute.Tensor, m: cutlass.Int32):
        tid, _, _ = cute.arch.thread_idx()
        coords = cute.make_identity_tensor((16, 8))
        tile = cute.local_tile(coords, (4, 4), (m, 1))
        row, column = tile[tid % 4, tid // 4]
        out[tid, 0] = row
        out[tid, 1] = column

    out = np.zeros((16, 2), np.int32)
    run(kernel, out, 2, threads=16)
    tid = np.arange(16)
    assert (out == np.stack([8 + tid % 4, 4 + tid // 4], axis=1)).all()


def test_an_offset_inside_a_swizzle_of_the_layout_warns():
    """NVIDIA's compiler moves the pointer to the element and swizzles from there: measured at (3, 24), and at (4, 24)
    of 8 rows of 64, which is (4, 40) there."""

    @cute.kernel
    def kernel(out: cute.Tensor, row: cutlass.Constexpr):
        raw = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Int16, cute.make_layout(1024), 1024)
        swizzled = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((16, 64), stride=(64, 1)))
        tensor = cute.make_tensor(raw.iterator, swizzled)
        for i in range(cute.size(tensor)):
            tensor[i] = cutlass.Int16(i)
        moved = cute.domain_offset((row, 0), tensor)
        for i in range(4):
            out[i] = cutlass.Int32(moved[i, i])

    @cute.jit
    def host(out: cute.Tensor, row: cutlass.Constexpr):
        kernel(out, row).launch(grid=1, block=1)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for row, count in ((8, 0), (3, 1)):
            out = np.zeros(4, np.int32)
            host(from_dlpack(out), row)
            assert out.tolist() == [row + 17 * i for i in range(4)]
            assert len(told) == count
    assert "goes on inside the 512 elements of its swizzle: NVIDIA's compiler swizzles again" in str(told[0].message)


def test_domain_offset_and_recast(run, matrix):
    @cute.kernel
    def kernel(a: cute.Tensor, out: cute.Tensor):
        shifted = cute.domain_offset((2, 1), a)
        words = cute.recast_tensor(a, cutlass.Int32)
        halves = cute.recast_tensor(a, cutlass.Int16)
        out[0] = cutlass.Int32(shifted[1, 2])
        out[1] = words[3, 2]
        out[2] = halves[3, 5]

    out = np.zeros(3, np.int32)
    run(kernel, matrix, out, threads=1)
    assert list(out) == [matrix[3, 3], matrix.view(np.int32)[3, 2], matrix.view(np.int16)[3, 5]]


def test_a_tensor_is_carried_through_control_flow(run, matrix):
    @cute.kernel
    def kernel(a: cute.Tensor, b: cute.Tensor, n: cutlass.Int32):
        tid, _, _ = cute.arch.thread_idx()
        part = a[0, None]
        if n > 3:
            part = a[2, None]
        b[tid] = part[tid]

    for n, row in ((1, 0), (5, 2)):
        out = np.zeros(4, np.float32)
        run(kernel, matrix, out, n, threads=4)
        assert (out == matrix[row]).all()


def test_large_offsets_are_computed_in_64_bits(run):
    @cute.kernel
    def kernel(out: cute.Tensor, i: cutlass.Int32, j: cutlass.Int32):
        large = cute.make_tensor(out.iterator, cute.make_layout((1 << 20, 1 << 14), stride=(1 << 14, 1)))
        out[0] = cute.domain_offset((i, j), large).iterator.toint() - out.iterator.toint()

    out = np.zeros(1, np.int64)
    run(kernel, out, (1 << 20) - 1, 5, threads=1)
    assert out[0] == 8 * (((1 << 20) - 1) * (1 << 14) + 5)


def test_indices_out_of_range_are_refused(refused, matrix):
    @cute.kernel
    def kernel(a: cute.Tensor):
        a[8, 0] = 1.0

    @cute.kernel
    def negative(a: cute.Tensor):
        a[0, -1] = 1.0

    @cute.kernel
    def index(a: cute.Tensor):
        a[32] = 1.0

    assert refused(kernel, matrix) == (
        "the index 8 is outside mode 0, whose extent is 8; the tensor is (8,4)",
        "valid are 0 to 7",
    )
    assert refused(negative, matrix) == (
        "the index -1 is outside mode 1, whose extent is 4; the tensor is (8,4)",
        "valid are 0 to 3",
    )
    assert refused(index, matrix) == (
        "the index 32 is outside the 32 elements; the tensor is (8,4)",
        "valid are 0 to 31",
    )


def test_mistakes_are_named(refused, matrix):
    @cute.kernel
    def rank(a: cute.Tensor):
        a[1, 2, 3] = 1.0

    @cute.kernel
    def real(a: cute.Tensor):
        a[1.5, 0] = 1.0

    @cute.kernel
    def whole(a: cute.Tensor):
        a[0, None] = a[1, None]

    @cute.kernel
    def dynamic(a: cute.Tensor, n: cutlass.Int32):
        cute.make_rmem_tensor((n, 4), cutlass.Float32)

    @cute.kernel
    def coordinates(a: cute.Tensor):
        cute.make_identity_tensor((4, 4))[1, 1] = 3

    @cute.kernel
    def layouts(a: cute.Tensor):
        cute.zipped_divide(a, (2, 2, 2))

    assert refused(rank, matrix) == (
        "the coordinate (1,2,3) does not fit the shape (8,4); the tensor is (8,4)",
        "give 2 coordinates, or one index",
    )
    assert refused(real, matrix) == (
        "tensor index must be integers and None, got float",
        "convert it: `Int32(x)`; None (or `:`) keeps a mode whole",
    )
    assert refused(whole, matrix) == (
        "assigns a tensor to a part of a tensor",
        "copy it: `cute.autovec_copy(src, dst[...])`",
    )
    assert refused(dynamic, matrix, 3) == (
        "layout of a register tensor must be static, got (?,4):(1,?)",
        "tile it with a static tiler, and make a fragment of one tile",
    )
    assert refused(coordinates, matrix) == (
        "is a tensor of coordinates: it has no memory to read or write",
        "index it for a coordinate, or make a tensor over a pointer",
    )
    assert refused(layouts, matrix) == (
        "logical_divide: the tiler has 3 modes, but (8,4):(4,1) has 2",
        "give the tiler at most one mode an extent of the layout",
    )


def test_a_dynamic_value_is_not_a_constexpr():
    @cute.kernel
    def kernel(a, m: cutlass.Constexpr):
        a[m, 0] = 1.0

    with pytest.raises(cutlass.DSLUserCodeError) as error:
        cute.compile(launch_with, kernel, 3)
    assert (error.value.message, error.value.id) == (
        "passes a dynamic Int32 for `m`, which is Constexpr",
        "PHASE_REQUIRES_CONSTANT",
    )


@cute.jit
def launch_with(kernel: cutlass.Constexpr, n: cutlass.Int32):
    kernel(n, n).launch(grid=1, block=1)


@pytest.mark.parametrize("divisor", [1, 4])
def test_a_known_divisor_allows_wide_copies(run, refused, matrix, divisor):
    @cute.kernel
    def kernel(a: cute.Tensor, stride: cutlass.Int32):
        tid, _, _ = cute.arch.thread_idx()
        rows = cute.make_tensor(a.iterator, cute.make_layout((4, 4), stride=(cute.assume(stride, divisor), 1)))
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
        fragment = cute.make_fragment_like(rows[tid, None])
        cute.copy(atom, rows[tid, None], fragment)
        fragment[0] = -1.0
        cute.copy(atom, fragment, rows[tid, None])

    if divisor == 1:
        assert "are only known to be multiples of 4" in refused(kernel, matrix, 8)[0]
        return
    wanted = matrix.copy()
    wanted[:8:2, 0] = -1
    run(kernel, matrix, 8, threads=4)
    assert (matrix == wanted).all()
