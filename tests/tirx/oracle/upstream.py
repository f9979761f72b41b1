"""apache-tvm's CUDA of cases.py, compiled by nvcc to PTX, run on the emulator: the arrays after each kernel.

python tests/tirx/oracle/upstream.py --record       writes recorded.json
"""

from __future__ import annotations

import argparse
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
RECORD = HERE / "recorded.json"
# grid and block of each kernel, as its ids define them.
LAUNCHES = {
    "shared": (1, 128),
    "lanes": (1, 32),
    "reduction": (1, 128),
    "vectors": (1, 16),
    "ids": ((2, 3, 1), 256),
    "atomics": (2, 32),
}
DYNAMIC_SMEM_BYTES = 512


def printed(*command: str) -> object:
    """The JSON that cases.py prints under a Python command."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, str(HERE / "cases.py")], capture_output=True, text=True, timeout=600, cwd=ROOT, env=environment
    )
    marked = [line for line in done.stdout.splitlines() if line.startswith("JSON")]
    if done.returncode or not marked:
        raise RuntimeError(f"{' '.join(command)} cases.py ended with {done.returncode}\n{done.stderr}")
    return json.loads(marked[-1][4:])


def ours() -> dict:
    return printed(sys.executable, "-m", "dsl", "--device", "emulator")


def cuda_source() -> str:
    """The text that the real package makes, in a separate process."""
    return printed(sys.executable)


def compiled(source: str, nvcc: str, arch: str = "sm_90a") -> str:
    """PTX of CUDA C++."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernels.cu"
        file.write_text(source)
        subprocess.run(
            [nvcc, "-ptx", f"-arch={arch}", "-o", str(file.with_suffix(".ptx")), str(file)],
            check=True,
            capture_output=True,
            timeout=600,
        )
        return file.with_suffix(".ptx").read_text()


def theirs(source: str, ptx: str) -> dict:
    """The arrays after each of the kernels of `source`, run from `ptx`."""
    sys.path[:0] = [str(ROOT)]
    from dsl import alias, emulator

    alias.install("emulator")
    sys.path.insert(0, str(HERE))
    try:
        import cases
    finally:
        alias.uninstall()
    program = emulator.load(ptx)
    found = {}
    for name, (function, arguments) in cases.CASES.items():
        arrays = [np.array(argument) for argument in arguments]
        places = {parameter.name: array for parameter, array in zip(function.params, arrays)}
        memory = emulator.Memory()
        for label, array in places.items():
            memory.register(array.ctypes.data, array.nbytes, label)
        head = re.search(rf"\b{name}_kernel\(([^)]*)\) {{", source)[1]
        order = [re.split(r"[ *]", part)[-1].removesuffix("_ptr") for part in head.split(",")]
        shape = LAUNCHES.get(name, (1, 64))
        grid, block = (extent if isinstance(extent, tuple) else (extent, 1, 1) for extent in shape)
        emulator.launch(
            program,
            f"{name}_kernel",
            grid,
            block,
            [struct.pack("<Q", places[label].ctypes.data) for label in order],
            memory,
            DYNAMIC_SMEM_BYTES,
        )
        found[name] = [array.tolist() for array in arrays]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--nvcc", default="nvcc")
    options = parser.parse_args()
    source = cuda_source()
    made = theirs(source, compiled(source, options.nvcc))
    if options.record:
        RECORD.write_text(json.dumps(made) + "\n")
    else:
        print(json.dumps(made))


if __name__ == "__main__":
    main()
