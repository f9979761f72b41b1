"""The kernels of sweep_cases.py by apache-tvm: its CUDA C++, compiled by nvcc to PTX, run on the emulator.

python tests/tirx/oracle/sweep.py           writes sweep.npz, the arrays that each kernel leaves
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
RECORD = HERE / "sweep.npz"
sys.path.insert(0, str(HERE))
import sweep_cases as cases  # noqa: E402
from upstream import ROOT, compiled  # noqa: E402


def functions(name_file: str = "sweep_{}.py") -> dict[str, object]:
    """Every kernel, defined by the `tvm` that is importable here."""
    import linecache

    found = {}
    for name, source in cases.SOURCES.items():
        file = name_file.format(name)
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        names = {"__name__": "sweep"}
        exec(compile(source, file, "exec"), names)
        found[name] = names[name]
    return found


def print_cuda() -> None:
    """Print the CUDA C++ of all kernels by the real package."""
    import tvm

    module = tvm.IRModule({name: f.with_attr("global_symbol", name) for name, f in functions().items()})
    target = tvm.target.Target({"kind": "cuda", "arch": "sm_90a"})
    print("CUDA" + tvm.compile(module, target=target, tir_pipeline="tirx").mod.imports[0].inspect_source(), flush=True)


def theirs() -> dict[str, np.ndarray]:
    """The arrays after each kernel, `NAME.PARAMETER`."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, "--cuda"], capture_output=True, text=True, timeout=600
    )
    source = done.stdout.partition("CUDA")[2]
    sys.path.insert(0, str(ROOT))
    from dsl import emulator

    program = emulator.load(compiled(source, "nvcc"))
    found = {}
    for name, parameters in cases.PARAMETERS.items():
        given = dict(zip((parameter[0] for parameter in parameters), cases.arguments(name)))
        memory = emulator.Memory()
        for label, array in given.items():
            if not isinstance(array, int):
                memory.register(array.ctypes.data, array.nbytes, label)
        head = re.search(rf"\b{name}_kernel\(([^)]*)\) {{", source)[1]
        order = [re.split(r"[ *]", part)[-1].removesuffix("_ptr") for part in head.split(",")]
        packed = [
            struct.pack("<i", given[label])
            if isinstance(given[label], int)
            else struct.pack("<Q", given[label].ctypes.data)
            for label in order
        ]
        emulator.launch(program, f"{name}_kernel", *cases.LAUNCH, packed, memory, 0)
        found |= {f"{name}.{label}": array for label, array in given.items() if label in cases.OUTPUTS}
    return found


if __name__ == "__main__":
    if sys.argv[1:] == ["--cuda"]:
        print_cuda()
    else:
        np.savez_compressed(RECORD, **theirs())
