"""Elementary functions of Float32: this compiler against nvidia-cutlass-dsl, error, instructions and time, one run.

    uv run --group nvidia python benchmarks/math_functions.py [--only exp,sin] [--samples 65536]

Each function is one kernel, `out[i] = cute.math.f(x[i])`, compiled by both without fastmath for sm_90a. `ulp`: the
greatest error of the samples (seeded, over the floats where the result is finite) against the C library's double, on
the emulator, where an approximate instruction gives one of the results that the PTX ISA allows.
`SASS`: instructions of the kernel as ptxas makes them, beyond the instructions of a kernel that only copies; rare
branches and subroutines count. `F64`: instructions of doubles among them. `M/s`: elements a second of CPU time on the
emulator, 2**20 of them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = str(Path(__file__).parents[1])
# name: the ranges that samples are taken from, evenly or (True) with even logarithms and both signs
RANGES = {
    "exp": [(-104, 89, False)],
    "expm1": [(-18, 89, False), (1e-10, 1, True)],
    "log": [(1e-38, 3e38, True), (0.5, 2, False)],
    "log2": [(1e-38, 3e38, True), (0.5, 2, False)],
    "log10": [(1e-38, 3e38, True), (0.5, 2, False)],
    "log1p": [(1e-10, 3e38, True), (-0.99, 2, False)],
    "sin": [(-100, 100, False), (1e-5, 3e38, True)],
    "cos": [(-100, 100, False), (1e-5, 3e38, True)],
    "tan": [(-100, 100, False), (1e-5, 3e38, True)],
    "asin": [(-1, 1, False)],
    "acos": [(-1, 1, False)],
    "atan": [(-10, 10, False), (1e-8, 1e12, True)],
    "atan2": [(-10, 10, False)],
    "sinh": [(-88, 88, False), (1e-8, 10, True)],
    "cosh": [(-88, 88, False)],
    "tanh": [(-9, 9, False), (1e-8, 1, True)],
    "asinh": [(1e-8, 3e38, True), (-3, 3, False)],
    "acosh": [(1, 10, False)],
    "atanh": [(-1, 1, False), (1e-8, 1, True)],
    "erf": [(-4, 4, False), (1e-8, 1, True)],
    "erfc": [(-4, 10, False)],
    "cbrt": [(1e-38, 3e38, True)],
    "pow": [(0.01, 20, False)],
}
PROGRAM = """
import json, sys, time
import numpy as np
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def kernel(function: cutlass.Constexpr, x: cute.Tensor, y: cute.Tensor, out: cute.Tensor):
    i = cute.arch.block_idx()[0] * 128 + cute.arch.thread_idx()[0]
    out[i] = function(x[i], y[i])

@cute.jit
def host(function: cutlass.Constexpr, x: cute.Tensor, y: cute.Tensor, out: cute.Tensor):
    kernel(function, x, y, out).launch(grid=(out.shape[0] // 128, 1, 1), block=(128, 1, 1))

found = {}
folder, names = sys.argv[1], sys.argv[2].split(",")
for name in names:
    function = getattr(cute.math, name, None)
    if name == "copy":
        chosen = lambda x, y: x
    elif name in ("pow", "atan2"):
        chosen = function
    elif function is None:
        continue
    else:
        chosen = lambda x, y: function(x)
    x, y = np.load(f"{folder}/{name}.npy")
    out, many = np.zeros_like(x), np.resize(x, 1 << 20)
    more = np.resize(y, 1 << 20)
    try:
        compiled = cute.compile(host, chosen, *map(from_dlpack, (x, y, out)), options="--keep-ptx --gpu-arch sm_90a")
    except Exception as error:
        print(name, str(error)[:200], file=sys.stderr)
        continue
    compiled(*map(from_dlpack, (x, y, out)))
    wide = np.zeros_like(many)
    long = cute.compile(host, chosen, *map(from_dlpack, (many, more, wide)))
    arguments = list(map(from_dlpack, (many, more, wide)))
    times = []
    for _ in range(6):
        start = time.process_time()
        long(*arguments)
        times.append(time.process_time() - start)
    np.save(f"{folder}/{name}.{sys.argv[3]}.npy", out)
    found[name] = {"ptx": compiled.__ptx__, "seconds": min(times)}
print("\\n" + json.dumps(found))
"""


def samples(name: str, count: int) -> np.ndarray:
    """Arguments for one function: x and y."""
    rng = np.random.default_rng(13)
    parts = []
    for low, high, spread in RANGES.get(name, [(0, 1, False)]):
        share = count // len(RANGES.get(name, [0]))
        if spread:
            sizes = np.exp(rng.uniform(np.log(low), np.log(high), share))
            signed = not name.startswith("log") and name != "acosh"
            parts.append(sizes * (rng.choice([-1, 1], share) if signed else 1))
        else:
            parts.append(rng.uniform(low, high, share))
    x = np.resize(np.concatenate(parts), count).astype(np.float32)
    return np.stack([x, rng.uniform(-20, 20, count).astype(np.float32)])


def exact(name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The results in double."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(all="ignore"):
        if name in ("erf", "erfc"):
            return np.array([getattr(math, name)(value) for value in x])
        names = {
            "asin": "arcsin",
            "acos": "arccos",
            "atan": "arctan",
            "asinh": "arcsinh",
            "acosh": "arccosh",
            "atanh": "arctanh",
        }
        if name in ("pow", "atan2"):
            return {"pow": np.power, "atan2": np.arctan2}[name](x, y)
        return getattr(np, names.get(name, name))(x)


def greatest_error(name: str, arguments: np.ndarray, got: np.ndarray) -> float:
    """In units of the last place of a Float32."""
    results = exact(name, *arguments)
    kept = np.isfinite(results) & (np.abs(results) < 3.4e38) & (results != 0)
    exponents = np.maximum(np.frexp(results)[1] - 24, -149)
    with np.errstate(all="ignore"):
        errors = np.abs(got.astype(np.float64) - results) * np.exp2(-exponents.astype(np.float64))
    return float(errors[kept].max())


def instructions(ptx: str) -> tuple[int, int]:
    """The number of instructions of the kernel, and of instructions of doubles among them."""
    from dsl.lower import sass

    text = sass.disassemble(sass.assemble(ptx, "sm_90a"))
    words = re.findall(r"^\s+(?:/\*[0-9a-f]+\*/)?\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]+)\b.*;", text, re.MULTILINE)
    words = [word for word in words if word not in ("NOP",)]
    return len(words), sum(
        bool(re.match(r"D(ADD|MUL|FMA|SETP)|F2F\.F(64|32\.F64)|MUFU\.\w+64|I2F\.F64", word)) for word in words
    )


def measured(compiler: str, folder: str, names: list[str]) -> dict:
    """The results of the program under one compiler."""
    program = Path(folder, "program.py")
    program.write_text(PROGRAM)
    options = ["--check", "none", "--compiler", compiler]
    command = [sys.executable, "-m", "dsl", *options, str(program), folder, ",".join(names), compiler]
    paths = os.pathsep.join(filter(None, (ROOT, os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=1800,
        cwd=folder,  # which gets the PTX
        env=os.environ | {"PYTHONPATH": paths},
    )
    if done.returncode:
        sys.exit(done.stderr)
    sys.stderr.write(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(RANGES), help="functions, by comma")
    parser.add_argument("--samples", type=int, default=65536)
    options = parser.parse_args()
    names = ["copy", *options.only.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            np.save(f"{folder}/{name}.npy", samples(name, options.samples))
        found = {compiler: measured(compiler, folder, names) for compiler in ("ours", "nvidia")}
        base = {compiler: instructions(rows["copy"]["ptx"])[0] for compiler, rows in found.items()}
        columns = f"{'SASS':>6}{'F64':>5}{'M/s':>7}"
        print(f"{'':8}{'ours: ulp':>10}{columns}{'theirs: ulp':>14}{columns}")
        for name in names[1:]:
            line = f"{name:8}"
            for compiler, width in (("ours", 10), ("nvidia", 14)):
                row = found[compiler].get(name)
                if row is None:
                    line += f"{'-':>{width}}{'-':>6}{'-':>5}{'-':>7}"
                    continue
                arguments = np.load(f"{folder}/{name}.npy")
                error = greatest_error(name, arguments, np.load(f"{folder}/{name}.{compiler}.npy"))
                count, doubles = instructions(row["ptx"])
                speed = (1 << 20) / row["seconds"] / 1e6
                line += f"{error:{width}.3f}{count - base[compiler]:6}{doubles:5}{speed:7.0f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
