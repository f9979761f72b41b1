"""Launches of compiled kernels on the emulator, one worker: the least CPU seconds, here and in an older tree.

    uv run python benchmarks/compiled_kernels.py [--cutlass FOLDER] [--before FOLDER] [--samples 9]

The kernels are the ones of code_quality_kernels.py and, with a checkout of NVIDIA/cutlass, three of its examples.
`--before` is another checkout of this project: the PTX that it makes of the same LLVM IR runs turn by turn with ours.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = {
    "sgemm": ("ampere/kernel/dense_gemm/sgemm", "--mnk", "256,256,64"),
    "tensorop_gemm": ("ampere/kernel/dense_gemm/tensorop_gemm", "--mnkl", "256,256,128,1", "--skip_ref_check"),
    "flash_attention_v2": (
        *("ampere/kernel/attention/flash_attention_v2", "--batch_size", "1", "--seqlen_q", "256"),
        *("--seqlen_k", "256", "--num_head", "1", "--skip_ref_check"),
    ),
}

# Runs a program up to its first call of what cute.compile gave, and times that call. The compiler's last step, from
# LLVM IR to PTX, is made by both trees.
DRIVER = """
import json, os, runpy, subprocess, sys, time
import torch
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack
from dsl.launch.call.compiling import compiler

samples, before, path, *arguments = json.loads(sys.argv[1])
compile_modules = compiler.compile_modules
STEP = "import sys; from dsl.lower.nvptx import to_ptx; print(to_ptx(sys.stdin.read(), *sys.argv[1:]))"

def with_theirs(host_mlir, device_mlir, arch, *options):
    llvm_ir, _, code = compile_modules(host_mlir, device_mlir, arch, *options)
    step = subprocess.run([sys.executable, "-c", STEP, arch], cwd=before, input=llvm_ir, capture_output=True, text=True)
    step.check_returncode()
    return llvm_ir, step.stdout, code

def timed(compile, given):
    kernels = [compile()]
    if before:
        compiler.compile_modules = with_theirs
        compiler._codes.clear()
        kernels.append(compile())
    found = [float("inf")] * len(kernels)
    for kernel in kernels:
        begun = time.process_time()
        while time.process_time() - begun < 6:  # a kernel is optimised once it has run for some time
            kernel(*given)
    for sample in range(samples):
        for number, kernel in list(enumerate(kernels))[:: -1 if sample % 2 else 1]:
            cpu = time.process_time()
            kernel(*given)
            found[number] = min(found[number], time.process_time() - cpu)
    print(json.dumps(found))
    sys.stdout.flush()
    os._exit(0)

class Compile:
    def __init__(self, real):
        self.real = real
    def __getitem__(self, options):
        return Compile(self.real[options])
    def __call__(self, *arguments, **options):
        return lambda *given: timed(lambda: self.real(*arguments, **options), given)

def tensor(*shape, dtype=torch.float32):
    given = torch.rand(*shape, device="cuda").to(dtype)  # moved to the start of a page: where it lies counts, too
    room = torch.empty(given.numel() + 4096, device="cuda", dtype=dtype)
    begin = -room.data_ptr() % 4096 // room.element_size()
    values = room[begin : begin + given.numel()].view(shape)
    values.copy_(given)
    made = from_dlpack(values, assumed_align=16)
    return made, made.mark_layout_dynamic() if len(shape) == 1 else made.mark_layout_dynamic(leading_dim=len(shape) - 1)

if arguments[:1] == ["own"]:
    sys.argv = [path, ""]
    own = runpy.run_path(path, run_name="own")
    name = arguments[1]
    (static, x), (_, out), (static_out, like) = tensor(256, 1024), tensor(256), tensor(256, 1024)
    if name == "softmax":
        (half, _), (half_out, _) = (tensor(256, 1024, dtype=torch.bfloat16) for _ in range(2))
        given = half, half_out
    elif name == "transpose":
        given = x, tensor(1024, 256)[1]
    else:
        given = (x, out) if name == "row_sums" else (x, like, cutlass.Float32(1.0))
    timed(lambda: cute.compile(own[name], *given), given)
cute.compile = Compile(cute.compile)
sys.argv = [path, *arguments]
sys.path.insert(0, os.path.dirname(path))
runpy.run_path(path, run_name="__main__")
"""


def seconds(driver: Path, samples: int, before: str, program: tuple[str, ...]) -> list[float]:
    """The seconds that the driver prints for a program: of this tree and, if `before` names one, of that tree."""
    environment = os.environ | {"GPU_REPRO_WORKERS": "1", "OMP_NUM_THREADS": "1", "CUTE_DSL_ARCH": "sm_90a"}
    command = [sys.executable, "-m", "dsl", "--device", "emulator", "--check", "none", "--no-cache", str(driver), "--"]
    done = subprocess.run(
        [*command, json.dumps([samples, before, *program])], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{program[0]}:\n{done.stdout[-500:]}{done.stderr[-1500:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cutlass", type=Path, help="a checkout of NVIDIA/cutlass")
    parser.add_argument("--before", type=Path, help="an older checkout of this project, to compare with")
    parser.add_argument("--samples", type=int, default=9, help="launches that count")
    parser.add_argument("--only", default="", help="kernels with this in their name")
    options = parser.parse_args()
    own = str(ROOT / "benchmarks/code_quality_kernels.py")
    programs = {name: (own, "own", name) for name in ("row_sums", "softmax", "transpose", "stencil")}
    if options.cutlass:
        examples = options.cutlass.resolve() / "examples/python/CuTeDSL/cute"
        programs |= {name: (f"{examples}/{path}.py", *rest) for name, (path, *rest) in EXAMPLES.items()}
    before = str(options.before.resolve()) if options.before else ""
    with tempfile.TemporaryDirectory() as scratch:
        driver = Path(scratch, "driver.py")
        driver.write_text(DRIVER)
        for name, program in programs.items():
            if options.only in name:
                found = seconds(driver, options.samples, before, program)
                times = "  ".join(f"{least * 1e3:9.3f} ms {tree}" for tree, least in zip(("now", "before"), found))
                print(f"{name:20} {times}" + (f"  {found[0] / found[1]:.2f}" if before else ""), flush=True)


if __name__ == "__main__":
    main()
