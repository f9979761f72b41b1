"""Import and first compile of an elementwise add: this compiler against nvidia-cutlass-dsl, CPU seconds, one run.

    uv run python benchmarks/compile_time.py [--runs 7]

Every sample is a fresh process with bytecode compiled for both sides and file caches off; the first is dropped. The
program is the same text: fake tensors of dynamic extents, so no torch and no GPU is needed by either.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys

PROGRAM = '''
import json, sys, time
start = time.process_time()
if sys.argv[1] == "embedded":
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
print(json.dumps({"import": imported - start, "compile": finished - imported,
                  "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
'''


def sample(compiler: str, file: str) -> dict:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"CUTE_DSL_ARCH": "sm_90a", "CUTE_DSL_DISABLE_FILE_CACHING": "1"}
    run = subprocess.run([sys.executable, file, compiler], capture_output=True, text=True, env=environment,
                         cwd=os.path.dirname(file))
    if run.returncode:
        sys.exit(f"{compiler} failed:\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7, help="samples a compiler, besides the one dropped")
    options = parser.parse_args()
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "add.py")
        with open(file, "w") as stream:
            stream.write(PROGRAM)
        medians = {}
        for compiler in ("embedded", "nvidia"):
            rows = [sample(compiler, file) for _ in range(options.runs + 1)][1:]
            medians[compiler] = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    print(f"{'':12}{'embedded':>12}{'nvidia':>12}{'ratio':>8}   median of {options.runs}")
    for key, label in (("import", "import CPU s"), ("compile", "compile CPU s"), ("rss_mb", "peak RSS MB")):
        ours, theirs = medians["embedded"][key], medians["nvidia"][key]
        print(f"{label:14}{ours:10.3f}{theirs:12.3f}{ours / theirs:8.2f}")
    ours, theirs = (medians[c]["import"] + medians[c]["compile"] for c in ("embedded", "nvidia"))
    print(f"{'together':14}{ours:10.3f}{theirs:12.3f}{ours / theirs:8.2f}")


if __name__ == "__main__":
    main()
