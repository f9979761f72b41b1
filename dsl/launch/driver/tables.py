"""The errors of the driver: rows of a file that C++ includes."""

from __future__ import annotations

import functools
import re

from dsl import native_library


@functools.cache
def errors() -> dict[int, tuple[str, str]]:
    """The name and the text of an error, by CUresult."""
    text = (native_library.DRIVER / "errors.inc").read_text()
    rows = re.findall(r'^ERROR\((\d+), (\w+), "(.*)"\)$', text, re.MULTILINE)
    return {int(code): (name, text) for code, name, text in rows}


@functools.cache
def error_codes() -> dict[str, int]:
    """CUresult by the name of an error."""
    return {name: code for code, (name, _) in errors().items()}
