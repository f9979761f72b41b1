"""The text that a program printed, as an output like others: its characters, and whether two texts agree.

text      the same characters
numbers   the same words between the same numbers, however they are spaced and written: |got - expected| <= A + R *
          |expected|; NaN is NaN
"""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

import numpy as np

from harness.claim.printed_claim import FILTERS_S, STDERR, STDOUT, SlowFilter
from harness.claim.repro_file import Repro
from harness.claim.rule import Rule
from harness.run.frames import TEXT_LIMIT_BYTES
from harness.run.result import SHOWN_STDERR, Array, Dtype, Outcome

TEXT = Dtype("text", 8, "text")
SHOWN_LINES, SHOWN_NUMBERS = 12, 16
_TOKEN = re.compile(
    r"(?<![\w.])(?P<number>[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|nan|inf|infinity)(?![\w.]))|(?P<space>\s+)",
    re.IGNORECASE | re.ASCII,
)
_OURS = re.compile(r"(?m)^repro: .*\n?")  # lines of `repro run` in a program's standard error
_CUT = re.compile(r"\n\[\.\.\. \d+ bytes left out \.\.\.\]\n")


def of(text: str) -> Array:
    """A text as an output."""
    return Array(TEXT, np.frombuffer(text.encode("utf-8", "replace"), np.uint8))


def text(array: Array) -> str:
    return array.raw.tobytes().decode("utf-8", "replace")


def lines(array: Array) -> list[str]:
    """Its lines; the last is empty where the text ends with a newline."""
    return text(array).split("\n")


def outcome_of(repro: Repro, outcome: Outcome) -> Outcome:
    """The outcome of a claim about printed text: stdout, and stderr if it is compared, are outputs if the program
    exits as claimed."""
    claim = repro.script.printed if repro.script else None
    if claim is None or outcome.kind != "exited":
        return outcome
    found, status = outcome.detail.get("found"), outcome.detail.get("exit", 0)
    if found and found != "error":
        return dataclasses.replace(outcome, kind=found)
    if status != claim.exit:
        said = outcome.text or outcome.stderr.strip()[-SHOWN_STDERR:]
        head = f"the program ended with exit status {status}; the claim states {claim.exit}"
        fix = f"fix: if that is what the claim states, write `exit = {status}` in the file's [tool.repro]"
        return dataclasses.replace(outcome, kind="error", text="\n".join(filter(None, (head, said, fix))))
    said = {STDOUT: outcome.stdout, STDERR: _OURS.sub("", outcome.stderr)}
    said = {name: said[name].replace("\r\n", "\n") for name in repro.compare}
    wrong = next((name for name in said if len(said[name].encode("utf-8", "replace")) > TEXT_LIMIT_BYTES), "")
    if wrong and _CUT.search(said[wrong]):
        text = f"the program printed more than {TEXT_LIMIT_BYTES >> 10} KB, which are not kept\nfix: print less"
        return dataclasses.replace(outcome, kind="error", text=text)
    try:
        said = {name: claim.read(text) for name, text in said.items()}
    except SlowFilter as slow:
        text = (
            f"the filter {str(slow)!r} takes longer than {FILTERS_S:g} s over what the program printed\n"
            "fix: write it without a repetition in a repetition, as in `(a+)+`"
        )
        return dataclasses.replace(outcome, kind="error", text=text)
    if not any(text.strip() for text in said.values()) and not claim.exit:
        text = "the program printed nothing: there is nothing to judge\nfix: print the answer, or add `def run():`"
        return dataclasses.replace(outcome, kind="error", text=text)
    return dataclasses.replace(outcome, kind="outputs", text="", outputs={name: of(said[name]) for name in said})


def difference(name: str, expected: Array, got: Array, rule: Rule, against: str) -> str:
    """How two texts differ under a rule, or ''."""
    a, b = text(expected), text(got)
    if a == b:
        return ""
    if rule.mode != "numbers":
        return _lines(name, a, b, rule, against)
    left, right = _tokens(a), _tokens(b)
    if [is_number or word for is_number, word, _ in left] != [is_number or word for is_number, word, _ in right]:
        return _lines(name, a, b, rule, against)
    pairs = [(one, other) for one, other in zip(left, right, strict=True) if one[0]]
    wrong = [(one, other) for one, other in pairs if not _near(one[1], other[1], rule)]
    if not wrong:
        return ""
    rows = [f"    line {other[2]}: expected {one[1]}, got {other[1]}" for one, other in wrong[:SHOWN_NUMBERS]]
    rows += [f"    ... and {len(wrong) - SHOWN_NUMBERS} more"] * (len(wrong) > SHOWN_NUMBERS)
    return "\n".join([f"`{name}` differs from {against} in {len(wrong)} of {len(pairs)} numbers ({rule})", *rows])


def _tokens(text: str) -> list[tuple[bool, str, int]]:
    """Whether it is a number, its characters, its line: of every number and every other word."""
    found, end, line = [], 0, 1
    for match in _TOKEN.finditer(text):
        if match.start() > end:
            found.append((False, text[end : match.start()], line))
        if match["number"]:
            found.append((True, match["number"], line))
        line += match[0].count("\n")
        end = match.end()
    return found + ([(False, text[end:], line)] if end < len(text) else [])


def _number(text: str) -> Any:
    return int(text) if re.fullmatch(r"[+-]?\d{1,400}", text) else float(text)


def _near(expected: str, got: str, rule: Rule) -> bool:
    a, b = _number(expected), _number(got)
    if a == b or (math.isnan(a) and math.isnan(b)):
        return True
    if not (math.isfinite(a) and math.isfinite(b)):
        return False
    return bool(rule.bound or rule.absolute) and abs(b - a) <= rule.absolute + rule.bound * abs(a)


def _lines(name: str, expected: str, got: str, rule: Rule, against: str) -> str:
    """The lines that differ: without the equal ones at the beginning and at the end."""
    a, b = expected.split("\n"), got.split("\n")
    least = min(len(a), len(b))
    first = next((i for i in range(least) if a[i] != b[i]), least)
    last = next((i for i in range(least - first) if a[-1 - i] != b[-1 - i]), least - first)
    rows = [f"      {line}" for line in b[max(first - 1, 0) : first]]
    for mark, side in (("-", a), ("+", b)):
        some = side[first : len(side) - last]
        rows += [f"    {mark} {line}".rstrip() for line in some[:SHOWN_LINES]]
        rows += [f"    {mark} ... and {len(some) - SHOWN_LINES} lines more"] * (len(some) > SHOWN_LINES)
    return "\n".join([f"`{name}` differs from {against} from line {first + 1} on ({rule})", *rows])


def preview(array: Array) -> str:
    """How many lines, and the first of them below each other."""
    every = text(array).rstrip("\n").split("\n")
    more = [f"        ... and {len(every) - SHOWN_LINES} lines more"] if len(every) > SHOWN_LINES else []
    head = f"{len(every)} line{'s' * (len(every) > 1)} of text"
    return "\n".join([head, *(f"        {line}" for line in every[:SHOWN_LINES]), *more])
