"""Two outputs of one cell, line by line: which lines are equal, equal except for parts that may differ, or different.

Python's print and the program's printf are two streams. A saved output is a mixture of both in which each keeps its
own order and Jupyter decides the rest, sometimes in the middle of a line; so ours are kept apart and laid over it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

RULES = ("equal", "address", "trace-time text", "time")

_ADDRESS = re.compile(r"(?<=raw_ptr\(0x)[0-9a-f]{16}(?=: )|(?<= at 0x)[0-9a-f]{6,16}(?=>)")
_ADDRESS_TWICE = re.compile(r"0x([0-9a-f]{16}) \((\d{6,20})\)")  # in base 16 and in base 10
_TIME = re.compile(r"\d+(?:\.\d+)?(?= (?:[mu]s|GB/s|TFLOPS)\b)")
_LAYOUT_OBJECT = re.compile(r"<cutlass\.cute\.core\._Layout object at 0x[0-9a-f]+>")
_LAYOUT = r"[(),\d]+:[(),\d]+"
_DIVISOR = r"(?:\{(?:i64 )?div=\d+\})?"
# The text here for a `?` of upstream: `?` itself, a type with or without a name or a value, or a number.
_VALUE = rf"(?:\?|[A-Z][A-Za-z]+\d*(?:E\d+M\d+\w*)?(?:\([^()]*\))?(?: [A-Za-z_]\w*)?|-?\d+(?:\.\d+)?){_DIVISOR}"


def rule_of(theirs: str, ours: str) -> str | None:
    """The rule under which the lines are the same, or None."""
    if theirs == ours:
        return "equal"
    if _LAYOUT_OBJECT.search(theirs) and _matches(_LAYOUT_OBJECT, _LAYOUT, theirs, ours):
        return "address"
    theirs, ours = _without_addresses(theirs), _without_addresses(ours)
    if theirs == ours:
        return "address"
    if "?" in theirs and _matches(re.compile(rf"\?{_DIVISOR}"), _VALUE, theirs, ours):
        return "trace-time text"
    return "time" if _TIME.sub("…", theirs) == _TIME.sub("…", ours) else None


def _without_addresses(line: str) -> str:
    line = _ADDRESS_TWICE.sub(lambda m: "…" if int(m[1], 16) == int(m[2]) else m[0], line)
    return _ADDRESS.sub("…", line)


def _matches(places: re.Pattern, allowed: str, theirs: str, ours: str) -> bool:
    """Whether `ours` is `theirs` with something `allowed` at each of the `places`."""
    return re.fullmatch(allowed.join(map(re.escape, places.split(theirs))), ours) is not None


def compare(theirs: str, printed: str, printf: str = "") -> tuple[Counter, list[str]]:
    """How many lines fall under each rule or are "different", and the different ones as a diff.

    `theirs` is one stream; ours are `printed` (by Python) and `printf` (by the program).
    """
    first, second = printed.splitlines(), printf.splitlines()
    lines = _untangled(theirs.splitlines(), first, second)
    counts, diff = Counter(dict.fromkeys((*RULES, "different"), 0)), []
    for line, ours in _laid_over(lines, first, second):
        rule = rule_of(line, ours) if line is not None and ours is not None else None
        counts[rule or "different"] += 1
        if rule is None:
            diff += [f"- {line}"] * (line is not None) + [f"+ {ours}"] * (ours is not None)
    return counts, diff


def _untangled(lines: list[str], printed: list[str], printf: list[str]) -> list[str]:
    """`lines` where a printed line that fell into the middle of another is put before it."""
    lines = list(lines)
    for k in range(len(lines) - 1):
        for inner in printed:
            head = lines[k].removesuffix(inner)
            if head and inner and head != lines[k] and any(rule_of(head + lines[k + 1], whole) for whole in printf):
                lines[k : k + 2] = [inner, head + lines[k + 1]]
                break
    return lines


def _laid_over(lines: list[str], first: list[str], second: list[str]) -> list[tuple[str | None, str | None]]:
    """(theirs, ours) pairs with the fewest that do not match; a line without a partner is paired with None."""

    def steps(i: int, j: int, k: int) -> list[tuple[int, tuple, tuple]]:
        """(price, next state, pair of lines) from i printed, j printf and k of their lines on."""
        found: list[tuple[int, tuple, tuple]] = []
        if k < len(lines):
            if i < len(first) and rule_of(lines[k], first[i]):
                found.append((0, (i + 1, j, k + 1), (lines[k], first[i])))
            if j < len(second) and rule_of(lines[k], second[j]):
                found.append((0, (i, j + 1, k + 1), (lines[k], second[j])))
            found.append((1, (i, j, k + 1), (lines[k], None)))
        if i < len(first):
            found.append((1, (i + 1, j, k), (None, first[i])))
        if j < len(second):
            found.append((1, (i, j + 1, k), (None, second[j])))
        return found

    start, end = (0, 0, 0), (len(first), len(second), len(lines))
    parents: dict[tuple, tuple | None] = {start: None}
    ring = [start]
    while end not in parents:
        ring = _next_ring(ring, steps, parents)
    pairs, at = [], end
    while (parent := parents[at]) is not None:
        at, pair = parent
        pairs.append(pair)
    return _partnered(pairs[::-1])


def _next_ring(ring: list[tuple], steps: Callable, parents: dict) -> list[tuple]:
    """Note all states that cost the same as the states of `ring`; return the states that cost one more."""
    dearer, queue = [], list(ring)
    while queue:
        at = queue.pop()
        for price, to, pair in steps(*at):
            if price:
                dearer.append((to, at, pair))
            elif to not in parents:
                parents[to] = at, pair
                queue.append(to)
    fresh = []
    for to, at, pair in dearer:
        if to not in parents:
            parents[to] = at, pair
            fresh.append(to)
    return fresh


def _partnered(pairs: list[tuple]) -> list[tuple]:
    """A missing line next to an extra one is one difference, not two."""
    made: list[tuple] = []
    missing: list[int] = []
    extra: list[int] = []
    for theirs, ours in pairs:
        if theirs is not None and ours is not None:
            missing, extra = [], []
        elif ours is None and extra:
            at = extra.pop(0)
            made[at] = (theirs, made[at][1])
            continue
        elif theirs is None and missing:
            at = missing.pop(0)
            made[at] = (made[at][0], ours)
            continue
        else:
            (missing if ours is None else extra).append(len(made))
        made.append((theirs, ours))
    return made
