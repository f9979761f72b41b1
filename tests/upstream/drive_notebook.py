"""Run a notebook's code cells in order, in this process; write what each printed to a file, a JSON line a cell.

    python -m dsl drive_notebook.py NOTEBOOK RESULT        under this compiler
    python drive_notebook.py NOTEBOOK RESULT               under NVIDIA's
Random numbers are seeded the same way for both.
"""

from __future__ import annotations

import ctypes
import io
import json
import linecache
import os
import sys
import tempfile
import time
import traceback
import types


class _Printed(io.TextIOBase):
    """Standard output of Python code; what the emulator prints goes to the program's stream instead."""

    def __init__(self):
        self.parts: list[str] = []

    def write(self, text: str) -> int:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if caller.startswith("dsl.emulator"):
            os.write(1, text.encode())
        else:
            self.parts.append(text)
        return len(text)

    def fileno(self) -> int:
        return 1

    def isatty(self) -> bool:
        return False

    def take(self) -> str:
        text = "".join(self.parts)
        self.parts.clear()
        return text


def cells(notebook: str) -> list[str]:
    """The sources of the code cells of a notebook file."""
    with open(notebook, encoding="utf-8") as stream:
        return ["".join(cell["source"]) for cell in json.load(stream)["cells"] if cell["cell_type"] == "code"]


def _seed() -> None:
    import numpy

    numpy.random.seed(0)
    try:
        import torch
    except ImportError:
        return
    torch.manual_seed(0)


def _keep_arrays_on_the_host() -> None:
    """Undo, under NVIDIA's compiler, that `from_dlpack` gives device memory, which it cannot print there."""
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "cutlass"]
    for module in modules:
        if original := getattr(vars(module).get("from_dlpack"), "__wrapped__", None):
            module.from_dlpack = original


def main(notebook: str, result: str) -> int:
    """0, or 1 once a cell has raised; the cells after it are not run."""
    _seed()
    _keep_arrays_on_the_host()
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    module.__file__ = notebook
    printed, flush = _Printed(), ctypes.CDLL(None).fflush
    sys.stdout = printed
    with tempfile.TemporaryFile() as stream, open(result, "w", encoding="utf-8") as results:
        os.dup2(stream.fileno(), 1)
        for number, source in enumerate(cells(notebook), 1):
            start, began = time.monotonic(), os.lseek(1, 0, os.SEEK_END)
            error = _execute(source, f"{os.path.basename(notebook)} cell {number}", module)
            flush(None)
            text = os.pread(1, os.lseek(1, 0, os.SEEK_END) - began, began).decode(errors="replace")
            row = {"printed": printed.take(), "printf": text, "error": error, "seconds": time.monotonic() - start}
            results.write(json.dumps(row) + "\n")
            results.flush()
            if error:
                return 1
    return 0


def _execute(source: str, file: str, module: types.ModuleType) -> str:
    """Run a cell; "", or the text of what it raised."""
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    try:
        exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)
    except Exception as error:  # whatever a cell raises is this cell's result
        if hasattr(error, "repro_outcome"):
            return str(error)
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        return "".join([*traceback.format_list(frames[-1:]), *traceback.format_exception_only(error)]).rstrip()
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
