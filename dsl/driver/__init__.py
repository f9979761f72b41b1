"""The CUDA driver of the emulator: libcuda.so.1 in C++, and the helper process that runs kernels for it.

A program that loads the library needs no Python. The helper is a process of this project's Python (`helper`), and
`messages` has what the two tell each other.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from dsl import native_library

PYTHON_FILE = "python.txt"  # next to the library: the interpreter of the helper


def library_folder() -> Path:
    """The folder of libcuda.so.1 and libcuda.so. They and the emulator are built first when needed. Raises
    native_library.BuildError."""
    native_library.here()
    folder = native_library.driver()[0].parent
    _note_interpreter(folder / PYTHON_FILE)
    return folder


def _note_interpreter(file: Path) -> None:
    """Note which Python the helper is. A folder that cannot be written keeps what it has."""
    try:
        if file.read_text() == sys.executable:
            return
    except OSError:
        pass
    try:
        part = file.with_suffix(f".{os.getpid()}")
        part.write_text(sys.executable)
        os.replace(part, file)
    except OSError:
        pass
