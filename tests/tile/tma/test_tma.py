"""TMA through cute.nvgpu.cpasync: NVIDIA's values and layouts, boxes against numpy, what is refused,
deadlocks of wrong counts.

Modules tested here: dsl/cutlass/cute/arch.py, dsl/cutlass/cute/nvgpu/cpasync.py,
dsl/cutlass/utils/blackwell_helpers.py, dsl/gpu/memory/tma.py, dsl/tile/tma/staged.py.
"""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Constexpr, Float16, Float32, Int64, const_expr, cute, memory, range_constexpr
from dsl.cutlass.cute import arch
from dsl.cutlass.cute.nvgpu import cpasync
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.cutlass.utils import blackwell_helpers
from dsl.emulator import Fault

PROGRAM = Path(__file__).with_name("tma_program.py")
LOAD, STORE = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()


@pytest.mark.slow
def test_layouts_and_values_are_upstreams(both):
    ours, theirs = both(PROGRAM)
    assert theirs.status == 0, theirs.errors
    assert theirs.output.count("\n") == 80 and ours.output == theirs.output


@pytest.mark.slow
def test_pipelines_that_tma_fills_and_empties(both):
    ours, theirs = both(PROGRAM.with_name("tma_pipeline_program.py"))
    assert theirs.status == 0, theirs.errors
    assert theirs.output.count(" True [") == 5 and ours.output == theirs.output


# --- against numpy ---------------------------------------------------------------------------------------------------


@cute.kernel
def load_and_add(load: cute.CopyAtom, source: cute.Tensor, store: cute.CopyAtom, target: cute.Tensor, made: Constexpr):
    """Each block brings in a tile, adds 1 to it where it lies, and sends it out."""
    x, y, _ = arch.block_idx()
    tidx, _, _ = arch.thread_idx()
    smem = memory.SmemAllocator()
    barrier = smem.allocate_array(Int64, 1)
    box = smem.allocate_tensor(Float32, made.layout.outer, 1024, swizzle=made.layout.inner)
    parts = [
        cpasync.tma_partition(
            atom,
            0,
            cute.make_layout(1),
            cute.group_modes(box, 0, 2),
            cute.group_modes(cute.local_tile(tensor, made.tile, (None, None)), 0, 2),
        )
        for atom, tensor in ((load, source), (store, target))
    ]
    if tidx == 0:
        arch.mbarrier_init(barrier, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if arch.warp_idx() == 0:
        with arch.elect_one():
            arch.mbarrier_arrive_and_expect_tx(barrier, cute.size(made.tile) * 4)
        cute.copy(load, parts[0][1][(None, x, y)], parts[0][0], tma_bar_ptr=barrier)
    arch.mbarrier_wait(barrier, 0)
    for i in range(tidx, cute.size(made.tile), 64):
        box[i] = box[i] + 1
    arch.fence_proxy("async.shared", space="cta")
    arch.sync_threads()
    if arch.warp_idx() == 0:
        cute.copy(store, parts[1][0], parts[1][1][(None, x, y)])


@cute.jit
def host(source: cute.Tensor, target: cute.Tensor, made: Constexpr):
    load, coords = cpasync.make_tiled_tma_atom(LOAD, source, made.layout, made.tile)
    store, out_coords = cpasync.make_tiled_tma_atom(STORE, target, made.layout, made.tile)
    load_and_add(load, coords, store, out_coords, made).launch(
        grid=(*cute.ceil_div(source.shape, made.tile), 1), block=(64, 1, 1)
    )


class Made:
    """A tile (M, N) with its shared memory, laid out as `order` has it, under a swizzle of bytes."""

    def __init__(self, tile, bits, major):
        self.tile, self.key = tile, (tile, bits, major)
        self.layout = cute.make_composed_layout(
            cute.make_swizzle(bits, 4, 3), 0, cute.make_ordered_layout(tile, order=(1, 0) if major else (0, 1))
        )


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    st.integers(1, 40),
    st.integers(1, 12).map(lambda n: 4 * n),
    st.sampled_from([(8, 16), (16, 32), (5, 8), (3, 64)]),
    st.integers(0, 3),
    st.booleans(),
    st.booleans(),
)
def test_every_tile_goes_there_and_back(rows, columns, tile, bits, is_dynamic, transposed):
    """Whatever part of the last tiles is outside."""
    if 16 << bits < tile[1] * 4 and bits:
        bits = 0
    source = np.random.default_rng(rows).standard_normal((rows, columns)).astype(np.float32)
    target = np.full_like(source, -7)
    made = Made(tile[::-1] if transposed else tile, bits, not transposed)
    arguments = []
    for array in (source, target):
        view = from_dlpack(array.T if transposed else array, assumed_align=16)
        arguments.append(view.mark_layout_dynamic(leading_dim=0 if transposed else 1) if is_dynamic else view)
    host(*arguments, made)
    np.testing.assert_array_equal(target, source + 1)


# --- what goes wrong -------------------------------------------------------------------------------------------------


@cute.kernel
def one_load(load: cute.CopyAtom, source: cute.Tensor, out: cute.Tensor, given: Constexpr):
    smem = memory.SmemAllocator()
    barrier = smem.allocate_array(Int64, 1)
    box = smem.allocate_tensor(Float16, cute.make_layout((8, 16), stride=(16, 1)), 128)
    tiles = cute.group_modes(cute.local_tile(source, (8, 16), (None, None)), 0, 2)
    tAsA, tAgA = cpasync.tma_partition(load, 0, cute.make_layout(1), cute.group_modes(box, 0, 2), tiles)
    with arch.elect_one():
        arch.mbarrier_init(barrier, 1)
        if const_expr(given.arrives):
            arch.mbarrier_arrive_and_expect_tx(barrier, given.n_bytes)
    arch.sync_warp()
    cute.copy(load, tAgA[(None, 0, 0)], tAsA, tma_bar_ptr=barrier)
    if const_expr(given.waits):
        arch.mbarrier_wait(barrier, 0)
    tidx, _, _ = arch.thread_idx()
    for i in range_constexpr(4):
        out[tidx + 32 * i] = box[tidx + 32 * i]


@cute.jit
def host_of_load(source: cute.Tensor, out: cute.Tensor, given: Constexpr):
    load, coords = cpasync.make_tiled_tma_atom(LOAD, source, cute.make_layout((8, 16), stride=(16, 1)), (8, 16))
    one_load(load, coords, out, given).launch(grid=(1, 1, 1), block=(32, 1, 1))


def load(**given) -> np.ndarray:
    source, out = np.arange(128, dtype=np.float16).reshape(8, 16), np.zeros(128, np.float16)
    given = SimpleNamespace(**{"arrives": True, "n_bytes": 256, "waits": True, **given})
    host_of_load(from_dlpack(source, assumed_align=16), from_dlpack(out), given)
    return out.reshape(16, 8).T


def test_a_load_that_is_used_rightly():
    np.testing.assert_array_equal(load(), np.arange(128).reshape(8, 16))


def test_readable_cuda_takes_the_map_as_a_grid_constant(emulator):
    load()
    text = emulator.show("cuda")
    assert "const __grid_constant__ TensorMap load" in text and '"l"((unsigned long long)&load)' in text


def test_without_a_wait_shared_memory_is_as_it_was():
    assert np.isnan(load(waits=False)).all()


@pytest.mark.parametrize(
    "given, text",
    [
        ({"n_bytes": 512}, "1 of 1 arrivals have come, and 256 bytes that were expected have not"),
        ({"n_bytes": 128}, "1 of 1 arrivals have come, and 128 bytes more than were expected"),
        ({"arrives": False}, "0 of 1 arrivals have come, and 256 bytes more than were expected"),
    ],
)
def test_a_deadlock_names_the_wrong_count(given, text):
    with pytest.raises(Fault) as caught:
        load(**given)
    assert caught.value.kind == "deadlock" and text in str(caught.value)
    assert "arch.mbarrier_wait(barrier, 0)" in str(caught.value)


@cute.kernel
def load_of_one_batch(load: cute.CopyAtom, source: cute.Tensor, out: cute.Tensor):
    tidx, _, _ = arch.thread_idx()
    smem = memory.SmemAllocator()
    barrier = smem.allocate_array(Int64, 1)
    box = smem.allocate_tensor(Float16, cute.make_layout((8, 16), stride=(16, 1)), 128)
    tile = cute.group_modes(cute.local_tile(source, (8, 16), (1, 0, 0)), 0, 2)
    into, tiles = cpasync.tma_partition(load, 0, cute.make_layout(1), cute.group_modes(box, 0, 2), tile)
    if tidx == 0:
        arch.mbarrier_init(barrier, 1)
        arch.mbarrier_init_fence()
        arch.mbarrier_arrive_and_expect_tx(barrier, 256)
    arch.sync_threads()
    cute.copy(load, tiles, into, tma_bar_ptr=barrier)
    arch.mbarrier_wait(barrier, 0)
    for row in range_constexpr(8):
        if tidx < 16:
            out[row, tidx] = box[row, tidx]


@cute.jit
def host_of_one_batch(source: cute.Tensor, out: cute.Tensor):
    load, coords = cpasync.make_tiled_tma_atom(LOAD, source, cute.make_layout((8, 16), stride=(16, 1)), (8, 16))
    load_of_one_batch(load, coords, out).launch(grid=1, block=32)


def test_the_stride_of_a_mode_of_one_element_does_not_count():
    """torch's `x.unsqueeze(-1)` has the stride 1 there, which is not a multiple of 16 bytes."""
    source, out = np.arange(16 * 16, dtype=np.float16).reshape(16, 16, 1), np.zeros((8, 16), np.float16)
    argument = from_dlpack(source, assumed_align=16)
    for tensor in argument, from_dlpack(source, assumed_align=16).mark_layout_dynamic(leading_dim=1):
        out[:] = 0
        host_of_one_batch(tensor, out)
        assert np.array_equal(out, source[8:, :, 0])


@cute.jit
def make(tensor: cute.Tensor, call: Constexpr):
    call(tensor)


def tiled(shape, stride=None, tile=None, op=LOAD, **more):
    return lambda tensor: cpasync.make_tiled_tma_atom(
        op, tensor, cute.make_layout(shape, stride=stride), tile or shape, **more
    )


GOOD = np.zeros((32, 64), np.float16)
REFUSED = [
    (
        GOOD,
        tiled((8, 16), (1, 8)),
        "TMA cannot transpose: mode 0 of the tile is contiguous in shared memory, but in the tensor",
    ),
    (GOOD, tiled((8, 4), (4, 1)), "a row of the box must be a multiple of 16 bytes, got 4 elements, 8 bytes"),
    (np.zeros((32, 60), np.float16), tiled((8, 16), (16, 1)), "must be a multiple of 16 bytes, got 120"),
    (
        GOOD,
        tiled((8, 16), (16, 1), (16, 16)),
        "a tile of (16,16) is copied into shared memory of (8,16): the extents differ",
    ),
    (GOOD, tiled((8, 16), (16, 1), op=cute.nvgpu.CopyUniversalOp()), "a tiled TMA atom takes a bulk tensor operation"),
    (GOOD, tiled((8, 16), (16, 1), num_multicast=2), "CopyBulkTensorTileG2SOp does not multicast, got num_multicast=2"),
    (
        GOOD,
        tiled((2, 8), (8, 1), op=cpasync.CopyBulkTensorTileG2SMulticastOp(), num_multicast=32),
        "a box of (8,2) has no parts for the blocks it is multicast to",
    ),
    (GOOD, tiled((8, 16), (16, 1), internal_type=Float32), "Float32 is not as wide as Float16"),
    (np.zeros((2,) * 6, np.float16), tiled((2,) * 6), "must have 1 to 5 modes whose stride is not 0"),
    (
        GOOD,
        lambda t: cpasync.make_tiled_tma_atom(
            LOAD,
            t,
            cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((8, 16), stride=(16, 1))),
            (8, 16),
        ),
        "swizzle of TMA must be S<1,4,3>, S<2,4,3> or S<3,4,3>, counted in bytes, got S<3,3,3>",
    ),
    (
        GOOD,
        tiled((8, 16), (16, 1), cute.make_layout((8, 16))),
        "the tensor's 2 modes, or the first of them, got (8,16):(1,8)",
    ),
    (GOOD, lambda t: cpasync.prefetch_descriptor(3), "this takes a TMA atom, got Python int"),
    (GOOD, lambda t: cpasync.CopyBulkTensor2DGather4G2SOp, "CopyBulkTensor2DGather4G2SOp is not part of this compiler"),
]


@pytest.mark.parametrize("array, call, text", REFUSED, ids=range(len(REFUSED)))
def test_copies_that_tma_cannot_do_are_refused(array, call, text):
    with pytest.raises(DSLUserCodeError) as caught:
        make(from_dlpack(array, assumed_align=16), call)
    assert text in str(caught.value) and "test_tma.py" in str(caught.value) and "fix: " in str(caught.value)


NESTED = [  # layout, and NVIDIA's tensor of coordinates for tiles of (64, 32)
    (
        ((128, 64, ((2, 3), 4)), (64, 1, ((8192, 16384), 49152))),
        "tensor<(0,0,0,0,0) o (128,64,((2,3),4)):(1@1,1@0,((1@2,1@3),1@4))>",
    ),
    (
        ((128, 64, ((2, 3), 4)), (64, 1, ((0, 16384), 49152))),
        "tensor<(0,0,0,0) o (128,64,((2,3),4)):(1@1,1@0,((0,1@2),1@3))>",
    ),
    (
        (((64, 2), (32, 2), 5), ((32, 8192), (1, 4096), 65536)),
        "tensor<(0,0,0,0,0) o ((64,2),(32,2),5):((1@1,1@2),(1@0,1@3),1@4)>",
    ),
    (((128, 64, 1), (64, 1, 0)), "tensor<(0,0) o (128,64,1):(1@1,1@0,0)>"),
]


@pytest.mark.parametrize("layout, text", NESTED, ids=range(len(NESTED)))
def test_coordinates_of_nested_modes(layout, text):
    """Modes of stride 0 are not dimensions of the tensor map: their coordinate does not count. A tiler may be extents,
    layouts, or the layout of the tile's coordinates."""
    kept = []

    def call(tensor):
        whole = cute.make_tensor(tensor.iterator, cute.make_layout(layout[0], stride=layout[1]))
        smem = cute.make_composed_layout(cute.make_swizzle(2, 4, 3), 0, cute.make_layout((64, 32), stride=(32, 1)))
        coordinates = cute.composition(cute.make_identity_layout(whole.shape), (64, 32))
        for tiler in (64, 32), (cute.make_layout(64), cute.make_layout(32)), coordinates:
            made = cpasync.make_tiled_tma_atom(LOAD, whole, smem, tiler)
            kept.append((str(made.tma_tensor), made.atom.box, made.atom.modes))

    make(from_dlpack(GOOD, assumed_align=16), call)
    assert kept[0][0] == text and kept[1:] == kept[:1] * 2


def test_a_tiler_of_extents_for_the_parts_of_a_mode():
    """Heads and rows as one mode, as grouped attention packs them: 2 heads of 32 rows are 64 rows of shared memory."""
    kept = []

    def call(tensor):
        whole = cute.make_tensor(tensor.iterator, cute.make_layout(((2, 32), 64), stride=((2048, 64), 1)))
        smem = cute.make_composed_layout(cute.make_swizzle(2, 4, 3), 0, cute.make_layout((64, 32), stride=(32, 1)))
        for tiler in ((2, 32), 32), (64, 32):
            made = cpasync.make_tiled_tma_atom(LOAD, whole, smem, tiler)
            kept.append((str(made.tma_tensor), made.atom.box, made.atom.modes))
        with pytest.raises(DSLUserCodeError, match="must have a static extent"):
            cpasync.make_tiled_tma_atom(LOAD, whole, smem, ((2, 32, 1), 32))

    make(from_dlpack(GOOD, assumed_align=16), call)
    assert kept == [("tensor<(0,0,0) o ((2,32),64):((1@1,1@2),1@0)>", (32, 2, 32), (2, 0, 1))] * 2


def test_an_alignment_that_is_not_known_is_one_of_the_address():
    memory, out = np.arange(300, dtype=np.float16), np.zeros((8, 16), np.float16)
    first = -memory.ctypes.data % 16 // 2
    host_of_one_batch(from_dlpack(memory[first : first + 256].reshape(16, 16, 1)), out)
    assert np.array_equal(out, memory[first + 128 : first + 256].reshape(8, 16))
    with pytest.raises(Fault, match="of a tensor whose address or strides are not multiples of 16 bytes"):
        host_of_one_batch(from_dlpack(memory[first + 1 : first + 257].reshape(16, 16, 1)), out)


@cute.kernel
def wrong_copy(load: cute.CopyAtom, source: cute.Tensor, way: Constexpr):
    smem = memory.SmemAllocator()
    barrier = smem.allocate_array(Int64, 1)
    box = smem.allocate_tensor(Float16, cute.make_layout((8, 16), stride=(16, 1)), 128)
    tiles = cute.group_modes(cute.local_tile(source, (8, 16), (None, None)), 0, 2)
    way(load, tiles, box, barrier)


@cute.jit
def host_of_wrong(source: cute.Tensor, way: Constexpr):
    load, coords = cpasync.make_tiled_tma_atom(LOAD, source, cute.make_layout((8, 16), stride=(16, 1)), (8, 16))
    wrong_copy(load, coords, way).launch(grid=1, block=32)


def parts(load, tiles, box):
    return cpasync.tma_partition(load, 0, cute.make_layout(1), cute.group_modes(box, 0, 2), tiles)


def elected_copy(load, tiles, box, barrier):
    with arch.elect_one():
        cute.copy(load, parts(load, tiles, box)[1][(None, 0, 0)], parts(load, tiles, box)[0], tma_bar_ptr=barrier)


WRONG = [
    (
        lambda a, t, s, b: cute.copy(a, parts(a, t, s)[1][(None, 0, 0)], parts(a, t, s)[0]),
        "needs the mbarrier that tells",
    ),
    (
        lambda a, t, s, b: cute.copy(a, parts(a, t, s)[1], parts(a, t, s)[0], tma_bar_ptr=b),
        "a copy by TMA needs as many elements in each mode",
    ),
    (
        lambda a, t, s, b: cute.copy(a, parts(a, t, s)[0], parts(a, t, s)[0], tma_bar_ptr=b),
        "source of a copy by TMA must be a tensor of TMA coordinates",
    ),
    (
        lambda a, t, s, b: cute.copy(
            a, parts(a, t, s)[1][(None, 0, 0)], parts(a, t, s)[0], tma_bar_ptr=b, tma_desc_ptr=s.iterator
        ),
        "tma_desc_ptr must be a pointer to a tensor map in global memory, got Pointer",
    ),
    (lambda a, t, s, b: elected_copy(a, t, s, b), "elects a lane where one is elected already"),
    (
        lambda a, t, s, b: cpasync.tma_partition(a, 0, cute.make_layout(2), cute.group_modes(s, 0, 2), t),
        "an atom of CopyBulkTensorTileG2SOp does not share its box of 128 elements between the blocks of 2:1",
    ),
    (
        lambda a, t, s, b: cute.copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float16), s, s, tma_bar_ptr=b),
        "`tma_bar_ptr` is only for copies by TMA, but this atom is not a TMA atom",
    ),
]


@pytest.mark.parametrize("way, text", WRONG, ids=range(len(WRONG)))
def test_a_wrong_copy_is_refused(way, text):
    with pytest.raises(DSLUserCodeError) as caught:
        host_of_wrong(from_dlpack(GOOD, assumed_align=16), way)
    assert text in str(caught.value) and "test_tma.py" in str(caught.value) and "fix: " in str(caught.value)


# --- shared memory's layouts -----------------------------------------------------------------------------------------

STAGED = [
    (Float16, "K", (128, 128), 1, "S<3,4,3> o 0 o (128,(64,2),1):(64,(1,8192),0)"),
    (Float16, "K", (128, 32), 3, "S<2,4,3> o 0 o (128,32,3):(32,1,4096)"),
    (Float16, "MN", (128, 48), 3, "S<3,4,3> o 0 o ((64,2),48,3):((1,3072),64,6144)"),
    (Float16, "MN", (8, 8), 1, "S<0,4,3> o 0 o (8,8,1):(1,8,0)"),
    (Float32, "K", (128, 48), 3, "S<2,4,3> o 0 o (128,(16,3),3):(16,(1,2048),6144)"),
    (Float32, "MN", (64, 64), 1, "S<2,5,2> o 0 o ((32,2),64,1):((1,2048),32,0)"),
]


@pytest.mark.parametrize("dtype, mode, tile, stages, expected", STAGED)
def test_layouts_of_stages_are_upstreams(dtype, mode, tile, stages, expected):
    mode = cute.nvgpu.OperandMajorMode[mode]
    assert str(blackwell_helpers.make_smem_layout(mode, tile, dtype, stages)) == expected
