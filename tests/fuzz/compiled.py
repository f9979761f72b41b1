"""Runs generated programs compiled, many in one module: on the host and in a kernel. Import it after the alias."""

from __future__ import annotations

import importlib.util
import math
import warnings
from pathlib import Path

import cutlass
import cutlass.cute as cute
import numpy as np
import reference
from cutlass.cute.runtime import from_dlpack
from programs import SLOTS, THREADS

warnings.simplefilter("ignore")
UNTOUCHED = -987654321


@cute.jit
def on_host(programs: cutlass.Constexpr, tensors: list, thread: cutlass.Int32):
    for k in cutlass.range_constexpr(len(programs)):
        programs[k].program(*tensors[k], thread)


@cute.jit
def in_kernels(programs: cutlass.Constexpr, tensors: list):
    for k in cutlass.range_constexpr(len(programs)):
        programs[k].kernel(*tensors[k]).launch(grid=1, block=THREADS)


def load(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def results(modules: list, where: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """The values that each program stores, compiled `where`: "host" or "kernel"."""
    inputs = [np.array(module.INPUTS, np.int32) for module in modules]
    outputs = [
        (np.full(THREADS * SLOTS, UNTOUCHED, np.int64), np.full(THREADS * SLOTS, UNTOUCHED, np.float64))
        for _ in modules
    ]
    tensors = [list(map(from_dlpack, (each, *arrays))) for each, arrays in zip(inputs, outputs)]
    if where == "kernel":
        in_kernels(modules, tensors)
        return outputs
    function = cute.compile(on_host, modules, tensors, cutlass.Int32(0))
    for thread in range(THREADS):
        function(tensors, thread)
    return outputs


def difference(expected, got) -> str:
    """The first few slots that differ, or ''. Bit for bit, but that all NaNs are one."""
    found = []
    for kind, wanted, array in zip(("ints", "floats"), expected, got):
        for place, value in enumerate(array.tolist()):
            want = wanted.get(place, UNTOUCHED)
            want = int(want) if kind == "ints" else float(want)
            both_nan = want != want and value != value
            if not both_nan and (want != value or math.copysign(1, want) != math.copysign(1, value)):
                where = f"{kind}[{place}] (thread {place // SLOTS}, slot {place % SLOTS})"
                found.append(f"{where} is {value!r}, not {want!r}")
    return "; ".join(found[:4])


def check(paths: list[Path]) -> list[tuple[str, str]]:
    """For each program what is wrong, as (kind, detail), or None. A kind of failure that stops one stops them all."""
    expected = []
    for path in paths:
        try:
            expected.append(reference.run(path.read_text(), THREADS, str(path)))
        except Exception as error:
            return [("reference", f"{type(error).__name__}: {error}")] * len(paths)
    modules = [load(path) for path in paths]  # rewritten once, traced twice
    found = [None] * len(paths)
    for where in ("host", "kernel"):
        try:
            got = results(modules, where)
        except Exception as error:
            name = getattr(error, "id", None) or type(error).__name__
            return [(f"{where} refuses: {name}", str(error))] * len(paths)
        for k, (wanted, each) in enumerate(zip(expected, got)):
            text = difference(wanted, each)
            if text and not found[k]:
                found[k] = (f"{where} differs", text)
    return found
