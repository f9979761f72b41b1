"""Capture calls out of programs of other people: `python tests/upstream/captures.py CUTLASS [NAME...]`.

CUTLASS is a clone of NVIDIA/cutlass. The rows of third-party packages need their checkouts or wheels, named by
`--folder quack=DIR`; rows without their folder are left out. Prints a row a capture: the program, what is special in
it, lines of the file without data, and `reproduces` or what is missing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import third_party  # noqa: E402
from programs import PROGRAMS  # noqa: E402

LIMIT_S = 600
ROOT = HERE.parents[1]


@dataclass(frozen=True)
class Row:
    """A call of a program: `program` is a name of programs.py, or FOLDER:NAME of third_party.py."""

    program: str
    about: str
    options: tuple[str, ...] = ()


ROWS = (
    Row("ampere/elementwise_add", "compiled function, dynamic layouts"),
    Row("ampere/elementwise_apply", "an operator as Constexpr, two inputs"),
    Row("ampere/sgemm", "class with __call__, stream, compiled"),
    Row("ampere/tensorop_gemm", "class with __call__, call 2 of three", ("--call", "2")),
    Row("ampere/flash_attention_v2", "class, softmax scale, stream"),
    Row("ampere/hstu_attention", "class, several inputs"),
    Row("hopper/dense_gemm", "class, TMA descriptors, wgmma"),
    Row("hopper/dense_gemm_persistent", "class, TMA, tile scheduler"),
    Row("hopper/dense_gemm_fp8_2xacc", "class, float8 operands"),
    Row("hopper/grouped_gemm", "class, tensor maps in memory, pointers to problems"),
    Row("hopper/fmha", "class, TMA, Constexpr types"),
    Row("hopper/cta_norm", "class, cluster"),
    Row("blackwell/rmsnorm", "class, cluster, Constexpr"),
    Row("blackwell/tma_v1", "TMA load and store"),
    Row("tutorials/torch_fake_tensor", "compiled for fake tensors"),
    Row("tutorials/ampere_gemm_with_fake_tensor", "TVM FFI, symbolic extents"),
    Row("tutorials/jit_and_use_in_torch", "TVM FFI, torch tensors"),
    Row("tutorials/call_bypass_dlpack", "pointers made of addresses"),
    Row("tutorials/call_from_jit", "author's classes with the protocol of arguments"),
    Row("tutorials/dataclass_immutable", "a frozen dataclass as an argument"),
    Row("primitives/tma_swizzle_modes", "tensor maps of cute.experimental"),
    Row("primitives/cluster_smem_reduce", "cluster, shared memory of other blocks"),
    Row("primitives/warp_vector_reduce", "cute.experimental"),
    Row("primitives/06_softmax", "cute.experimental"),
    Row("liger:liger layernorm and rmsnorm, forward and backward", "torch autograd forward"),
    Row("liger:liger layernorm and rmsnorm, forward and backward", "torch autograd backward", ("--call", "2")),
    Row("liger:liger losses, forward and backward", "torch autograd, call 3", ("--call", "3")),
    Row("liger:liger rotations by TMA", "TMA, bfloat16"),
    Row("torch:torch's own kernels", "kernels of an installed package", ("--call", "2")),
    Row("quack:quack softmax", "TVM FFI, autograd backward", ("--call", "2")),
    Row("quack:quack rmsnorm", "TVM FFI, autograd forward"),
    Row("quack:quack top-k", "TVM FFI"),
)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cutlass", type=Path, help="a clone of NVIDIA/cutlass")
    parser.add_argument("names", nargs="*", metavar="NAME", help="what is in the name of a program; default: all")
    parser.add_argument("--folder", action="append", default=[], metavar="PACKAGE=DIR", help="of a third-party row")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the captured files there")
    options = parser.parse_args(arguments)
    folders = dict(text.split("=", 1) for text in options.folder)
    with tempfile.TemporaryDirectory() as scratch:
        out = options.keep or Path(scratch)
        out.mkdir(parents=True, exist_ok=True)
        rows = [row for row in ROWS if not options.names or any(name in row.program for name in options.names)]
        rows = [row for row in rows if ":" not in row.program or row.program.partition(":")[0] in folders]
        results = [_capture(row, options.cutlass.resolve(), folders, out.resolve()) for row in rows]
    made = [lines for lines, verdict in results if lines]
    good = sum(verdict == "reproduces" for _, verdict in results)
    median = statistics.median(made) if made else 0
    print(f"\n{good} of {len(results)} reproduce; median {median:g} lines of {len(made)} files")
    return int(good < len(results))


def _command(row: Row, cutlass: Path, folders: dict[str, str], scratch: Path) -> tuple[list[str], dict[str, str]]:
    """The program's command and the variables it needs."""
    package, colon, name = row.program.partition(":")
    if not colon:
        program = next(each for each in PROGRAMS if each.name == row.program)
        return ["python", str(cutlass / program.path), *program.arguments], {}
    text, variables = third_party.PROGRAMS[name]
    file = scratch / f"{_file_name(name)}_program.py"
    file.write_text(third_party.HEAD + text)
    folder = folders[package]
    path = os.pathsep.join([folder, str(ROOT)]) if package == "quack" else str(ROOT)
    return ["python", str(file), folder], {**variables, "PYTHONPATH": path, "QUACK_CACHE_DIR": str(scratch)}


def _file_name(name: str) -> str:
    return "_".join("".join(letter if letter.isalnum() else " " for letter in name).split())


def _capture(row: Row, cutlass: Path, folders: dict[str, str], out: Path) -> tuple[int, str]:
    file = out / f"{_file_name(' '.join((row.program, *row.options)))}.py"
    file.unlink(missing_ok=True)
    program, variables = _command(row, cutlass, folders, out)
    command = [
        sys.executable,
        "-c",
        "from harness.cli import main; raise SystemExit(main())",
        "capture",
        "--force",
        "-o",
        str(file),
        *row.options,
    ]
    command += ["--data-limit", "500", "--", *program]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CUTE_DSL_DISABLE_FILE_CACHING": "1", **variables}
    began = time.monotonic()
    try:
        run = subprocess.run(
            command, capture_output=True, text=True, errors="replace", cwd=out, env=environment, timeout=LIMIT_S
        )
        said = run.stdout + run.stderr
        verdict = "reproduces" if run.returncode == 0 else _why(said)
    except subprocess.TimeoutExpired:
        verdict = f"not within {LIMIT_S} s"
    lines = len(file.read_text().splitlines()) if file.exists() else 0
    print(
        f"| {row.program} | {row.about} | {lines or '-'} | {time.monotonic() - began:.0f} s | {verdict} |", flush=True
    )
    return lines, verdict


def _why(said: str) -> str:
    lines = [line for line in said.splitlines() if line.startswith(("missing:", "repro capture:"))]
    return " ".join(lines)[:400] or next((line for line in reversed(said.splitlines()) if line.strip()), "")[:200]


if __name__ == "__main__":
    sys.exit(main())
