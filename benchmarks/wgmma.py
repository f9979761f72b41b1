"""A matrix product by wgmma on the emulator against plain loops in C, in one run: CPU seconds on one core.

    uv run python benchmarks/wgmma.py [--samples 5] [--extent 256]

- The emulator: f16 in, f32 out, blocks of two warpgroups that make 128 x 128 of the product by wgmma.m64n128k16 from
  shared memory (128-byte swizzle), which bulk copies fill. Random normal numbers; the sums have the bits of an H100.
- C: the same product of f32 as three loops in the order i, k, j, by gcc -O2; the extent is a
  constant there, so that gcc makes vectors of four.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from dsl import emulator

TILE = 128  # rows of A and columns of B of a block; 64 of K (128 bytes) at a time
ACCUMULATORS = ", ".join(f"%d{i}" for i in range(64))
C = """void product(float *restrict c, const float *restrict a, const float *restrict b) {
  for (int i = 0; i < N; i++)
    for (int k = 0; k < N; k++)
      for (int j = 0; j < N; j++)
        c[i * N + j] += a[i * N + k] * b[k * N + j];
}
"""


def ptx() -> str:
    """The kernel: A and B lie as tiles (128 x 128 bytes, swizzled), one after another along K."""
    steps = "\n".join(
        f"  add.u64 %x, %a, {2 * k}; add.u64 %y, %b, {2 * k};\n"
        f"  wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {{{ACCUMULATORS}}}, %x, %y, 1, 1, 1, 0, 0;"
        for k in range(4)
    )
    clear = " ".join(f"mov.f32 %d{i}, 0f00000000;" for i in range(64))
    stores = "\n".join(
        f"  st.global.v2.f32 [%{'o' if i // 2 % 2 == 0 else 'p'}+{32 * (i // 4)}], {{%d{i}, %d{i + 1}}};"
        for i in range(0, 64, 2)
    )
    copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
    return f""".version 8.0
.target sm_90a
.address_size 64
.visible .entry product(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u32 tiles)
{{
  .reg .b32 %t, %n, %k, %phase, %w, %i, %j, %bar, %sa, %sb; .reg .f32 %d<64>;
  .reg .b64 %ga, %gb, %o, %p, %q, %a, %b, %x, %y, %state; .reg .pred %first, %done;
  .shared .align 1024 .b8 a[16384]; .shared .align 1024 .b8 b[16384]; .shared .align 8 .b64 full;
  mov.u32 %t, %tid.x; setp.eq.u32 %first, %t, 0; ld.param.u32 %n, [tiles];
  mov.u32 %sa, a; mov.u32 %sb, b; mov.u32 %bar, full;
  @%first mbarrier.init.shared.b64 [%bar], 1; bar.sync 0;
  ld.param.u64 %ga, [pa]; ld.param.u64 %gb, [pb]; mul.lo.u32 %k, %n, 16384;
  mov.u32 %i, %ctaid.x; mul.wide.u32 %q, %i, %k; add.u64 %ga, %ga, %q;
  mov.u32 %j, %ctaid.y; mul.wide.u32 %q, %j, %k; add.u64 %gb, %gb, %q;
  shr.u32 %w, %t, 7; mad.lo.u32 %w, %w, 8192, %sa; shr.u32 %w, %w, 4; cvt.u64.u32 %a, %w;
  shr.u32 %w, %sb, 4; cvt.u64.u32 %b, %w;
  add.u64 %a, %a, {1 << 62 | 64 << 32 | 1 << 16}; add.u64 %b, %b, {1 << 62 | 64 << 32 | 1 << 16};
  {clear}
  mov.u32 %k, 0; mov.u32 %phase, 0;
NEXT:
  @!%first bra WAIT;
  mbarrier.arrive.expect_tx.shared.b64 %state, [%bar], 32768;
  {copy} [%sa], [%ga], 16384, [%bar];
  {copy} [%sb], [%gb], 16384, [%bar];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %done, [%bar], %phase; @!%done bra WAIT;
  wgmma.fence.sync.aligned;
{steps}
  wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
  bar.sync 0;
  add.u64 %ga, %ga, 16384; add.u64 %gb, %gb, 16384; xor.b32 %phase, %phase, 1;
  add.u32 %k, %k, 1; setp.lt.u32 %done, %k, %n; @%done bra NEXT;
  shl.b32 %n, %n, 8; ld.param.u64 %o, [pc]; mul.wide.u32 %q, %j, 512; add.u64 %o, %o, %q;
  shr.u32 %w, %t, 5; shl.b32 %w, %w, 4; mad.lo.u32 %w, %i, 128, %w; and.b32 %k, %t, 31; shr.u32 %i, %k, 2;
  add.u32 %w, %w, %i; mul.wide.u32 %q, %w, %n; add.u64 %o, %o, %q;
  and.b32 %k, %t, 3; mul.wide.u32 %q, %k, 8; add.u64 %o, %o, %q; mul.wide.u32 %q, %n, 8; add.u64 %p, %o, %q;
{stores}
  ret;
}}
"""


def tiled(matrix: np.ndarray) -> np.ndarray:
    """(rows, K) f16 as tiles of 128 rows and 64 of K, chunk c of row r at c xor r % 8."""
    rows, k = matrix.shape
    chunks = matrix.reshape(rows // TILE, TILE, k // 64, 8, 8).transpose(0, 2, 1, 3, 4)
    order = np.arange(8)[None] ^ (np.arange(TILE) % 8)[:, None]
    return np.ascontiguousarray(np.take_along_axis(chunks, order[None, None, ..., None], axis=3))


def least(samples: int, run) -> float:
    """CPU seconds, without the first, which compiles."""
    times = []
    for _ in range(samples + 1):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times[1:])


def on_emulator(samples: int, a: np.ndarray, b: np.ndarray) -> float:
    n = len(a)
    of_a, of_b, c = tiled(a), tiled(np.ascontiguousarray(b.T)), np.zeros((n, n), np.float32)
    program, memory = emulator.load(ptx()), emulator.Memory()
    for name, array in (("a", of_a), ("b", of_b), ("c", c)):
        memory.register(array.ctypes.data, array.nbytes, name)
    params = [array.ctypes.data.to_bytes(8, "little") for array in (of_a, of_b, c)] + [(n // 64).to_bytes(4, "little")]
    grid = (n // TILE, n // TILE, 1)
    seconds = least(samples, lambda: emulator.launch(program, "product", grid, (256, 1, 1), params, memory))
    assert np.allclose(c, a.astype(np.float32) @ b.astype(np.float32), atol=1e-2, rtol=1e-3)
    return seconds


def in_c(samples: int, a: np.ndarray, b: np.ndarray) -> float:
    n, c = len(a), np.zeros_like(a)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "product.c").write_text(C)
        command = ["gcc", "-O2", f"-DN={n}", "-shared", "-fPIC", "-o", f"{folder}/product.so", f"{folder}/product.c"]
        subprocess.run(command, check=True)
        product = ctypes.CDLL(f"{folder}/product.so").product
        return least(samples, lambda: product(*(ctypes.c_void_p(x.ctypes.data) for x in (c, a, b))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=5, help="samples of each, besides the one dropped")
    parser.add_argument("--extent", type=int, default=256, help="of the product, a multiple of 128")
    options = parser.parse_args()
    os.environ["GPU_REPRO_WORKERS"] = "1"
    n, random = options.extent, np.random.default_rng(1)
    a, b = (random.standard_normal((n, n)).astype(np.float16) for _ in range(2))
    print(f"matrix product of extent {n}, one core, CPU seconds, least of {options.samples} samples")
    times = {
        "wgmma on the emulator": on_emulator(options.samples, a, b),
        "loops in C, gcc -O2": in_c(options.samples, a.astype(np.float32), b.astype(np.float32)),
    }
    for name, seconds in times.items():
        print(f"  {name:24} {seconds * 1e3:8.2f} ms  {2 * n**3 / seconds / 1e9:6.2f} GFLOP/s")
    first, second = times.values()
    print(f"  ratio {first / second:.2f}")


if __name__ == "__main__":
    main()
