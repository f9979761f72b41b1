"""Tables that this driver has from the C++ one (dsl/driver): rows of files that C++ includes."""

from __future__ import annotations

import functools
import re

from dsl import native_library


def _text(name: str) -> str:
    return (native_library.DRIVER / name).read_text()


@functools.cache
def functions() -> list[tuple[str, int, str]]:
    """The functions of the API: the name that cuGetProcAddress knows, the release of CUDA, the symbol."""
    rows = re.findall(r"^(?:NAME|THREAD)\((\w+), (\d+), (\w+)", _text("names.inc"), re.MULTILINE)
    return [(name, int(release), symbol) for name, release, symbol in rows]


def symbols() -> list[str]:
    """The names that a library of the API exports."""
    return sorted({symbol for *_, symbol in functions()})


def attributes() -> dict[int, int]:
    """The attributes of the device that are not 0, by CUdevice_attribute."""
    return {int(which): value for which, value in _rows("ATTRIBUTE").items()}


def numbers() -> dict[str, int]:
    """Other numbers of the device, by name."""
    return _rows("NUMBER")


def _rows(kind: str) -> dict[str, int]:
    rows = re.findall(rf"^{kind}\((\w+), (-?\d+)\)", _text("device.inc"), re.MULTILINE)
    return {key: int(value) for key, value in rows}


@functools.cache
def errors() -> dict[int, tuple[str, str]]:
    """The name and the text of an error, by CUresult."""
    rows = re.findall(r'^ERROR\((\d+), (\w+), "(.*)"\)$', _text("errors.inc"), re.MULTILINE)
    return {int(code): (name, text) for code, name, text in rows}


@functools.cache
def error_codes() -> dict[str, int]:
    """CUresult by the name of an error."""
    return {name: code for code, (name, _) in errors().items()}
