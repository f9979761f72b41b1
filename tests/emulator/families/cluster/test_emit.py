"""Addresses in shared memory of a cluster: mapa, getctarank, isspacep, cvta, and accesses by them.
PTX ISA 9.7.9.22 to 9.7.9.24."""

from __future__ import annotations

import numpy as np
import pytest

from dsl import emulator

MEET = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
HEAD = """
.visible .entry k(.param .u64 out)
{
  .shared .align 16 .b8 pad[32]; .shared .align 16 .b8 box[64];
  .reg .b32 %a, %m, %r, %v<5>; .reg .b64 %o, %g, %h, %l; .reg .pred %p, %q;
  mov.u32 %r, %cluster_ctarank; ld.param.u64 %o, [out]; mad.wide.u32 %o, %r, 32, %o;
  mov.u32 %a, box; add.u32 %v0, %r, 100; st.shared.u32 [%a], %v0; xor.b32 %r, %r, 1;
"""


def run(machine, body: str, seed: int = 0) -> np.ndarray:
    """What `body` leaves in 8 words of each of two blocks; %a is a word with the rank + 100, %r the other's rank."""
    out = np.zeros((2, 8), np.uint32)
    machine.run(HEAD + MEET + body + MEET + "ret;\n}", grid=2, block=1, cluster=(2, 1, 1), seed=seed, out=out)
    return out


LOADS = [
    "mapa.shared::cluster.u32 %m, %a, %r; ld.shared::cluster.u32 %v1, [%m];",
    "cvt.u64.u32 %g, %a; mapa.shared::cluster.u64 %g, %g, %r; ld.shared::cluster.u32 %v1, [%g];",
    "cvt.u64.u32 %g, %a; cvta.shared.u64 %g, %g; mapa.u64 %g, %g, %r; ld.u32 %v1, [%g];",
    "cvt.u64.u32 %g, %a; cvta.shared.u64 %g, %g; mapa.u64 %g, %g, %r; cvta.to.shared.u64 %g, %g; cvt.u32.u64 %m, %g;"
    "ld.shared::cluster.u32 %v1, [%m];",
    "cvt.u64.u32 %g, %a; cvta.shared.u64 %g, %g; mapa.u64 %g, %g, %r; cvt.u32.u64 %m, %g; "
    "ld.shared::cluster.u32 %v1, [%m];",
    "mapa.shared::cluster.u32 %m, %a, %r; cvt.u64.u32 %g, %m; cvta.shared::cluster.u64 %g, %g; ld.u32 %v1, [%g];",
    "mapa.shared::cluster.u32 %m, box, %r; ld.relaxed.cluster.shared::cluster.u32 %v1, [%m];",
    "mapa.shared::cluster.u32 %m, %a, %r; mapa.shared::cluster.u32 %m, %m, %r; ld.volatile.shared::cluster.u32 %v1, [%m];",
]  # fmt: skip


@pytest.mark.parametrize("load", LOADS)
def test_a_word_of_the_other_block(machine, load):
    out = run(machine, load + "st.global.u32 [%o], %v1;")
    np.testing.assert_array_equal(out[:, 0], [101, 100])


def test_a_plain_address_is_the_blocks_own(machine):
    """PTX ISA 5.1.8: the window of .shared::cta is inside the window of .shared::cluster."""
    out = run(machine, "ld.shared::cluster.u32 %v1, [%a]; st.global.u32 [%o], %v1; getctarank.shared::cluster.u32 %v1, %a;"
              "st.global.u32 [%o+4], %v1;")  # fmt: skip
    np.testing.assert_array_equal(out[:, :2], [[100, 0], [101, 1]])


def test_ranks_of_addresses(machine):
    body = """
  mapa.shared::cluster.u32 %m, %a, %r; getctarank.shared::cluster.u32 %v1, %m; st.global.u32 [%o], %v1;
  cvt.u64.u32 %g, %a; cvta.shared.u64 %g, %g; getctarank.u64 %v1, %g; st.global.u32 [%o+4], %v1;
  mapa.u64 %h, %g, %r; getctarank.u64 %v1, %h; st.global.u32 [%o+8], %v1;
  cvt.u64.u32 %l, %m; getctarank.shared::cluster.u64 %v1, %l; st.global.u32 [%o+12], %v1;"""
    np.testing.assert_array_equal(run(machine, body)[:, :4], [[1, 0, 1, 1], [0, 1, 0, 0]])


@pytest.mark.parametrize("space, own, other, outside", [
    ("shared::cluster", 1, 1, 0), ("shared::cta", 1, 0, 0), ("shared", 1, 0, 0), ("global", 0, 0, 1),
])  # fmt: skip
def test_spaces_of_generic_addresses(machine, space, own, other, outside):
    ask = f"isspacep.{space} %p, {{}}; selp.b32 %v1, 1, 0, %p; st.global.u32 [%o+{{}}], %v1;"
    body = "cvt.u64.u32 %g, %a; cvta.shared.u64 %g, %g; mapa.u64 %h, %g, %r;"
    body += ask.format("%g", 0) + ask.format("%h", 4) + ask.format("%o", 8)
    np.testing.assert_array_equal(run(machine, body)[:, :3], [[own, other, outside]] * 2)


def test_there_and_back(machine):
    """A generic address of the other block's memory, in shared::cluster and generic again."""
    body = """cvt.u64.u32 %g, %a; cvta.shared.u64 %g, %g; mapa.u64 %h, %g, %r; cvta.to.shared::cluster.u64 %l, %h;
  cvta.shared::cluster.u64 %l, %l; setp.eq.u64 %p, %l, %h; selp.b32 %v1, 1, 0, %p; st.global.u32 [%o], %v1;
  cvta.to.shared.u64 %l, %g; cvt.u32.u64 %v1, %l; setp.eq.u32 %p, %v1, %a; selp.b32 %v1, 1, 0, %p;
  st.global.u32 [%o+4], %v1;"""
    np.testing.assert_array_equal(run(machine, body)[:, :2], [[1, 1], [1, 1]])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_vectors(machine, seed):
    """Each block writes four words and two wide ones into the other, which reads its own."""
    body = f"""
  mapa.shared::cluster.u32 %m, %a, %r; mov.u32 %v1, %r; add.u32 %v2, %r, 10; add.u32 %v3, %r, 20; add.u32 %v4, %r, 30;
  st.shared::cluster.v4.b32 [%m+16], {{%v1, %v2, %v3, %v4}}; cvt.u64.u32 %g, %v1; cvt.u64.u32 %h, %v4;
  st.shared::cluster.v2.b64 [%m+32], {{%g, %h}}; {MEET}
  ld.shared::cta.v4.b32 {{%v1, %v2, %v3, %v4}}, [%a+16]; st.global.v4.b32 [%o], {{%v1, %v2, %v3, %v4}};
  ld.shared::cluster.v2.b64 {{%g, %h}}, [%m+32]; st.global.v2.b64 [%o+16], {{%g, %h}};"""
    np.testing.assert_array_equal(run(machine, body, seed),
                                  [[0, 10, 20, 30, 1, 0, 31, 0], [1, 11, 21, 31, 0, 0, 30, 0]])  # fmt: skip


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("instruction, left", [
    ("red.relaxed.cluster.shared::cluster.add.u32 [%m], 5;", (105, 106)),
    ("atom.release.cluster.shared::cluster.max.u32 %v2, [%m], 200;", (200, 200)),
    ("atom.shared::cluster.exch.b32 %v2, [%m], %r;", (0, 1)),
    ("atom.acquire.cluster.shared::cluster.cas.b32 %v2, [%m], 101, 9;", (100, 9)),
])  # fmt: skip
def test_atomics(machine, instruction, left, seed):
    body = (
        f"mapa.shared::cluster.u32 %m, %a, %r; {instruction} {MEET} ld.shared.u32 %v1, [%a]; st.global.u32 [%o], %v1;"
    )
    np.testing.assert_array_equal(run(machine, body, seed)[:, 0], left)


def test_an_address_of_a_block_that_is_not_there_may_be_mapped(machine):
    """nvcc maps addresses before it knows that they are used."""
    body = "mapa.shared::cluster.u32 %m, %a, -1; mapa.shared::cluster.u32 %m, %a, 9; setp.eq.u32 %p, %r, 7;"
    out = run(machine, body + "@%p ld.shared::cluster.u32 %v0, [%m]; st.global.u32 [%o], %v0;")
    np.testing.assert_array_equal(out[:, 0], [100, 101])


FENCES = """fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta; fence.acq_rel.cluster; fence.proxy.async;
  fence.acquire.sync_restrict::shared::cluster.cluster; fence.release.sync_restrict::shared::cta.cluster;
  fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;
  fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster; griddepcontrol.wait;
  griddepcontrol.launch_dependents;"""


def test_fences_of_clusters_change_nothing(machine, ptxas):
    out = run(machine, FENCES + "st.global.u32 [%o], %v0;")
    np.testing.assert_array_equal(out[:, 0], [100, 101])
    ptxas(".version 8.6\n.target sm_90a\n.address_size 64\n" + HEAD + FENCES + "ret;\n}")


@pytest.mark.parametrize("body, kind, message", [
    ("mapa.shared::cluster.u32 %m, %a, 2; ld.shared::cluster.u32 %v1, [%m];", "illegal",
     "a cluster of 2 blocks has no block 2\n"),
    ("mapa.shared::cluster.u32 %m, %a, -1; ld.shared::cluster.u32 %v1, [%m];", "illegal",
     "a cluster of 2 blocks has no block 254 or more"),
    ("cvt.u64.u32 %g, %a; cvta.shared.u64 %g, %g; mapa.u64 %g, %g, 7; ld.u32 %v1, [%g];", "out_of_bounds",
     "a cluster of 2 blocks has no block 7\n"),
    ("mapa.shared::cluster.u32 %m, %a, %r; ld.shared::cluster.u32 %v1, [%m+64];", "out_of_bounds",
     "read of 4 bytes at smem+0x60 of block (1, 0, 0) is outside shared memory (96 bytes, 96 static + 0 dynamic)"),
    ("mapa.shared::cluster.u32 %m, %a, %r; ld.shared::cluster.u32 %v1, [%m+2];", "misaligned",
     "read of 4 bytes at smem+0x22 of block (1, 0, 0) is not aligned to 4 bytes (it is 2 past)"),
    ("mapa.shared::cluster.u32 %m, %a, %r; add.u32 %m, %m, 0x3000000; ld.shared::cluster.u32 %v1, [%m];", "illegal",
     "a cluster of 2 blocks has no block 4"),
    ("cvt.u64.u32 %g, %a; cvta.shared.u64 %g, %g; mapa.u64 %g, %g, %r; ld.u32 %v1, [%g+64];", "out_of_bounds",
     "just past the end of `shared memory of block 1 of the cluster` (96 bytes)"),
    ("mapa.shared::cluster.u32 %m, %a, %r; ld.shared.u32 %v1, [%m];", "out_of_bounds",
     "read of 4 bytes at smem+0x20 of block (1, 0, 0): `.shared`, as `.shared::cta`, is the memory of the own block alone"),
])  # fmt: skip
def test_bad_addresses(machine, body, kind, message):
    with pytest.raises(emulator.Fault) as caught:
        run(machine, body)
    assert caught.value.kind == kind and message in str(caught.value)


def test_ptxas_accepts_what_is_tested_here(ptxas):
    ptxas(HEAD + "\n".join(LOADS) + "isspacep.shared::cluster %p, %g; getctarank.shared::cluster.u32 %v1, %m;"
          "getctarank.u64 %v1, %g; st.shared::cluster.v4.b32 [%m+16], {%v1, %v2, %v3, %v4};"
          "red.relaxed.cluster.shared::cluster.add.u32 [%m], 5; atom.shared::cluster.exch.b32 %v2, [%m], %r;"
          f"{MEET} ret;\n}}")  # fmt: skip
