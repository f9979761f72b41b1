"""Capture calls out of programs of other people: `python tests/upstream/captures.py CUTLASS [NAME...]`.

CUTLASS is a clone of NVIDIA/cutlass. The rows of third-party packages need their checkouts or wheels, named by
`--folder quack=DIR`; rows without their folder are left out. Prints a row a capture: the program, what is special in
it, lines of the file, kB of data next to it, and `reproduces` or what is missing. Rows of --json are written one by one;
calls that have a row there are left out, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import re
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

    @property
    def name(self) -> str:
        """The program and the options, by which a row is known."""
        return " ".join((self.program, *self.options))


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
    Row("tutorials/cooperative_launch", "cooperative launch"),
    Row("tutorials/dynamic_smem_size", "dynamic shared memory"),
    Row("tutorials/inline_ptx", "inline PTX"),
    Row("tutorials/dataclass_immutable", "a frozen dataclass as an argument"),
    Row("primitives/tma_swizzle_modes", "tensor maps of cute.experimental"),
    Row("primitives/cluster_smem_reduce", "cluster, shared memory of other blocks"),
    Row("primitives/warp_vector_reduce", "cute.experimental"),
    Row("primitives/06_softmax", "cute.experimental"),
    Row("primitives/03_gemm_tiled_smem", "a product in shared memory"),
    Row("primitives/async_pipeline", "barriers of a pipeline"),
    Row("primitives/ldmatrix_stmatrix", "collectives of a warp"),
    Row("primitives/tma_pipeline_warpspec", "TMA, warps of two kinds"),
    Row("primitives/tma_tensormap_replace", "tensor maps that the kernel changes"),
    Row("ampere/memcpy_simt_universal_copy", "copies of cute_ext"),
    Row("tvm_ffi/fp4_x2_tensor", "TVM FFI, packed four-bit floats"),
    Row("liger:liger layernorm and rmsnorm, forward and backward", "torch autograd forward"),
    Row("liger:liger layernorm and rmsnorm, forward and backward", "torch autograd backward", ("--call", "2")),
    Row("liger:liger losses, forward and backward", "torch autograd, call 3", ("--call", "3")),
    Row("liger:liger rotations by TMA", "TMA, bfloat16"),
    Row("torch:torch's own kernels", "kernels of an installed package", ("--call", "2")),
    Row("quack:quack softmax", "TVM FFI, autograd backward", ("--call", "2")),
    Row("quack:quack rmsnorm", "TVM FFI, autograd forward"),
    Row("quack:quack top-k", "TVM FFI"),
    Row("quack:quack layernorm", "TVM FFI, forward"),
    Row("quack:quack cross-entropy", "TVM FFI, autograd backward", ("--call", "2")),
    Row("quack:quack gemm", "TVM FFI, TMA, wgmma, tile scheduler"),
    Row("flash_attn:flash_attn forward", "autograd forward, class, TVM FFI"),
    Row("flash_attn:flash_attn forward, causal", "a mask, 100 queries and 130 keys"),
    Row("flash_attn:flash_attn forward, sm_90", "TMA, wgmma, warp specialisation"),
    Row("flash_attn:flash_attn backward, sm_90", "autograd backward, call 3", ("--call", "3")),
)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cutlass", type=Path, nargs="?", help="a clone of NVIDIA/cutlass")
    parser.add_argument("names", nargs="*", metavar="NAME", help="what is in the name of a program; default: all")
    parser.add_argument("--folder", action="append", default=[], metavar="PACKAGE=DIR", help="of a third-party row")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the captured files there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="add a JSON line for each call")
    parser.add_argument("--table", type=Path, metavar="FILE", help="print the table of such a file, and end")
    options = parser.parse_intermixed_args(arguments)
    if options.table:
        print(table(rows_of(options.table)))
        return 0
    if options.cutlass is None:
        parser.error("name a clone of NVIDIA/cutlass")
    folders = {name: str(Path(path).resolve()) for name, path in (text.split("=", 1) for text in options.folder)}
    done = {row["name"]: row for row in rows_of(options.json)}
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        out = (options.keep or Path(scratch)).resolve()
        out.mkdir(parents=True, exist_ok=True)
        for row in chosen(options.names, folders):
            result = done.get(row.name) or _capture(row, options.cutlass.resolve(), folders, out)
            if options.json and row.name not in done:
                with options.json.open("a") as file:
                    file.write(json.dumps(result) + "\n")
            print(_line(result), flush=True)
            results.append(result)
    print(f"\n{_sum(results)}")
    return int(any(row["verdict"] != "reproduces" for row in results))


def chosen(names: list[str], folders: dict[str, str]) -> list[Row]:
    """The rows that are named and whose folder is known."""
    rows = [row for row in ROWS if not names or any(name in row.name for name in names)]
    return [row for row in rows if ":" not in row.program or row.program.partition(":")[0] in folders]


def rows_of(path: Path | None) -> list[dict]:
    """The rows that were written to a file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path and path.exists() else []


def table(rows: list[dict]) -> str:
    """Rows as Markdown, with their sum below."""
    head = ["| program | call | lines | data (kB) | seconds | verdict |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *map(_line, rows), "", _sum(rows)])


def _line(row: dict) -> str:
    cells = (row["name"], row["about"], row["lines"] or "-", row["data_kb"], row["seconds"], row["verdict"])
    return f"| {' | '.join(map(str, cells))} |"


def _sum(rows: list[dict]) -> str:
    made = [row["lines"] for row in rows if row["lines"]]
    good = sum(row["verdict"] == "reproduces" for row in rows)
    median = statistics.median(made) if made else 0
    return f"{good} of {len(rows)} reproduce; median {median:g} lines of {len(made)} files"


def _command(row: Row, cutlass: Path, folders: dict[str, str], scratch: Path) -> tuple[list[str], dict[str, str]]:
    """The program's command and the variables it needs."""
    package, colon, name = row.program.partition(":")
    if not colon:
        program = next(each for each in PROGRAMS if each.name == row.program)
        return ["python", str(cutlass / program.path), *program.arguments], {}
    text, variables = third_party.PROGRAMS[name]
    file = scratch / f"{_file_name(name)}_program.py"
    file.write_text(third_party.HEAD + text)
    needed = [folders[each] for each in ("quack", "einops") if each in folders and package in ("quack", "flash_attn")]
    path = os.pathsep.join([*needed, str(ROOT)])
    return ["python", str(file), folders[package]], {**variables, "PYTHONPATH": path, "QUACK_CACHE_ENABLED": "0"}


def _file_name(name: str) -> str:
    return "_".join("".join(letter if letter.isalnum() else " " for letter in name).split())


def _capture(row: Row, cutlass: Path, folders: dict[str, str], out: Path) -> dict:
    """Capture one call, and check it: a row of --json."""
    file = out / f"{_file_name(row.name)}.py"
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
    text = file.read_text() if file.exists() else ""
    data = [out / "data" / f"{name}.npz" for name in set(re.findall(r"\b[0-9a-f]{16,}\b", text))]
    size = sum(each.stat().st_size for each in data if each.exists())
    return {
        "name": row.name,
        "about": row.about,
        "lines": len(text.splitlines()),
        "data_kb": -(-size // 1000),
        "seconds": round(time.monotonic() - began),
        "verdict": verdict,
    }


def _why(said: str) -> str:
    lines = [line for line in said.splitlines() if line.startswith(("missing:", "repro capture:"))]
    return " ".join(lines)[:400] or next((line for line in reversed(said.splitlines()) if line.strip()), "")[:200]


if __name__ == "__main__":
    sys.exit(main())
