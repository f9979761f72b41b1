"""The head of a file: its `# /// script` block, its first comment, and the block with a `[tool.repro]` table."""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_BLOCK = re.compile(r"(?m)^# /// script[ \t]*\n((?:#(?:| .*)\n)*?)# ///[ \t]*\n?")
_DISTRIBUTIONS = {
    "cutlass": "nvidia-cutlass-dsl",
    "cuda": "cuda-bindings",
    "tvm": "apache-tvm",
    "tvm_tirx": "apache-tvm-tirx",
    "quadrants": "quadrants",
}
_NOT_A_CLAIM = re.compile(r"#!|#.*coding[:=]|# *(Copyright|SPDX-|Licensed|noqa|type:|ruff:|pylint:|flake8:|fmt:)", re.I)


@dataclass(frozen=True)
class Head:
    """The lines above the program. `text` is the script with those lines empty, so that places stay."""

    shebang: str
    block: str  # TOML
    comment: str  # the first comment, without `#`
    rest: tuple[str, ...]  # other comments, as they are: licences
    text: str


def read(text: str) -> Head:
    """Take the head off a script."""
    found = _BLOCK.search(text)
    block = (
        "".join(line[2:] if line.startswith("# ") else line[1:] for line in found[1].splitlines(True)) if found else ""
    )
    if found:
        text = text[: found.start()] + "\n" * found[0].count("\n") + text[found.end() :]
    lines = text.split("\n")
    shebang, paragraphs = "", [[]]
    end = 0
    for number, line in enumerate(lines):
        if line.startswith("#!") and number == 0:
            shebang = line
        elif line.startswith("#"):
            paragraphs[-1].append(line)
        elif not line.strip():
            paragraphs.append([])
        else:
            end = number
            break
    comment, rest = "", []
    for paragraph in filter(None, paragraphs):
        if not comment and not any(_NOT_A_CLAIM.match(line) for line in paragraph):
            comment = "\n".join(line.lstrip("#").strip() for line in paragraph)
        else:
            rest += ["", *paragraph]
    return Head(shebang, block, comment, tuple(rest), "\n".join([""] * end + lines[end:]))


def write(block: str, imports: Sequence[str], params: Mapping[str, Sequence[object]]) -> str:
    """The block as comment lines: the script's own, or one of its imports; then `[tool.repro]`."""
    table = tomllib.loads(block)
    if not block.strip():
        needs = sorted({need for name in imports if (need := distribution(name))})
        block = f'requires-python = ">=3.11"\ndependencies = {json.dumps(needs)}\n'
    if "repro" not in table.get("tool", {}):
        block = block.rstrip("\n") + "\n[tool.repro]\n"
    if params:
        items = ", ".join(f"{name} = [{', '.join(map(_toml, values))}]" for name, values in params.items())
        block = block.replace("[tool.repro]\n", f"[tool.repro]\nparams = {{ {items} }}\n", 1)
    lines = ["# /// script", *(f"# {line}".rstrip() for line in block.rstrip("\n").split("\n")), "# ///"]
    return "\n".join(lines)


def _toml(value: object) -> str:
    return json.dumps(value)


def distribution(module: str) -> str:
    """The package that a module comes with; '' of the standard library."""
    if module in sys.stdlib_module_names:
        return ""
    if module in _DISTRIBUTIONS:
        return _DISTRIBUTIONS[module]
    return next(iter(importlib.metadata.packages_distributions().get(module, ())), module)
