"""Tensor maps: what a box brings, and what of a map is refused."""

import numpy as np
import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import AddressSpace, Array, BFloat16, Constexpr, Float16, Float32, GridConstant, Int64, cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.cutlass.experimental import cuda, primitives as prims
from dsl.launch import session


@cute.kernel
def load_and_store(source: GridConstant[cuda.TensorMap], target: GridConstant[cuda.TensorMap], at: Constexpr):
    i, _, _ = cute.arch.thread_idx()
    box = Array(source.shared_storage_dtype, source.box_volume, space=AddressSpace.smem, alignment=1024)
    barrier = Array(Int64, 1, space=AddressSpace.smem)
    assert source.global_tx_bytes() == source.shared_storage_bytes == source.box_volume * 2
    if i == 0:
        prims.prefetch_tensormap(source.get_ptr())
        prims.mbarrier_init(barrier, 1)
        prims.fence_mbarrier_init()
        prims.mbarrier_arrive_expect_tx(barrier, source.global_tx_bytes())
        prims.cp_async_bulk_tensor_shared_cta_global(box, source.get_ptr(), at, barrier)
        while not prims.mbarrier_try_wait_parity(barrier, 0):
            pass
        prims.fence_proxy(prims.Proxy.ASYNC_SHARED, space=prims.SharedSpace.shared_cta)
        prims.cp_async_bulk_tensor_global_shared_cta(target.get_ptr(), box, (0,) * len(at))
        prims.cp_async_bulk_commit_group()
        prims.cp_async_bulk_wait_group(0)


@cute.jit
def by_view(a: cute.Tensor, b: cute.Tensor, at: Constexpr, box: Constexpr, options: Constexpr):
    maps = [cuda.create_tensor_map_tiled_from_view(each, box, **options) for each in (a, b)]
    print(maps[0].box_dims, maps[0].swizzle.name)
    load_and_store(*maps, at).launch(grid=1, block=32)


@cute.jit
def by_address(a: cute.Tensor, b: cute.Tensor, at: Constexpr, box: Constexpr, options: Constexpr):
    rows = a.shape[0]
    maps = [
        cuda.create_tensor_map_tiled(each.iterator.toint(), Float16, [32, rows], [4], box, **options) for each in (a, b)
    ]
    load_and_store(*maps, at).launch(grid=1, block=32)


def matrices(rows: int = 16) -> tuple[np.ndarray, np.ndarray]:
    buffer = np.zeros(2 * rows * 32 + 64, np.float16)
    start = (-buffer.ctypes.data % 128) // 2
    both = buffer[start : start + 2 * rows * 32].reshape(2, rows, 32)
    both[0] = np.arange(rows * 32).reshape(rows, 32)
    return both[0], both[1]


def run(host, at: tuple, box: tuple, dynamic: bool = False, **options) -> np.ndarray:
    """The second matrix after a copy of a box of the first one at `at`."""
    a, b = matrices()
    session.start("emulator")
    arguments = [from_dlpack(each, assumed_align=16) for each in (a, b)]
    host(*(each.mark_layout_dynamic() if dynamic else each for each in arguments), at, box, options)
    session.stop()
    return b


@pytest.mark.parametrize("swizzle", [None, cuda.TensorMapSwizzle.s32b])
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_box_of_a_tensor(dynamic, swizzle, capsys):
    result = run(by_view, (16, 3), (8, 16), dynamic, swizzle=swizzle)
    expected = np.zeros((16, 32), np.float16)
    expected[:8, :16] = matrices()[0][3:11, 16:32]
    assert np.array_equal(result, expected)
    assert capsys.readouterr().out == f"(16, 8) {'s32b' if swizzle else 'none'}\n"


def test_a_box_by_address_and_elements_outside_are_zeros():
    expected = np.zeros((16, 32), np.float16)
    expected[:6, :16] = matrices()[0][10:, :16]
    assert np.array_equal(run(by_address, (0, 10), (16, 8), True), expected)


def test_the_order_of_strides(capsys):
    run(by_view, (0, 0), (8, 16), stride_order=(1, 0))
    assert capsys.readouterr().out == "(16, 8) none\n"


@cute.jit
def maker(a: cute.Tensor, make: Constexpr):
    make(a)


VIEW, TILED = cuda.create_tensor_map_tiled_from_view, cuda.create_tensor_map_tiled
MISTAKES = [
    (lambda a: VIEW(a, (8,)), "a tensor of 2 modes needs as many box_dims, and a stride_order that is a permutation, "
     "got (8,) and (1, 0)"),
    (lambda a: VIEW(3, (8,)), "a tensor map is made of a tensor, got Python int"),
    (lambda a: VIEW(a, (8, 257)), "an extent of a box must be 1-256, known while compiling, got 257"),
    (lambda a: VIEW(a, (8, 4)), "a row of a box must be a multiple of 16 bytes, got 8"),
    (lambda a: VIEW(a, (8, 32), swizzle=cuda.TensorMapSwizzle.s32b),
     "a row of a box must be a multiple of 16 bytes, and with a swizzle of 32 bytes at most as many, got 64"),
    (lambda a: VIEW(a, (8, 16), swizzle=cuda.TensorMapSwizzle.s128b_atom_32b),
     "a tensor map with s128b_atom_32b needs compute capability 10, and this compiler's newest is 9.0"),
    (lambda a: VIEW(a, (8, 16), oob_fill=cuda.TensorMapFloatOOBFill.nan_request_zero_fma),
     "a tensor map with oob_fill=TensorMapFloatOOBFill.nan_request_zero_fma is not part of this compiler yet"),
    (lambda a: TILED(a.iterator.toint(), Float16, [32, 16], [4, 4], [16, 8]), "2 dimensions have 1 strides, got 2"),
    (lambda a: TILED(a.iterator.toint(), Float16, [32], [], [16], traversal_strides=[2]),
     "a tensor map with traversal_strides is not part of this compiler yet"),
    (lambda a: TILED(a.iterator.toint(), int, [32], [], [16]), "TMA copies elements of 1, 2, 4 or 8 bytes, got the type int"),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[text for _, text in MISTAKES])
def test_mistakes(mistake, message):
    with pytest.raises(DSLUserCodeError) as error:
        cute.compile(maker, from_dlpack(matrices()[0], assumed_align=16), mistake)
    assert str(error.value.message) == message


def test_types_of_elements():
    """The numbers that the emulator's maps have for them."""
    from dsl.emulator.families.tensor_map.tensor_map import TYPES
    from dsl.primitives.tensor_map import _code

    form = cuda.TensorMapDataFormat
    assert [_code(each, form.DEFAULT)[0] for each in (Float16, Float32, BFloat16)] == [TYPES[n][0] for n in (6, 7, 9)]
    assert _code(Float32, form.F32_FTZ)[0] == TYPES[10][0] and _code(Float32, form.TF32_FTZ)[1]
