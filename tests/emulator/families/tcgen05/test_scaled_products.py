"""tcgen05.mma with scales of blocks against numpy in exact arithmetic: kinds, places and first bytes of scales, pairs.

C++ tested here: tensor_products.cc.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest

from dsl import emulator
from tests.emulator.families.tcgen05 import program
from tests.emulator.families.tcgen05.matrices import CHUNK, CODES, Layout, small_integers, values
from tests.emulator.families.tcgen05.products import LANES, Case, images, multiply, place_of_d, put_a, sum_before

SMALL = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")
# scales of a row, and the bytes of a word at which they may begin
FIRST_BYTES = {1: (0, 1, 2, 3), 2: (0, 2), 4: (0,), 3: (0, 1, 2, 3), 6: (0, 2)}
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
    def is_long(self) -> bool:
        """K is 96."""
        return self.count in (3, 6)

    @property
    def k(self) -> int:
        return 96 if self.is_long else 64 if self.is_packed else 32

    @property
    def row_bytes(self) -> tuple[int, int]:
        size = self.k // 2 if self.is_packed else self.k
        return size, size

    @property
    def target(self) -> str:
        return "sm_103a" if self.is_long else "sm_100a"

    @property
    def columns(self) -> int:
        """D, 12 columns of A, 8 of the scales of A, 16 of the scales of B."""
        return 1 << (self.n + 36 - 1).bit_length()

    @property
    def first_scales(self) -> tuple[int, int]:
        """The columns where the scales of A and of B begin."""
        return self.n + 12, self.n + 20

    @property
    def idesc(self) -> int:
        types = CODES[self.a] << 7 | CODES[self.b] << 10
        fields = (self.ids[1], 4), (self.negates[0], 13), (self.negates[1], 14), (self.by_k[0], 15), (self.by_k[1], 16)
        more = sum(value << bit for value, bit in fields) | (self.scale == "ue8m0") << 23 | self.ids[0] << 29
        return (
            (1 << 7 | 1 << 10 if self.is_packed else types)
            | more
            | self.n // 8 << 17
            | self.m // 128 << 27
            | self.is_long << 31
        )

    @property
    def operation(self) -> str:
        name = f"tcgen05.mma.cta_group::{self.blocks}.kind::{self.kind}.block_scale.{self.vector}"
        a = "[%v2]" if self.a_is_in_tensor_memory else "%da"
        places = zip(("%v0", "%v1", "%v2"), (*self.first_scales, self.n))
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
    byte = first + np.arange(codes.shape[1])
    beyond = byte // 4 * 4 * -(-len(codes) // 128)  # columns to the next word of a row
    for half, rows in enumerate(np.split(codes, halves)):
        for row, quarter in itertools.product(range(len(rows)), range(4 // halves)):
            lane = row % 32 + 32 * quarter + 64 * half
            words[lane, column + row // 32 + beyond, byte % 4] = rows[row]


def packed(codes: np.ndarray) -> np.ndarray:
    """Two elements of 4 bits a byte, the first one low."""
    return codes[:, ::2] | codes[:, 1::2] << 4


def check(case: Scaled) -> None:
    """D must be right, and the rest of tensor memory as before."""
    stream = np.random.default_rng(case.seed)
    a, b = (small_integers(stream, (r, case.k), kind) for r, kind in ((case.m, case.a), (case.n, case.b)))
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
        put_scales(block, case.first_scales[0], case.ids[0], rows)
        put_scales(block, case.first_scales[1], case.ids[1], codes_b, halves)
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
    put_scales(cells, one.first_scales[0], 2, np.full((128, 1), 127))
    put_scales(cells, one.first_scales[1], 1, np.full((32, 1), 127))
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
        for atom, column in enumerate(case.first_scales)
    ]
    at = [program.descriptor(x.start, x.leading, x.stride, x.swizzle, x.base) for x in case.layouts]
    cells = stream.integers(0, 1 << 32, (LANES, case.columns), np.uint32)
    operation = "\n".join([*copies, case.operation])
    after = program.run(operation, cells, image.tobytes(), *at, case.idesc, adds=False, checks=("race",))
    wanted = spread(values(a, "e2m1"), scale_a) @ spread(values(b, "e2m1"), scale_b).T
    assert np.array_equal(after[:, : case.n].view(np.float32), wanted)


LONG = [
    ("mxf4", "block32", 3, "ue8m0"), ("mxf4nvf4", "block32", 3, "ue8m0"),
    ("mxf4nvf4", "block16", 6, "ue4m3"), ("mxf4nvf4", "block16", 6, "ue8m0"),
]  # fmt: skip


@pytest.mark.parametrize("n", [40, 128, 192, 256])
@pytest.mark.parametrize("form", LONG)
def test_rows_of_96_elements(form, n):
    """sm_103a. The scales of a row go on in the next word of 128 rows, or of 256."""
    for ids in itertools.product(FIRST_BYTES[form[2]], repeat=2):
        check(scaled(form, ids=ids, n=n, adds=n != 40))


@pytest.mark.parametrize("form", LONG)
def test_rows_of_96_elements_in_tensor_memory(form):
    check(scaled(form, n=64, a_is_in_tensor_memory=True))


@pytest.mark.parametrize("form", LONG)
def test_rows_of_96_elements_of_pairs(form):
    for ids in itertools.product(FIRST_BYTES[form[2]], repeat=2):
        check(scaled(form, ids=ids, m=256, n=96, blocks=2))


@dataclass(frozen=True)
class InTwoLines(Layout):
    """Rows of 48 bytes: what is past the end of a line of 128 bytes is in the line at `leading`. PTX ISA 9.7.16.3.1.2"""

    def address(self, row: np.ndarray, chunk: np.ndarray) -> np.ndarray:
        place = self.start % 128 + chunk * CHUNK
        line = np.where(place < 128, self.start // 128 * 128, self.leading)
        return self._swizzled(line + place % 128 + row % 8 * 128 + row // 8 * self.stride)


@dataclass(frozen=True)
class Split(Scaled):
    """The first chunk of each row, and so where its line ends."""

    chunks: tuple[int, int] = (0, 0)

    @property
    def layouts(self) -> tuple[Layout, Layout]:
        starts = (1024 + 32 * 1024 * i for i in range(2))
        return tuple(
            InTwoLines(2, False, at + 16 * chunk, at + 16 * 1024, 1024) for at, chunk in zip(starts, self.chunks)
        )


@pytest.mark.parametrize("chunk", range(8))
def test_a_row_that_goes_on_in_another_line(chunk, monkeypatch):
    plain = program.descriptor
    monkeypatch.setattr(program, "descriptor", lambda *fields: plain(*fields) | 1 << 52)
    kind, vector, count, scale = LONG[2]
    check(
        Split("e2m1", "e2m1", n=64, kind=kind, vector=vector, count=count, scale=scale, chunks=(chunk, (chunk + 3) % 8))
    )


@pytest.mark.parametrize("case, words", [
    (scaled(LONG[2], m=128, n=64, blocks=2), "bits 27-28, M / 128, is not a height of this kind and cta_group"),
    (scaled(LONG[2], ids=(1, 0)), "bits 29-30, the first byte of A's scales, are none of the kind"),
])  # fmt: skip
def test_refusals_of_96_elements(case, words):
    with pytest.raises(emulator.Fault, match=words):
        check(case)


def test_96_elements_need_sm_103a():
    case = replace(scaled(PACKED[4]), count=6)
    stream = np.random.default_rng(0)
    cells = stream.integers(0, 1 << 32, (LANES, case.columns), np.uint32)
    with pytest.raises(
        emulator.Fault, match="bit 31, that K is 96, is for kinds `mxf4` and `mxf4nvf4` of sm_103a, without `.sp`"
    ):
        program.run(case.operation, cells, b"", idesc=case.idesc)
