"""The names that NVIDIA's package 4.8.1 has: upstream_names.txt, which tests/cutlass/upstream_names.py prints."""

from __future__ import annotations

import functools
import re
from pathlib import Path


@functools.cache
def _spaces() -> dict[str, dict[str, tuple[str, ...] | None]]:
    """Of each module, and of `class X`, the names, each with its parameters where it can be called."""
    spaces: dict[str, dict[str, tuple[str, ...] | None]] = {}
    space: dict[str, tuple[str, ...] | None] = {}
    for line in Path(__file__).with_name("upstream_names.txt").read_text().splitlines():
        if line.startswith("["):
            space = spaces.setdefault(line[1:-1], {})
            continue
        for name, called, parameters in re.findall(r"([\w.]+)(\(([^)]*)\))?", line):
            space[name] = tuple(filter(None, parameters.split(","))) if called else None
    return spaces


def modules() -> set[str]:
    """All modules, by their dotted names."""
    spaces = _spaces()
    return {*spaces["modules"], *(name for name in spaces if name.startswith("cutlass"))}


def names(space: str) -> set[str] | None:
    """The names of a module, or of `class X`, its submodules among them; None where they are not known."""
    own = _spaces().get(space)
    if own is None:
        return None
    inside = {name[len(space) + 1 :] for name in modules() if name.startswith(f"{space}.")}
    return {*own, *(name for name in inside if "." not in name)}


def parameters(space: str, name: str) -> tuple[str, ...]:
    """The parameters of a function, as far as they are known; "*" among them where it takes any others too."""
    return _spaces().get(space, {}).get(name) or ()
