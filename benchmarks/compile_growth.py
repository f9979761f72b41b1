"""How compile time grows with a program: CPU seconds from `cute.compile` to PTX, for programs of growing size.

    uv run python benchmarks/compile_growth.py                 all programs, a table
    uv run python benchmarks/compile_growth.py nested --runs 5
    uv run python benchmarks/compile_growth.py --svg docs/compile_growth.svg

Each sample is a fresh process; the compiler is warmed up in it with another program first. The exponent is the slope
between the last two sizes on logarithmic axes: 1 is linear. Only our compiler is measured; nothing runs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

HEAD = """\
import cutlass
import cutlass.cute as cute


@cute.kernel
def kernel(out: cute.Tensor, n: cutlass.Int32):
    x = n
"""
TAIL = """\
    out[0] = x


@cute.jit
def host(out: cute.Tensor, n: cutlass.Int32):
    kernel(out, n).launch(grid=1, block=32)
"""
TIMED = """\
import importlib.util, json, os, resource, sys, time
from dsl import alias
alias.install("emulator")
import cutlass, cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor


def load(file):
    spec = importlib.util.spec_from_file_location(file, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cpu_seconds():          # of this process and of the children that compile for it
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    nanoseconds = 0
    for child in open(f"/proc/self/task/{os.getpid()}/children").read().split():
        nanoseconds += int(open(f"/proc/{child}/schedstat").read().split()[0])
    return time.process_time() + used.ru_utime + used.ru_stime + nanoseconds / 1e9


def compile(file):
    module = load(file)
    out = make_fake_compact_tensor(cutlass.Int32, (64,))
    start = cpu_seconds()
    compiled = cute.compile(module.host, out, 1, options="--gpu-arch sm_90a")
    return cpu_seconds() - start, len(compiled.__ptx__ or "")


compile(sys.argv[1])
seconds, size = compile(sys.argv[2])
print(json.dumps({"seconds": seconds, "ptx_bytes": size}))
"""


@dataclass(frozen=True)
class Family:
    """Programs that differ in one number: `body(size)` is the kernel's body, indented by four."""

    name: str
    what: str
    sizes: tuple[int, ...]
    body: Callable[[int], str]


def _unrolled(count: int) -> str:
    return f"    for i in cutlass.range_constexpr({count}):\n        x = x * 3 + out[i % 64]\n"


def _strided(count: int) -> str:
    return (
        f"    g = cute.make_tensor(out.iterator, cute.make_layout({count}, stride=n))\n"
        f"    for i in cutlass.range_constexpr({count}):\n        x = x + g[i]\n"
    )


def _nested(depth: int) -> str:
    lines = []
    for level in range(depth):
        lines.append(f"{'    ' * (level + 1)}if n > {level}:")
        lines.append(f"{'    ' * (level + 2)}x = x + out[{level % 64}]")
    return "\n".join(lines) + "\n"


def _nested_loops(depth: int) -> str:
    lines = []
    for level in range(depth):
        lines.append(f"{'    ' * (level + 1)}for i{level} in range(n):")
        lines.append(f"{'    ' * (level + 2)}x = x + i{level}")
    return "\n".join(lines) + "\n"


def _statements(count: int) -> str:
    return "".join(f"    x = x * {k % 7 + 2} + out[{k % 64}]\n" for k in range(count))


def _branches(count: int) -> str:
    return "".join(f"    if x > {k}:\n        x = x + out[{k % 64}]\n" for k in range(count))


def _chain(count: int) -> str:
    arms = [f"    {'el' if k else ''}if n == {k}:\n        x = x + out[{k % 64}]\n" for k in range(count)]
    return "".join(arms)


def _carried(count: int) -> str:
    lines = [f"    v{k} = n + {k}" for k in range(count)] + ["    for i in range(n):"]
    lines += [f"        v{k} = v{k} * 3 + i" for k in range(count)]
    lines += [f"    x = x + v{k}" for k in range(count)]
    return "\n".join(lines) + "\n"


def _exits(count: int) -> str:
    lines = ["    for i in range(n):"]
    for k in range(count):
        lines += [f"        if x == {k}:", "            break", f"        x = x + out[{k % 64}]"]
    return "\n".join(lines) + "\n"


def _of_test(word: str) -> Callable[[int], str]:
    def body(count: int) -> str:
        return f"    if {f' {word} '.join(f'n != {k}' for k in range(count))}:\n        x = x + 1\n"

    return body


def _conditionals(count: int) -> str:
    return "    x = " + " else ".join(f"out[{k % 64}] if n == {k}" for k in range(count)) + " else x\n"


def _returns(count: int) -> str:
    exits = [f"    if n == {k}:\n        out[{k % 64}] = x\n        return\n    x = x + {k}\n" for k in range(count)]
    return "".join(exits)


def _looked_up(count: int) -> str:
    table = ", ".join(f"{k}: out[{k % 64}]" for k in range(count))
    return f"    table = {{{table}}}\n    if n > 2:\n        table[1] = table[1] + n\n    x = x + table[1]\n"


FAMILIES = (
    Family("unrolled", "iterations of range_constexpr", (10, 100, 1000), _unrolled),
    Family("strided", "loads at a stride known at run time", (10, 100, 1000), _strided),
    Family("nested", "dynamic branches, one in another", (5, 10, 20, 50), _nested),
    Family("loops", "dynamic loops, one in another", (2, 4, 8, 15), _nested_loops),
    Family("statements", "statements in a row", (10, 100, 1000), _statements),
    Family("branches", "dynamic branches in a row", (10, 100, 1000), _branches),
    Family("elif", "arms of one if ... elif", (5, 20, 50, 200), _chain),
    Family("and", "parts of one `and`", (10, 100, 400), _of_test("and")),
    Family("or", "parts of one `or`", (10, 100, 400), _of_test("or")),
    Family("conditional", "arms of one conditional expression", (10, 50, 200), _conditionals),
    Family("returns", "early returns in a row", (5, 20, 50, 200), _returns),
    Family("dict", "dynamic entries of a dict that a branch changes", (10, 100, 1000), _looked_up),
    Family("carried", "variables a loop carries", (1, 10, 20, 50), _carried),
    Family("exits", "breaks out of one loop", (1, 10, 50, 200), _exits),
)


def sample(folder: str, warm: str, file: str) -> dict:
    """CPU seconds of one compile in a fresh process, and the bytes of PTX it made; `error` where it failed."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        run = subprocess.run(
            [sys.executable, os.path.join(folder, "timed.py"), warm, file],
            capture_output=True,
            text=True,
            env=environment,
            cwd=folder,
            timeout=300,
        )
    except subprocess.TimeoutExpired:
        return {"error": "ran for 300 s"}
    if run.returncode:
        return {"error": (run.stderr.strip().splitlines() or [f"status {run.returncode}"])[-1][:100]}
    return json.loads(run.stdout.splitlines()[-1])


def measure(family: Family, folder: str, runs: int) -> list[dict]:
    """The median sample of each size."""
    warm = _write(folder, "warm.py", _statements(3) + _branches(2))
    found = []
    for size in family.sizes:
        file = _write(folder, f"{family.name}_{size}.py", family.body(size))
        samples = [sample(folder, warm, file) for _ in range(runs)]
        bad = next((s for s in samples if "error" in s), None)
        found.append(bad or sorted(samples, key=lambda s: s["seconds"])[len(samples) // 2])
        shown = bad["error"] if bad else f"{found[-1]['seconds']:.3f} s"
        print(f"  {family.name} {size}: {shown}", file=sys.stderr, flush=True)
    return found


def _write(folder: str, name: str, body: str) -> str:
    path = os.path.join(folder, name)
    with open(path, "w") as stream:
        stream.write(HEAD + body + TAIL)
    return path


def exponent(family: Family, samples: list[dict]) -> float:
    """The slope between the last two sizes on logarithmic axes; nan where one failed."""
    (a, first), (b, last) = list(zip(family.sizes, samples))[-2:]
    if "error" in first or "error" in last:
        return math.nan
    return math.log(last["seconds"] / first["seconds"]) / math.log(b / a)


def table(rows: list[tuple[Family, list[dict]]]) -> str:
    """A line a family: seconds at each size, and the exponent."""
    lines = []
    for family, samples in rows:
        cells = [
            f"{size}: " + (s["error"] if "error" in s else f"{s['seconds']:.3f}")
            for size, s in zip(family.sizes, samples)
        ]
        lines.append(
            f"{family.name:12}{family.what:36}"
            + "  ".join(f"{cell:12}" for cell in cells)
            + f"  n^{exponent(family, samples):.2f}"
        )
    return "\n".join(lines)


# --- the plot --------------------------------------------------------------------------------------------------------

COLORS = ("#1b6ac9", "#000000", "#c2410c", "#15803d", "#7c3aed", "#be185d", "#0e7490", "#a16207", "#4b5563")
LEFT, TOP, WIDTH, HEIGHT = 60, 30, 460, 340


def svg(rows: list[tuple[Family, list[dict]]]) -> str:
    """Seconds over size on logarithmic axes, a line a family, with a dashed line of slope 1."""
    points = [
        (size, s["seconds"]) for family, samples in rows for size, s in zip(family.sizes, samples) if "seconds" in s
    ]
    decades = [_decades([x for x, _ in points]), _decades([y for _, y in points])]

    def at(size: float, seconds: float) -> str:
        (x0, x1), (y0, y1) = decades
        x = LEFT + WIDTH * (math.log10(size) - x0) / (x1 - x0)
        y = TOP + HEIGHT * (1 - (math.log10(seconds) - y0) / (y1 - y0))
        return f"{x:.1f},{y:.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 140} {TOP + HEIGHT + 50}" '
        'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
    ]
    parts += _axes(decades, at)
    x0, y0 = 10 ** decades[0][0], 10 ** decades[1][0]
    end = min(10 ** decades[0][1] / x0, 10 ** decades[1][1] / y0)
    parts.append(f'<polyline points="{at(x0, y0)} {at(x0 * end, y0 * end)}" stroke="#999" stroke-dasharray="4"/>')
    for number, (family, samples) in enumerate(rows):
        color = COLORS[number % len(COLORS)]
        line = [at(size, s["seconds"]) for size, s in zip(family.sizes, samples) if "seconds" in s]
        parts.append(f'<polyline points="{" ".join(line)}" stroke="{color}" stroke-width="2" fill="none"/>')
        for x, y in (point.split(",") for point in line):
            parts.append(f'<circle cx="{x}" cy="{y}" r="3" fill="{color}"/>')
        y = TOP + 14 + 20 * number
        parts.append(f'<text x="{LEFT + WIDTH + 12}" y="{y}" fill="{color}">{family.name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _decades(values: list[float]) -> tuple[int, int]:
    return math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))


def _axes(decades: list[tuple[int, int]], at: Callable[[float, float], str]) -> list[str]:
    (x0, x1), (y0, y1) = decades
    parts = []
    for power in range(x0, x1 + 1):
        x = at(10**power, 10**y0).split(",")[0]
        parts.append(
            f'<path d="M{x} {TOP}V{TOP + HEIGHT}" stroke="#ddd"/>'
            f'<text x="{x}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{10**power:g}</text>'
        )
    for power in range(y0, y1 + 1):
        y = at(10**x0, 10**power).split(",")[1]
        parts.append(
            f'<path d="M{LEFT} {y}H{LEFT + WIDTH}" stroke="#ddd"/><text x="{LEFT - 6}" y="{y}" '
            f'text-anchor="end" dominant-baseline="middle">{10**power:g}</text>'
        )
    parts.append(
        f'<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 40}" text-anchor="middle">size of the program</text>'
        f'<text x="{LEFT}" y="{TOP - 12}">CPU seconds to PTX (dashed: linear)</text>'
    )
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="*", metavar="FAMILY", help=f"one of {', '.join(f.name for f in FAMILIES)}; default: all"
    )
    parser.add_argument("--runs", type=int, default=3, help="fresh processes a size; the median counts (default 3)")
    parser.add_argument("--svg", metavar="FILE", help="also draw it")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in [f.name for f in FAMILIES]]:
        parser.error(f"no family is called {unknown[0]!r}")
    chosen = [family for family in FAMILIES if not options.names or family.name in options.names]
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "timed.py"), "w") as stream:
            stream.write(TIMED)
        rows = [(family, measure(family, folder, options.runs)) for family in chosen]
    print(table(rows))
    if options.svg:
        with open(options.svg, "w") as stream:
            stream.write(svg(rows))


if __name__ == "__main__":
    main()
