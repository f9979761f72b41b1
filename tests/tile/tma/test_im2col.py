"""Mode im2col through cute.nvgpu.cpasync: NVIDIA's layouts and values, a convolution against numpy, what is refused.

Modules tested here: dsl/tile/tma/tensor_map_words.py.
"""

from pathlib import Path

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Constexpr, Float16, Float32, Int32, Int64, cute, memory, range as dynamic_range
from dsl.cutlass.cute import arch
from dsl.cutlass.cute.nvgpu import cpasync
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.emulator import Fault

PROGRAM = Path(__file__).with_name("im2col_program.py")
LOAD, STORE = cpasync.CopyBulkTensorIm2ColG2SOp(), cpasync.CopyBulkTensorIm2ColS2GOp()


@pytest.mark.slow
def test_layouts_and_values_are_upstreams(both):
    ours, theirs = both(PROGRAM)
    assert theirs.status == 0, theirs.errors
    assert theirs.output.count("True") == 10 and ours.output == theirs.output


# --- against numpy ---------------------------------------------------------------------------------------------------


def smem_layout(rows, columns, bits=0):
    layout = cute.make_layout((rows, columns), stride=(columns, 1))
    return cute.make_composed_layout(cute.make_swizzle(bits, 4, 3), 0, layout)


@cute.kernel
def convolve(load: cute.CopyAtom, matrix: cute.Tensor, weights: cute.Tensor, out: cute.Tensor):
    """Each block 32 output pixels, a lane each: the sum over taps and channels for one filter."""
    lane, _, _ = arch.thread_idx()
    block, _, _ = arch.block_idx()
    smem = memory.SmemAllocator()
    barrier = smem.allocate_array(Int64, 1)
    box = smem.allocate_tensor(Float16, cute.make_layout((32, 8), stride=(8, 1)), 128)
    tiles = cute.group_modes(cute.local_tile(matrix, (32, 8), (None, None)), 0, 2)
    to, columns = cpasync.tma_partition(load, 0, cute.make_layout(1), cute.group_modes(box, 0, 2), tiles)
    if lane == 0:
        arch.mbarrier_init(barrier, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    total = Float32(0)
    for tap in dynamic_range(cute.size(columns, mode=[2])):
        if lane == 0:
            arch.mbarrier_arrive_and_expect_tx(barrier, 512)
        cute.copy(load, columns[(None, block, tap)], to, tma_bar_ptr=barrier)
        arch.mbarrier_wait(barrier, tap % 2)
        for channel in dynamic_range(8):
            total += Float32(box[lane, channel]) * Float32(weights[tap, channel])
        arch.sync_threads()
    if block * 32 + lane < out.shape[0]:
        out[block * 32 + lane] = total


@cute.jit
def host(image: cute.Tensor, weights: cute.Tensor, out: cute.Tensor, padding: Int32, stride: Int32):
    n, h, w, c = image.shape
    pixels = cute.make_layout(((w, h, n), 8), stride=((image.stride[2], image.stride[1], image.stride[0]), 1))
    one = (1, 1)
    load, matrix = cpasync.make_im2col_tma_atom(
        LOAD,
        cute.make_tensor(image.iterator, pixels),
        smem_layout(32, 8),
        (32, 8),
        (-padding, -padding),
        (padding - 2, padding - 2),
        (padding, padding),
        (padding, padding),
        (stride, stride),
        (0, 0),
        one,
    )
    convolve(load, matrix, weights, out).launch(grid=cute.ceil_div(out.shape[0], 32), block=32)


def convolution(padding: int, stride: int) -> tuple[np.ndarray, np.ndarray]:
    """The results of the kernel and of numpy for 3 by 3 taps; sums of small integers are exact."""
    rng = np.random.default_rng(0)
    image = rng.integers(-3, 4, (2, 9, 6, 8)).astype(np.float16)
    weights = rng.integers(-3, 4, (9, 8)).astype(np.float16)
    padded = np.pad(image, ((0, 0), (padding, padding), (padding, padding), (0, 0))).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))[:, ::stride, ::stride]
    expected = np.einsum("nhwcrs,rsc->nhw", windows, weights.astype(np.float32).reshape(3, 3, 8)).reshape(-1)
    out = np.full(expected.shape, np.nan, np.float32)
    view = from_dlpack(image, assumed_align=16).mark_compact_shape_dynamic(0).mark_compact_shape_dynamic(1)
    host(view, from_dlpack(weights), from_dlpack(out), padding, stride)
    return out, expected


def test_a_convolution_of_a_size_that_is_known_at_run_time():
    for padding, stride in ((1, 1), (0, 2), (2, 3)):
        np.testing.assert_array_equal(*convolution(padding, stride))


def test_a_step_that_tma_does_not_have_is_illegal():
    with pytest.raises(Fault) as caught:
        convolution(1, 9)
    assert caught.value.kind == "illegal"


# --- what is refused -------------------------------------------------------------------------------------------------


@cute.jit
def make(tensor: cute.Tensor, call: Constexpr):
    kept.append(call(tensor))


kept: list = []
PIXELS = (((6, 5, 2), 32), ((32, 192, 960), 1))
GIVEN = {
    "lower_corner_whd": (-1, -1),
    "upper_corner_whd": (-1, -1),
    "lower_padding_whd": (1, 1),
    "upper_padding_whd": (1, 1),
    "stride_whd": (1, 1),
    "lower_srt": (0, 0),
    "stride_srt": (1, 1),
}


def atom(op=LOAD, tile=(16, 16), bits=0, pixels=PIXELS, smem=None, **more):
    def call(tensor):
        whole = cute.make_tensor(tensor.iterator, cute.make_layout(pixels[0], stride=pixels[1]))
        layout = cute.make_layout((16, 16), stride=smem) if smem else smem_layout(*tile, bits)
        return cpasync.make_im2col_tma_atom(op, whole, layout, tile, **{**GIVEN, **more})

    return call


REFUSED = [
    (atom(op=cpasync.CopyBulkTensorTileG2SOp()), "takes one of its operations, got CopyBulkTensorTileG2SOp"),
    (atom(num_multicast=2), "CopyBulkTensorIm2ColG2SOp does not multicast, got num_multicast=2"),
    (
        atom(op=cpasync.CopyBulkTensorIm2ColG2SMulticastOp(), num_multicast=3),
        "a column of 16 pixels has no equal parts for 3 blocks",
    ),
    (atom(stride_whd=None), "takes stride_whd, 2 integers for this tensor, got None"),
    (atom(lower_srt=(0,)), "takes lower_srt, 2 integers for this tensor, got (0)"),
    (
        atom(lower_corner_whd=(-129, 0)),
        "lower_corner_whd of a tensor with 2 of W, H and D must be -128 to 127, got -129",
    ),
    (atom(stride_whd=(1, 9)), "stride_whd of a tensor with 2 of W, H and D must be 1 to 8, got 9"),
    (atom(stride_srt=(0, 1)), "stride_srt must not be 0"),
    (atom(lower_srt=(0, 254)), "must be 0 to 255, got 256"),
    (atom(upper_padding_whd=(-2, 1)), "leave (0,3) taps along W, H and D of pixels (6,5)"),
    (atom(lower_corner_whd=(5, 0)), "leave (0,4) output pixels along W, H and D of pixels (6,5)"),
    (atom(pixels=((60, 32), (32, 1))), "has a mode of pixels, (W, N), (W, H, N) or (W, H, D, N), and one of channels"),
    (atom(pixels=(((6, 5, 2), 32), ((1, 6, 960), 30))), "channels must be contiguous, but the stride of mode 1"),
    (atom(pixels=(((6, 5, 2), 32), ((36, 216, 1080), 1))), "must be a multiple of 16 bytes, got 72"),
    (atom(tile=16, smem=(32, 1)), "must be two static extents, got 16"),
    (atom(tile=(16, 4)), "a multiple of 16 bytes and at most 512, got 4 elements, 8 bytes"),
    (atom(tile=(16, 32), bits=1), "a multiple of 16 bytes and at most 32, got 32 elements, 64 bytes"),
    (atom(smem=(1, 16)), "TMA cannot transpose: channels are contiguous"),
    (atom(smem=(24, 1)), "pixels of a column must follow one another"),
    (
        lambda t: cpasync.make_tiled_tma_atom(LOAD, t, cute.make_layout(8), (8,)),
        "in tile mode, got CopyBulkTensorIm2Col",
    ),
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("call, text", REFUSED, ids=range(len(REFUSED)))
def test_copies_that_tma_cannot_do_are_refused(call, text):
    with pytest.raises(DSLUserCodeError) as caught:
        make(from_dlpack(np.zeros(2048, np.float16), assumed_align=16), call)
    assert text in str(caught.value) and "test_im2col.py" in str(caught.value) and "fix: " in str(caught.value)


def test_a_tile_of_many_pixels_is_several_columns():
    make(from_dlpack(np.zeros(2048, np.float16), assumed_align=16), atom(tile=(1536, 16)))
    assert kept.pop().atom.box == (16, 768)
