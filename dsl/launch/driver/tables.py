"""What libcuda.so.1 in C++ (dsl/driver) and the driver in this package share: rows of files that C++ includes."""

from __future__ import annotations

import functools
import re

from dsl import native_library


@functools.cache
def functions() -> list[tuple[str, int, str]]:
    """The functions of the API: the name that cuGetProcAddress knows, the release of CUDA, the symbol."""
    text = (native_library.DRIVER / "names.inc").read_text()
    rows = re.findall(r"^(?:NAME|THREAD)\((\w+), (\d+), (\w+)", text, re.MULTILINE)
    return [(name, int(release), symbol) for name, release, symbol in rows]


def symbols() -> list[str]:
    """What a library of the API exports."""
    return sorted({symbol for *_, symbol in functions()})
