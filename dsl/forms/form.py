"""One form of an instruction as a kernel: each thread loads its operands, runs the instruction, stores the results."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field

import numpy as np

from dsl.emulator.families import table as isa
from dsl.emulator.families.tensor_map.tensor_map import BYTES, Im2col, Tiled
from dsl.emulator.ir import needs

BLOCK = 128
_INSTRUCTION = re.compile(r"(?<![\w.%])([a-z]\w*)((?:\.[\w:]+)*)(?=[\s;])")


@dataclass(frozen=True)
class Form:
    """`name` is the instruction as PTX spells it, `text` its lines, which read %a0, %a1, ... and set %d0, %d1, ...

    operands    an array for each register that is read, an element a thread; all have one length. Elements of a type
                such as V16 are not loaded: `text` reads them in the parameter p_a0, p_a1, ...
    results     the numpy type of each register that is set; the register has its size, at least 16 bits. Elements of
                a type such as V16 are not stored: `text` writes them in the parameter p_d0, p_d1, ...
    threads     how many threads make one case: 1; 32 where a warp computes together; a block, or a cluster of them
    cluster     blocks of a cluster
    rule        how results compare: nothing is bits; `dtype` with `relative`, `absolute` are bounds of an
                approximation, `open` means that none is stated
    by_model    whether the result depends on the GPU model
    module      text of the module in front of the kernel
    least       a later .target and .version than its instructions need, as rows write them (80:7.1): results of GPUs
                are filed by the kernel's text, so it stays
    maps        tensor maps in the parameters p_m0, p_m1, ...: the array they are of (a0, d1) and the arguments without
                its address; the last extent counts cases
    """

    name: str
    text: str
    operands: tuple[np.ndarray, ...]
    results: tuple[str, ...]
    threads: int = 1
    rule: dict = field(default_factory=dict)
    by_model: bool = False
    declarations: str = ""
    module: str = ""
    cluster: int = 1
    least: str = ""
    maps: tuple[tuple[str, Tiled | Im2col], ...] = ()

    @property
    def count(self) -> int:
        """How many threads it has."""
        return len(self.operands[0])

    @property
    def arrays(self) -> list[str]:
        """The names of its arrays, in the order of its parameters: d0, d1, ..., a0, a1, ..."""
        return [
            f"{letter}{i}" for letter, each in (("d", self.results), ("a", self.operands)) for i in range(len(each))
        ]

    @property
    def entry(self) -> str:
        """The name of its kernel."""
        return "form_" + re.sub(r"\W", "_", self.name)

    @functools.cached_property
    def need(self) -> needs.Need:
        """The needs of its instructions, by their rows."""
        return needs.strictest([needs.read(self.least), *(isa.need_of(*each) for each in self.instructions)])

    @property
    def instructions(self) -> list[tuple[str, tuple[str, ...]]]:
        """Opcode and modifiers of each instruction of its text."""
        return [(match[1], tuple(match[2].split(".")[1:])) for match in _INSTRUCTION.finditer(self.text)]

    @property
    def target(self) -> str:
        """The .target of its module."""
        return self.need.target or "sm_70"

    @property
    def version(self) -> str:
        """The .version of its module."""
        return needs.least_version(self.target, self.need.version)

    @property
    def ptx(self) -> str:
        """The module."""
        outs = [f"d{index}" for index in range(len(self.results))]
        ins = [f"a{index}" for index in range(len(self.operands))]
        parameters = [f".param .u64 p_{name}" for name in self.arrays]
        parameters += [f".param .align 64 .b8 p_m{index}[{BYTES}]" for index in range(len(self.maps))]
        types = [np.dtype(each) for each in self.results] + [array.dtype for array in self.operands]
        sizes = {name: each.itemsize for name, each in zip(self.arrays, types, strict=True) if each.kind != "V"}
        lines = [
            f".version {self.version}\n.target {self.target}\n.address_size 64",
            self.module,
            f".visible .entry {self.entry}({', '.join(parameters)})\n{{",
            ".reg .pred %p, %q;\n.reg .b16 %h, %g;\n.reg .b32 %i, %n, %w, %t, %u;\n.reg .b64 %base, %off, %v;",
            *(f".reg .b{max(16, 8 * size)} %{name};" for name, size in sizes.items()),
            self.declarations,
            "mov.u32 %i, %ctaid.x;\nmov.u32 %n, %ntid.x;\nmov.u32 %w, %tid.x;\nmad.lo.u32 %i, %i, %n, %w;",
            *(line for name in ins if name in sizes for line in _access("ld", name, sizes[name])),
            self.text,
            *(line for name in outs if name in sizes for line in _access("st", name, sizes[name])),
            "ret;\n}\n",
        ]
        return "\n".join(filter(None, lines))


def element(name: str, size: int) -> str:
    """Text that puts the address of a thread's own element of an array into %base."""
    return f"ld.param.u64 %base, [p_{name}];\nmul.wide.u32 %off, %i, {size};\nadd.u64 %base, %base, %off;"


def _access(opcode: str, name: str, size: int) -> list[str]:
    place = f"%{name}, [%base]" if opcode == "ld" else f"[%base], %{name}"
    return [element(name, size), f"{opcode}.global.b{8 * size} {place};"]
