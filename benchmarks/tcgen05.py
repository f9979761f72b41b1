"""A matrix product by tcgen05.mma on the emulator against plain loops in C, in one run: CPU seconds on one core.

    uv run python benchmarks/tcgen05.py [--samples 5] [--extent 256]

- One block: f16 in, f32 out; a block makes 128 x 128 of the product in tensor memory by m128n128k16 from shared memory
  (128-byte swizzle), which bulk copies fill. Random normal numbers; the sums have the bits of a B200, as published.
- A pair: two blocks of a cluster make 256 x 128 by `.cta_group::2`, each with half of A and half of B.
- C: the product of benchmarks/wgmma.py.
"""

from __future__ import annotations

import argparse
import functools
import os

import numpy as np
from wgmma import TILE, in_c, least, tiled

from dsl import emulator

COLUMNS = 128
MATRIX = 2 << 61 | 1 << 46 | 64 << 32  # a descriptor: 128-byte swizzle, eight rows every 1024 bytes


def ptx(blocks: int) -> str:
    """The kernel: A and B lie as tiles (128 x 128 bytes, swizzled), one after another along K. A block of a pair has
    half of the rows of a tile of B."""
    group, of_b = f"cta_group::{blocks}", 16384 // blocks
    idesc = 1 << 4 | COLUMNS // 8 << 17 | TILE * blocks // 16 << 24
    meet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" if blocks == 2 else "bar.sync 0;"
    steps = "\n".join(
        f"  add.u64 %x, %a, {2 * k}; add.u64 %y, %b, {2 * k};\n"
        f"  tcgen05.mma.{group}.kind::f16 [%d], %x, %y, {idesc}, %adds;\n  setp.eq.u32 %adds, %t, %t;"
        for k in range(4)
    )
    one = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%made];"
    both = "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%made], %mask;"
    words = [f"%v{i}" for i in range(32)]
    stores = "\n".join(
        f"  tcgen05.ld.sync.aligned.32x32b.x32.b32 {{{', '.join(words)}}}, [%lane+{first}];\n"
        "  tcgen05.wait::ld.sync.aligned;\n"
        + " ".join(
            f"st.global.v4.b32 [%o+{4 * (first + i)}], {{{', '.join(words[i : i + 4])}}};" for i in range(0, 32, 4)
        )
        for first in range(0, COLUMNS, 32)
    )
    copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
    return f""".version 8.6
.target sm_100a
.address_size 64
.visible .entry product(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u32 tiles)
{{
  .reg .b32 %t, %n, %k, %phase, %w, %i, %j, %full, %made, %sa, %sb, %d, %lane, %rank, %v<32>; .reg .b16 %mask;
  .reg .b64 %ga, %gb, %o, %q, %a, %b, %x, %y, %state; .reg .pred %first, %lead, %done, %adds, %warp0;
  .shared .align 1024 .b8 a[16384]; .shared .align 1024 .b8 b[{of_b}]; .shared .align 8 .b64 full;
  .shared .align 8 .b64 made; .shared .align 8 .b32 memory;
  mov.u32 %t, %tid.x; setp.eq.u32 %first, %t, 0; setp.lt.u32 %warp0, %t, 32; ld.param.u32 %n, [tiles];
  mov.u32 %rank, %cluster_ctarank; or.b32 %w, %t, %rank; setp.eq.u32 %lead, %w, 0; mov.u16 %mask, 3;
  mov.u32 %sa, a; mov.u32 %sb, b; mov.u32 %full, full; mov.u32 %made, made;
  @!%warp0 bra READY;
  tcgen05.alloc.{group}.sync.aligned.shared::cta.b32 [memory], {COLUMNS};
READY:
  @%first mbarrier.init.shared.b64 [%full], 1; @%first mbarrier.init.shared.b64 [%made], 1;
  @%first fence.mbarrier_init.release.cluster; bar.sync 0; {meet}
  ld.shared.b32 %d, [memory];
  ld.param.u64 %ga, [pa]; ld.param.u64 %gb, [pb]; mul.lo.u32 %k, %n, 16384;
  mov.u32 %i, %ctaid.x; mul.wide.u32 %q, %i, %k; add.u64 %ga, %ga, %q;
  mov.u32 %j, %ctaid.y; mul.wide.u32 %q, %j, %k; add.u64 %gb, %gb, %q;
  mul.wide.u32 %q, %rank, {16384 - of_b}; add.u64 %gb, %gb, %q;
  shr.u32 %w, %sa, 4; cvt.u64.u32 %a, %w; shr.u32 %w, %sb, 4; cvt.u64.u32 %b, %w;
  add.u64 %a, %a, {MATRIX}; add.u64 %b, %b, {MATRIX};
  mov.u32 %k, 0; mov.u32 %phase, 0; setp.ne.u32 %adds, %t, %t;
NEXT:
  @!%first bra WAIT;
  mbarrier.arrive.expect_tx.shared.b64 %state, [%full], {16384 + of_b};
  {copy} [%sa], [%ga], 16384, [%full];
  {copy} [%sb], [%gb], {of_b}, [%full];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %done, [%full], %phase; @!%done bra WAIT;
  {meet}
  @!%lead bra MADE;
{steps}
  {both if blocks == 2 else one}
MADE:
  mbarrier.try_wait.parity.shared.b64 %done, [%made], %phase; @!%done bra MADE;
  bar.sync 0;
  add.u64 %ga, %ga, 16384; add.u64 %gb, %gb, 16384; xor.b32 %phase, %phase, 1;
  add.u32 %k, %k, 1; setp.lt.u32 %done, %k, %n; @%done bra NEXT;
  tcgen05.fence::after_thread_sync;
  mad.lo.u32 %w, %i, 128, %t; shl.b32 %n, %n, 8; ld.param.u64 %o, [pc]; mul.wide.u32 %q, %w, %n;
  add.u64 %o, %o, %q; mul.wide.u32 %q, %j, 512; add.u64 %o, %o, %q;
  shr.u32 %w, %t, 5; shl.b32 %w, %w, 21; add.u32 %lane, %d, %w;
{stores}
  bar.sync 0; {meet}
  @!%warp0 bra END;
  tcgen05.dealloc.{group}.sync.aligned.b32 %d, {COLUMNS};
END:
  ret;
}}
"""


def on_emulator(samples: int, a: np.ndarray, b: np.ndarray, blocks: int) -> float:
    n = len(a)
    of_a, of_b, c = tiled(a), tiled(np.ascontiguousarray(b.T)), np.zeros((n, n), np.float32)
    program, memory = emulator.load(ptx(blocks), gpu_model="b200"), emulator.Memory()
    for name, array in (("a", of_a), ("b", of_b), ("c", c)):
        memory.register(array.ctypes.data, array.nbytes, name)
    params = [array.ctypes.data.to_bytes(8, "little") for array in (of_a, of_b, c)] + [(n // 64).to_bytes(4, "little")]
    grid, cluster = (n // TILE, n // COLUMNS, 1), (blocks, 1, 1)
    launch = functools.partial(emulator.launch, program, "product", grid, (128, 1, 1), params, memory, cluster=cluster)
    seconds = least(samples, launch)
    assert np.allclose(c, a.astype(np.float32) @ b.astype(np.float32), atol=1e-2, rtol=1e-3)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=5, help="samples of each, besides the one dropped")
    parser.add_argument("--extent", type=int, default=256, help="of the product, a multiple of 256")
    options = parser.parse_args()
    os.environ["GPU_REPRO_WORKERS"] = "1"
    n, random = options.extent, np.random.default_rng(1)
    a, b = (random.standard_normal((n, n)).astype(np.float16) for _ in range(2))
    print(f"matrix product of extent {n}, one core, CPU seconds, least of {options.samples} samples")
    ours, pairs = (on_emulator(options.samples, a, b, blocks) for blocks in (1, 2))
    c = in_c(options.samples, a.astype(np.float32), b.astype(np.float32))
    print(f"one block  {ours:9.4f}   C {c:9.4f}   ratio {ours / c:5.2f}")
    print(f"a pair     {pairs:9.4f}   for its two blocks {2 * pairs / ours:5.2f} times one block")


if __name__ == "__main__":
    main()
