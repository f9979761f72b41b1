"""The places of a PTX module where a delay can change which thread comes first: before and after the instructions that
synchronise threads, and those that access memory that other threads see."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dsl.perturbation.statements import Statement, statements

SYNCHRONISE = frozenset({"bar", "barrier", "mbarrier", "fence", "membar", "griddepcontrol", "elect", "tensormap"})
ACCESS = frozenset(
    {"ld", "ldu", "st", "atom", "red", "multimem", "ldmatrix", "stmatrix", "cp", "wgmma", "clusterlaunchcontrol"}
)  # fmt: skip
_PRIVATE = frozenset({"param", "const", "local", "prefetch"})
_FILES = re.compile(r'^\s*\.file\s+(\d+)\s+"((?:\\.|[^"\\])*)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Site:
    """An instruction, or a run of wgmma instructions that must stay together. `number` counts the sites of a function
    from 1. `before` and `after` are offsets in the PTX text. `place` is `file:line` in the author's code, or ''."""

    number: int
    function: str
    before: int
    after: int
    text: str
    place: str


def sites(ptx: str) -> list[Site]:
    """The sites of a module, in the order of its text. Raises statements.BadPtx.

    wgmma instructions from a `wgmma.fence` to the `wgmma.commit_group` after it are one site: ptxas makes products one
    after another (a warning, and other timing) where anything comes between them.
    """
    files = {int(number): name.rpartition("/")[2] for number, name in _FILES.findall(ptx)}
    found: list[Site] = []
    counts: dict[str, int] = {}
    opened: Statement | None = None  # the first wgmma.fence of a run

    def add(first: Statement, last: Statement) -> None:
        place = f"{files[first.file]}:{first.line}" if first.line and first.file in files else ""
        number = counts[first.function] = counts.get(first.function, 0) + 1
        found.append(Site(number, first.function, first.start, last.end, first.text, place))

    for statement in statements(ptx):
        if opened and opened.function != statement.function:
            opened = None
        if statement.opcode.startswith("wgmma.fence") and opened is None:
            opened = statement
        elif opened is not None:
            if statement.opcode.startswith("wgmma.commit_group"):
                add(opened, statement)
                opened = None
        elif _is_site(statement.opcode):
            add(statement, statement)
    return found


def _is_site(opcode: str) -> bool:
    root, *modifiers = opcode.split(".")
    if root == "cp" and "async" not in modifiers:
        return False
    if root == "wgmma" and modifiers[0] == "mma_async":
        return False  # of a run whose fence is not seen: an instruction may be in flight on either side
    if root in SYNCHRONISE:
        return True
    return root in ACCESS and not any(modifier.partition("::")[0] in _PRIVATE for modifier in modifiers)
