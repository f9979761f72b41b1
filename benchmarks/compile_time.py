"""Import and first compile of an elementwise add: this compiler against nvidia-cutlass-dsl, least CPU seconds.

    uv run python benchmarks/compile_time.py [--runs 7] [--json FILE]

Every sample is a fresh process with bytecode compiled for both sides and file caches off; the first is dropped. The
program is the same text: fake tensors of dynamic extents, so no torch and no GPU is needed by either. The CPU seconds
of processes that a compiler starts count. `import` ends after the program's own imports, `compile` is its one call of
cute.compile: from the function to PTX and a host function that can be called. NVIDIA's libraries are loaded by its
import, our LLVM by the first compile, where it counts. `compile to cubin` has ptxas on both sides: NVIDIA's compile
contains its assembler (it makes a cubin with each), ours has what the program `ptxas` costs for its PTX added.

Then, for this compiler alone, which has a disk cache: the first launch of that kernel on the emulator, and of two
kernels with torch, in a fresh process that finds them in the cache, and in one that does not.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import tempfile

import readme_table

PROGRAM = """
import json, sys, time
start = time.process_time()
if sys.argv[1] == "ours":
    from dsl import alias
    alias.install("emulator")
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor
imported = time.process_time()


@cute.kernel
def kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, n: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    bid, _, _ = cute.arch.block_idx()
    dim, _, _ = cute.arch.block_dim()
    i = bid * dim + tid
    if i < n:
        c[i] = a[i] + b[i]


@cute.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, n: cutlass.Int32):
    kernel(a, b, c, n).launch(grid=((n + 255) // 256, 1, 1), block=(256, 1, 1))


extent = cute.sym_int()
tensors = [make_fake_compact_tensor(cutlass.Float32, (extent,)) for _ in range(3)]
compiled = cute.compile(add, *tensors, 1, options="--keep-ptx --gpu-arch sm_90a")
finished = time.process_time()
assert "add" in compiled.__ptx__
import resource
if sys.argv[1] == "ours":
    from dsl.lower import guard
    guard.end()
def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


finished += children()
assembling = 0
if sys.argv[1] == "ours":
    from dsl.lower import sass
    sass.find("ptxas")
    before, begun = children(), time.process_time()
    sass.assemble(compiled.__ptx__, "sm_90a")
    assembling = children() - before + time.process_time() - begun
print(json.dumps({"import": imported - start, "compile": finished - imported, "cubin": finished - imported + assembling,
                  "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""

CACHED = """
import json, sys, time
if sys.argv[1] == "two kernels":
    import torch
import numpy as np
start, start_cpu = time.perf_counter(), time.process_time()
from dsl import alias
alias.install("emulator")
import cutlass
import cutlass.cute as cute
if sys.argv[1] == "one kernel":
    import dsl.emulator, llvmlite.binding
    start, start_cpu = time.perf_counter(), time.process_time()


@cute.kernel
def adds(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, n: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    bid, _, _ = cute.arch.block_idx()
    dim, _, _ = cute.arch.block_dim()
    i = bid * dim + tid
    if i < n:
        c[i] = a[i] + b[i]


@cute.kernel
def doubles(a: cute.Tensor, n: cutlass.Int32):
    tid, _, _ = cute.arch.thread_idx()
    bid, _, _ = cute.arch.block_idx()
    dim, _, _ = cute.arch.block_dim()
    i = bid * dim + tid
    if i < n:
        a[i] = a[i] * 2


@cute.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, n: cutlass.Int32):
    adds(a, b, c, n).launch(grid=((n + 255) // 256, 1, 1), block=(256, 1, 1))


@cute.jit
def double(a: cute.Tensor, n: cutlass.Int32):
    doubles(a, n).launch(grid=((n + 255) // 256, 1, 1), block=(256, 1, 1))


if sys.argv[1] == "one kernel":
    a, b, c = (np.full(1000, value, np.float32) for value in (1, 2, 0))
    add(a, b, c, 1000)
    result = c
else:
    a, b, c = (torch.full((1000,), value, device="cuda") for value in (1.0, 2.0, 0.0))
    add(a, b, c, 1000)
    double(c, 1000)
    result = c.cpu() / 2
assert (result == 3).all()
print(json.dumps({"wall": time.perf_counter() - start, "cpu": time.process_time() - start_cpu}))
"""


def cached(what: str, folder: str, runs: int) -> dict[str, dict]:
    """Seconds of a process that finds its code in the disk cache, and of one that does not."""
    file = os.path.join(folder, "cached.py")
    with open(file, "w") as stream:
        stream.write(CACHED)
    found = {}
    for state in ("compiled", "cached"):
        rows = []
        for number in range(runs + 1):
            store = os.path.join(folder, what + (str(number) if state == "compiled" else ""))
            environment = os.environ | {"GPU_REPRO_CACHE": "1", "GPU_REPRO_CACHE_DIR": store}
            for name in ("PYTHONDONTWRITEBYTECODE", "CUTE_DSL_DISABLE_FILE_CACHING"):
                environment.pop(name, None)
            run = subprocess.run([sys.executable, file, what], capture_output=True, text=True, env=environment)
            if run.returncode:
                sys.exit(run.stderr)
            rows.append(json.loads(run.stdout.splitlines()[-1]))
        found[state] = {
            key: (min(row[key] for row in rows[1:]), statistics.median(row[key] for row in rows[1:])) for key in rows[0]
        }
    return found


def sample(compiler: str, file: str) -> dict:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"CUTE_DSL_ARCH": "sm_90a", "CUTE_DSL_DISABLE_FILE_CACHING": "1"}
    run = subprocess.run(
        [sys.executable, file, compiler], capture_output=True, text=True, env=environment, cwd=os.path.dirname(file)
    )
    if run.returncode:
        sys.exit(f"{compiler} failed:\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7, help="samples a compiler, besides the one dropped")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to FILE too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "add.py")
        with open(file, "w") as stream:
            stream.write(PROGRAM)
        least = {}
        for compiler in ("ours", "nvidia"):
            rows = [sample(compiler, file) for _ in range(options.runs + 1)][1:]
            least[compiler] = {key: min(row[key] for row in rows) for key in rows[0]}
        again = {what: cached(what, folder, options.runs) for what in ("one kernel", "two kernels")}
    print(f"{'':12}{'ours':>12}{'nvidia':>12}{'ratio':>8}   least of {options.runs}")
    for key, label in (
        ("import", "import CPU s"),
        ("compile", "compile CPU s"),
        ("cubin", "compile to cubin"),
        ("rss_mb", "peak RSS MB"),
    ):
        ours, theirs = least["ours"][key], least["nvidia"][key]
        print(f"{label:16}{ours:8.3f}{theirs:12.3f}{ours / theirs:8.2f}")
    ours, theirs = (least[c]["import"] + least[c]["cubin"] for c in ("ours", "nvidia"))
    print(f"{'together':14}{ours:10.3f}{theirs:12.3f}{ours / theirs:8.2f}")
    print(f"\n{'this compiler: least, median wall s (CPU s)':48}{'cached':>28}{'compiled':>28}")
    for what, label in (
        ("one kernel", "first launch on the emulator, beyond imports"),
        ("two kernels", "two kernels' first output, beyond import torch"),
    ):
        cells = [
            ", ".join(f"{wall:.3f} ({cpu:.3f})" for wall, cpu in zip(row["wall"], row["cpu"]))
            for row in (again[what]["cached"], again[what]["compiled"])
        ]
        print(f"{label:48}{cells[0]:>28}{cells[1]:>28}")
    if options.json:
        release = importlib.metadata.version("nvidia-cutlass-dsl")
        readme_table.write(options.json, {"release": release} | least | again)


if __name__ == "__main__":
    main()
