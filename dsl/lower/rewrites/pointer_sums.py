"""Offsets of one pointer after another as one sum: of `(p + i) + j`, where nothing else uses `p + i`, `p + (j + i)`.

A tensor is sliced step by step, and each step moves the pointer. LLVM keeps the steps apart: each scales its offset to
bytes and adds it to an address of 64 bits. A sum of elements is scaled once, and its products become `mad`. The last
step, which mostly belongs to the thread, comes first. The text is optimised text: LLVM would part the sums again.
"""

from __future__ import annotations

import re
from collections import Counter

from dsl.lower.llvm_ir import with_each_function

_STEP = re.compile(
    r"^  (?P<name>%[\w.]+) = getelementptr (?:inbounds |nuw |nusw )*(?P<type>\w+), ptr addrspace\(1\) "
    r"(?P<base>%[\w.]+), i64 (?P<offset>%[\w.]+)(?P<tail>, !.*)?$"
)
_SHIFT = re.compile(
    r"^  (?P<name>%[\w.]+) = shl (?:nuw |nsw )*i64 (?P<value>%[\w.]+), (?P<by>\d+)(?:, !.*)?$", re.MULTILINE
)
_NAME = re.compile(r"%[\w.]+")
_LABEL = re.compile(r"^[\w.]+:")
# the power of two that a type's bytes are, and a type of such a size
_SCALES = {"i8": 0, "half": 1, "bfloat": 1, "i16": 1, "float": 2, "i32": 2, "double": 3, "i64": 3}
_TYPES = {0: "i8", 1: "i16", 2: "i32", 3: "i64"}


def with_pointer_sums(llvm_ir: str) -> str:
    """Optimised LLVM IR without steps to a pointer to global memory that only the next step in its block uses."""
    return with_each_function(llvm_ir, lambda function: _Function(function).text())


class _Function:
    def __init__(self, text: str):
        self._lines = text.split("\n")
        self._uses = Counter(_NAME.findall(text))
        self._shifts = {shift["name"]: shift for shift in _SHIFT.finditer(text)}
        self._chains: dict[
            str, tuple[int, str, list[tuple[str, int]]]
        ] = {}  # line, pointer and steps of one in this block

    def text(self) -> str:
        for number, line in enumerate(self._lines):
            if _LABEL.match(line):
                self._chains.clear()
            elif step := _STEP.match(line):
                self._take(number, step)
        return "\n".join(self._lines)

    def _take(self, number: int, step: re.Match) -> None:
        """A step, summed with those before it; what it was made from stays as a name for their pointer."""
        if step["type"] not in _SCALES:
            return
        root, steps = step["base"], [(step["offset"], _SCALES[step["type"]])]
        is_last_use = self._uses[root] == 2  # where it is made, and here
        before = self._chains.get(root) if is_last_use else None
        if before:
            scale = max(scale for _, scale in [*before[2], *steps])
            summed = self._sum(step["name"], [*before[2], *steps], scale, step["tail"] or "")
            if summed:
                lines, total = summed
                pointer = f"ptr addrspace(1) {before[1]}"
                self._lines[before[0]] = f"  {root} = bitcast {pointer} to ptr addrspace(1)"
                made = f"  {step['name']} = getelementptr {_TYPES[scale]}, {pointer}, i64 {total}{step['tail'] or ''}"
                self._lines[number] = "\n".join([*lines, made])
                root, steps = before[1], [*before[2], *steps]
        self._chains[step["name"]] = number, root, steps

    def _sum(self, name: str, steps: list[tuple[str, int]], scale: int, tail: str) -> tuple[list[str], str] | None:
        """The lines that add up the steps in units of `scale`, and the sum; None where one counts other units."""
        lines, total, stem = [], "", name.removeprefix("%")
        for number, (offset, own_scale) in enumerate(reversed(steps)):
            if own_scale < scale:
                shift = self._shifts.get(offset)
                if not shift or int(shift["by"]) < scale - own_scale:
                    return None
                offset = f"%step.{stem}.{number}"
                lines.append(f"  {offset} = shl i64 {shift['value']}, {int(shift['by']) - scale + own_scale}{tail}")
            if total:
                lines.append(f"  %sum.{stem}.{number} = add i64 {total}, {offset}{tail}")
                offset = f"%sum.{stem}.{number}"
            total = offset
        return lines, total
