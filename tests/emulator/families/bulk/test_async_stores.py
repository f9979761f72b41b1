"""st.async and red.async: words in another block's shared memory, which are there when its mbarrier has their bytes.
PTX ISA 9.7.9.12, 9.7.13.7."""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.conftest import use

HEAD = """
.visible .entry k(.param .u64 out)
{
  .shared .align 16 .b8 box[64]; .shared .align 8 .b64 bar;
  .reg .b32 %s, %b, %d, %e, %r, %v<5>; .reg .f32 %f; .reg .b64 %o, %w<2>; .reg .pred %p;
  mov.u32 %s, box; mov.u32 %b, bar; mov.u32 %r, %cluster_ctarank; ld.param.u64 %o, [out]; mad.wide.u32 %o, %r, 64, %o;
  mbarrier.init.shared.b64 [%b], 1; fence.mbarrier_init.release.cluster;
  mov.u32 %v0, 5; st.shared.u32 [%s], %v0; st.shared.v4.u32 [%s+16], {%v0, %v0, %v0, %v0};
  barrier.cluster.arrive; barrier.cluster.wait;
  xor.b32 %e, %r, 1; mapa.shared::cluster.u32 %d, %s, %e; mapa.shared::cluster.u32 %e, %b, %e;
  add.u32 %v1, %r, 10; add.u32 %v2, %r, 20; add.u32 %v3, %r, 30; add.u32 %v4, %r, 40;
"""
EXPECT = "mbarrier.arrive.expect_tx.shared.b64 _, [%b], {};"
WAIT = "wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [%b], 0; @!%p bra wait;"
COPY = "ld.shared.v4.u32 {%v1, %v2, %v3, %v4}, [%s+16]; st.global.v4.u32 [%o], {%v1, %v2, %v3, %v4};"
END = "barrier.cluster.arrive; barrier.cluster.wait; ret;\n}\n"
STORE = "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes"


def run(machine, body: str, seed: int = 0) -> np.ndarray:
    out = np.zeros((2, 16), np.uint32)
    machine.run(HEAD + body + END, grid=2, block=1, cluster=(2, 1, 1), seed=seed, out=out)
    return out


STORES = [
    (f"{STORE}.b32 [%d+16], %v1, [%e];", 4, [10, 5, 5, 5]),
    ("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%d+20], %v1, [%e];", 4, [5, 10, 5, 5]),
    (f"{STORE}.v2.b32 [%d+24], {{%v1, %v2}}, [%e];", 8, [5, 5, 10, 20]),
    (f"{STORE}.v4.s32 [%d+16], {{%v1, %v2, %v3, %v4}}, [%e];", 16, [10, 20, 30, 40]),
    (f"mov.b64 %w0, {{%v1, %v2}}; {STORE}.b64 [%d+16], %w0, [%e];", 8, [10, 20, 5, 5]),
    (f"mov.b64 %w0, {{%v1, %v2}}; mov.b64 %w1, {{%v3, %v4}}; {STORE}.v2.u64 [%d+16], {{%w0, %w1}}, [%e];", 16,
     [10, 20, 30, 40]),
    (f"mov.b32 %f, %v1; {STORE}.f32 [%d+16], %f, [%e];", 4, [10, 5, 5, 5]),
]  # fmt: skip


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("store, nbytes, left", STORES)
def test_stores(machine, store, nbytes, left, seed):
    out = run(machine, EXPECT.format(nbytes) + store + WAIT + COPY, seed)
    left = np.array(left)
    np.testing.assert_array_equal(out[:, :4], [left + (left != 5), left])


def test_a_store_is_not_there_before_its_mbarrier_is_looked_at(machine):
    meet = "barrier.cluster.arrive; barrier.cluster.wait;"
    body = STORES[0][0] + meet + "ld.shared.u32 %v4, [%s+16]; " + meet + EXPECT.format(4)
    out = run(machine, body + WAIT + "st.global.u32 [%o+16], %v4;" + COPY)
    assert out[:, 4].tolist() == [5, 5] and out[:, 0].tolist() == [11, 10]


@pytest.mark.parametrize("store, kind, text", [
    (f"{STORE}.b32 [%d+64], %v1, [%e];", "out_of_bounds", "write of 4 bytes at smem+0x48 of block (1, 0, 0) is outside"),
    (f"{STORE}.v4.b32 [%d+20], {{%v1, %v2, %v3, %v4}}, [%e];", "misaligned", "is not aligned to 16 bytes"),
    (f"{STORE}.b32 [%d+16], %v1, [%e+4];", "misaligned", "is not aligned to 8 bytes"),
])  # fmt: skip
def test_bad_stores(machine, store, kind, text):
    with pytest.raises(emulator.Fault) as caught:
        run(machine, store.replace("+64", "+72"))
    assert caught.value.kind == kind and text in str(caught.value)


@pytest.mark.parametrize("instruction, why", [
    (f"{STORE}.v4.b64 [%d], {{%w0, %w1, %w0, %w1}}, [%e];", "`.v4` does not go with `.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64`"),
    ("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.and.u64 [%d], %w0, [%e];",
     "`.and` does not go with"),
    ("st.async.mmio.release.sys.global.b32 [%w0], %v1;", "`.async` does not go with"),
])  # fmt: skip
def test_wrong_modifiers_are_refused_by_name(instruction, why):
    with pytest.raises(emulator.Unsupported, match=why):
        use(".version 8.0\n.target sm_90a\n.address_size 64\n" + HEAD + instruction + END)


def test_ptxas_accepts_what_is_tested_here(ptxas):
    ptxas(".version 8.1\n.target sm_90a\n.address_size 64\n" + HEAD + "".join(store for store, *_ in STORES) + END)
