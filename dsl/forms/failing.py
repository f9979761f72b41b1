"""A form on which a GPU and the emulator disagreed, run here again: the file that `repro golden accept` wrote of it."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

from dsl import emulator
from dsl.emulator.families.tensor_map.tensor_map import Im2col, Tiled
from dsl.emulator.tensor_core.tensor_core import DEFAULT_GPU_MODEL, GPU_MODELS
from dsl.forms.form import BLOCK
from dsl.forms.predict import aligned


def results(case: dict[str, Any]) -> list[list[str]]:
    """The emulator's results now: hexadecimal digits of each result of each thread, as the file has them."""
    types = case["types"]
    threads = case["threads"]
    outs = [aligned(np.zeros(threads, kind)) for kind in types["results"]]
    operands = [
        aligned(np.frombuffer(b"".join(bytes.fromhex(text)[::-1] for text in column), kind))
        for column, kind in zip(case["operands"], types["operands"], strict=True)
    ]
    model = next((name for name in GPU_MODELS if name == case.get("model")), DEFAULT_GPU_MODEL)
    program, memory = emulator.load(case["ptx"], gpu_model=model), emulator.Memory()
    for index, array in enumerate([*outs, *operands]):
        memory.register(array.ctypes.data, array.nbytes, f"array {index}")
    params = [struct.pack("<Q", array.ctypes.data) for array in (*outs, *operands)]
    for row in case.get("maps", ()):
        kind = Tiled if row["mode"] == "tiled" else Im2col
        address = (*outs, *operands)[row["array"]].ctypes.data
        params.append(kind(address=address, **row["arguments"]).encode())
    blocks, block = max(threads // BLOCK, 1), min(threads, BLOCK)
    cluster = (case.get("cluster", 1), 1, 1)
    emulator.launch(
        program, next(iter(program.entries)), (blocks, 1, 1), (block, 1, 1), params, memory, cluster=cluster
    )
    return [[item.tobytes()[::-1].hex() for item in array] for array in outs]


def report(case: dict[str, Any], path: Path) -> str:
    """Empty where the emulator gives by now what the GPU gave, else one line."""
    now = results(case)
    if now == case["got"]:
        return ""
    lane = next(lane for lane in range(case["threads"]) if any(a[lane] != b[lane] for a, b in zip(now, case["got"])))
    here, there, operands = (
        ", ".join(f"0x{column[lane]}" for column in each) for each in (now, case["got"], case["operands"])
    )
    return (
        f"{case['form']}: thread {lane}, operands {operands}: the emulator gives {here}, {case['device']['name']} "
        f"gave {there} ({path.name})"
    )
