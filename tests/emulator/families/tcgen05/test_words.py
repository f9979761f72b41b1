"""Illegal uses of tcgen05: the message names the wrong field, address or allocation, and what it must be."""

from __future__ import annotations

import numpy as np
import pytest

from dsl.emulator.faults import Fault
from tests.emulator.conftest import HEADER_100, Machine
from tests.emulator.families.tcgen05 import program
from tests.emulator.families.tcgen05.program import descriptor, instruction

GOOD = descriptor(1024, 128, 256)
TYPES = {"f16": (0, 0, 1), "tf32": (2, 2, 1), "f8f6f4": (0, 0, 1), "i8": (0, 0, 2)}
# of block-scaled kinds: the vector, and a legal descriptor for M = 128, N = 64
SCALED = {
    "mxf8f6f4": ("block32", 1 << 23 | 8 << 17 | 1 << 27),
    "mxf4": ("block32", 1 << 7 | 1 << 10 | 1 << 23 | 8 << 17 | 1 << 27),
    "mxf4nvf4": ("block16", 1 << 7 | 1 << 10 | 8 << 17 | 1 << 27),
}


def fault_of(operation: str, **more) -> str:
    blocks = 2 if "cta_group::2" in operation else 1
    cells = np.zeros((2, 128, 128) if blocks == 2 else (128, 128), np.uint32)
    with pytest.raises(Fault) as caught:
        program.run(operation, cells, [b"", b""] if blocks == 2 else b"", **{"a": GOOD, "b": GOOD, **more})
    return str(caught.value)


def product(kind: str, group: int = 1, place: str = "%d") -> str:
    scales = ", [%d], [%d]" if kind in SCALED else ""
    vector = f".block_scale.{SCALED[kind][0]}" if kind in SCALED else ""
    return f"tcgen05.mma.cta_group::{group}.kind::{kind}{vector} [{place}], %da, %db, %idesc{scales}, %adds;"


def legal(kind: str, group: int) -> int:
    if kind in SCALED:
        return SCALED[kind][1]
    a, b, d = TYPES[kind]
    return instruction(128 * group, 64, d, a, b)


# (kind, cta_group, the first bit of a field, its width, a value, how the message begins). PTX ISA 9.0, 9.7.16.4.2
FIELDS = [
    ("f16", 1, 0, 2, 1, "bits 0-1, the sparsity"), ("f16", 1, 2, 1, 1, "bit 2"), ("f16", 1, 3, 1, 1, "bit 3"),
    ("tf32", 1, 3, 1, 1, "bit 3"), ("f16", 1, 4, 2, 2, "bits 4-5"), ("tf32", 1, 4, 2, 0, "bits 4-5"),
    ("i8", 1, 4, 2, 1, "bits 4-5"), ("f8f6f4", 1, 4, 2, 3, "bits 4-5"), ("f16", 1, 6, 1, 1, "bit 6"),
    ("f16", 1, 7, 3, 2, "bits 7-9"), ("tf32", 1, 7, 3, 0, "bits 7-9"), ("i8", 1, 7, 3, 2, "bits 7-9"),
    ("f8f6f4", 1, 7, 3, 2, "bits 7-9"), ("f8f6f4", 1, 10, 3, 6, "bits 10-12"), ("f16", 1, 10, 3, 7, "bits 10-12"),
    ("mxf4", 1, 7, 3, 0, "bits 7-9"), ("mxf4nvf4", 1, 10, 2, 2, "bits 10-12"),
    ("i8", 1, 13, 1, 1, "bits 13-14"), ("i8", 1, 14, 1, 1, "bits 13-14"),
    ("mxf4", 1, 15, 1, 1, "bits 15-16"), ("mxf4nvf4", 1, 16, 1, 1, "bits 15-16"),
    ("f16", 1, 17, 6, 0, "bits 17-22"), ("f16", 1, 17, 6, 33, "bits 17-22"), ("f16", 2, 17, 6, 3, "bits 17-22"),
    ("i8", 1, 17, 6, 5, "bits 17-22"), ("i8", 2, 17, 6, 6, "bits 17-22"),
    ("f16", 1, 23, 1, 1, "bit 23"), ("f16", 1, 29, 1, 1, "bits 29-30"), ("mxf8f6f4", 1, 23, 1, 0, "bit 23"),
    ("mxf4", 1, 23, 1, 0, "bit 23"), ("mxf4", 1, 4, 2, 1, "bits 4-5"), ("mxf4nvf4", 1, 4, 2, 2, "bits 4-5"),
    ("mxf4", 1, 29, 2, 3, "bits 29-30"), ("mxf4", 1, 31, 1, 1, "bit 31"),
    ("f16", 1, 24, 5, 2, "bits 24-28"), ("f16", 1, 24, 5, 16, "bits 24-28"), ("f16", 2, 24, 5, 4, "bits 24-28"),
    ("mxf8f6f4", 1, 27, 2, 0, "bits 27-28"), ("mxf8f6f4", 1, 27, 2, 2, "bits 27-28"),
]  # fmt: skip


@pytest.mark.parametrize("kind, group, bit, width, value, words", FIELDS)
def test_fields_of_the_instruction_descriptor(kind, group, bit, width, value, words):
    idesc = legal(kind, group) & ~(((1 << width) - 1) << bit) | value << bit
    text = fault_of(product(kind, group), idesc=idesc)
    assert f"the instruction descriptor 0x{idesc:08x} does not fit" in text
    assert f": {words}" in text.splitlines()[1]


def test_a_transposed_b_of_8_bits_has_n_in_steps_of_16():
    text = fault_of(product("f8f6f4"), idesc=instruction(128, 24, more=1 << 16))
    assert "bits 17-22, N / 8, is not a width of this kind (N is 24)" in text


@pytest.mark.parametrize("which", ["a", "b"])
@pytest.mark.parametrize(
    "bits, words",
    [
        (GOOD & ~(7 << 46), "bits 46-48 must be 0b001; 0 there is a descriptor of wgmma"),
        (GOOD | 1 << 52, "bit 52, an absolute leading offset, is for K-major"),
        (GOOD | 1 << 53, "bits 53-60 must be 0"), (GOOD | 1 << 60, "bits 53-60 must be 0"),
        (GOOD | 3 << 61, "bits 61-63, the swizzle"), (GOOD | 5 << 61, "bits 61-63"), (GOOD | 7 << 61, "bits 61-63"),
        (GOOD | 0x3FFF, "has bytes at 0x3fff0 of shared memory, which has 98304 bytes"),
    ],
)  # fmt: skip
def test_matrix_descriptors(which, bits, words):
    assert words in fault_of(product("f16"), idesc=legal("f16", 1), **{which: bits})


def test_the_matrix_descriptor_of_a_copy():
    text = fault_of("tcgen05.cp.cta_group::1.128x256b [%d], %da;", a=GOOD & ~(1 << 46))
    assert "bits 46-48 must be 0b001" in text


@pytest.mark.parametrize("m, lane, more", [(128, 16, ""), (64, 32, " or 16")])
def test_the_lane_of_d(m, lane, more):
    text = fault_of(f"add.u32 %i, %d, {lane << 16};\n{product('f16', place='%i')}", idesc=instruction(m, 64))
    assert f"D is at 0x{lane << 16:08x} (lane {lane}, column 0), and D of {m} rows must begin at lane 0{more}" in text


@pytest.mark.parametrize(
    "operation", [product("f16", place="%d+96"), "tcgen05.cp.cta_group::1.128x256b [%d+124], %da;"]
)
def test_columns_past_the_allocation(operation):
    assert "and column 128 is not allocated" in fault_of(operation, idesc=legal("f16", 1))


ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [room], {};"
FREE = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, {};"
RELINQUISH = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"
LOAD = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%v}}, [%d+{}];"
WARP = [
    ([ALLOC.format(16)], "it names 16 columns; the number must be a power of two from 32 to 512"),
    ([ALLOC.format(48)], "it names 48 columns"), ([ALLOC.format(1024)], "it names 1024 columns"),
    ([ALLOC.format(32), ALLOC.format(64)], "it allocates 64 columns after an alloc of 32 columns"),
    ([ALLOC.format(512), ALLOC.format(32)], "it waits for 32 columns side by side"),
    ([ALLOC.format(32), RELINQUISH, ALLOC.format(32)], "may not allocate any more: it gave the permit back at"),
    ([ALLOC.format(64), FREE.format(32)], "and 64 columns were allocated there"),
    ([ALLOC.format(32), FREE.format(32), FREE.format(32)], "was freed at"),
    ([ALLOC.format(32), LOAD.format(32), FREE.format(32)], "column 32 is not allocated"),
    ([ALLOC.format(32), LOAD.format(32 << 16), FREE.format(32)], "a warp reaches lanes 0 to 31 here"),
    ([ALLOC.format(32), "add.u32 %d, %d, %t;", FREE.format(32)], "the address in tensor memory must be the same"),
    ([ALLOC.format(32)], "has not freed the 32 columns that it allocated here"),
    ([ALLOC.format(32), "tcgen05.ld.sync.aligned.16x64b.x1.b32 {%v}, [%d+0x80000];", FREE.format(32)],
     "must begin at the first or at the middle lane of a quarter"),
]  # fmt: skip


@pytest.mark.parametrize("lines, words", WARP)
def test_illegal_uses_by_one_warp(lines, words):
    body = "\n".join(f"{line}\nld.shared.b32 %d, [room];" if "alloc.cta" in line[:18] else line for line in lines)
    text = f"{HEADER_100}.visible .entry k() {{ .shared .b32 room; .reg .b32 %d, %v, %t; mov.u32 %t, %tid.x;\n{body}\nret; }}"
    with pytest.raises(Fault) as caught:
        Machine("b200").run(text, block=32)
    assert words in str(caught.value)


def test_the_text_of_a_descriptor_that_does_not_fit():
    text = fault_of(product("f16"), idesc=instruction(32, 64))
    *before, line, fix = text.splitlines()
    assert before == [
        "ILLEGAL",
        "    the instruction descriptor 0x02100010 does not fit `tcgen05.mma.cta_group::1.kind::f16`: "
        "bits 24-28, M / 16, is not a height of this kind and cta_group (M is 32)",
        "    in `k`, block (0, 0, 0), thread (0, 0, 0) = warp 0, lane 0",
    ]
    assert line.endswith(f": {product('f16')}")
    assert fix == (
        "fix: make the descriptor from the types and the shape of the product (`cute.nvgpu.tcgen05`: of the tiled MMA)"
    )
