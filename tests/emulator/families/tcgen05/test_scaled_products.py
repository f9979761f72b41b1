"""tcgen05.mma with scales of blocks against numpy in exact arithmetic: kinds, places and first bytes of scales, pairs.

C++ tested here: tensor_products.cc.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest

from tests.emulator.families.tcgen05 import program
from tests.emulator.families.tcgen05.matrices import CODES, small_integers, values
from tests.emulator.families.tcgen05.products import LANES, Case, images, multiply, place_of_d, put_a, sum_before

SMALL = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")
# scales of a row, and the bytes of a word at which they may begin
FIRST_BYTES = {1: (0, 1, 2, 3), 2: (0, 2), 4: (0,)}
UE4M3 = {0.5: 0x30, 1: 0x38, 1.5: 0x3C, 2: 0x40, 3: 0x44}


@dataclass(frozen=True)
class Scaled(Case):
    """A product whose rows of A and of B have `count` scales."""

    kind: str = "mxf8f6f4"
    vector: str = "block32"
    count: int = 1
    scale: str = "ue8m0"
    ids: tuple[int, int] = (0, 0)

    @property
    def is_packed(self) -> bool:
        """Two elements of A and B a byte."""
        return self.kind != "mxf8f6f4"

    @property
    def columns(self) -> int:
        """D, A, 4 columns for scales of A, 8 for scales of B."""
        return 1 << (self.n + 20 - 1).bit_length()

    @property
    def idesc(self) -> int:
        types = CODES[self.a] << 7 | CODES[self.b] << 10
        fields = (self.ids[1], 4), (self.negates[0], 13), (self.negates[1], 14), (self.by_k[0], 15), (self.by_k[1], 16)
        more = sum(value << bit for value, bit in fields) | (self.scale == "ue8m0") << 23 | self.ids[0] << 29
        return (1 << 7 | 1 << 10 if self.is_packed else types) | more | self.n // 8 << 17 | self.m // 128 << 27

    @property
    def operation(self) -> str:
        name = f"tcgen05.mma.cta_group::{self.blocks}.kind::{self.kind}.block_scale.{self.vector}"
        a = "[%v2]" if self.a_is_in_tensor_memory else "%da"
        places = zip(("%v0", "%v1", "%v2"), (self.n + 8, self.n + 12, self.n))
        lines = [f"add.u32 {register}, %d, {column};" for register, column in places]
        return "\n".join([*lines, f"{name} [%d], {a}, %db, %idesc, [%v0], [%v1], %adds;"])


def scales(stream: np.random.Generator, rows: int, case: Scaled) -> tuple[np.ndarray, np.ndarray]:
    """Bytes (rows, count), and what they are."""
    if case.scale == "ue8m0":
        codes = stream.integers(125, 130, (rows, case.count))
        return codes, 2.0 ** (codes - 127)
    numbers = stream.choice(list(UE4M3), (rows, case.count))
    return np.vectorize(UE4M3.get)(numbers), numbers


def put_scales(cells: np.ndarray, column: int, first: int, codes: np.ndarray, halves: int = 1) -> None:
    """In lane `row % 32` of each quarter, word `row / 32`; or each half of the rows in half of the quarters.
    `cells` is of one block. PTX ISA 9.7.16.10.7"""
    words = cells.view(np.uint8).reshape(LANES, -1, 4)
    for half, rows in enumerate(np.split(codes, halves)):
        for row, quarter in itertools.product(range(len(rows)), range(4 // halves)):
            lane = row % 32 + 32 * quarter + 64 * half
            words[lane, column + row // 32, first : first + rows.shape[1]] = rows[row]


def packed(codes: np.ndarray) -> np.ndarray:
    """Two elements of 4 bits a byte, the first one low."""
    return codes[:, ::2] | codes[:, 1::2] << 4


def check(case: Scaled) -> None:
    """D must be right, and the rest of tensor memory as before."""
    stream = np.random.default_rng(case.seed)
    k = 64 if case.is_packed else 32
    a, b = (small_integers(stream, (r, k), kind) for r, kind in ((case.m, case.a), (case.n, case.b)))
    (codes_a, scale_a), (codes_b, scale_b) = (scales(stream, rows, case) for rows in (case.m, case.n))
    c, place = sum_before(stream, case), place_of_d(case)
    cells = stream.integers(0, 1 << 32, (case.blocks, LANES, case.columns), np.uint32)
    cells[place] = c
    in_memory = (packed(a), packed(b)) if case.is_packed else (a, b)
    kinds = replace(case, a="u8", b="u8") if case.is_packed else case
    if case.a_is_in_tensor_memory:
        put_a(kinds, cells, in_memory[0])
    halves = 2 if case.blocks == 2 and case.m == 128 else 1
    for block, rows in zip(cells, np.split(codes_a, case.blocks), strict=True):
        put_scales(block, case.n + 8, case.ids[0], rows)
        put_scales(block, case.n + 12, case.ids[1], codes_b, halves)
    after = multiply(case, cells, images(kinds, stream, *in_memory))
    wanted = (-1) ** sum(case.negates) * (spread(values(a, case.a), scale_a) @ spread(values(b, case.b), scale_b).T)
    wanted += case.adds * c.view(np.float32)
    assert np.array_equal(after[place].view(np.float32), wanted), case
    after[place] = c
    assert np.array_equal(after, cells), f"other cells changed: {case}"


def spread(elements: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Each part of a row times its scale."""
    return elements * np.repeat(by, elements.shape[1] // by.shape[1], axis=1)


PACKED = [
    ("mxf4", "block32", 2, "ue8m0"), ("mxf4", "scale_vec::2X", 2, "ue8m0"),
    ("mxf4nvf4", "block32", 2, "ue8m0"), ("mxf4nvf4", "scale_vec::2X", 2, "ue8m0"),
    ("mxf4nvf4", "block16", 4, "ue4m3"), ("mxf4nvf4", "scale_vec::4X", 4, "ue4m3"),
    ("mxf4nvf4", "block16", 4, "ue8m0"), ("mxf4nvf4", "scale_vec::4X", 4, "ue8m0"),
]  # fmt: skip
FORMS = [("mxf8f6f4", "block32", 1, "ue8m0"), ("mxf8f6f4", "scale_vec::1X", 1, "ue8m0"), *PACKED]


def scaled(form: tuple, **more) -> Scaled:
    kind, vector, count, scale = form
    types = ("e4m3", "e4m3") if kind == "mxf8f6f4" else ("e2m1", "e2m1")
    return Scaled(**{"a": types[0], "b": types[1], **more}, kind=kind, vector=vector, count=count, scale=scale)


@pytest.mark.parametrize("form", FORMS)
def test_first_bytes_of_scales(form):
    for ids in itertools.product(FIRST_BYTES[form[2]], repeat=2):
        check(scaled(form, ids=ids, n=40))


@pytest.mark.parametrize("a, b", list(itertools.product(SMALL, repeat=2)))
def test_types(a, b):
    check(scaled(FORMS[0], a=a, b=b))


@pytest.mark.parametrize("n", [8, 96, 136, 256])
@pytest.mark.parametrize("form", [FORMS[0], PACKED[0], PACKED[4]])
def test_widths(form, n):
    check(scaled(form, n=n, adds=n != 96))


@pytest.mark.parametrize("swizzle", [0, 6, 4, 2])
@pytest.mark.parametrize("form", [FORMS[0], PACKED[0]])
def test_layouts(form, swizzle):
    for by_k in itertools.product((False, True), repeat=2) if form[2] == 1 else [(False, False)]:
        check(scaled(form, n=128, swizzles=(swizzle, swizzle), by_k=by_k))


@pytest.mark.parametrize("blocks, m", [(1, 128), (2, 128), (2, 256)])
@pytest.mark.parametrize("form", [FORMS[0], PACKED[0], PACKED[4]])
def test_a_in_tensor_memory(form, blocks, m):
    check(scaled(form, m=m, n=64, blocks=blocks, a_is_in_tensor_memory=True))


@pytest.mark.parametrize("n", [32, 64, 96, 256])
@pytest.mark.parametrize("m", [128, 256])
@pytest.mark.parametrize("form", [FORMS[0], PACKED[0], PACKED[4]])
def test_pairs(form, m, n):
    """With M = 128 the scales of each half of B's rows are in half of the lanes."""
    first = FIRST_BYTES[form[2]][-1]
    check(scaled(form, m=m, n=n, blocks=2, ids=(first, FIRST_BYTES[form[2]][0])))


@pytest.mark.parametrize("form", [FORMS[0], PACKED[0], PACKED[4]])
def test_signs(form):
    for negates in itertools.product((0, 1), repeat=2):
        check(scaled(form, negates=negates))


def test_the_highest_bits_of_the_addresses_of_scales_are_free():
    """CuTe keeps the first byte there."""
    one = scaled(FORMS[0], ids=(2, 1), n=32)
    marked = one.operation.replace("tcgen05", "or.b32 %v0, %v0, 0x80000000; or.b32 %v1, %v1, 0x40000000; tcgen05", 1)
    stream = np.random.default_rng(0)
    cells = stream.integers(0, 1 << 32, (LANES, one.columns), np.uint32)
    put_scales(cells, one.n + 8, 2, np.full((128, 1), 127))
    put_scales(cells, one.n + 12, 1, np.full((32, 1), 127))
    a, b = (small_integers(stream, (rows, 32), "e4m3") for rows in (128, 32))
    at = [program.descriptor(x.start, x.leading, x.stride, x.swizzle, x.base) for x in one.layouts]
    after = program.run(marked, cells, images(one, stream, a, b)[0], *at, one.idesc, adds=False)
    assert np.array_equal(after[:, :32].view(np.float32), values(a, "e4m3") @ values(b, "e4m3").T)


def test_scales_that_a_copy_brings_before_the_product():
    """By 32x128b.warpx4 from atoms of 512 bytes; the copies and the product are of one thread."""
    case, stream = scaled(PACKED[4], n=128), np.random.default_rng(5)
    a, b = (small_integers(stream, (128, 64), "e2m1") for _ in range(2))
    (codes_a, scale_a), (codes_b, scale_b) = (scales(stream, 128, case) for _ in range(2))
    image = np.frombuffer(images(replace(case, a="u8", b="u8"), stream, packed(a), packed(b))[0], np.uint8).copy()
    row, byte = np.mgrid[:128, :4]
    place = program.SMEM_BYTES - 2048
    for atom, codes in enumerate((codes_a, codes_b)):
        image[place - program.FIRST + 512 * atom + row % 32 * 16 + row // 32 * 4 + byte] = codes
    copies = [
        f"mov.b64 %g, {program.descriptor(place + 512 * atom, 16, 128)}; add.u32 %i, %d, {column};\n"
        "tcgen05.cp.cta_group::1.32x128b.warpx4 [%i], %g;"
        for atom, column in enumerate((case.n + 8, case.n + 12))
    ]
    at = [program.descriptor(x.start, x.leading, x.stride, x.swizzle, x.base) for x in case.layouts]
    cells = stream.integers(0, 1 << 32, (LANES, case.columns), np.uint32)
    operation = "\n".join([*copies, case.operation])
    after = program.run(operation, cells, image.tobytes(), *at, case.idesc, adds=False, checks=("race",))
    wanted = spread(values(a, "e2m1"), scale_a) @ spread(values(b, "e2m1"), scale_b).T
    assert np.array_equal(after[:, : case.n].view(np.float32), wanted)
