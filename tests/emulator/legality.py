"""Forms of instructions that ptxas refuses and the emulator runs, or the other way round.

    python tests/emulator/legality.py             at most 100 changes of an opcode, in about half a minute
    python tests/emulator/legality.py 1000000     all

Each form of `repro replay validate` is changed in its modifiers: two of them swapped, one left out, written twice, in place of
another or added, of those that the opcode has. ptxas decides which of these are PTX. Refusals for the operands
(vectors, sizes of registers, address spaces) or the target are left out: the emulator looks at operands elsewhere.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
import re
import subprocess
import sys
from collections.abc import Container, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

from dsl.emulator.families import table as isa
from dsl.emulator.ir import operand_grammar
from dsl.forms import table
from dsl.forms.form import Form
from dsl.lower import sass

OF_OPERANDS = re.compile(
    r"Arguments mismatch|[Vv]ector|address|arguments$|Boolean operation|Predicate output|Unknown symbol|bit limit|"
    r"requires .target|\.sp modifier required|'arg scale-inp-d-imm'"
)
SHAPES = re.compile(r"m\d+n\d+k\d+")
TYPES = re.compile(r"pred|[bsuf]\d+(x\d)?|bf16(x2)?|tf32|e\dm\d(x\d)?")


class Change(NamedTuple):
    """An instruction with other modifiers, and the module that has it."""

    opcode: str
    modifiers: tuple[str, ...]
    form: Form

    @property
    def arch(self) -> str:
        """A target that has the instruction, if one has it."""
        if self.form.target.startswith("sm_12"):
            return "sm_120a"
        return "sm_100a" if self.form.target.startswith("sm_1") else "sm_90a"

    @property
    def ptx(self) -> str:
        return re.sub(r"\.version .*\n\.target \w+", f".version 9.0\n.target {self.arch}", self.form.ptx, count=1)

    @property
    def name(self) -> str:
        return ".".join((self.opcode, *self.modifiers))

    @property
    def repeats(self) -> bool:
        """Whether a modifier is there twice, which ptxas takes where it means nothing."""
        return len({*self.modifiers}) < len(self.modifiers)

    @property
    def runs(self) -> bool:
        """Whether the emulator has it, with as many operands."""
        row = isa.row_of(self.opcode, self.modifiers)
        return row is not None and self._operand_count in _counts(row.operands, self.opcode, self.modifiers)

    @property
    def _operand_count(self) -> int:
        operands = re.search(rf"(?<![\w.]){re.escape(self.name)}(?=\s)([^;]*);", self.form.text)
        flat = re.sub(r"\{[^}]*\}|\[[^]]*\]", "x", operands[1])
        return len(flat.split(",")) if flat.strip() else 0


def _counts(text: str, opcode: str, modifiers: tuple[str, ...]) -> Container[int]:
    """How many operands a row takes; any number if only its emitter knows, or families/control/stack.py adds some."""
    text = "" if opcode in ("alloca", "stacksave", "stackrestore") else text or isa.OPERANDS.get(opcode, "")
    return operand_grammar.by_count(text, modifiers) if text else range(100)


def changed(opcode: str, modifiers: list[str]) -> Iterator[list[str]]:
    """The modifiers of a form, each with one change."""
    rows = isa.ROWS[opcode]
    sections = {row.section for row in rows if row.modifiers.issuperset(modifiers)}
    alike = (row.modifiers for row in rows if row.section in sections)
    others = sorted({each for row in alike for each in row if not SHAPES.fullmatch(each)})
    places = range(len(modifiers))
    for i in places[1:]:
        yield [*modifiers[: i - 1], modifiers[i], modifiers[i - 1], *modifiers[i + 1 :]]
    for i in places:
        yield modifiers[:i] + modifiers[i + 1 :]
        yield [*modifiers[:i], modifiers[i], *modifiers[i:]]
        yield from ([*modifiers[:i], each, *modifiers[i + 1 :]] for each in others)
    for each, i in itertools.product(others, {0, len(modifiers) - 1, len(modifiers)}):
        yield [*modifiers[:i], each, *modifiers[i:]]


def changes(most: int, forms: Iterable[Form]) -> list[Change]:
    """At most so many changes of an opcode, the same each time."""
    found: dict[tuple, Change] = {}
    kinds: set[tuple] = set()
    for form in forms:
        opcode = form.name.partition(".")[0]
        match = re.search(rf"(?<![\w.]){opcode}((?:\.[\w:]+)+)(?=\s)", form.text)
        modifiers = match[1][1:].split(".") if match else []
        kind = (opcode, *("type" if TYPES.fullmatch(each) else SHAPES.sub("shape", each) for each in modifiers))
        if match is None or kind in kinds:
            continue
        kinds.add(kind)
        for each in changed(opcode, modifiers):
            text = f"{form.text[: match.start()]}{'.'.join((opcode, *each))}{form.text[match.end() :]}"
            found.setdefault((opcode, *each), Change(opcode, tuple(each), dataclasses.replace(form, text=text)))
    by_opcode: dict[str, list[Change]] = {}
    for each in found.values():
        by_opcode.setdefault(each.opcode, []).append(each)
    some = random.Random(0)
    return [each for row in by_opcode.values() for each in some.sample(row, min(most, len(row)))]


def refusal(change: Change, ptxas: str) -> str:
    """The error of ptxas, or ''."""
    argv = [ptxas, f"-arch={change.arch}", "-o", "/dev/null", "-"]
    done = subprocess.run(argv, input=change.ptx, text=True, capture_output=True)
    if done.returncode == 0:
        return ""
    errors = [line.partition("error")[2].strip(" :") for line in done.stderr.splitlines() if "error" in line]
    return errors[0] if errors else f"it ended with {done.returncode}: {done.stderr.strip()}"  # warnings come first


def disagreements(asked: list[Change], ptxas: str) -> list[tuple[str, str]]:
    """(instruction, the error of ptxas; '': none, but the emulator does not have it)."""
    with ThreadPoolExecutor() as pool:
        said = pool.map(lambda each: refusal(each, ptxas), asked)
    rows = zip(asked, said, strict=True)
    return [
        (each.name, why)
        for each, why in rows
        if each.runs == bool(why) and not OF_OPERANDS.search(why) and (why or not each.repeats)
    ]


if __name__ == "__main__":
    asked = changes(int((sys.argv[1:] or ["100"])[0]), table.forms())
    print(f"{len(asked)} changed instructions")
    for name, why in disagreements(asked, sass.find("ptxas")):
        print(f"{name}: {why or 'ptxas takes it'}")
