"""Calls a function of generated programs, one after another: `batch.py run|expected LIMIT FOLDER PROGRAM ...`

`run` is what the compiler of this process computes, `expected` what numpy does. Writes what is returned to
FOLDER/NAME.npz, or the error to FOLDER/NAME.txt. No program runs after a kernel that failed.
A program that takes LIMIT seconds of processor time ends the process with SIGVTALRM: a busy machine is not a hang.
"""

import gc
import importlib.util
import signal
import sys
import warnings
from pathlib import Path

import numpy as np


def load(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def without_line_numbers() -> None:
    """NVIDIA's compiler looks for the author's line at each operation, a sixth of its time, and no answer shows it."""
    hooked = sys.modules.get("cutlass.base_dsl.env_manager")
    if hooked is not None and hasattr(hooked, "EnvironmentVarManager"):
        from cutlass.cutlass_dsl import CuTeDSL

        CuTeDSL._get_dsl().envar.lineinfo = False


def main(function: str, limit_s: float, folder: Path, paths: list[Path]) -> None:
    warnings.simplefilter("ignore")
    gc.freeze()
    gc.set_threshold(50_000)
    without_line_numbers()
    for path in paths:
        signal.setitimer(signal.ITIMER_VIRTUAL, limit_s)
        try:
            arrays = getattr(load(path), function)()
        except Exception as error:
            (folder / f"{path.stem}.txt").write_text(f"{getattr(error, 'id', None) or type(error).__name__}: {error}")
            if "Cuda" in type(error).__name__ or type(error).__name__ == "Fault":
                return
            continue
        np.savez(folder / f"{path.stem}.npz", **arrays)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), Path(sys.argv[3]), list(map(Path, sys.argv[4:])))
