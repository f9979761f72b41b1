"""The author's names of a kernel's parameters, from the text of CUDA C++: PTX has none.

The kernel is found by its name, so a text that a macro makes has none either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_TOOLKIT = ("/usr/include/", "/usr/local/cuda")  # headers, which have no kernel of the author
_MOST_BYTES = 4 << 20
_LENGTH = re.compile(r"\d+")
_NAME = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*$")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.S)


def names_of(mangled: str, count: int, files: Iterable[str]) -> tuple[str, ...]:
    """The names of the `count` parameters of a kernel that one of these files has; () where none has it."""
    name = _function_name(mangled)
    for file in files:
        if name and not file.startswith(_TOOLKIT) and (found := _in_text(name, count, _text(file))):
            return found
    return ()


def _function_name(mangled: str) -> str:
    """The last name of a function, by the Itanium C++ ABI, without the names round it."""
    if not mangled.startswith("_Z"):
        return mangled
    at = 3 if mangled.startswith("_ZN") else 2
    name = ""
    while length := _LENGTH.match(mangled, at):
        at = length.end() + int(length[0])
        name = mangled[length.end() : at]
    return name


def _text(file: str) -> str:
    try:
        path = Path(file)
        return path.read_text(errors="replace") if path.stat().st_size <= _MOST_BYTES else ""
    except OSError:
        return ""


def _in_text(name: str, count: int, text: str) -> tuple[str, ...]:
    if name not in text or "__global__" not in text:
        return ()
    text = _COMMENT.sub(" ", text)
    for found in re.finditer(rf"\b{re.escape(name)}\s*\(", text):
        before = re.split(r"[;}]", text[: found.start()])[-1]
        if "__global__" not in before:
            continue
        parts = _parts(text[found.end() :])
        names = [_NAME.search(part.partition("=")[0].strip()) for part in parts]
        if len(parts) == count and all(names):
            return tuple(each[1] for each in names if each)
    return ()


def _parts(text: str) -> list[str]:
    """The texts between commas, up to the bracket that closes."""
    parts, depth = [""], 0
    for letter in text:
        if letter in ")" and depth == 0:
            break
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]
