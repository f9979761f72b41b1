"""Forms of video instructions: every opcode and type, with parts and second operations in turn. PTX ISA 9.7.18."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from dsl.forms.form import Form
from dsl.forms.kinds.integer import text_form

_WORD = ("u32", "s32")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_PARTS = ("", ".h1", ".b2", ".h0", ".b3", ".b0", ".b1")
_ENDINGS = ("", ".add", ".sat", ".sat.min", ".max", ".sat.add")


def _form(name: str, places: tuple[str, str, str], third: bool) -> Form:
    into, a, b = places
    text = f"{name} %d0{into}, %a0{a}, %a1{b}{', %a2' if third else ''};"
    return text_form(name, text, "u32 u32 u32", "u32")


def scalar() -> Iterator[Form]:
    """9.7.18.1."""
    for number, (opcode, types) in enumerate(
        itertools.product(("vadd", "vsub", "vabsdiff", "vmin", "vmax"), itertools.product(_WORD, repeat=3))
    ):
        for turn, ending in enumerate(_ENDINGS):
            parts = "", _PARTS[(number + turn) % 7], _PARTS[(number + 3 * turn) % 7]
            yield _form(".".join((opcode, *types)) + ending, parts, ending not in ("", ".sat"))
    for opcode, of_d, of_a, mode in itertools.product(("vshl", "vshr"), _WORD, _WORD, ("clamp", "wrap")):
        for ending in ("", ".max"):
            yield _form(f"{opcode}.{of_d}.{of_a}.u32.sat.{mode}{ending}", ("", "", ".b0"), bool(ending))
    for of_a, of_b, scale in itertools.product(_WORD, _WORD, ("", ".shr7", ".shr15")):
        of_d = "s32" if "s32" in (of_a, of_b) else "u32"
        yield _form(f"vmad.{of_d}.{of_a}.{of_b}.sat{scale}", ("", "", ".h1"), True)
        yield _form(f"vmad.{of_d}.{of_a}.{of_b}.po{scale}", ("", ".b3", ""), True)
    for of_a, of_b, comparison in itertools.product(_WORD, _WORD, _COMPARISONS):
        yield _form(f"vset.{of_a}.{of_b}.{comparison}.add", ("", ".h1", ""), True)


def vectors() -> Iterator[Form]:
    """9.7.18.2."""
    opcodes = ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax")
    for lanes, mask in ((2, ".h1"), (4, ".b20")):
        for opcode, types in itertools.product(opcodes, itertools.product(_WORD, repeat=3)):
            for ending in ("", ".sat", ".add"):
                yield _form(".".join((f"{opcode}{lanes}", *types)) + ending, (mask if ending else "", "", ""), True)
        for of_a, of_b, comparison in itertools.product(_WORD, _WORD, _COMPARISONS):
            yield _form(f"vset{lanes}.{of_a}.{of_b}.{comparison}", (mask, "", ""), True)


def forms() -> Iterator[Form]:
    yield from scalar()
    yield from vectors()
