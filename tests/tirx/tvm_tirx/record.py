"""The arrays that programs.py leaves under the real tvm_tirx: its CUDA C++, compiled by nvcc, runs on the emulator.

    uv run python tests/tirx/tvm_tirx/record.py         writes recorded.npz, refused.json, names.json

The real package runs in a separate environment: uv installs apache-tvm-tirx there.
"""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT)]

from dsl import alias, emulator  # noqa: E402
from tests.tirx.oracle.upstream import compiled  # noqa: E402
from tests.tirx.tvm_tirx.programs import Program, programs  # noqa: E402

RECORD, REFUSED, NAMES = HERE / "recorded.npz", HERE / "refused.json", HERE / "names.json"
VERSION = "0.1.0a4"
COMMAND = [
    "uv",
    "run",
    "--no-project",
    "--prerelease=allow",
    "--with",
    f"apache-tvm-tirx=={VERSION}",
    "--with",
    "numpy",
]
DYNAMIC_SMEM_BYTES = 512


def printed(sources: dict[str, str]) -> dict[str, object]:
    """The CUDA C++ of each program by the real package, or {"refused": why}; its public names for "NAMES"."""
    done = subprocess.run(
        [*COMMAND, "python", "-W", "ignore", str(HERE / "print_cuda.py")],
        input=json.dumps(sources),
        capture_output=True,
        text=True,
        timeout=600,
        cwd="/",
    )
    marked = [line for line in done.stdout.splitlines() if line.startswith("JSON")]
    if not marked:
        raise RuntimeError(done.stderr)
    return json.loads(marked[-1][4:])


def left_by(program: Program, source: str) -> dict[str, np.ndarray]:
    """The arrays that the kernels of `source` change, launched in their order."""
    arrays = {name: np.array(value) for name, value in program.arguments.items() if isinstance(value, np.ndarray)}
    memory = emulator.Memory()
    for name, array in arrays.items():
        memory.register(array.ctypes.data, array.nbytes, name)
    loaded = emulator.load(compiled(source, "nvcc"))
    kernels = dict.fromkeys(re.findall(r"\b(\w+_kernel\w*)\(", source))
    heads = {name: re.search(rf"\b{name}\(([^)]*)\) {{", source) for name in kernels}
    ordered = sorted(name for name, head in heads.items() if head)
    for name, (grid, block) in zip(ordered, program.launches, strict=True):
        parts = [re.split(r"[ *]", part)[-1] for part in heads[name][1].split(",") if part.strip()]
        labels = [re.sub(r"_ptr(_\d+)?$", "", part) for part in parts]
        packed = [_packed(arrays, program, label) for label in labels]
        emulator.launch(loaded, name, grid, block, packed, memory, DYNAMIC_SMEM_BYTES)
    return {name: array for name, array in arrays.items() if not np.array_equal(array, program.arguments[name])}


def _packed(arrays: dict[str, np.ndarray], program: Program, label: str) -> bytes:
    if label in arrays:
        return struct.pack("<Q", arrays[label].ctypes.data)
    return struct.pack("<i", program.arguments[label])


def recorded(chosen: Callable[[str], bool] = lambda name: True) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays that each program leaves, `NAME.PARAMETER`, and the programs that are refused, with the error."""
    alias.install("emulator")
    every = {name: program for name, program in programs().items() if chosen(name)}
    outcomes = printed({name: program.source for name, program in every.items()})
    outcomes.pop("NAMES")
    refused = {name: text["refused"] for name, text in outcomes.items() if isinstance(text, dict)}
    accepted = [name for name in every if name not in refused]
    with ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda name: left_by(every[name], outcomes[name]), accepted)
    arrays = {f"{name}.{label}": array for name, result in zip(accepted, results) for label, array in result.items()}
    return arrays, refused


if __name__ == "__main__":
    arrays, refused = recorded()
    np.savez_compressed(RECORD, **arrays)
    REFUSED.write_text(json.dumps(refused, indent=1) + "\n")
    NAMES.write_text(json.dumps(printed({})["NAMES"], indent=1) + "\n")
    print(f"{len({name.rpartition('.')[0] for name in arrays})} programs, {len(refused)} refused")
