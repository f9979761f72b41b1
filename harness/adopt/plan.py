"""Which printed values become outputs, under which names, and where the adopted program takes them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.adopt.prints import Site, identifier

Event = dict[str, Any]


@dataclass
class Output:
    """An expression whose value run() returns. `key` is its name, or an f-string with `{name}` of values in scope.

    `values` has the number of the array for each name that the script gave it. `after_loop`: it is taken there.
    """

    site: int
    code: str
    key: str
    values: dict[str, int]
    how: str = ""  # to write after `code`
    copied: str = ""  # how to copy it
    is_numbers: bool = False
    after_loop: bool = False

    @property
    def is_dynamic(self) -> bool:
        return "{" in self.key

    @property
    def taken(self) -> str:
        """The expression that is an array."""
        return f"np.array({self.code})" if self.is_numbers else self.code + self.how


@dataclass
class Plan:
    """All outputs, in the order in which they were first printed."""

    outputs: list[Output] = field(default_factory=list)
    sites: set[int] = field(default_factory=set)  # whose prints are outputs, or show the same as one

    @property
    def values(self) -> dict[str, int]:
        return {name: number for output in self.outputs for name, number in output.values.items()}

    def at(self, site: int) -> list[Output]:
        return [output for output in self.outputs if output.site == site]


def make(sites: Sequence[Site], events: Sequence[Event]) -> Plan:
    """Choose outputs of what was recorded."""
    plan, taken = Plan(), {}
    order = list(dict.fromkeys((event["site"], event["piece"]) for event in events))
    for number, piece in order:
        mine = [event for event in events if (event["site"], event["piece"]) == (number, piece)]
        for output in _outputs(number, sites[number], piece, mine):
            plan.sites.add(number)
            _name(plan, output, sites[number], mine, taken)
    return plan


def _outputs(number: int, site: Site, place: int, events: list[Event]) -> list[tuple[Output, list[int]]]:
    """The outputs of one printed expression, each with the array of every execution."""
    piece = site.pieces[place]
    whole = _whole(site, place, events)
    if whole:
        return [_of_name(number, whole, events, after_loop=site.in_loop)]
    if all(event["how"] is not None for event in events):
        numbers = [event["place"] for event in events]
        how, is_numbers = events[0]["how"], events[0]["how"] == "numbers"
        copied = "" if is_numbers else ".clone()" if events[0].get("is_torch") else ".copy()"
        code = piece.code if not how or is_numbers or piece.code.isidentifier() else f"({piece.code})"
        return [(Output(number, code, piece.code, {}, "" if is_numbers else how, copied, is_numbers), numbers)]
    held = [name for name in piece.names if all(name in event["named"] for event in events)]
    return [_of_name(number, name, events, after_loop=False) for name in held]


def _of_name(number: int, name: str, events: list[Event], after_loop: bool) -> tuple[Output, list[int]]:
    """A variable as an output: once where it always held the same."""
    numbers = [event["named"][name][0] for event in events]
    how = events[0]["named"][name][1]
    same = len(set(numbers)) == 1
    copied = ".copy()" if how else events[0]["named"][name][2]
    return Output(number, name, name, {}, how, copied, after_loop=after_loop and same), numbers[:1] if same else numbers


def _whole(site: Site, place: int, events: list[Event]) -> str:
    """The array whose elements a loop prints, if it stays as it is meanwhile."""
    piece = site.pieces[place]
    for name in (piece.through, piece.base if piece.base != piece.code else ""):
        if name and site.in_loop and len({tuple(event["named"].get(name, ["none"])[:1]) for event in events}) == 1:
            if name in events[0]["named"]:
                return name
    return ""


def _name(
    plan: Plan, found: tuple[Output, list[int]], site: Site, events: list[Event], taken: dict[str, Output]
) -> None:
    output, numbers = found
    base = identifier(output.code)
    if len(numbers) == 1:
        same = next(
            (one for one in plan.outputs if one.taken == output.taken and [*one.values.values()] == numbers), None
        )
        if same is not None:
            return
        output.key = _free(base, taken)
        output.values = {output.key: numbers[0]}
    else:
        base = _free(base, taken)
        scope = _telling(site, events)
        if scope:
            output.key = "_".join([base, *(f"{{{name}}}" for name in scope)])
            names = ["_".join([base, *(str(event["scope"][name]) for name in scope)]) for event in events]
        else:
            output.key = f"{base}_{{COUNT}}"
            names = [f"{base}_{count}" for count in range(len(numbers))]
        output.values = dict(zip(names, numbers, strict=True))
    taken[output.key.partition("_{")[0]] = output
    plan.outputs.append(output)


def _free(base: str, taken: dict[str, Output]) -> str:
    return next(name for n in itertools.count(1) if (name := base if n == 1 else f"{base}_{n}") not in taken)


def _telling(site: Site, events: list[Event]) -> tuple[str, ...]:
    """The fewest names of the scope whose values differ in every execution."""
    names = [name for name in site.scope if all(name in event["scope"] for event in events)]
    for count in range(1, len(names) + 1):
        for chosen in itertools.combinations(names, count):
            if len({tuple(str(event["scope"][name]) for name in chosen) for event in events}) == len(events):
                return chosen
    return ()
