"""Calls a function of generated programs, one after another: `batch.py run|expected FOLDER PROGRAM ...`

`run` is what the compiler of this process computes, `expected` what numpy does. Writes what is returned to
FOLDER/NAME.npz, or the error to FOLDER/NAME.txt. No program runs behind a kernel that failed.
"""

import importlib.util
import sys
import warnings
from pathlib import Path

import numpy as np


def load(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(function: str, folder: Path, paths: list[Path]) -> None:
    warnings.simplefilter("ignore")
    for path in paths:
        try:
            arrays = getattr(load(path), function)()
        except Exception as error:
            (folder / f"{path.stem}.txt").write_text(f"{getattr(error, 'id', None) or type(error).__name__}: {error}")
            if "Cuda" in type(error).__name__ or type(error).__name__ == "Fault":
                return
            continue
        np.savez(folder / f"{path.stem}.npz", **arrays)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), list(map(Path, sys.argv[3:])))
