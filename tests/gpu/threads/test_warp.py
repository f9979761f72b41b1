"""Shuffles and votes of a warp against a model of lanes, for every width of a value; lane masks."""

import numpy as np
import pytest

import dsl.cutlass as cutlass
from dsl.cutlass import cute
from dsl.cutlass.cute.runtime import from_dlpack
from dsl.launch import session

arch = cute.arch


@pytest.fixture(autouse=True)
def emulator():
    session.start("emulator")
    yield
    session.stop()


@cute.kernel
def shuffles(a: cute.Tensor, out: cute.Tensor):
    i = arch.thread_idx()[0]
    out[0, i] = arch.shuffle_sync(a[i], 5)
    out[1, i] = arch.shuffle_sync_up(a[i], 3)
    out[2, i] = arch.shuffle_sync_down(a[i], 3)
    out[3, i] = arch.shuffle_sync_bfly(a[i], 6)
    out[4, i] = arch.shuffle_sync(a[i], (i + 1) % 32)
    out[5, i] = arch.shuffle_sync_down(a[i], 1, mask_and_clamp=((32 - 8) << 8) | 31)


@cute.jit
def host(a: cute.Tensor, out: cute.Tensor):
    shuffles(a, out).launch(grid=1, block=32)


@pytest.mark.parametrize(
    "dtype", [np.int8, np.int16, np.int32, np.int64, np.uint64, np.float16, np.float32, np.float64]
)
def test_a_value_of_every_width_travels_whole(dtype):
    info = np.iinfo(dtype) if np.dtype(dtype).kind != "f" else None
    a = (np.arange(32) * (info.max // 40 if info else 0.37) - (3 if info is None or info.min else 0)).astype(dtype)
    out = np.zeros((6, 32), dtype)
    host(from_dlpack(a), from_dlpack(out))
    lane = np.arange(32)
    sources = [
        lane * 0 + 5,
        np.where(lane >= 3, lane - 3, lane),
        np.where(lane + 3 < 32, lane + 3, lane),
        lane ^ 6,
        (lane + 1) % 32,
        np.where(lane % 8 < 7, lane + 1, lane),
    ]
    assert [row.tobytes() for row in out] == [a[source].tobytes() for source in sources]


@cute.kernel
def votes(a: cute.Tensor, out: cute.Tensor):
    i = arch.thread_idx()[0]
    flag = a[i] > 0
    out[0, i] = arch.vote_ballot_sync(flag)
    out[1, i] = cutlass.Int32(arch.vote_any_sync(flag))
    out[2, i] = cutlass.Int32(arch.vote_all_sync(flag))
    out[3, i] = cutlass.Int32(arch.vote_uni_sync(flag))


@cute.jit
def host_of_votes(a: cute.Tensor, out: cute.Tensor):
    votes(a, out).launch(grid=1, block=32)


@pytest.mark.parametrize("flags", [0, 0xFFFFFFFF, 1, 0x80000001, 0x7FFFFFFF])
def test_votes(flags):
    a = np.array([flags >> lane & 1 for lane in range(32)], np.int32)
    out = np.zeros((4, 32), np.int32)
    host_of_votes(from_dlpack(a), from_dlpack(out))
    wanted = [flags, flags != 0, flags == 0xFFFFFFFF, flags in (0, 0xFFFFFFFF)]
    assert (out.view(np.uint32) == np.array(wanted, np.uint32)[:, None]).all()
