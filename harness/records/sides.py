"""The sides of a comparison: `nvidia==4.6.3`, `driver=570`, `gpu=h100`, `host=p1`, `commit=HEAD~3`.

A side is a condition over the index, and names the axes of a cell that may differ between two sides of its kind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from harness import compiler_name
from harness.errors import UsageError
from harness.records import checkout

COMPILER = "compiler"
# Axes that may differ between both sides, by kind; if several sets are listed, the first that has a partner counts.
FREE: dict[str, tuple[frozenset[str], ...]] = {
    COMPILER: (frozenset({"compiler"}),),
    "driver": (frozenset(), frozenset({"host"})),
    "gpu": (frozenset({"arch", "host"}),),
    "arch": (frozenset({"arch"}), frozenset({"arch", "host"})),
    "host": (frozenset({"host"}), frozenset({"arch", "host"})),
    "commit": (frozenset(),),
}
_COMPILER = re.compile(r"ours|nvidia(==\d+(\.\w+)+)?")
_FACT = re.compile(r"(driver|gpu|host|arch|commit)==?(.+)", re.DOTALL)
_FORMS = """write one of
    ours, nvidia, nvidia==4.6.3          a compiler
    driver=570                           a driver, or the beginning of its number
    gpu=h100                             a GPU by words of its name; arch=sm_90; host=p1
    commit=HEAD~3                        a commit of the project, by any name that git knows"""


@dataclass(frozen=True)
class Side:
    """One side: `text` as it was asked for, `kind` a key of FREE, `value` what records must have."""

    text: str
    kind: str
    value: str

    def where(self) -> tuple[str, list[str]]:
        """The records of this side, as a condition over the index."""
        name, _, release = self.value.partition("==")
        if self.kind == COMPILER and release:
            return "(compiler = ? or (compiler = ? and version = ?))", [self.value, name, release]
        if self.kind == "driver":
            return "(driver = ? or driver like ? || '.%')", [self.value, self.value]
        if self.kind == "gpu":
            words = re.split(r"[^a-z0-9]+", self.value.lower())
            return "(" + " and ".join(["lower(gpu) like ?"] * len(words)) + ")", [f"%{word}%" for word in words]
        if self.kind == "commit":
            return "commit_id = ?", [self.value]
        return f"{self.kind} = ?", [self.value]


def parse(text: str, root: Path) -> Side:
    """Raises UsageError."""
    text = compiler_name.typed(text)
    if _COMPILER.fullmatch(text):
        return Side(text, COMPILER, text)
    fact = _FACT.fullmatch(text)
    if not fact:
        raise UsageError(f"repro record compare {text}: {_FORMS}")
    kind, value = fact[1], fact[2].strip()
    if kind == "commit":
        name, is_dirty = value.removesuffix(checkout.DIRTY), value.endswith(checkout.DIRTY)
        whole = checkout.resolve(root, name)
        if whole is None:
            raise UsageError(f"repro record compare {text}: git knows no commit {name!r} in {root}")
        value = whole + (checkout.DIRTY if is_dirty else "")
    return Side(text, kind, value)


def pair(a: str, b: str, root: Path) -> tuple[Side, Side]:
    """Two sides of one kind. Raises UsageError."""
    sides = parse(a, root), parse(b, root)
    if sides[0].kind != sides[1].kind:
        kinds = f"a {sides[0].kind} and a {sides[1].kind}"
        raise UsageError(f"repro record compare {a} {b}: {kinds} cannot be held against each other; {_FORMS}")
    if sides[0].value == sides[1].value:
        raise UsageError(f"repro record compare {a} {b}: both sides are the same")
    return sides
