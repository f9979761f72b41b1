"""The emulator's speed against its peers, in one run: seconds of wall clock and of CPU, the best of several samples.

    uv run python benchmarks/emulator.py [--samples 5] [--only "loop saxpy"] [--json FILE]

- s += x[k, t] * y[k] in a loop in 256 threads t, against numba's CUDA simulator and Triton's interpreter, each in its
  own process, numba also in its own environment, which uv makes (it wants another llvmlite).
- y = a * x + y over 2^24 floats, against numpy with one temporary array.
- Kernels over planes of 1024 x 1024 floats (plane_kernels.py): a copy, a stencil with guards, a sum in the order of
  the threads, against numpy.
- A barrier of 1024 threads, and of a cluster. A matrix product through shared memory, an mma. The same on one worker
  and on all.
- Lanes that meet in shuffles, and atomics that many threads share (warp_kernels.py), against the same loops in C.
- The time from a long PTX text to machine code. The cost of a launch, and of the first launch of a program in a
  fresh process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

import plane_kernels
import readme_table
import warp_kernels

from dsl import emulator

HEADER = ".version 8.0\n.target sm_90a\n.address_size 64\n"

LOOP = """.visible .entry loop(.param .u64 px, .param .u64 py, .param .u64 out, .param .u32 rounds)
{
  .reg .b32 %t, %k, %n, %i, %j; .reg .f32 %s, %a, %b; .reg .b64 %o, %x, %y, %off; .reg .pred %p;
  mov.u32 %t, %tid.x; ld.param.u64 %x, [px]; ld.param.u64 %y, [py]; ld.param.u64 %o, [out]; ld.param.u32 %n, [rounds];
  mov.u32 %k, 0; mov.f32 %s, 0f00000000;
NEXT:
  and.b32 %i, %k, 63; mad.lo.u32 %j, %i, 256, %t;
  mul.wide.u32 %off, %j, 4; add.s64 %off, %x, %off; ld.global.f32 %a, [%off];
  mul.wide.u32 %off, %i, 4; add.s64 %off, %y, %off; ld.global.f32 %b, [%off];
  fma.rn.f32 %s, %a, %b, %s;
  add.u32 %k, %k, 1; setp.lt.u32 %p, %k, %n; @%p bra NEXT;
  mul.wide.u32 %off, %t, 4; add.s64 %o, %o, %off; st.global.f32 [%o], %s;
  ret;
}
"""

SAXPY = """.visible .entry saxpy(.param .u64 px, .param .u64 py, .param .f32 pa, .param .u32 pn)
{
  .reg .b32 %t, %i, %b, %d, %n; .reg .f32 %x, %y, %a; .reg .b64 %px, %py, %off; .reg .pred %p;
  mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %d, %ntid.x; mad.lo.u32 %i, %b, %d, %t;
  ld.param.u32 %n, [pn]; setp.ge.u32 %p, %i, %n; @%p bra DONE;
  ld.param.u64 %px, [px]; ld.param.u64 %py, [py]; ld.param.f32 %a, [pa];
  mul.wide.u32 %off, %i, 4; add.s64 %px, %px, %off; add.s64 %py, %py, %off;
  ld.global.f32 %x, [%px]; ld.global.f32 %y, [%py];
  fma.rn.f32 %y, %x, %a, %y; st.global.f32 [%py], %y;
DONE:
  ret;
}
"""

# The same as it is compiled where the block is a literal: LLVM knows that no bit of tid is in 256 * ctaid.
LITERAL = SAXPY.replace(")\n{", ")\n.reqntid 256\n{").replace(
    "mov.u32 %d, %ntid.x; mad.lo.u32 %i, %b, %d, %t;", "shl.b32 %d, %b, 8; or.b32 %i, %d, %t;"
)

# Threads exchange numbers between two barriers, a loop over threads each. A strong load makes coroutines of them.
STRONG = "ld.volatile.shared.u32 %v, [%j];"
EXCHANGE = """.visible .entry exchange(.param .u32 rounds, .param .u64 out)
{
  .shared .align 16 .b8 cells[4096];
  .reg .b32 %k, %n, %t, %i, %j, %v, %s; .reg .b64 %o, %off; .reg .pred %p;
  ld.param.u32 %n, [rounds]; mov.u32 %k, 0; mov.u32 %t, %tid.x; mov.u32 %v, cells; mad.lo.u32 %i, %t, 4, %v;
  sub.u32 %j, 1023, %t; mad.lo.u32 %j, %j, 4, %v; mov.u32 %s, 0;
NEXT:
  add.u32 %v, %t, %k; st.shared.u32 [%i], %v; bar.sync 0; {load} add.u32 %s, %s, %v;
  add.u32 %k, %k, 2; setp.lt.u32 %p, %k, %n; bar.sync 0; @%p bra NEXT;
  ld.param.u64 %o, [out]; mul.wide.u32 %off, %t, 4; add.s64 %o, %o, %off; st.global.u32 [%o], %s;
  ret;
}
"""


def sgemm_ptx(tile: int = 16) -> str:
    """c = a b for square matrices of extent n: a thread an element, tiles of both factors in shared memory."""
    inner = "\n".join(
        f"  ld.shared.f32 %x, [%row+{4 * k}]; ld.shared.f32 %y, [%column+{4 * tile * k}]; fma.rn.f32 %s, %x, %y, %s;"
        for k in range(tile)
    )
    return f""".visible .entry sgemm(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u32 pn)
{{
  .shared .align 16 .b8 at[{4 * tile * tile}]; .shared .align 16 .b8 bt[{4 * tile * tile}];
  .reg .b32 %tx, %ty, %bx, %by, %i, %j, %n, %k, %row, %column, %mine, %other, %q, %w; .reg .f32 %x, %y, %s;
  .reg .b64 %a, %b, %c, %off; .reg .pred %p;
  mov.u32 %tx, %tid.x; mov.u32 %ty, %tid.y; mov.u32 %bx, %ctaid.x; mov.u32 %by, %ctaid.y;
  ld.param.u64 %a, [pa]; ld.param.u64 %b, [pb]; ld.param.u64 %c, [pc]; ld.param.u32 %n, [pn];
  mad.lo.u32 %i, %by, {tile}, %ty; mad.lo.u32 %j, %bx, {tile}, %tx;
  mov.u32 %q, at; mad.lo.u32 %row, %ty, {4 * tile}, %q; mad.lo.u32 %mine, %tx, 4, %row;
  mov.u32 %q, bt; mad.lo.u32 %column, %tx, 4, %q; mad.lo.u32 %other, %ty, {4 * tile}, %column;
  mad.lo.u32 %q, %i, %n, %tx; mul.wide.u32 %off, %q, 4; add.s64 %a, %a, %off;
  mad.lo.u32 %q, %ty, %n, %j; mul.wide.u32 %off, %q, 4; add.s64 %b, %b, %off;
  mul.lo.u32 %w, %n, {4 * tile}; mov.f32 %s, 0f00000000; mov.u32 %k, 0;
NEXT:
  ld.global.f32 %x, [%a]; ld.global.f32 %y, [%b];
  st.shared.f32 [%mine], %x; st.shared.f32 [%other], %y;
  bar.sync 0;
{inner}
  bar.sync 0;
  add.s64 %a, %a, {4 * tile}; cvt.u64.u32 %off, %w; add.s64 %b, %b, %off;
  add.u32 %k, %k, {tile}; setp.lt.u32 %p, %k, %n; @%p bra NEXT;
  mad.lo.u32 %q, %i, %n, %j; mul.wide.u32 %off, %q, 4; add.s64 %c, %c, %off; st.global.f32 [%c], %s;
  ret;
}}
"""


CLUSTER = """.visible .entry cluster(.param .u64 out, .param .u32 rounds)
{
  .shared .align 4 .b32 box[128];
  .reg .b32 %t, %a, %p, %r, %n, %v, %i; .reg .pred %q;
  mov.u32 %t, %tid.x; mov.u32 %a, box; mad.lo.u32 %a, %t, 4, %a; ld.param.u32 %i, [rounds];
  mov.u32 %r, %cluster_ctarank; mov.u32 %n, %cluster_nctarank; add.u32 %r, %r, 1; rem.u32 %r, %r, %n;
  mapa.shared::cluster.u32 %p, %a, %r; mov.u32 %v, %t; mov.u32 %n, 0;
NEXT:
  st.shared::cluster.u32 [%p], %v; barrier.cluster.arrive; barrier.cluster.wait;
  ld.shared.u32 %v, [%a]; barrier.cluster.arrive; barrier.cluster.wait;
  add.u32 %n, %n, 1; setp.lt.u32 %q, %n, %i; @%q bra NEXT;
  ret;
}
"""

MMA = """.visible .entry product(.param .u32 rounds, .param .u64 out)
{
  .reg .b32 %k, %n, %t, %a<4>, %b<2>; .reg .f32 %c<4>; .reg .b64 %o, %off; .reg .pred %p;
  ld.param.u32 %n, [rounds]; mov.u32 %k, 0; mov.u32 %t, %tid.x;
  mov.b32 %a0, 0x3c003c00; mov.b32 %a1, %a0; mov.b32 %a2, %a0; mov.b32 %a3, %a0; mov.b32 %b0, %a0; mov.b32 %b1, %a0;
  mov.f32 %c0, 0f00000000; mov.f32 %c1, %c0; mov.f32 %c2, %c0; mov.f32 %c3, %c0;
NEXT:
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%c0,%c1,%c2,%c3}, {%a0,%a1,%a2,%a3}, {%b0,%b1}, {%c0,%c1,%c2,%c3};
  add.u32 %k, %k, 1; setp.lt.u32 %p, %k, %n; @%p bra NEXT;
  ld.param.u64 %o, [out]; mul.wide.u32 %off, %t, 4; add.s64 %o, %o, %off; st.global.f32 [%o], %c0;
  ret;
}
"""


# Both print rows of seconds (wall, CPU) a multiply-add.
SAMPLES = """
x, y = np.ones((64, 256), np.float32), np.ones(64, np.float32)
def sample(run, rounds):
    for _ in range(int(sys.argv[1]) + 1):
        wall, cpu = time.perf_counter(), time.process_time()
        run(rounds)
        count = 256 * rounds
        print(json.dumps([(time.perf_counter() - wall) / count, (time.process_time() - cpu) / count]))
"""

NUMBA = (
    """
import os, sys, json, time
os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
import numpy as np
from numba import cuda
@cuda.jit
def loop(x, y, out, rounds):
    t = cuda.threadIdx.x
    s = np.float32(0)
    for k in range(rounds):
        s += x[k & 63, t] * y[k & 63]
    out[t] = s
"""
    + SAMPLES
    + """
out = np.zeros(256, np.float32)
for rounds in 16, 256, 4096:
    sample(lambda rounds: loop[1, 256](x, y, out, rounds), rounds)
    assert out[255] == rounds
"""
)
NUMBA_PYTHON = ("uv", "run", "-q", "--no-project", "--with", "numba", "python")

TRITON = (
    """
import os, sys, json, time
os.environ["TRITON_INTERPRET"] = "1"
import numpy as np, torch, triton, triton.language as tl
@triton.jit
def loop(x, y, out, rounds):
    lane = tl.arange(0, 256)
    s = tl.zeros((256,), tl.float32)
    for k in range(rounds):
        s += tl.load(x + (k & 63) * 256 + lane) * tl.load(y + (k & 63))
    tl.store(out + lane, s)
"""
    + SAMPLES
    + """
x, y, out = torch.from_numpy(x), torch.from_numpy(y), torch.zeros(256)
for rounds in 16, 256, 4096:
    sample(lambda rounds: loop[(1,)](x, y, out, rounds), rounds)
    assert out[255] == rounds
"""
)

FIRST = """
import sys, json, time
wall, cpu = time.perf_counter(), time.process_time()
from dsl import emulator
imported = time.perf_counter() - wall, time.process_time() - cpu
text = sys.stdin.read()
wall, cpu = time.perf_counter(), time.process_time()
program = emulator.load(text)
name = next(iter(program.entries))
memory = emulator.Memory()
address = memory.alloc(4096, "all").to_bytes(8, "little")
params = [address if param.size_bytes == 8 else bytes(4) for param in program.entries[name].params]
emulator.launch(program, name, (1, 1, 1), (1, 1, 1), params, memory)
print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu, *imported]))
"""


def least(samples: int, action) -> tuple[float, float]:
    """The least wall and CPU seconds of `action()`, after one run that does not count."""
    action()
    rows = []
    for _ in range(samples):
        wall, cpu = time.perf_counter(), time.process_time()
        action()
        rows.append((time.perf_counter() - wall, time.process_time() - cpu))
    return min(row[0] for row in rows), min(row[1] for row in rows)


def peer(program: str, samples: int, given: str = "", python: tuple = (sys.executable,)) -> list[list[float]]:
    """The rows a program prints in a fresh process; nothing where what it needs is not installed."""
    run = subprocess.run([*python, "-c", program, str(samples)], capture_output=True, text=True, input=given)
    if run.returncode:
        print(f"  not measured: {run.stderr.strip().splitlines()[-1]}")
        return []
    return [json.loads(line) for line in run.stdout.splitlines()]


class Kernel:
    """A PTX kernel over numpy arrays and numpy scalars."""

    def __init__(self, ptx: str):
        self.program = emulator.load(HEADER + ptx)
        self.name = next(iter(self.program.entries))

    def __call__(self, grid: tuple, block: tuple, *arguments, cluster: tuple = (1, 1, 1)) -> None:
        memory, params = emulator.Memory(), []
        for i, value in enumerate(arguments):
            if value.ndim:
                memory.register(value.ctypes.data, value.nbytes, f"argument {i}")
                params.append(value.ctypes.data.to_bytes(8, "little"))
            else:
                params.append(value.tobytes())
        emulator.launch(self.program, self.name, grid, block, params, memory, cluster=cluster)


NUMBERS: dict[str, dict[str, dict[str, float]]] = {}  # by title and label, what was printed


def title(text: str) -> None:
    print(text)
    NUMBERS[text] = {}


def show(label: str, wall: float, cpu: float, unit: float = 1e-3, name: str = "ms", note: str = "") -> None:
    NUMBERS[next(reversed(NUMBERS))][label] = {"wall_s": wall, "cpu_s": cpu}
    print(f"  {label:34}{wall / unit:10.3f} {name} wall{cpu / unit:10.3f} {name} CPU  {note}")


def loop(samples: int, np) -> None:
    kernel, out = Kernel(LOOP), np.zeros(256, np.float32)
    x, y = np.ones((64, 256), np.float32), np.ones(64, np.float32)
    several = max(samples // 2, 1)
    peers = {"numba CUDA simulator": peer(NUMBA, several, python=NUMBA_PYTHON)}
    peers["Triton interpreter"] = peer(TRITON, several)
    for i, rounds in enumerate((16, 256, 4096, 100_000)):
        repeat = max(20_000 // rounds, 1)

        def run() -> None:
            for _ in range(repeat):
                kernel((1, 1, 1), (256, 1, 1), x, y, out, np.uint32(rounds))

        wall, cpu = (seconds / (256 * rounds * repeat) for seconds in least(samples, run))
        assert out[255] == rounds
        title(f"a loop of {rounds} multiply-adds in 256 threads, each multiply-add")
        show("emulator", wall, cpu, 1e-9, "ns")
        for name, rows in peers.items():
            mine = rows[i * (several + 1) : (i + 1) * (several + 1)][1:]
            if mine:
                w, c = min(row[0] for row in mine), min(row[1] for row in mine)
                show(name, w, c, 1e-9, "ns", f"emulator: {w / wall:.0f} times as fast, {c / cpu:.0f} by CPU")


def saxpy(samples: int, np) -> None:
    n = 1 << 24
    x, y, t = (np.ones(n, np.float32) for _ in range(3))
    a = np.float32(0.5)

    def by_numpy() -> None:
        np.multiply(x, a, out=t)
        np.add(t, y, out=y)

    title("saxpy of 2^24 floats")
    theirs = least(samples, by_numpy)
    show("numpy, one temporary", *theirs)
    for kind, kernel in (("", Kernel(SAXPY)), (", literal block", Kernel(LITERAL))):
        for workers in ("1", ""):
            os.environ["GPU_REPRO_WORKERS"] = workers
            ours = least(samples, lambda: kernel((n // 256, 1, 1), (256, 1, 1), x, y, a, np.uint32(n)))
            show(("emulator, one worker" if workers else "emulator, all cores") + kind, *ours,
                 note=f"{ours[0] / theirs[0]:.2f} of numpy's wall, {ours[1] / theirs[1]:.2f} of its CPU")  # fmt: skip


def planes(samples: int, np) -> None:
    """One worker; numpy's sum is `np.add.accumulate`, the only one of its sums that goes in order."""
    os.environ["GPU_REPRO_WORKERS"] = "1"
    side, rng = plane_kernels.SIDE, np.random.default_rng(1)
    x = rng.random((side, side), np.float32)
    y, other, flat = np.zeros_like(x), np.zeros_like(x), np.zeros(side * side, np.float32)
    word = np.zeros(1, np.float32)

    def stencil() -> None:
        inner = other[1:-1, 1:-1]
        np.add(x[:-2, 1:-1], x[2:, 1:-1], out=inner)
        np.add(inner, x[1:-1, :-2], out=inner)
        np.add(inner, x[1:-1, 2:], out=inner)
        np.multiply(inner, np.float32(0.25), out=inner)

    rows = {
        "copy": (plane_kernels.COPY, y, lambda: np.copyto(other, x)),
        "stencil of four neighbours": (plane_kernels.STENCIL, y, stencil),
        "sum": (plane_kernels.SUM, word, lambda: np.add.accumulate(x.reshape(-1), out=flat)),
    }
    for name, (ptx, out, by_numpy) in rows.items():
        kernel = Kernel(ptx)
        y[:], other[:] = 0, 0
        title(f"{name} of {side} x {side} floats")
        theirs = least(samples, by_numpy)
        ours = least(samples, lambda kernel=kernel, out=out: kernel((side * side // 128, 1, 1), (128, 1, 1), x, out))
        show("numpy", *theirs)
        show("emulator, one worker", *ours, note=f"{ours[1] / theirs[1]:.2f} of numpy's CPU")
        assert (y == other).all()
    word[:] = 0
    kernel((side * side // 128, 1, 1), (128, 1, 1), x, word)
    assert word[0] == flat[-1]


def barrier(samples: int, np) -> None:
    for label, load in (("threads as loops", STRONG.replace(".volatile", "")), ("threads as coroutines", STRONG)):
        kernel, out, rows = Kernel(EXCHANGE.replace("{load}", load)), np.zeros(1024, np.uint32), []
        for n in (10_000, 40_000):
            rows.append(least(samples, lambda: kernel((1, 1, 1), (1024, 1, 1), np.uint32(n), out)))
        each = [(b - a) / 30_000 for a, b in zip(*rows)]
        title(f"a barrier of 1024 threads, {label}")
        show("emulator", *each, 1e-6, "µs")


def cluster(samples: int, np) -> None:
    """Blocks that write a word a thread into the next block's shared memory and meet, a round."""
    kernel, out, rows = Kernel(CLUSTER), np.zeros(1, np.uint32), {}
    for n in (2_000, 8_000):
        for blocks in (1, 2, 4):
            shape = (blocks, 1, 1)
            rows.setdefault(blocks, []).append(
                least(samples, lambda: kernel(shape, (128, 1, 1), out, np.uint32(n), cluster=shape))
            )
    title("a barrier of a cluster of blocks of 128 threads, and a store into the next block's shared memory")
    rounds = {blocks: [(b - a) / 6_000 for a, b in zip(*times)] for blocks, times in rows.items()}
    for blocks, each in rounds.items():
        note = f"{each[1] / rounds[1][1]:.2f} times one block's CPU time"
        show(f"emulator, {blocks} block{'s' * (blocks > 1)}", *each, 1e-6, "µs", note)


def mma(samples: int, np) -> None:
    kernel, out, rows = Kernel(MMA), np.zeros(128, np.float32), []
    for n in (10_000, 40_000):
        rows.append(least(samples, lambda: kernel((1, 1, 1), (128, 1, 1), np.uint32(n), out)))
        assert out[127] == 16 * n
    each = [(b - a) / (4 * 30_000) for a, b in zip(*rows)]
    title("mma.m16n8k16 of f16 by a warp, 2048 multiply-adds; four warps")
    show("emulator", *each, 1e-6, "µs", f"{2 * 2048 / each[1] / 1e9:.1f} GFLOP/s of CPU time")


def sgemm(samples: int, np) -> None:
    n = 512
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((n, n), dtype=np.float32) for _ in range(2))
    c = np.zeros((n, n), np.float32)
    kernel = Kernel(sgemm_ptx())
    title(f"matrix product of extent {n}, tiles of 16 x 16 in shared memory, {(n // 16) ** 2} blocks")
    times = {}
    for workers in ("1", ""):
        os.environ["GPU_REPRO_WORKERS"] = workers
        times[workers] = least(samples, lambda: kernel((n // 16, n // 16, 1), (16, 16, 1), a, b, c, np.uint32(n)))
    assert np.allclose(c, a @ b, atol=1e-3)
    flops = 2 * n**3
    show("emulator, one worker", *times["1"], note=f"{flops / times['1'][0] / 1e9:.2f} GFLOP/s")
    show("emulator, all cores", *times[""], note=f"{times['1'][0] / times[''][0]:.2f} times one worker")


def _beside_c(samples: int, name: str, ours, theirs, unit: float = 1e-3, unit_name: str = "ms") -> None:
    """One worker and the C function (None without gcc) in turn; `ours` and `theirs` run once."""
    os.environ["GPU_REPRO_WORKERS"] = "1"
    mine, peer_times = least(samples, ours), least(samples, theirs) if theirs else None
    title(name)
    show("emulator, one worker", *(t for t in mine), unit, unit_name,
         note=f"{mine[1] / peer_times[1]:.1f} times C" if peer_times else "")  # fmt: skip
    if peer_times:
        show("C, gcc -O2 -march=native", *peer_times, unit, unit_name)


def warps(samples: int, np) -> None:
    """Kernels of warp_kernels.py: 2^22 numbers, a softmax of 1024 rows, 2^20 threads that shuffle, or add to a word."""
    library, rng, n = warp_kernels.peers(), np.random.default_rng(1), 1 << 22
    floats, words = rng.standard_normal(n, dtype=np.float32), rng.integers(0, 256, n, dtype=np.uint32)

    def peer_of(name, x, out, count):
        return library and (lambda: getattr(library, name)(x.ctypes, out.ctypes, count))

    kernel, out, other = Kernel(warp_kernels.REDUCE), np.zeros(1024, np.float32), np.zeros(1, np.float32)
    _beside_c(samples, "reduction by shuffles of 2^22 floats, 1024 blocks of 256 threads",
              lambda: kernel((1024, 1, 1), (256, 1, 1), floats, out, np.uint32(n)),
              peer_of("reduce", floats, other, n))  # fmt: skip
    assert np.allclose(out.sum(dtype=np.float64), floats.sum(dtype=np.float64), atol=1)
    kernel, bins, other = Kernel(warp_kernels.HISTOGRAM), np.zeros(256, np.uint32), np.zeros(256, np.uint32)
    _beside_c(samples, "histogram of 2^22 numbers by atomics on shared memory, 256 blocks of 256 threads",
              lambda: kernel((256, 1, 1), (256, 1, 1), words, bins, np.uint32(n)),
              peer_of("histogram", words, other, n))  # fmt: skip
    assert (bins == (samples + 1) * np.bincount(words, minlength=256)).all()
    kernel, y, other = Kernel(warp_kernels.SOFTMAX), np.zeros(1 << 20, np.float32), np.zeros(1 << 20, np.float32)
    _beside_c(samples, "softmax of 1024 rows of 1024 floats, a block of 256 threads a row",
              lambda: kernel((1024, 1, 1), (256, 1, 1), floats, y, np.uint32(1024)),
              peer_of("softmax", floats, other, 1024))  # fmt: skip
    assert np.allclose(y.reshape(1024, 1024).sum(axis=1), 1, atol=1e-4)
    kernel = Kernel(warp_kernels.SHUFFLES)
    _beside_c(samples, "five shuffles a thread, 2^20 threads",
              lambda: kernel((4096, 1, 1), (256, 1, 1), floats, y, np.uint32(0)),
              peer_of("shuffles", floats, other, 1 << 20))  # fmt: skip
    assert np.allclose(y.reshape(-1, 32), floats[: 1 << 20].reshape(-1, 32).sum(axis=1)[:, None], atol=1e-4)
    for operation in ("add.u32", "min.s32", "max.u32"):
        kernel, word, other = Kernel(warp_kernels.CONTENDED.replace("OPERATION", operation)), bins[:1], other[:1]
        _beside_c(samples, f"red.global.{operation} of 2^20 threads into one word",
                  lambda kernel=kernel, word=word: kernel((4096, 1, 1), (256, 1, 1), words, word, np.uint32(0)),
                  peer_of("add_one", words, other, 1 << 20))  # fmt: skip


def long_text(lines: int) -> str:
    """A kernel without loops: loads, arithmetic on 64 registers and predicated stores."""
    rows = []
    for i in range(lines // 8):
        a, b = i * 7 % 64, (i * 11 + 1) % 64
        rows.append(f"mul.wide.u32 %d0, %r{a}, 4; and.b64 %d0, %d0, 1023; add.s64 %d1, %o, %d0;")
        rows.append(f"ld.global.f32 %f{a}, [%d1]; fma.rn.f32 %f{b}, %f{a}, %f{b}, %f{a}; add.s32 %r{b}, %r{a}, {i};")
        rows.append(f"setp.lt.s32 %p, %r{b}, %r{a}; @%p st.global.f32 [%d1], %f{b};")
    head = ".reg .b32 %r<64>; .reg .f32 %f<64>; .reg .pred %p; .reg .b64 %o, %d<2>; ld.param.u64 %o, [out];\n"
    return f"{HEADER}.visible .entry long(.param .u64 out) {{ {head}{chr(10).join(rows)}\nret; }}"


def text(samples: int, np) -> None:
    """From PTX of 5000 instructions to machine code that a small launch can run; not from the disk."""
    ptx = long_text(5000)
    title("PTX of 5000 instructions until a small launch can run it")
    show("emulator", *least(samples, lambda: emulator.Program(ptx).code("long", 1)))


def cores(samples: int, np) -> None:
    """The same arithmetic on one worker and on all, turn by turn and many times: the least needs every core once."""
    kernel, out = Kernel(LOOP), np.zeros(256, np.float32)
    x, y = np.ones((64, 256), np.float32), np.ones(64, np.float32)
    found = {"1": [9.0, 9.0], "": [9.0, 9.0]}
    for _ in range(200 * samples):
        for workers, best in found.items():
            os.environ["GPU_REPRO_WORKERS"] = workers
            wall, cpu = time.perf_counter(), time.process_time()
            kernel((1024, 1, 1), (256, 1, 1), x, y, out, np.uint32(200))
            best[:] = min(best[0], time.perf_counter() - wall), min(best[1], time.process_time() - cpu)
    title(f"1024 blocks of a loop of 200 multiply-adds, least of {200 * samples} turns")
    show("emulator, one worker", *found["1"])
    show("emulator, all cores", *found[""], note=f"{found['1'][0] / found[''][0]:.2f} times one worker")


def launches(samples: int, np) -> None:
    program = emulator.load(HEADER + ".visible .entry nothing() { ret; }")
    memory = emulator.Memory()

    def many() -> None:
        for _ in range(1000):
            emulator.launch(program, "nothing", (1, 1, 1), (32, 1, 1), [], memory)

    title("a launch, and the first launch of a program in a fresh process (import apart)")
    show("empty kernel", *(t / 1000 for t in least(samples, many)), 1e-6, "µs")
    for name, text in (("saxpy", SAXPY), ("matrix product", sgemm_ptx())):
        rows = [row for _ in range(samples) for row in peer(FIRST, 1, HEADER + text)]
        if rows:
            show(f"first launch, {name}", min(r[0] for r in rows), min(r[1] for r in rows),
                 note=f"import {min(r[3] for r in rows) * 1e3:.0f} ms CPU")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=5, help="samples of each, besides the one dropped")
    parser.add_argument("--only", default="", help="names of the parts to run, of: " + " ".join(PARTS))
    parser.add_argument("--json", metavar="FILE", help="write the numbers to FILE too")
    options = parser.parse_args()
    import numpy as np

    print(f"{len(os.sched_getaffinity(0))} CPUs, least of {options.samples} samples")
    for name in options.only.split() or PARTS:
        PARTS[name](options.samples, np)
    if options.json:
        readme_table.write(options.json, NUMBERS)


PARTS = {
    "loop": loop,
    "saxpy": saxpy,
    "planes": planes,
    "barrier": barrier,
    "sgemm": sgemm,
    "cluster": cluster,
    "mma": mma,
    "warps": warps,
    "text": text,
    "cores": cores,
    "launches": launches,
}

if __name__ == "__main__":
    main()
