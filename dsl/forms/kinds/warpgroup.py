"""Probes of wgmma: each type with A in registers and in shared memory, each N, layouts and signs. PTX ISA 9.7.15.5.

A block is a warpgroup and one probe. It has 2 KiB of A and N rows of 32 bytes of B, which the kernel copies to shared
memory as the canonical layout of a swizzle has them, and an accumulator of N / 2 elements a thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dsl.forms.form import BLOCK, Form, element
from dsl.forms.kinds.tensor_core import KINDS, PROBES, elements, keep

ROWS = 64
BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1, "s8": 1, "u8": 1, "b1": 1}
EIGHT = ("e4m3", "e5m2")
TYPES = (
    ("f16", "f16", "f16"), ("f16", "f16", "f32"), ("bf16", "bf16", "f32"), ("tf32", "tf32", "f32"),
    *((a, b, d) for a in EIGHT for b in EIGHT for d in ("f16", "f32")),
    *((a, b, "s32") for a in ("s8", "u8") for b in ("s8", "u8")), ("b1", "b1", "s32"),
)  # fmt: skip
SIZES = range(8, 257, 8)
MODES = {"none": 0, "32B": 3, "64B": 2, "128B": 1}  # the number of a swizzle in a descriptor
_WIDTH = {"none": 16, "32B": 32, "64B": 64, "128B": 128}
_COPY = """\
mov.u32 %u, {name};
ld.param.u64 %base, [p_{array}];
mov.u32 %t, %ctaid.x;
mul.wide.u32 %off, %t, {size};
add.u64 %base, %base, %off;
mul.lo.u32 %n, %w, 16;
{label}:
cvt.u64.u32 %off, %n;
add.u64 %off, %base, %off;
add.u32 %t, %u, %n;
ld.global.v4.b32 {{%x0, %x1, %x2, %x3}}, [%off];
st.shared.v4.b32 [%t], {{%x0, %x1, %x2, %x3}};
add.u32 %n, %n, {step};
setp.lt.u32 %p, %n, {size};
@%p bra {label};
"""


def place(mode: str, rows: int, nbytes: int = 32) -> np.ndarray:
    """(rows, 32) offsets of the bytes of a K-major operand in the canonical layout of a swizzle. PTX ISA 9.7.15.5.1."""
    row, byte = np.mgrid[:rows, :nbytes]
    width = _WIDTH[mode]
    if mode == "none":
        return row // 8 * 256 + byte // 16 * 128 + row % 8 * 16 + byte % 16
    offset = row * width + byte
    return offset ^ (offset >> 7 & (width // 16 - 1)) << 4


def descriptor(mode: str, name: str, register: str, transposed: bool = False) -> str:
    """Text that puts the descriptor of an operand in shared memory into a register."""
    leading, stride = (128, 256) if mode == "none" else (16, 8 * _WIDTH[mode])
    if transposed:
        leading, stride = (128, 256)
    rest = leading >> 4 << 16 | stride >> 4 << 32 | MODES[mode] << 62
    return (
        f"mov.u32 %t, {name};\nand.b32 %t, %t, 0x3FFFF;\nshr.u32 %t, %t, 4;\ncvt.u64.u32 {register}, %t;\n"
        f"or.b64 {register}, {register}, {rest:#x};\n"
    )


@dataclass(frozen=True)
class Probe:
    """A form of wgmma and the code around it. `extra` comes after scale-d, `scale` is scale-d."""

    types: tuple[str, str, str]
    n: int
    probes: int
    in_registers: bool = False
    mode: str = "none"
    suffix: str = ""
    extra: str = ""
    scale: int = 1
    transposed: bool = False

    @property
    def k(self) -> int:
        return 256 if self.types[0] == "b1" else 32 // BYTES[self.types[0]]

    @property
    def registers(self) -> int:
        """Those of the accumulator."""
        return self.n // 4 if self.types[2] == "f16" else self.n // 2

    @property
    def name(self) -> str:
        a, b, d = self.types
        saturates = self.suffix if self.suffix == ".satfinite" else ""
        popc = ".and.popc" if a == "b1" else ""
        return f"wgmma.mma_async.sync.aligned.m64n{self.n}k{self.k}{saturates}.{d}.{a}.{b}{popc}"

    def form(self) -> Form:
        a, b = (
            _operand(kind, rows, self.k, self.probes, seed)
            for kind, rows, seed in ((self.types[0], ROWS, 1), (self.types[1], self.n, 2))
        )
        images = [_image(b, self.mode, self.transposed)]
        arrays = [_per_thread(images[0]), _accumulator(self.types[2], self.probes, self.registers)]
        if self.in_registers:
            arrays.append(_fragments(a))
        else:
            images.append(_image(a, self.mode, self.transposed))
            arrays.append(_per_thread(images[1]))
        place = ".registers" * self.in_registers + f".swizzle{self.mode}" * (self.mode != "none")
        name = self.name + place + self.suffix * (self.suffix != ".satfinite")
        tiles = "\n".join(
            f".shared .align 1024 .b8 tile_{letter}[{image.shape[1]}];"
            for letter, image in zip("ba", images, strict=False)
        )
        declarations = f"{tiles}\n.reg .b32 %x<4>, %c<{self.registers}>, %r<4>;\n.reg .b64 %y;"
        return Form(name, self.text([each.shape[1] for each in images]), tuple(arrays), (f"V{4 * self.registers}",),
                    BLOCK, declarations=declarations, least=":8.4")  # fmt: skip

    def text(self, sizes: list[int]) -> str:
        """`sizes`: bytes of shared memory of B and, where it is there, of A."""
        lines = [_COPY.format(name="tile_b", array="a0", size=sizes[0], step=16 * BLOCK, label="copy_b")]
        lines.append(descriptor(self.mode, "tile_b", "%v", self.transposed))
        if self.in_registers:
            lines += [element("a2", 16), "ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%base];"]
        else:
            lines.append(_COPY.format(name="tile_a", array="a2", size=sizes[1], step=16 * BLOCK, label="copy_a"))
            lines.append(descriptor(self.mode, "tile_a", "%y", self.transposed))
        of_d = ", ".join(f"%c{index}" for index in range(self.registers))
        of_a = "{%r0, %r1, %r2, %r3}" if self.in_registers else "%y"
        behind = self.extra or _constants(self.types[0], self.in_registers, self.transposed)
        lines += [
            element("a1", 4 * self.registers), *_move("ld", self.registers),
            "fence.proxy.async.shared::cta;\nbar.sync 0;\nwgmma.fence.sync.aligned;",
            f"setp.ne.u32 %q, {self.scale}, 0;\n{self.name} {{{of_d}}}, {of_a}, %v, %q{behind};",
            "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;",
            element("d0", 4 * self.registers), *_move("st", self.registers),
        ]  # fmt: skip
        return "\n".join(lines)


def _operand(kind: str, rows: int, k: int, probes: int, seed: int) -> np.ndarray:
    """(probes, rows, 32) bytes."""
    if kind == "b1":
        return np.random.PCG64([seed, rows]).random_raw(probes * rows * 4).view(np.uint8).reshape(probes, rows, 32)
    values = elements(kind, rows * k, seed).reshape(PROBES, rows, k)
    keep(values)
    size = BYTES[kind]
    return np.ascontiguousarray(values[:probes].astype(f"u{size}")).view(np.uint8).reshape(probes, rows, 32)


def _accumulator(kind: str, probes: int, registers: int) -> np.ndarray:
    """One element of 4 * registers bytes for each thread."""
    count = registers * BLOCK * (2 if kind == "f16" else 1)
    bits = elements(kind, count, 3)[:probes].astype("u2" if kind == "f16" else "u4")
    bits[::3] = 0
    return np.ascontiguousarray(bits).view(np.uint8).reshape(-1).view(f"V{4 * registers}")


def _image(operand: np.ndarray, mode: str, transposed: bool) -> np.ndarray:
    """(probes, bytes) of shared memory."""
    probes, rows, _ = operand.shape
    at = place(mode, rows)
    if transposed:  # elements of 2 bytes, rows fastest: blocks of 8 k by 8 rows
        row, byte = np.mgrid[:rows, :32]
        at = row // 8 * 256 + byte // 16 * 128 + byte // 2 % 8 * 16 + row % 8 * 2 + byte % 2
    size = -(-(int(at.max()) + 1) // 2048) * 2048
    image = np.zeros((probes, size), np.uint8)
    image[:, at] = operand
    return image


def _per_thread(image: np.ndarray) -> np.ndarray:
    """(probes, bytes) as an element of each thread."""
    return np.ascontiguousarray(image).reshape(-1).view(f"V{image.shape[1] // BLOCK}")


def _fragments(operand: np.ndarray) -> np.ndarray:
    """A in the registers of its threads: 16 bytes each. PTX ISA 9.7.15.5.1.1, figures of the fragments."""
    thread, word, byte = np.mgrid[:BLOCK, :4, :4]
    row = thread // 32 * 16 + thread % 32 // 4 + 8 * (word % 2)
    column = thread % 4 * 4 + 16 * (word // 2) + byte
    return np.ascontiguousarray(operand[:, row, column]).reshape(-1).view("V16")


def _move(opcode: str, registers: int) -> Iterator[str]:
    count = next(each for each in (4, 2, 1) if registers % each == 0)
    for first in range(0, registers, count):
        names = ", ".join(f"%c{first + each}" for each in range(count))
        vector, names = (f".v{count}", f"{{{names}}}") if count > 1 else ("", names)
        place = f"[%base+{4 * first}]"
        yield (
            f"ld.global{vector}.b32 {names}, {place};" if opcode == "ld" else f"st.global{vector}.b32 {place}, {names};"
        )


def _constants(kind: str, in_registers: bool, transposed: bool) -> str:
    """scale-a, scale-b, and of types of 16 bits whether operands in shared memory are transposed."""
    if kind in ("s8", "u8", "b1"):
        return ""
    return ", 1, 1" + (f", {int(transposed)}" * (2 - in_registers) if BYTES[kind] == 2 else "")


def probes() -> Iterator[Probe]:
    for types in TYPES:
        yield Probe(types, 8, PROBES)
        yield Probe(types, 16 if types[2] == "s32" else 24, 2 * len(KINDS), in_registers=True)
    for n in SIZES[1:]:
        yield Probe(("bf16", "bf16", "f32"), n, 1)
    for n in (64, 128, 256):
        yield Probe(("s8", "s8", "s32"), n, 1)
    half = Probe(("f16", "f16", "f32"), 8, 8)
    for mode in ("32B", "64B", "128B"):
        yield replace(half, mode=mode)
    yield replace(half, suffix=".transposed", transposed=True)
    yield replace(half, suffix=".scale_d0", scale=0)
    for suffix, signs in ((".minus_a", "-1, 1"), (".minus_b", "1, -1"), (".minus_both", "-1, -1")):
        yield replace(half, suffix=suffix, extra=f", {signs}, 0, 0")
    yield Probe(("s8", "s8", "s32"), 8, 16, suffix=".satfinite")


def forms() -> Iterator[Form]:
    for each in probes():
        yield each.form()
