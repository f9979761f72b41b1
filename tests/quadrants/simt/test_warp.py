"""qd.simt.warp: CUDA's exchanges with a mask of lanes, against numpy."""

import numpy as np
import pytest

import dsl.quadrants as qd

pytestmark = pytest.mark.usefixtures("running")
warp = qd.simt.warp


@qd.kernel
def integers(p: qd.types.ndarray(), x: qd.types.ndarray(), out: qd.types.ndarray()):
    qd.loop_config(block_dim=32)
    for i in range(32):
        mask = qd.u32(0xFFFFFFFF)
        out[0, i] = warp.all_nonzero(mask, p[i])
        out[1, i] = warp.any_nonzero(mask, p[i])
        out[2, i] = warp.unique(mask, p[i])
        out[3, i] = qd.cast(qd.cast(warp.ballot(p[i]), qd.u32), qd.i64)
        out[4, i] = warp.shfl_sync_i32(mask, x[i], 31 - i)
        out[5, i] = warp.shfl_up_i32(mask, x[i], 1)
        out[6, i] = warp.shfl_down_i32(mask, x[i], 2)
        out[7, i] = warp.shfl_xor_i32(mask, x[i], 4)
        out[8, i] = warp.match_any(mask, x[i] % 3)
        out[9, i] = warp.match_all(mask, p[i])
        out[10, i] = warp.active_mask()
        warp.sync(mask)


@qd.kernel
def floats(x: qd.types.ndarray(), out: qd.types.ndarray()):
    qd.loop_config(block_dim=32)
    for i in range(32):
        mask = qd.u32(0xFFFFFFFF)
        out[0, i] = warp.shfl_sync_f32(mask, x[i], 7)
        out[1, i] = warp.shfl_up_f32(mask, x[i], 1)
        out[2, i] = warp.shfl_down_f32(mask, x[i], 1)


@pytest.mark.parametrize("p", [np.zeros(32), np.ones(32), np.arange(32) % 5], ids=["none", "all", "some"])
def test_integers(p):
    p, i = p.astype(np.int32), np.arange(32)
    x, out = (i * 5 - 20).astype(np.int32), np.zeros((11, 32), np.int64)
    integers(p, x, out)
    bits = sum(1 << int(lane) for lane in np.flatnonzero(p))
    rest = np.fmod(x, 3) + np.where((x % 3 != 0) & (x < 0), 3, 0)  # % has the sign of the divisor
    wanted = [
        i * 0 + (p != 0).all(),
        i * 0 + (p != 0).any(),
        i * 0 + (len(set((p != 0).tolist())) == 1),
        i * 0 + bits,
        x[31 - i],
        x[np.maximum(i - 1, 0)],
        x[np.where(i > 29, i, i + 2)],
        x[i ^ 4],
        [sum(1 << j for j in range(32) if rest[j] == rest[lane]) for lane in range(32)],
        i * 0 + 0xFFFFFFFF * (len(set(p.tolist())) == 1),
        i * 0 + 0xFFFFFFFF,
    ]
    assert out.tolist() == [np.asarray(row, np.int64).tolist() for row in wanted]


def test_floats():
    x, out, i = np.arange(32, dtype=np.float32) / 3, np.zeros((3, 32), np.float32), np.arange(32)
    floats(x, out)
    assert (out == x[np.stack([i * 0 + 7, np.maximum(i - 1, 0), np.minimum(i + 1, 31)])]).all()
