"""Which modifiers an instruction may have: groups that exclude each other, as ptxas takes them.

    "^lo/hi/wide u16/s16/u32/s32 | ^lo/hi u64/s64 | ^hi sat s32"

Alternatives are separated by `|`, groups by blanks. One modifier of each group must be there; a group with
`?` may have none. The groups with `^` come first, in their order; one with `>` comes after the group that is written
before it. ptxas 13.0 takes the others in any order; here they have the order of the PTX ISA. If two groups share a
modifier, the first that an instruction has is of the first group.

    "rn ?relu f16/bf16@90:7.8 @80"

The word `@80` means that the alternative needs .target sm_80 or later, `@90:7.8` at a modifier that the modifier needs
.target sm_90 or later and .version 7.8 or later; `@100f` means its family (needs.py). sm_70 and version 6.5 are not
written.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from dsl.emulator.ir import needs


class Group(NamedTuple):
    """Modifiers of which one is there, and what each needs. `follows`: after the group before it."""

    modifiers: dict[str, needs.Need]
    is_optional: bool = False
    leads: bool = False
    follows: bool = False


class Form(NamedTuple):
    """One alternative. `least`: what it needs whatever its modifiers are."""

    groups: tuple[Group, ...]
    least: needs.Need = needs.NOTHING

    def ordered(self, modifiers: Sequence[str]) -> tuple[str, ...] | None:
        """These modifiers in the order of the groups that they fill; None where they do not."""
        filled, foreign = self._filled(modifiers)
        if foreign or self._missing(filled) or not self._is_in_order(filled):
            return None
        return tuple(filled[number] for number in sorted(filled))

    def sorted(self, modifiers: Sequence[str]) -> tuple[str, ...] | None:
        """The same of modifiers that may be in any order."""
        filled, foreign = self._filled(modifiers)
        return None if foreign or self._missing(filled) else tuple(filled[number] for number in sorted(filled))

    def need(self, modifiers: Sequence[str]) -> needs.Need:
        """The least .target and .version of an instruction with these modifiers, which fill the form."""
        filled, _ = self._filled(modifiers)
        of_modifiers = (self.groups[number].modifiers[each] for number, each in filled.items())
        return needs.strictest([self.least, *of_modifiers])

    def problem(self, modifiers: Sequence[str]) -> tuple[int, bool, str]:
        """How many modifiers are wrong or missing, whether none is wrong, and a sentence about the first.

        The least of several forms is the nearest one: a modifier that does not fit tells more than one that is missing.
        """
        filled, foreign = self._filled(modifiers)
        missing = self._missing(filled)
        rest = ".".join(each for each in modifiers if each not in foreign)
        if foreign:
            why = f"`.{foreign[0]}` does not go with `.{rest}`" if rest else f"`.{foreign[0]}` is none of its modifiers"
        elif missing:
            names = [f"`.{each}`" for each in sorted(missing[0].modifiers)]
            why = f"{' or '.join(names[:8])} is missing"
        else:
            why = f"the order must be `.{'.'.join(filled[number] for number in sorted(filled))}`"
        return max(len(foreign) + len(missing), 1), not foreign, why

    def _filled(self, modifiers: Sequence[str]) -> tuple[dict[int, str], list[str]]:
        """The modifier of each group that has one, in the order that they are written in; and modifiers of no group."""
        filled: dict[int, str] = {}
        foreign = []
        for modifier in modifiers:
            free = (number for number, each in enumerate(self.groups) if number not in filled)
            found = next((number for number in free if modifier in self.groups[number].modifiers), None)
            if found is None:
                foreign.append(modifier)
            else:
                filled[found] = modifier
        return filled, foreign

    def _missing(self, filled: Collection[int]) -> list[Group]:
        return [each for number, each in enumerate(self.groups) if number not in filled and not each.is_optional]

    def _is_in_order(self, filled: Iterable[int]) -> bool:
        before: set[int] = set()
        for number in filled:
            group = self.groups[number]
            if group.leads and any(each > number for each in before):
                return False
            if group.follows and number - 1 not in before and not self.groups[number - 1].is_optional:
                return False
            if any(self._has_to_lead(each) and each not in before for each in range(number)):
                return False
            before.add(number)
        return True

    def _has_to_lead(self, number: int) -> bool:
        return self.groups[number].leads and not self.groups[number].is_optional


@functools.cache
def read(text: str) -> tuple[Form, ...]:
    """The alternatives of a grammar."""
    return tuple(map(_form, text.split("|")))


def _form(text: str) -> Form:
    words = text.split()
    least = [needs.read(each[1:]) for each in words if each[0] == "@"]
    return Form(tuple(_group(each) for each in words if each[0] != "@"), needs.strictest(least))


@functools.cache
def _group(text: str) -> Group:
    modifiers = text.lstrip("^>?")
    signs = text[: len(text) - len(modifiers)]
    each_with_need = (each.partition("@") for each in modifiers.split("/"))
    rows = {name: needs.read(need) for name, _, need in each_with_need}
    return Group(rows, "?" in signs, "^" in signs, ">" in signs)
