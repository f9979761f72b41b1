"""A form on which a GPU and the emulator disagreed, run here again: the file that `repro accept` wrote of it."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

from dsl import emulator
from dsl.emulator.runtime.tensor_core import DEFAULT_GPU_MODEL, GPU_MODELS


def results(case: dict[str, Any]) -> list[list[str]]:
    """What the emulator gives now: hexadecimal digits of each result of each thread, as the file has them."""
    types = case["types"]
    threads = case["threads"]
    outs = [np.zeros(threads, kind) for kind in types["results"]]
    operands = [
        np.frombuffer(b"".join(bytes.fromhex(text)[::-1] for text in column), kind).copy()
        for column, kind in zip(case["operands"], types["operands"], strict=True)
    ]
    model = next((name for name in GPU_MODELS if name == case.get("model")), DEFAULT_GPU_MODEL)
    program, memory = emulator.load(case["ptx"], gpu_model=model), emulator.Memory()
    for index, array in enumerate([*outs, *operands]):
        memory.register(array.ctypes.data, array.nbytes, f"array {index}")
    params = [struct.pack("<Q", array.ctypes.data) for array in (*outs, *operands)]
    emulator.launch(program, next(iter(program.entries)), (1, 1, 1), (threads, 1, 1), params, memory)
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
