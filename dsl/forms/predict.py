"""The emulator's results for a form, and the files of a recorded form."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import struct
from pathlib import Path

import numpy as np

from dsl import emulator
from dsl.emulator.families.tensor_map.tensor_map import Im2col, Tiled
from dsl.emulator.tensor_core.tensor_core import DEFAULT_GPU_MODEL
from dsl.forms.form import BLOCK, Form

MODEL_OF = {  # whose arithmetic a GPU should have
    "sm_80": "a100", "sm_86": "a100", "sm_89": "l40s", "sm_90": "h100", "sm_100": "b200", "sm_103": "b200",
    "sm_120": "rtx5090",
}  # fmt: skip
ALIGNMENT_BYTES = 256  # of what the driver allocates


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy that lies as an allocation of a GPU does: its address is a multiple of what any access needs."""
    space = np.zeros(array.nbytes + ALIGNMENT_BYTES, np.uint8)
    start = -space.ctypes.data % ALIGNMENT_BYTES
    copy = space[start : start + array.nbytes].view(array.dtype)
    copy[:] = array
    return copy


def predict(form: Form, gpu_model: str = DEFAULT_GPU_MODEL) -> list[np.ndarray]:
    """The results of a form on the emulator, an array for each register that is set. Raises what a load raises."""
    outs = [aligned(np.zeros(form.count, kind)) for kind in form.results]
    arrays = [*outs, *(aligned(each) for each in form.operands)]
    program, memory = emulator.load(form.ptx, gpu_model=gpu_model), emulator.Memory()
    for index, array in enumerate(arrays):
        memory.register(array.ctypes.data, array.nbytes, f"array {index}")
    params = [struct.pack("<Q", array.ctypes.data) for array in arrays]
    for name, described in form.maps:
        address = arrays[form.arrays.index(name)].ctypes.data
        params.append(dataclasses.replace(described, address=address).encode())
    grid, cluster = (form.count // BLOCK, 1, 1), (form.cluster, 1, 1)
    emulator.launch(program, form.entry, grid, (BLOCK, 1, 1), params, memory, cluster=cluster)
    return outs


def models(form: Form) -> list[str]:
    """The GPU models that a form is predicted for: one of each kind of tensor core that may have it, or the default."""
    if not form.by_model:
        return [DEFAULT_GPU_MODEL]
    exact = form.target.endswith("a")  # only its own target and its family have it
    models = (model for arch, model in MODEL_OF.items() if not exact or form.need.allows(f"{arch}a"))
    return list(dict.fromkeys(models))


def _arguments(described: Tiled | Im2col) -> dict:
    fields = {name: value for name, value in dataclasses.asdict(described).items() if name != "address"}
    return {"mode": "tiled" if isinstance(described, Tiled) else "im2col", "arguments": fields}


def record(form: Form, folder: Path) -> dict:
    """The form as a case of a capsule (see launch/devices/recording.py for its launch); its bytes go to `folder`."""

    def save(data: bytes) -> str:
        name = hashlib.sha256(data).hexdigest()
        (folder / name).write_bytes(data)
        return name

    predictions = {model: [save(each.tobytes()) for each in predict(form, model)] for model in models(form)}
    default = predictions.get(DEFAULT_GPU_MODEL) or next(iter(predictions.values()))
    sizes = [form.count * np.dtype(kind).itemsize for kind in form.results]
    contents = [*(None for _ in sizes), *(save(each.tobytes()) for each in form.operands)]
    sizes += [each.nbytes for each in form.operands]
    regions, writes = {}, {}
    for index, (size, content) in enumerate(zip(sizes, contents, strict=True)):
        regions[str(index)] = {"size_bytes": size, "residue": 0, "label": f"array {index}"}
        writes[str(index)] = [{"at": 0, "size": size} | ({"bytes": content} if content else {"fill": 0})]
    launch = {
        "ptx": save(form.ptx.encode()),
        "entry": form.entry,
        "grid": [form.count // BLOCK, 1, 1],
        "block": [BLOCK, 1, 1],
        "cluster": [form.cluster, 1, 1],
        "smem_bytes": 0,
        "flags": 0,
        "params": [{"bytes": bytes(8).hex(), "pointers": [[0, index, 0]]} for index in range(len(sizes))]
        + [
            {"bytes": described.encode().hex(), "pointers": [[0, form.arrays.index(name), 0]]}
            for name, described in form.maps
        ],
        "tensor_maps": [
            {"param": len(sizes) + index, "at": 0} | _arguments(described)
            for index, (_, described) in enumerate(form.maps)
        ],
        "regions": regions,
        "writes": writes,
        "pointers": [],
        "predicted": {
            str(index): [{"at": 0, "size": sizes[index], "bytes": each}] for index, each in enumerate(default)
        },
    }
    return {
        "form": form.name,
        "threads": form.threads,
        "rule": form.rule,
        "operands": [each.dtype.str for each in form.operands],
        "results": [np.dtype(kind).str for kind in form.results],
        "predictions": predictions,
        "arch": form.target,
        "launches": [launch],
    }


def write(forms: list[Form], folder: Path, say) -> None:
    """`forms.json` and files of bytes named by their sha256. `say` takes a line now and then."""
    folder.mkdir(parents=True, exist_ok=True)
    cases = []
    for number, form in enumerate(forms, 1):
        cases.append(record(form, folder))
        if number % 100 == 0 or number == len(forms):
            say(f"[{number}/{len(forms)}] instruction forms predicted")
    (folder / "forms.json").write_text(json.dumps({"model_of": MODEL_OF, "default": DEFAULT_GPU_MODEL, "cases": cases}))
