"""Differences that are known: what NVIDIA's compiler does by design, with the text that tells it."""

from __future__ import annotations

import re

# (how answers differ, what its text has, what the program has, a name for the counts)
KNOWN = (
    ("refused by both", "", "", "refused by both"),
    ("ours refuses, nvidia is wrong", "TMA_ALIGNMENT|there is no tensor map", "", "strides that TMA lacks"),
    ("ours refuses, nvidia is wrong", "TMA_MAJOR_MODE", "", "a transposed box"),
    (
        "ours refuses",
        "TMA_MAJOR_MODE",
        r"ReductionKind\.(MIN|MAX|AND|OR)\b",
        "a transposed box",  # reduced into elements next to one another; values that change nothing do not show it
    ),
    (
        "ours refuses",
        r"the atom copies \d+ values at once, but a thread has",
        r"(Ld|St)Matrix8x8x16bOp",
        "more matrices than values",  # NVIDIA's compiler loads some twice; CUTLASS's C++ refuses it as ours does
    ),
    ("nvidia refuses", "expects same size in restAtomVRank", "make_tiled_copy", "values grouped in another way"),
    (
        "nvidia refuses",
        r"expects operand a with element type [su]i8, but get i8|type mismatch, store i8 to U?[Ii]nt8",
        r"MmaI8Op.*RMEM",
        "A of bytes in registers",  # a fragment of Int8 is i8 there, and the product takes si8 or ui8
    ),
    (
        "nvidia differs",
        r"c\[",
        r"RMEM.*in_a = cute.make_fragment_like\(from_a\)",
        "A in registers of another order",  # the product takes registers in their order, whatever their layout is
    ),
    (
        "nvidia differs",
        r"out\[",
        r"# Rows are padded to whole tiles",
        "a padded row",  # modes whose strides follow one another are one: elements outside a row are its padding
    ),
)


def explanation(program: str, kind: str, detail: str) -> str | None:
    """The name of a known difference, or None."""
    for differs, text, has, name in KNOWN:
        if differs == kind and re.search(text, detail, re.S) and re.search(has, program, re.S):
            return name
    return None
