"""Products of random matrices by tcgen05.mma in a block or in a pair, and what D has to be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.emulator.exact_products import FRACTION, one_sum
from tests.emulator.families.tcgen05 import program
from tests.emulator.families.tcgen05.matrices import (
    BYTES,
    CODES,
    Layout,
    canonical,
    in_tensor_memory,
    lines,
    put,
    result,
    small_integers,
    values,
    words_of,
)  # fmt: skip

KINDS = {"f16": "f16", "bf16": "f16", "tf32": "tf32", "u8": "i8", "s8": "i8"}
RESULTS = {"f16": 0, "f32": 1, "s32": 2}
ROW_BYTES, LANES = 32, 128
FAR = 36 * 1024  # from the place of A to the place of B


@dataclass(frozen=True)
class Case:
    """A product; `swizzles`, `by_k`, `starts` (bytes further than aligned ones) and `bases` are of A and of B."""

    a: str = "f16"
    b: str = "f16"
    d: str = "f32"
    m: int = 128
    n: int = 32
    blocks: int = 1
    swizzles: tuple[int, int] = (0, 0)
    by_k: tuple[bool, bool] = (False, False)
    ks_first: bool = True
    starts: tuple[int, int] = (0, 0)
    bases: tuple[int, int] = (0, 0)
    negates: tuple[int, int] = (0, 0)
    lane: int = 0  # of D, and of A
    a_is_in_tensor_memory: bool = False
    adds: bool = True
    scale_d: int | None = None
    kept: tuple[int, ...] = ()  # lanes that stay, in words
    stationary: bool = False  # .ws
    saturates: bool = False
    floats: bool = False  # any finite numbers, not small integers
    seed: int = 0

    @property
    def target(self) -> str:
        return "sm_100a"

    @property
    def k(self) -> int:
        return ROW_BYTES // BYTES.get(self.a, 1)

    @property
    def row_bytes(self) -> tuple[int, int]:
        return ROW_BYTES, ROW_BYTES

    @property
    def columns(self) -> int:
        """The columns that are allocated: D, and A after it."""
        return max(32, 1 << (self.n + 8 - 1).bit_length())

    @property
    def layouts(self) -> tuple[Layout, Layout]:
        """Of the rows of a block."""
        return tuple(
            canonical(self.swizzles[i], self.by_k[i], rows // self.blocks, kind, 1024 + i * FAR + self.starts[i],
                      self.ks_first, self.bases[i], self.row_bytes[i])
            for i, (rows, kind) in enumerate(((self.m, self.a), (self.n, self.b)))
        )  # fmt: skip

    @property
    def idesc(self) -> int:
        more = self.saturates << 3 | self.negates[0] << 13 | self.negates[1] << 14
        more |= self.by_k[0] << 15 | self.by_k[1] << 16
        return program.instruction(self.m, self.n, RESULTS[self.d], CODES[self.a], CODES[self.b], more)

    @property
    def operation(self) -> str:
        kind, before, mask = KINDS.get(self.a, "f8f6f4"), "", ""
        if self.kept:
            before = " ".join(f"mov.b32 %v{i}, {word};" for i, word in enumerate(self.kept))
            mask = ", {" + ", ".join(f"%v{i}" for i in range(len(self.kept))) + "}"
        before += f" add.u32 %d, %d, {self.lane << 16}; add.u32 %i, %d, {self.n};"
        a = "[%i]" if self.a_is_in_tensor_memory else "%da"
        last = "" if self.scale_d is None else f", {self.scale_d}"
        name = f"tcgen05.mma{'.ws' * self.stationary}.cta_group::{self.blocks}.kind::{kind}"
        return f"{before}\n{name} [%d], {a}, %db, %idesc{mask}, %adds{last};\nsub.u32 %d, %d, {self.lane << 16};"


def place_of_d(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The block, lane and column of each element (M, N) of D. PTX ISA 9.7.16.10.5"""
    row, column = np.mgrid[: case.m, : case.n]
    if case.blocks == 2 and case.m == 128:  # layout B
        half = case.n // 2
        return row // 64, row % 64 + column // half * 64, column % half
    if case.stationary:  # layouts G, E, D
        width = case.n * case.m // LANES
        return 0 * row, row + column // width * case.m, column % width
    if case.m == 64:  # layout F
        return 0 * row, row % 16 + row // 16 * 32 + case.lane, column
    return row // LANES, row % LANES, column  # layouts D and A


def elements(stream: np.random.Generator, shape: tuple[int, int], kind: str, floats: bool) -> np.ndarray:
    if not floats:
        return small_integers(stream, shape, kind, 255 if kind in KINDS and KINDS[kind] == "i8" else 4)
    if kind in ("f16", "bf16", "tf32", "f32"):
        numbers = (stream.normal(size=shape) * 2.0 ** stream.integers(-6, 7, shape)).astype(np.float32)
        if kind == "f16":
            return numbers.astype(np.float16).view(np.uint16)
        return numbers.view(np.uint32) >> (16 if kind == "bf16" else 0)
    return small_integers(stream, shape, kind, 4) ^ stream.integers(0, 2, shape)  # the last bit of a fraction, too


def sum_before(stream: np.random.Generator, case: Case) -> np.ndarray:
    """The words of D before; f16 has garbage in the high half of a word."""
    shape = (case.m, case.n)
    if case.d == "s32":
        return stream.integers(0, 1 << 32, shape, np.uint32)
    words = elements(stream, shape, case.d, True) if case.floats else None
    if words is None:
        numbers = stream.integers(-8, 9, shape) * 2.0 ** (case.scale_d or 0)
        words = words_of(numbers, case.d)
    return words.astype(np.uint32) | (stream.integers(0, 1 << 16, shape, np.uint32) << 16 if case.d == "f16" else 0)


def expected(case: Case, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The numbers of D: exact in float64; of `floats` by the rules of exact_products.py."""
    signs = (-1) ** sum(case.negates)
    if not case.floats:
        total = signs * (values(a, case.a) @ values(b, case.b).T)
        total += case.adds * result(c, case.d) * 2.0 ** -(case.scale_d or 0)
        if case.saturates:
            return np.clip(total, -(1 << 31), (1 << 31) - 1)
        return ((total + (1 << 31)) % (1 << 32)) - (1 << 31) if case.d == "s32" else total
    kinds = case.a, case.b, case.d
    c = (c & 0xFFFF if case.d == "f16" else c) if case.adds else 0 * c
    bits = one_sum(a, b.T, c, kinds, 25, FRACTION[case.d], case.scale_d or 0)
    return values(bits, case.d)


def images(case: Case, stream: np.random.Generator, a: np.ndarray, b: np.ndarray) -> list[bytes]:
    """Shared memory of each block: its rows of A and of B; the rest is garbage."""
    found = []
    for rows_a, rows_b in zip(np.split(a, case.blocks), np.split(b, case.blocks)):
        image = stream.integers(0, 256, program.SMEM_BYTES, np.uint8)
        operands = zip(case.layouts, (rows_a, rows_b), (case.a, case.b), case.by_k, strict=True)
        for i, (layout, rows, kind, by_k) in enumerate(operands):
            if i or not case.a_is_in_tensor_memory:
                put(image, layout, lines(rows, kind, by_k))
        found.append(image[program.FIRST :].tobytes())
    return found


def put_a(case: Case, cells: np.ndarray, a: np.ndarray) -> None:
    """The rows of A, in the lanes of the rows of D, once for each part of the columns. PTX ISA 9.7.16.10.5"""
    words = in_tensor_memory(a, case.a)
    block, lane, _ = place_of_d(case)
    cells[block, lane, case.n : case.n + words.shape[1]] = words[:, None]


def check(case: Case) -> None:
    """Run a product of random matrices; D must be right, and the rest of tensor memory as before."""
    stream = np.random.default_rng(case.seed)
    a, b = (elements(stream, (r, case.k), kind, case.floats) for r, kind in ((case.m, case.a), (case.n, case.b)))
    c, place = sum_before(stream, case), place_of_d(case)
    cells = stream.integers(0, 1 << 32, (case.blocks, LANES, case.columns), np.uint32)
    cells[place] = c
    if case.a_is_in_tensor_memory:
        put_a(case, cells, a)
    shared = images(case, stream, a, b)
    after = multiply(case, cells, shared)
    kept = np.unpackbits(np.array(case.kept or [0] * 8, "<u4").view(np.uint8), bitorder="little")
    stays = kept[place[0] * LANES + place[1]].astype(bool)
    found, wanted = result(after[place], case.d), expected(case, a, b, c)
    assert np.array_equal(found[~stays], wanted[~stays]), case
    after[place] = np.where(stays, after[place], c)
    assert np.array_equal(after, cells), f"other cells changed: {case}"


def multiply(case: Case, cells: np.ndarray, shared: list[bytes]) -> np.ndarray:
    a, b = (program.descriptor(x.start, x.leading, x.stride, x.swizzle, x.base) for x in case.layouts)
    one = case.blocks == 1
    after = program.run(case.operation, cells[0] if one else cells, shared[0] if one else shared, a, b, case.idesc,
                        case.adds, target=case.target)  # fmt: skip
    return after.reshape(cells.shape)
