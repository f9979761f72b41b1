"""The parts of a parsed PTX module: operands, instructions, variables, functions. PTX ISA chapters 4 and 5."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

TYPE_BITS = {
    "pred": 1,
    "b1": 1, "s4": 4, "u4": 4, "b8": 8, "u8": 8, "s8": 8, "e4m3": 8, "e5m2": 8, "e2m1x2": 8,
    "b16": 16, "u16": 16, "s16": 16, "f16": 16, "bf16": 16, "e4m3x2": 16, "e5m2x2": 16, "e2m3x2": 16, "e3m2x2": 16,
    "ue8m0x2": 16, "e2m1x4": 16, "e4m3x4": 32, "e5m2x4": 32, "e2m3x4": 32, "e3m2x4": 32,
    "b32": 32, "u32": 32, "s32": 32, "f32": 32, "f16x2": 32, "bf16x2": 32, "tf32": 32, "u16x2": 32, "s16x2": 32,
    "b64": 64, "u64": 64, "s64": 64, "f64": 64, "f32x2": 64,
    "b128": 128,
}  # fmt: skip
SIGNED = frozenset({"s8", "s16", "s32", "s64"})
FLOATS = frozenset({"f16", "bf16", "f32", "f64"})
_LONG_LIST = re.compile(r"\{\s*([^{},]+),(?:[^{},]*,){7,}\s*([^{},]+?)\s*\}")
SPACES = frozenset({"reg", "param", "local", "shared", "global", "const"})


def one_line(text: str) -> str:
    """An instruction as reports show it: on one line, of a list of more than 8 operands the ends."""
    text = " ".join(text.split())
    return _LONG_LIST.sub(lambda match: f"{{{match[1]}, ..., {match[2]}}}", text)


class Unsupported(Exception):
    """PTX that the emulator refuses, by name: the opcode, its PTX line (1-based), the author's place if known."""

    cuda_error = "CUDA_ERROR_NOT_SUPPORTED"  # what the driver API returns for it

    def __init__(self, opcode: str, ptx_line: int, place=None, why: str = "", text: str = "", fix: str = ""):
        self.fix = fix or "run this program on a GPU, or use an instruction the emulator has"
        self.opcode, self.ptx_line, self.place, self.text = opcode, ptx_line, place, text
        self.why = why or "the emulator does not support this instruction"
        super().__init__(self._report())

    def _report(self) -> str:
        lines = [f"{self.place}: " if self.place else ""]
        lines[0] += f"UNSUPPORTED_PTX `{self.opcode}`: {self.why}"
        if self.place is not None and self.place.source_line().strip():
            lines.append(self.place.underlined())
        lines.append(f"    PTX line {self.ptx_line}: {self.text}" if self.text else f"    PTX line {self.ptx_line}")
        lines.append(f"fix: {self.fix}")
        return "\n".join(lines)


class PtxError(Exception):
    """Text that is not PTX; the message names the PTX line (1-based) and the author's place, if they are known."""

    def __init__(self, message: str, line: int = 0, place=None):
        self.line = line
        text = f"PTX line {line}: {message}" if line else message
        if place is not None:
            text = f"{place}: {text}"
            if place.source_line().strip():
                text += f"\n{place.underlined()}"
        super().__init__(text)


@dataclass(slots=True, frozen=True)
class Reg:
    """A declared register; `bits` is its width (1 for predicates), `type` as it was declared."""

    name: str
    bits: int
    type: str = field(default="", compare=False)


@dataclass(slots=True, frozen=True)
class Special:
    """A predefined register such as %tid.x."""

    name: str


@dataclass(slots=True, frozen=True)
class Imm:
    """An integer constant."""

    value: int


@dataclass(slots=True, frozen=True)
class FloatImm:
    """A float constant: exact `bits` of `width` (32 or 64)."""

    bits: int
    width: int


@dataclass(slots=True, frozen=True)
class Sym:
    """A variable, function or label, plus a byte offset."""

    name: str
    offset: int = 0


@dataclass(slots=True, frozen=True)
class Addr:
    """`[base + offset_bytes]`, or `[base, {coordinates}]` of a tensor."""

    base: Any
    offset: int = 0
    coords: Any = None


@dataclass(slots=True, frozen=True)
class Vec:
    """`{a, b, ...}`."""

    items: tuple


@dataclass(slots=True, frozen=True)
class Not:
    """`!p`."""

    item: Any


@dataclass(slots=True, frozen=True)
class Pair:
    """`d|p`: two destinations."""

    first: Any
    second: Any


SINK = Special("_")


@dataclass(slots=True)
class Instr:
    """One instruction: `opcode` is the root, `mods` what follows its dots, `loc` (file, line, column) or None.

    `callers`: where the function that it was inlined from was called, and where that one's caller was, ...: as `loc`.
    `traits`: bits of ptx/traits.py, 0 until the table of rows has given them. `group`: the same number n for
    waits that peeks at mbarriers may spare, and -n for those peeks, which fail (families/order_dependence.py); else 0.
    `used_if`: the predicate of a load without which its thread uses nothing of it (ptx/used_loads.py); else None.
    `selectors`: what video instructions write at registers, by operand: a part such as `h1`, after `-` if negated.
    """

    opcode: str
    mods: tuple
    operands: list
    guard: Any
    line: int
    loc: tuple | None
    text: str
    callers: tuple = ()
    traits: int = 0
    group: int = 0
    used_if: Any = None
    selectors: tuple = ()

    @property
    def name(self) -> str:
        return ".".join((self.opcode, *self.mods))


@dataclass(slots=True)
class Label:
    """A branch target."""

    name: str


@dataclass(slots=True)
class Variable:
    """A declared variable; sizes in bytes; `init` holds (byte offset, size, value or Sym) rows."""

    name: str
    space: str
    align: int
    size: int
    type: str = "b8"
    init: list = field(default_factory=list)
    extern: bool = False
    line: int = 0


@dataclass(slots=True)
class Function:
    """An .entry or .func with its body in text order."""

    name: str
    is_entry: bool
    params: list = field(default_factory=list)
    returns: list = field(default_factory=list)
    regs: dict = field(default_factory=dict)
    variables: dict = field(default_factory=dict)
    items: list = field(default_factory=list)
    targets: dict = field(default_factory=dict)
    reqntid: tuple | None = None
    maxntid: tuple | None = None
    maxnreg: int | None = None
    minnctapersm: int | None = None
    cluster: tuple | None = None  # .reqnctapercluster
    most_cluster: int | None = None  # .maxclusterrank: blocks of a cluster
    line: int = 0


@dataclass(slots=True)
class Module:
    """A whole PTX text."""

    functions: dict = field(default_factory=dict)
    variables: dict = field(default_factory=dict)
    files: dict = field(default_factory=dict)
    target: str = ""
    version: str = ""


def type_of(instr: Instr) -> str:
    """The last modifier that is a type."""
    return next(m for m in reversed(instr.mods) if m in TYPE_BITS)
