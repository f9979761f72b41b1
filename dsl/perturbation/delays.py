"""Lists of delays: what is delayed, where, and for how long, as text that can be read, kept, shortened and given again.

One delay a line, or several in a line with `;` between them. Text after `#` is a comment.

    order 5                                  the emulator's scheduler draws from the seed 5
    k 12 before 800 ns warps 3/8             one of 8 groups of warps waits before the 12th site of the kernel `k`
    k 12 after 800 ns warp 2 block 0         one warp of one block waits after it
    k 12 after 800 ns all                    every thread that comes there waits

Each subset of a list is a list. `order` concerns the emulator alone; without it, its threads run in turn.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dsl.perturbation.sites import Site

MOST_NS = 1_000_000  # PTX ISA, nanosleep: the longest sleep
_MASK = 0xFFFFFFFF
WARP_FACTOR, BLOCK_FACTOR, SITE_FACTOR, MIX = 0x9E3779B1, 0x85EBCA6B, 0xC2B2AE35, 0x2C1B3C6D
_ORDER = re.compile(r"order\s+(\d+)")
_DELAY = re.compile(
    r"(?P<function>[\w$%]+)\s+(?P<site>\d+)\s+(?P<when>before|after)\s+(?P<ns>\d+)\s*ns\s+"
    r"(?:all|warps\s+(?P<group>\d+)\s*/\s*(?P<groups>\d+)|"
    r"(?:warp\s+(?P<warp>\d+))?\s*(?:block\s+(?P<block>\d+))?)"
)
_FORM = "KERNEL SITE before|after N ns all | warps G/GROUPS | warp W | block B | warp W block B"


class BadDelays(ValueError):
    """A list of delays that cannot be read, or that does not fit the PTX; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class Delay:
    """Some warps sleep for `ns` nanoseconds before or after a site of a function.

    The warps are one of `groups` groups (a power of two), dealt by a hash; or they have the number `warp` in their
    block, or are in the block `block`, or both; every thread if nothing is given.
    """

    function: str
    site: int
    when: str
    ns: int
    group: int | None = None
    groups: int | None = None
    warp: int | None = None
    block: int | None = None

    def __str__(self) -> str:
        head = f"{self.function} {self.site} {self.when} {self.ns} ns"
        if self.groups:
            return f"{head} warps {self.group}/{self.groups}"
        who = [f"{name} {value}" for name, value in (("warp", self.warp), ("block", self.block)) if value is not None]
        return " ".join([head, *(who or ["all"])])

    def is_for(self, warp: int, block: int) -> bool:
        """Whether a warp of a block sleeps: both are linear numbers, of a warp in its block, of a block in the grid."""
        if self.groups:
            x = (warp * WARP_FACTOR + block * BLOCK_FACTOR + self.site * SITE_FACTOR) & _MASK
            x = ((x ^ x >> 15) * MIX) & _MASK
            return (x ^ x >> 13) & (self.groups - 1) == self.group
        return self.warp in (None, warp) and self.block in (None, block)


@dataclass(frozen=True, slots=True)
class Delays:
    """A list. `order`: the seed of the emulator's scheduler, 0 for none."""

    items: tuple[Delay, ...] = ()
    order: int = 0

    def __str__(self) -> str:
        return "; ".join([*([f"order {self.order}"] if self.order else []), *map(str, self.items)])

    def described(self, sites: Sequence[Site]) -> str:
        """One delay a line, each with the instruction and the author's line in a comment."""
        about = {(site.function, site.number): site for site in sites}
        lines = [f"order {self.order}"] if self.order else []
        for item in self.items:
            site = about.get((item.function, item.site))
            lines.append(f"{item}  # {site.text[:60]} {site.place}".rstrip() if site else str(item))
        return "\n".join(lines)


def parse(text: str) -> Delays:
    """Read a list. Raises BadDelays."""
    order, items = 0, []
    for line in text.splitlines():
        for part in filter(None, map(str.strip, line.partition("#")[0].split(";"))):
            if known := _ORDER.fullmatch(part):
                order = int(known[1])
            else:
                items.append(_delay(part))
    return Delays(tuple(items), order)


def _delay(part: str) -> Delay:
    match = _DELAY.fullmatch(part)
    if match is None:
        raise BadDelays(f"a delay must read `{_FORM}`, got `{part}`")
    numbers = {name: int(match[name]) for name in ("group", "groups", "warp", "block") if match[name] is not None}
    one = Delay(match["function"], int(match["site"]), match["when"], int(match["ns"]), **numbers)
    if not 1 <= one.ns <= MOST_NS:
        raise BadDelays(f"a delay must be 1 to {MOST_NS} ns, got {one.ns} in `{part}`")
    if one.groups is not None and (one.groups & (one.groups - 1) or not 0 <= (one.group or 0) < one.groups):
        raise BadDelays(f"warps G/GROUPS takes a power of two and a group below it, got `{part}`")
    if not part.endswith("all") and not numbers:
        raise BadDelays(f"a delay must name its warps, got `{part}`: {_FORM}")
    return one
