"""Python's share of a call, in microseconds: this compiler against nvidia-cutlass-dsl, the launch stubbed, one run.

    uv run python benchmarks/calls.py [--runs 5] [--launching]

Three torch tensors of dynamic extents and an int. Ours launches by its machine code on a device whose cuLaunchKernelEx
answers 0, TVM FFI calls included; NVIDIA's compiles a host function of the same arguments that launches nothing, which
flatters it. Times are CPU seconds of the calling thread, the least of several rounds in fresh processes.

`--launching` are calls whose kernels run on the emulator, by both compilers: of growing text, of which each launch does
as little, so a call has to cost the same for all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

PROGRAM = '''
import json, sys, time
import torch
compiler = sys.argv[1]
if compiler == "ours":
    sys.path.insert(0, sys.argv[2])
    from dsl import alias
    from dsl.launch.devices import native_launch, protocol
    from dsl.launch import session
    from dsl.lower.host import native

    class Stub(protocol.Device):
        """A GPU that accepts everything: machine code ends in a function that returns 0."""
        kind, arch, wants_storages, ends_launches_later = "stub", "sm_90a", False, True

        def __init__(self):
            self.code = native("define i32 @accept(ptr %a, ptr %b, ptr %c, ptr %d) { ret i32 0 }", {}, ("accept",))
            accept = self.code.addresses["accept"]
            self.launch_entry, self.entry = native_launch.entry(accept)
            self.native_calls = accept, 0, accept

        def nothing(self, *arguments): pass
        install = uninstall = begin = register = unregister = sync = launched = launch = load = nothing

        def function(self, program, entry, launch):
            return 1, 0

    session.choose = lambda kind=None: Stub()
    alias.install()
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, n: cutlass.Int32):
    i, _, _ = cute.arch.thread_idx()
    if i < n:
        c[i] = a[i] + b[i]


@cute.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, n: cutlass.Int32):
    if cutlass.const_expr(compiler == "ours"):
        kernel(a, b, c, n).launch(grid=(1, 1, 1), block=(256, 1, 1))


def spent(function, seconds=0.15):
    """Least microseconds a call."""
    count, least = 20, float("inf")
    for _ in range(12):
        start = time.thread_time()
        for _ in range(count):
            function()
        took = time.thread_time() - start
        least = min(least, took / count)
        count = max(20, min(5000, int(seconds / 12 / max(took / count, 1e-7))))
    return least * 1e6


tensors = [torch.ones(1000) for _ in range(3)]
found = {}
marked = [from_dlpack(t).mark_layout_dynamic() for t in tensors]
compiled = cute.compile(add, *marked, 1000)
if compiler == "ours":
    found["compiled, torch tensors"] = spent(lambda: compiled(*tensors, 1000))
found["compiled, from_dlpack once"] = spent(lambda: compiled(*marked, 1000))
found["compiled, from_dlpack each"] = spent(lambda: compiled(*[from_dlpack(t) for t in tensors], 1000))
add(*tensors, 1000) if compiler == "ours" else add(*marked, 1000)
found["direct call"] = spent(lambda: add(*(tensors if compiler == "ours" else marked), 1000), 0.5)
try:
    ffi = cute.compile(add, *marked, 1000, options="--enable-tvm-ffi")
    found["TVM FFI, torch tensors"] = spent(lambda: ffi(*tensors, 1000))
except Exception as error:
    print(type(error), str(error)[:300], file=sys.stderr)
print(json.dumps(found))
'''


LAUNCHING = '''
import json, sys, time
compiler = sys.argv[1]
import cutlass, cutlass.cute as cute, torch
from cutlass import Int32
from cutlass.cute.runtime import from_dlpack


def host(bodies, barriers, dynamic):
    @cute.kernel
    def kernel(a: cute.Tensor, n: Int32):
        i, _, _ = cute.arch.thread_idx()
        if n > 0:
            for j in cutlass.range_constexpr(bodies):
                if a[i] > j:
                    a[i] = a[i] + 1
                if cutlass.const_expr(barriers):
                    cute.arch.sync_threads()
        a[i] = n

    @cute.jit
    def call(a: cute.Tensor, n: Int32, block: Int32):
        kernel(a, n).launch(grid=(1, 1, 1), block=(block if cutlass.const_expr(dynamic) else 32, 1, 1))
    return call


def spent(function, count=200):
    """Least microseconds a call."""
    least = float("inf")
    for _ in range(7):
        start = time.thread_time()
        for _ in range(count):
            function()
        least = min(least, (time.thread_time() - start) / count)
    return least * 1e6


found = {}
for bodies, barriers, dynamic in ((1, 0, 0), (200, 0, 0), (2000, 0, 0), (1, 1, 0), (200, 1, 0), (200, 0, 1),
                                  (200, 1, 1)):
    a = from_dlpack(torch.zeros(32, dtype=torch.int32, device="cuda"))
    compiled = cute.compile(host(bodies, barriers, dynamic), a, 0, 32)
    compiled(a, 0, 32)
    name = f"{bodies} bodies" + ", barriers" * barriers + ", dynamic block" * dynamic
    found[name] = spent(lambda: compiled(a, 0, 32))
print(json.dumps(found))
'''


def sample(compiler: str, file: str) -> dict[str, float]:
    """Microseconds by kind of call, from a fresh process."""
    command = [sys.executable, file, compiler, str(ROOT)]
    if file.endswith("launching.py"):
        options = ["--device", "emulator", "--check", "none", "--compiler", compiler, "--no-cache"]
        command[1:] = ["-m", "dsl", *options, file, compiler]
    run = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=os.path.dirname(file),
        env=os.environ | {"CUTE_DSL_ARCH": "sm_90a", "PYTHONPATH": str(ROOT)},
    )
    if run.returncode:
        sys.exit(f"{compiler} failed:\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="processes a compiler")
    parser.add_argument("--launching", action="store_true", help="calls that launch on the emulator")
    options = parser.parse_args()
    rows: dict[str, list[dict]] = {"ours": [], "nvidia": []}
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "launching.py" if options.launching else "calls.py")
        Path(file).write_text(LAUNCHING if options.launching else PROGRAM)
        for _ in range(options.runs):
            for compiler, found in rows.items():
                found.append(sample(compiler, file))
    print(f"{'CPU us a call':36}{'ours':>10}{'nvidia':>10}{'ratio':>8}   median of {options.runs}")
    for kind in rows["ours"][0]:
        ours = statistics.median(row[kind] for row in rows["ours"])
        theirs = [row[kind] for row in rows["nvidia"] if kind in row]
        against = (
            f"{statistics.median(theirs):10.1f}{ours / statistics.median(theirs):8.2f}"
            if theirs
            else f"{'-':>10}{'-':>8}"
        )
        print(f"{kind:36}{ours:10.1f}{against}")


if __name__ == "__main__":
    main()
