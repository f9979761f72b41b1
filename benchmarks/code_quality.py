"""Machine code of the same kernels from two compilers, side by side: registers, stack, spills and instructions.

    uv run --with quack-kernels --with einops python benchmarks/code_quality.py [--cutlass FOLDER]
        [--flash-attention FOLDER] [--keep FOLDER] [--only NAME] [--markdown]

Each kernel is compiled by this compiler and by nvidia-cutlass-dsl, unmodified and without a GPU, and the PTX of both
goes through one ptxas. The kernels of code_quality_kernels.py need nothing; NVIDIA's examples need a checkout of
NVIDIA/cutlass, flash-attention one of Dao-AILab/flash-attention. It prints on standard error what it has done. `--keep`
holds the PTX and, by its hash, what ptxas made of it: a run that was stopped goes on there, and NVIDIA's PTX is not
made again. `loop` are the instructions of the innermost loop with the most mma instructions (where there are none,
with the most instructions). `worse` names what is above NVIDIA's by more than 3 %, registers by more than 4, bytes at
all. The last line counts the rows and names those above this bar; then, and where a compiler did not make a kernel,
which has no row and is named too, the exit status is 1.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # not this folder, in which a file hides the package `harness`

from dsl.lower import sass  # noqa: E402
from harness.reporting import code_figures  # noqa: E402
from harness.reporting.code_figures import COLUMNS, Figures, figures  # noqa: E402

COMPILERS = ("ours", "nvidia")
BOTH, SM_80, SM_90A = ("sm_80", "sm_90a"), ("sm_80",), ("sm_90a",)

# Compiles the programs that it gets, each in a child that ends with its first compile.
DRIVER = """
import json, os, runpy, sys, types
import torch
import cutlass.cute as cute
import cutlass.utils

# No GPU is asked how many clusters it holds (NVIDIA's compiler compiles an empty kernel for that): an H100 has 132 SMs.
cutlass.utils.HardwareInfo.get_max_active_clusters = lambda self, cluster_size: 132 // cluster_size

class CompileOnly:
    def __init__(self, real, file):
        self.real, self.file = real, file
    def __getitem__(self, options):
        return CompileOnly(self.real[options], self.file)
    def __getattr__(self, name):
        return getattr(self.real, name)
    def __call__(self, *arguments, **options):
        compiled = self.real(*arguments, **options)
        with open(self.file + ".part", "w") as stream:
            stream.write(compiled.__ptx__)
        os.replace(self.file + ".part", self.file)
        sys.stdout.flush()
        os._exit(0)

for path, arguments, file in json.loads(sys.argv[1]):
    sys.stdout.flush()
    child = os.fork()
    if not child:
        words = os.open(file + ".log", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        os.dup2(words, 1)
        os.dup2(words, 2)
        cute.compile = CompileOnly(cute.compile, file)
        sys.argv = [path, *arguments]
        sys.path.insert(0, os.path.dirname(path))
        runpy.run_path(path, run_name="__main__")
        os._exit(3)
    os.waitpid(child, 0)
    print("compiled" if os.path.exists(file) else "NOT compiled", os.path.basename(file), file=sys.stderr, flush=True)
"""

FLASH = """
import sys, types, torch
folder, queries, width, causal = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "causal"
library = types.ModuleType("flash_attn")
library.__path__ = [folder + "/flash_attn"]
sys.modules["flash_attn"] = library
from flash_attn.cute.interface import flash_attn_func
q, k, v = (torch.randn(1, queries, 2, width, dtype=torch.float16, device="cuda") for _ in "qkv")
flash_attn_func(q, k, v, causal=causal)
"""


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A program whose first cute.compile is the kernel; `checkout` is the option that it needs, or empty."""

    name: str
    path: str
    arguments: tuple[str, ...]
    targets: tuple[str, ...]
    checkout: str = ""


def _own(name: str) -> Kernel:
    return Kernel(name, str(ROOT / "benchmarks/code_quality_kernels.py"), (name,), BOTH)


def _example(path: str, targets: tuple[str, ...], *arguments: str) -> Kernel:
    return Kernel(Path(path).stem, f"examples/python/CuTeDSL/cute/{path}.py", arguments, targets, "cutlass")


KERNELS = (
    *map(_own, ("row_sums", "softmax", "transpose", "stencil")),
    _example("ampere/kernel/elementwise/elementwise_add", BOTH, "--M", "256", "--N", "256"),
    _example("ampere/kernel/dense_gemm/sgemm", BOTH, "--mnk", "128,128,32"),
    _example("ampere/kernel/dense_gemm/tensorop_gemm", BOTH, "--mnkl", "128,128,64,1"),
    _example(
        "ampere/kernel/attention/flash_attention_v2",
        BOTH,
        *("--batch_size", "1", "--seqlen_q", "128", "--seqlen_k", "128", "--num_head", "1"),
    ),
    _example("hopper/kernel/dense_gemm/dense_gemm", SM_90A, "--mnkl", "128,128,128,1", "--tile_shape_mn", "64,64"),
    _example("hopper/kernel/dense_gemm/dense_gemm_persistent", SM_90A, "--mnkl", "256,256,128,1"),
    _example("hopper/kernel/dense_gemm/dense_gemm_fp8_2xacc", SM_90A, "--mnkl", "256,256,256,1"),
    _example("hopper/kernel/attention/fmha", SM_90A, "--q_shape", "1,128,1,64", "--k_shape", "1,128,1,64"),
    Kernel("flash-attention forward", "", ("64", "64", "full"), SM_80, "flash_attention"),
    Kernel("flash-attention forward, causal", "", ("128", "128", "causal"), SM_80, "flash_attention"),
    Kernel("flash-attention forward, Hopper", "", ("128", "128", "full"), SM_90A, "flash_attention"),
    Kernel("flash-attention forward, Hopper, causal", "", ("128", "128", "causal"), SM_90A, "flash_attention"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cutlass", type=Path, help="a checkout of NVIDIA/cutlass")
    parser.add_argument("--flash-attention", type=Path, help="a checkout of Dao-AILab/flash-attention")
    parser.add_argument("--keep", type=Path, help="a folder for the PTX; NVIDIA's PTX in it is not made again")
    parser.add_argument("--only", default="", help="kernels with this in their name")
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    options = parser.parse_args()
    chosen = [k for k in KERNELS if options.only in k.name and (not k.checkout or getattr(options, k.checkout))]
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.keep or Path(scratch)).resolve()
        folder.mkdir(exist_ok=True)
        for compiler in COMPILERS:
            for target in BOTH:
                _compile([k for k in chosen if target in k.targets], compiler, target, folder, options)
        rows, absent = _rows(chosen, folder)
    _print(rows, options.markdown)
    above = [f"{row[0]} {row[1]} ({row[-2]})" for row in rows if row[-2]]
    print(f"\n{len(rows)} rows, above the bar: {', '.join(above) or 'none'}")
    if absent:
        print("\n\n".join(absent), file=sys.stderr)
    sys.exit(bool(above or absent or not rows))


def ptx_file(folder: Path, kernel: Kernel, compiler: str, target: str) -> Path:
    return folder / f"{kernel.name.replace(' ', '_').replace(',', '')}.{target}.{compiler}.ptx"


def _compile(kernels: list[Kernel], compiler: str, target: str, folder: Path, options: argparse.Namespace) -> None:
    """The PTX of every kernel, in one process that imported the compiler once."""
    jobs = []
    for kernel in kernels:
        file = ptx_file(folder, kernel, compiler, target)
        if compiler == "nvidia" and file.exists():
            continue
        file.unlink(missing_ok=True)
        base = getattr(options, kernel.checkout).resolve() if kernel.checkout else Path("/")
        if kernel.checkout == "flash_attention":
            program = folder / "flash.py"
            program.write_text(FLASH)
            jobs.append((str(program), (str(base), *kernel.arguments), str(file)))
        else:
            jobs.append((str(base / kernel.path), kernel.arguments, str(file)))
    if not jobs:
        return
    driver = folder / "driver.py"
    driver.write_text(DRIVER)
    environment = os.environ | {
        "CUTE_DSL_ARCH": target,
        "FLASH_ATTENTION_ARCH": target,
        "FLASH_ATTENTION_NUM_SMS": "108",
        "CUTE_DSL_KEEP": "ptx",
        "CUTE_DSL_DISABLE_FILE_CACHING": "1",
        "OMP_NUM_THREADS": "1",
        "QUACK_CACHE_DIR": str(folder / "quack"),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
    }
    how = ["--device", "emulator", "--check", "none", "--no-cache", "--compiler", compiler]
    command = [sys.executable, "-m", "dsl", *how]
    with tempfile.TemporaryDirectory() as scratch:  # where CUTE_DSL_KEEP writes
        command += [str(driver), "--", json.dumps(jobs)]
        subprocess.run(command, env=environment, cwd=scratch, stdout=subprocess.DEVNULL)


def _figures(file: Path, target: str) -> Figures:
    """The figures of the PTX in a file. For PTX that was seen before, they are read from the file next to it."""
    ptx = file.read_text()
    key = hashlib.sha256(f"{sass.version('ptxas')} {target}\n{ptx}".encode()).hexdigest()
    seen = file.with_name(f"{key[:32]}.json")
    if seen.exists():
        fields = json.loads(seen.read_text())
        return Figures(**fields | {"memory": collections.Counter(fields["memory"])})
    cubin, log = sass.assemble_verbose(ptx, target)
    print("assembled", file.name, file=sys.stderr, flush=True)
    found = figures(log, sass.disassemble(cubin))
    part = seen.with_suffix(".part")
    part.write_text(json.dumps(vars(found)))
    part.replace(seen)
    return found


def _rows(chosen: list[Kernel], folder: Path) -> tuple[list[tuple[str, ...]], list[str]]:
    """The cells of every row; the kernels that have none, each with the last words of its compiler."""
    rows, absent = [], []
    for kernel in chosen:
        for target in kernel.targets:
            files = [ptx_file(folder, kernel, compiler, target) for compiler in COMPILERS]
            if missing := [file for file in files if not file.exists()]:
                absent += [f"no {file.name}:\n{_last_words(file)}" for file in missing]
                continue
            ours, theirs = (_figures(file, target) for file in files)
            pairs = [f"{mine} / {other}" for mine, other in zip(code_figures.row(ours), code_figures.row(theirs))]
            memory = [f"{kind} {mine}/{other}" for kind, mine, other in code_figures.differing_memory(ours, theirs)]
            cells = (*pairs, ", ".join(code_figures.worse(ours, theirs)), ", ".join(memory))
            rows.append((kernel.name, target, *cells))
    return rows, absent


def _print(rows: list[tuple[str, ...]], markdown: bool) -> None:
    heads = ("kernel", "target", *COLUMNS, "worse", "memory that differs")
    print(f"ours / NVIDIA's, ptxas {sass.version('ptxas')}\n")
    if markdown:
        print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
        print("\n".join("| " + " | ".join(row) + " |" for row in rows))
        return
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in range(len(heads))]
    for row in (heads, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def _last_words(file: Path) -> str:
    log = Path(f"{file}.log")
    return "\n".join(log.read_text(errors="replace").rstrip().splitlines()[-8:]) if log.exists() else "not reached"


if __name__ == "__main__":
    main()
