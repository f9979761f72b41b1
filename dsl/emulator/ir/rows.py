"""A row of the instruction table: the forms of an opcode that one emitter takes.

Each family of instructions has its rows in its rows.py; families/table.py collects them. An instruction runs if a row
has its form (grammar.py); what no row has is refused by name when its entry is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from dsl.emulator.ir import grammar


class Row(NamedTuple):
    """`opcodes`: those that the row is of. `section`: of the PTX ISA. `text`: its forms, as grammar.read takes them.
    `meets`: the thread may have to wait for others, so it must be able to suspend. `operands`: as
    operand_grammar.read takes them; '' where its opcode's are the same in all rows, or the emitter looks at them.
    `traits`: bits of ptx/traits.py."""

    opcodes: tuple[str, ...]
    section: str
    text: str
    emit: Callable
    meets: bool = False
    operands: str = ""
    traits: int = 0

    @property
    def forms(self) -> tuple[grammar.Form, ...]:
        """The forms in its text; read when one of its instructions is first looked for."""
        return grammar.read(self.text)

    @property
    def modifiers(self) -> frozenset[str]:
        """All that an instruction of this row may have."""
        return frozenset(each for form in self.forms for group in form.groups for each in group.modifiers)


class Rows(list[Row]):
    """The rows of a family."""

    def add(
        self,
        opcodes: str,
        section: str,
        forms: str | Iterable[str],
        emit: Callable,
        meets: bool = False,
        operands: str = "",
        traits: int = 0,
    ) -> None:
        """`opcodes`: with spaces between; `forms`: as grammar.read takes them, or several such texts."""
        text = forms if isinstance(forms, str) else " | ".join(forms)
        self.append(Row(tuple(opcodes.split()), section, text, emit, meets, operands, traits))


def nothing(body, instr) -> None:
    """An instruction that changes nothing here."""


NONE = " "  # of an instruction without operands

# ** groups of modifiers that several families have

INT = "u16/s16/u32/s32/u64/s64"
WORDS = "u32/s32/u64/s64"
BITS = "b16/b32/b64"
HALF = "f16/f16x2"
BF = "bf16@80/bf16x2@80"  # add, sub and mul need more
ROUND = "rn/rz/rm/rp"
SCOPE = "cta/cluster@90/gpu/sys"
CTA = "shared/shared::cta@:7.8"
SHARED = f"{CTA}/shared::cluster@90"
LOGIC = "and/or/xor"
HINT = "L2::cache_hint@80:7.4"
FETCH = "L2::64B@75:7.4/L2::128B@75:7.4/L2::256B@80:7.4"


def since(need: str, group: str) -> str:
    """A group each of whose modifiers has a need."""
    return "/".join(f"{each}@{need}" for each in group.split("/"))


def with_start(first: str, *rest: str) -> list[str]:
    """Forms that begin alike."""
    return [f"{first} {each}" for each in rest]
