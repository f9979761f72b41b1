"""A kernel that makes its own map in shared memory, copies it to global memory and loads by it."""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator
from dsl.emulator.families.tensor_map.tensor_map import Tiled

KERNEL = """
.version 8.3
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 map, .param .u64 tensor, .param .u64 out)
{
  .shared .align 128 .b8 copy[128]; .shared .align 128 .b8 box[128]; .shared .align 8 .b64 bar;
  .reg .b32 %s, %v, %x, %i, %t, %b, %z; .reg .b64 %m, %n, %o, %a, %w; .reg .pred %p, %first;
  ld.param.u64 %m, [map]; ld.param.u64 %n, [tensor]; ld.param.u64 %o, [out]; mov.u32 %s, copy; mov.u32 %b, bar;
  mov.u32 %t, %tid.x; setp.eq.u32 %first, %t, 0; mov.u32 %z, 0;
  shl.b32 %i, %t, 2; cvt.u64.u32 %a, %i; add.u64 %a, %m, %a; ld.global.b32 %v, [%a]; mov.u32 %x, copy;
  add.u32 %x, %x, %i; st.shared.b32 [%x], %v;
  bar.sync 0;
  @%first tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%s], %n;
  bar.sync 0;
  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%m], [%s], SIZE;
  fence.proxy.tensormap::generic.acquire.gpu [%m], 128;
  @!%first bra wait;
  mbarrier.init.shared.b64 [%b], 1; mbarrier.arrive.expect_tx.shared.b64 %w, [%b], 128;
  mov.u32 %x, box;
  cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%x], [%m, {%z}], [%b];
wait:
  bar.sync 0;
again:
  mbarrier.try_wait.parity.shared.b64 %p, [%b], 0; @!%p bra again;
  mov.u32 %x, box; add.u32 %x, %x, %i; ld.shared.b32 %v, [%x]; cvt.u64.u32 %a, %i; add.u64 %a, %o, %a;
  st.global.b32 [%a], %v;
  ret;
}
"""


def run(text: str) -> np.ndarray:
    raw = np.zeros(256, np.uint8)
    form = raw[-raw.ctypes.data % 128 :][:128]
    tensor = np.zeros(40, np.int32)
    tensor = tensor[-tensor.ctypes.data // 4 % 4 :][:32]
    tensor[:], out = range(32), np.zeros(32, np.int32)
    form[:] = np.frombuffer(Tiled(3, 1 << 20, (32,), (), (32,), (1,)).encode(), np.uint8)
    memory = emulator.Memory()
    for array in (form, tensor, out):
        memory.register(array.ctypes.data, array.nbytes, "array")
    params = [array.ctypes.data.to_bytes(8, "little") for array in (form, tensor, out)]
    emulator.launch(emulator.load(text), "k", (1, 1, 1), (32, 1, 1), params, memory)
    return out


def test_a_map_that_the_kernel_made_is_used():
    assert run(KERNEL.replace("SIZE", "128")).tolist() == list(range(32))


def test_another_size_is_refused():
    with pytest.raises(emulator.PtxError, match="operand 3 must be 128, got 64"):
        run(KERNEL.replace("SIZE", "64"))
