"""Delays as PTX text: `nanosleep` of some warps, put into a module between two of its statements.

Each delay is a separate scope, with its own registers: nothing of the program is read or written, no label and no
branch is added, and the .loc before it holds. Threads of a warp sleep together, so that what was converged stays so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dsl.perturbation import delays as lists
from dsl.perturbation.delays import BadDelays, Delay
from dsl.perturbation.sites import Site

OLDEST_TARGET, OLDEST_VERSION = 70, (6, 3)  # PTX ISA, nanosleep
_VERSION = re.compile(r"^\s*\.version\s+(\d+)\.(\d+)", re.MULTILINE)
_TARGET = re.compile(r"^\s*\.target\s+sm_(\d+)", re.MULTILINE)
_REGISTERS = "{.reg .pred %delay_p; .reg .b32 %delay_a, %delay_b, %delay_c;"
_WARP = (
    "mov.u32 %delay_a, %tid.z; mov.u32 %delay_b, %ntid.y; mov.u32 %delay_c, %tid.y; "
    "mad.lo.u32 %delay_a, %delay_a, %delay_b, %delay_c; mov.u32 %delay_b, %ntid.x; mov.u32 %delay_c, %tid.x; "
    "mad.lo.u32 %delay_a, %delay_a, %delay_b, %delay_c; shr.u32 %delay_a, %delay_a, 5;"
)
_BLOCK = (
    "mov.u32 %delay_b, %ctaid.z; mov.u32 %delay_c, %nctaid.y; mul.lo.u32 %delay_b, %delay_b, %delay_c; "
    "mov.u32 %delay_c, %ctaid.y; add.u32 %delay_b, %delay_b, %delay_c; mov.u32 %delay_c, %nctaid.x; "
    "mul.lo.u32 %delay_b, %delay_b, %delay_c; mov.u32 %delay_c, %ctaid.x; add.u32 %delay_b, %delay_b, %delay_c;"
)

Insertion = tuple[int, str]  # an offset in the PTX text, in characters, and what is put there


def insertions(ptx: str, sites: Sequence[Site], items: Sequence[Delay]) -> list[Insertion]:
    """The text to put into a module, with its offsets in the module, in their order.

    Delays of functions that the module does not have are for another module. Raises BadDelays.
    """
    refuse_older(ptx)
    by_place = {(site.function, site.number): site for site in sites}
    functions = {site.function: [each.number for each in sites if each.function == site.function] for site in sites}
    found: list[Insertion] = []
    for item in items:
        if item.function not in functions:
            continue
        site = by_place.get((item.function, item.site))
        if site is None:
            numbers = functions[item.function]
            raise BadDelays(
                f"the site of a delay in `{item.function}` must be {numbers[0]} to {numbers[-1]}, got {item.site}: "
                "the list is for other PTX"
            )
        found.append((site.before if item.when == "before" else site.after, _text(item)))
    return sorted(found, key=lambda insertion: insertion[0])


def with_insertions(ptx: str, found: Sequence[Insertion]) -> str:
    """The text with everything put in."""
    pieces, last = [], 0
    for at, text in found:
        pieces += [ptx[last:at], text]
        last = at
    return "".join([*pieces, ptx[last:]])


def refuse_older(ptx: str) -> None:
    """Raises BadDelays for PTX of a target or version without `nanosleep`."""
    version, target = _VERSION.search(ptx), _TARGET.search(ptx)
    if target and int(target[1]) < OLDEST_TARGET:
        raise BadDelays(f"delays need sm_{OLDEST_TARGET} or later (nanosleep), got sm_{target[1]}")
    if version and (int(version[1]), int(version[2])) < OLDEST_VERSION:
        raise BadDelays(f"delays need PTX 6.3 or later (nanosleep), got PTX {version[1]}.{version[2]}")


def _text(item: Delay) -> str:
    sleep = f"nanosleep.u32 {item.ns};"
    if item.groups:
        return (
            f" {_REGISTERS} {_WARP} {_BLOCK} mul.lo.u32 %delay_a, %delay_a, {_signed(lists.WARP_FACTOR)}; "
            f"mad.lo.u32 %delay_a, %delay_b, {_signed(lists.BLOCK_FACTOR)}, %delay_a; "
            f"add.u32 %delay_a, %delay_a, {_signed(item.site * lists.SITE_FACTOR)}; "
            "shr.u32 %delay_b, %delay_a, 15; xor.b32 %delay_a, %delay_a, %delay_b; "
            f"mul.lo.u32 %delay_a, %delay_a, {_signed(lists.MIX)}; "
            "shr.u32 %delay_b, %delay_a, 13; xor.b32 %delay_a, %delay_a, %delay_b; "
            f"and.b32 %delay_a, %delay_a, {item.groups - 1}; "
            f"setp.eq.u32 %delay_p, %delay_a, {item.group}; @%delay_p {sleep}}}"
        )
    if item.warp is None and item.block is None:
        return f" {sleep}"
    parts, tests = [], []
    if item.warp is not None:
        parts.append(_WARP)
        tests.append(f"setp.eq.u32 %delay_p, %delay_a, {item.warp};")
    if item.block is not None:
        parts.append(_BLOCK)
        and_warp = ".and.u32 %delay_p, %delay_b, {0}, %delay_p;" if tests else ".u32 %delay_p, %delay_b, {0};"
        tests.append("setp.eq" + and_warp.format(item.block))
    return " ".join(["", _REGISTERS, *parts, *tests, f"@%delay_p {sleep}}}"])


def _signed(value: int) -> str:
    """A 32-bit constant."""
    return hex(value & 0xFFFFFFFF)
