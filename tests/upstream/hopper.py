"""Run NVIDIA's Hopper programs, compiled by NVIDIA's own compiler or by ours, on the emulator: under three
schedules, and with the checks for races; print the outcomes as the tables of docs/conformance.md.

NVIDIA/cutlass is not part of this repository: clone it and name its folder. Each program checks itself against torch.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from dsl import gpu_models  # noqa: E402
from tests import fork_server  # noqa: E402
from tests.upstream.own_words import failure_in  # noqa: E402

EXAMPLES = """\
examples:
  git clone --depth 1 https://github.com/NVIDIA/cutlass
  uv run python tests/upstream/hopper.py cutlass               the whole table, about an hour
  uv run python tests/upstream/hopper.py cutlass dense_gemm    programs whose name has this in it
  uv run python tests/upstream/hopper.py cutlass fmha --only race --verbose
  uv run python tests/upstream/hopper.py cutlass --compiler ours --only "seed 1"
exit status: 0 all passed or ended as is known, 1 some did not, 2 wrong usage
"""
PASSES = {**{f"seed {seed}": ("--seed", seed, "--check", "none") for seed in "123"}, "race": ("--check", "race")}


@dataclass(frozen=True)
class Program:
    """A file below examples/python/CuTeDSL and its arguments. `known`: verdicts that are right where they are not
    `passed`: mistakes of the program's own. `model`: the GPU that it is for, and `needs` what it needs of it last."""

    path: str
    arguments: str = ""
    known: tuple[str, ...] = ()
    model: str = "h100"
    needs: str = ""

    @property
    def name(self) -> str:
        return f"{self.path} {self.arguments}".strip()

    @property
    def label(self) -> str:
        """The name in the table: without what all of them have."""
        return self.name.replace("experimental/", "").replace("kernel/", "").replace(".py", "")


def _each(folder: str, *runs: str) -> list[Program]:
    """Programs of a folder: `NAME ARGUMENTS` each."""
    return [Program(f"{folder}/{name}.py", rest) for name, _, rest in (run.partition(" ") for run in runs)]


_HOPPER, _PRIMITIVES = "cute/hopper/kernel", "experimental/primitives"
_ONCE, _TIMED = "--warmup_iterations 0 --iterations 1", "--num_warmup 0 --num_iters 1"
PROGRAMS: tuple[Program, ...] = (
    *_each(
        f"{_HOPPER}/dense_gemm",
        "dense_gemm --mnkl 128,128,128,1",
        "dense_gemm --mnkl 256,128,128,1 --cluster_shape_mn 2,1",
        "dense_gemm --mnkl 128,256,128,1 --cluster_shape_mn 1,2",
        "dense_gemm --mnkl 256,256,128,1 --cluster_shape_mn 2,2",
        "dense_gemm --mnkl 128,256,512,2 --tile_shape_mn 128,256",
        "dense_gemm --mnkl 128,128,128,1 --tile_shape_mn 64,64 --a_major m --b_major n --c_major m",
        "dense_gemm --mnkl 128,128,256,1 --a_dtype Float8E4M3FN --b_dtype Float8E4M3FN",
        "dense_gemm_persistent --mnkl 128,256,128,1",
        "dense_gemm_persistent --mnkl 256,256,128,1 --cluster_shape_mn 2,1",
        "dense_gemm_persistent --mnkl 256,256,128,1 --cluster_shape_mn 1,2",
        "dense_gemm_persistent --mnkl 256,256,128,1 --cluster_shape_mn 2,2",
        "dense_gemm_persistent --mnkl 384,256,128,1 --raster_order along_n --swizzle_size 2",
        "dense_gemm_fp8_2xacc --mnkl 128,256,256,1",
        "dense_gemm_fp8_2xacc --mnkl 256,128,256,1 --cluster_shape_mn 2,1",
        "dense_gemm_fp8_gelu_persistent --mnkl 128,128,256,1",
        "dense_gemm_fp8_gelu_persistent --mnkl 128,256,256,1 --cluster_shape_mn 1,2 --gelu_kind poly11",
    ),
    *_each(
        f"{_HOPPER}/grouped_gemm",
        "grouped_gemm --num_groups 2 --problem_sizes_mnkl '(128,128,64,1),(128,128,128,1)' --iterations 0",
        "grouped_gemm --num_groups 2 --problem_sizes_mnkl '(128,128,64,1),(128,128,128,1)' --iterations 0"
        " --tensormap_update_mode GMEM",
        "grouped_gemm --num_groups 2 --problem_sizes_mnkl '(256,128,64,1),(128,128,128,1)' --iterations 0"
        " --cluster_shape_mn 2,1",
    ),
    *_each(
        f"{_HOPPER}/attention",
        "fmha --q_shape 1,128,1,64 --k_shape 1,128,1,64",
        "fmha --q_shape 1,128,2,64 --k_shape 1,256,1,64 --is_causal",
        "fmha --q_shape 1,128,2,64 --k_shape 1,128,2,64 --is_persistent",
        "fmha --q_shape 1,128,1,128 --k_shape 1,256,1,128 --window_size 64,64",
    ),
    *_each(
        f"{_HOPPER}/cta_norm",
        f"cta_norm --M 8 --N 1024 {_ONCE}",
        f"cta_norm --M 8 --N 1024 --norm_type rms {_ONCE}",
    ),
    *_each(
        f"{_PRIMITIVES}/tma",
        "tma_store", "tma_load_store", "tma_1cta_mbarrier", "tma_pipeline_warpspec", "tma_pipeline_pingpong",
        "tma_pipeline_count2", "tma_swizzle_modes", "tma_tensormap_replace", "tma_load_to_ldmatrix",
    ),
    Program(f"{_PRIMITIVES}/tma/tma_pipeline_single_warp.py", known=("`RACE`", "`AssertionError`")),
    Program(f"{_PRIMITIVES}/tma/tma_multicast.py", known=("does not compile",)),
    *_each(f"{_PRIMITIVES}/tutorial", "04_tma_load", "09_tma_4d_to_2d"),
    *_each(
        _PRIMITIVES,
        "cp_async_bulk_prefetch", "mbarrier", "mbarrier_lifecycle", "warp_named_barrier",
        "pipeline_software_fill", "async_pipeline", "cp_async_mbarrier_arrive_cta", "cp_async_mbarrier_arrive_cluster",
        "reduction/cluster_smem_reduce",
    ),
    Program(f"{_PRIMITIVES}/cp_async_bulk.py", known=("`DEADLOCK`",)),
    Program(f"{_PRIMITIVES}/mapa.py", known=("`EXITED_BLOCK`",)),
    *_each(
        "cute/blackwell/tutorial/tutorial_tma",
        f"tma_v0 --M 256 {_TIMED}", f"tma_v1 --M 256 {_TIMED}", f"tma_v2 --M 256 {_TIMED}",
    ),
    *_each("cute/blackwell_geforce/kernel/dense_gemm", "dense_gemm --mnkl 128,128,64,1"),
    *_each("experimental/task_scheduling/blackwell/tutorial/01_copy_basics_ts", "02_copy_tma --rows_cols 128,128"),
    Program("cute/notebooks/async_pipeline.ipynb"),
)  # fmt: skip


@dataclass
class Outcome:
    """One pass of one program. `verdict`: passed, or the word for what it ended with."""

    verdict: str
    seconds: float
    output: str


def run(folder: Path, program: Program, options: tuple[str, ...], limit_s: float, compiler: str = "nvidia") -> Outcome:
    """Run a program once, with these options of `python -m dsl`."""
    path = folder / "examples/python/CuTeDSL" / program.path
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        argv = [path, "--", *shlex.split(program.arguments)]
        if path.suffix == ".ipynb":
            argv = [Path(__file__).with_name("drive_notebook.py"), path, Path(scratch) / "cells.jsonl"]
        command = ["-W", "ignore", "-m", "dsl", "--compiler", compiler, "--device", "emulator", *options]
        arch = gpu_models.limits_of(program.model).arch  # NVIDIA's compiler reads it when it is imported
        try:
            done = fork_server.run(
                [*command, "--gpu-model", program.model, *argv],
                cwd=scratch, timeout=limit_s, env={**os.environ, "CUTE_DSL_ARCH": arch},
            )  # fmt: skip
            output, verdict = done.stdout + done.stderr, verdict_of(done.returncode, done.stdout + done.stderr)
        except subprocess.TimeoutExpired as late:
            output, verdict = f"{late.stdout}{late.stderr}", f"over {limit_s:g} s"
    return Outcome(verdict, time.monotonic() - start, output)


def verdict_of(status: int, output: str) -> str:
    """`passed`, or the kind of finding or exception that a program ended with."""
    if status == 0:
        return "reports failure" if failure_in(output) else "passed"
    reports = re.findall(r"^\S+:\d+:\d+: ([A-Z_]{4,})$", output, re.MULTILINE)
    if reports:
        return f"`{reports[0]}`"
    if "UNSUPPORTED_PTX `" in output:
        return "`UNSUPPORTED_PTX`"
    if "NVVM_ERROR_COMPILATION" in output or re.search(r"error\[[A-Z_]+\]:", output):
        return "does not compile"
    errors = re.findall(r"^(?:[\w.]+\.)?(\w*(?:Error|Exception|Exit))\b", output, re.MULTILINE)
    return f"`{errors[-1]}`" if errors else f"status {status}"


def main(
    arguments: list[str] | None = None, programs: Sequence[Program] = PROGRAMS, prog: str = "hopper.py",
    description: str | None = __doc__, examples: str = EXAMPLES,
) -> int:  # fmt: skip
    parser = argparse.ArgumentParser(
        prog=prog, description=description, epilog=examples, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="a clone of https://github.com/NVIDIA/cutlass")
    parser.add_argument("names", nargs="*", metavar="NAME", help="run programs with this in their name; default: all")
    parser.add_argument("--only", choices=list(PASSES), action="append", help="run this pass; may be repeated")
    parser.add_argument("--compiler", choices=("nvidia", "ours"), default="nvidia", help="default: nvidia")
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="of one pass; default: 600")
    parser.add_argument("--verbose", action="store_true", help="show the whole output of what does not pass")
    options = parser.parse_args(arguments)
    folder = options.folder.resolve()
    if not (folder / "examples/python/CuTeDSL").is_dir():
        print(f"{prog}: {options.folder} has no examples/python/CuTeDSL", file=sys.stderr)
        return 2
    passes = options.only or list(PASSES)
    print(f"| program | {' | '.join(passes)} |\n|{'---|' * (1 + len(passes))}")
    worst = 0
    for program in programs:
        if options.names and not any(name in program.name for name in options.names):
            continue
        print(f"| `{program.label}` |", end="", flush=True)
        for name in passes:
            outcome = run(folder, program, PASSES[name], options.limit, options.compiler)
            print(f" {outcome.verdict} |", end="", flush=True)
            print(f"{program.name}, {name}: {outcome.verdict}, {outcome.seconds:.1f} s", file=sys.stderr)
            if outcome.verdict not in ("passed", *program.known):
                worst = 1
                if options.verbose:
                    print(outcome.output, file=sys.stderr)
        print(flush=True)
    return worst


if __name__ == "__main__":
    sys.exit(main())
