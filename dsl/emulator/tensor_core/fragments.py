"""Which element of a matrix a register of a lane holds. PTX ISA 9.7.14.5, Matrix Fragments for mma; 9.7.15.5 (wgmma).

Lane 4 g + t is thread t of group g. A register of 32 bits holds `pack` elements that are neighbours along K: 32 of b1,
8 of 4 bits, 4 of 8, 2 of 16, 1 of tf32; one of f64 has a 64-bit register. One rule gives every figure of the ISA for
the shapes here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

# shape -> the operand types (A, B, accumulator) that mma.sync has of it, as the ISA's tables do
_HALF = [("f16", "f16", "f16"), ("f16", "f16", "f32"), ("bf16", "bf16", "f32")]
_EIGHTS = [(a, b, "s32") for a in ("s8", "u8") for b in ("s8", "u8")]
_FOURTHS = [(a, b, "s32") for a in ("s4", "u4") for b in ("s4", "u4")]
_BITS = [("b1", "b1", "s32")]
_TF32 = [("tf32", "tf32", "f32")]
_FP8 = [(a, b, c) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2") for c in ("f32", "f16")]
SHAPES = {
    (16, 8, 4): [("tf32", "tf32", "f32"), ("f64", "f64", "f64")],
    (16, 8, 8): [*_HALF, ("tf32", "tf32", "f32"), ("f64", "f64", "f64")],
    (16, 8, 16): [*_HALF, *_EIGHTS, *_FP8, ("f64", "f64", "f64")],
    (16, 8, 32): [*_EIGHTS, *_FOURTHS, *_FP8],
    (16, 8, 64): _FOURTHS,
    (16, 8, 128): _BITS,
    (16, 8, 256): _BITS,
    (8, 8, 4): [("f64", "f64", "f64")],
    (8, 8, 16): _EIGHTS,
    (8, 8, 32): _FOURTHS,
    (8, 8, 128): _BITS,
}
OPERATIONS = ("bits_xor", "bits_and")  # of b1, in place of a product
SPARSE_SHAPES = {  # the same of mma.sp
    (16, 8, 8): _TF32,
    (16, 8, 16): [*_HALF, *_TF32],
    (16, 8, 32): [*_HALF, *_EIGHTS],
    (16, 8, 64): [*_EIGHTS, *_FOURTHS, *(types for types in _FP8 if types[2] == "f32")],
    (16, 8, 128): _FOURTHS,
}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s32": 32, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8,
        "s4": 4, "u4": 4, "b1": 1}  # fmt: skip
# the operand types of wgmma; K is 32 bytes of a row of A, M is 64, N any multiple of 8 to 256 (integers: see below)
WGMMA_TYPES = (*_HALF, ("tf32", "tf32", "f32"), *_FP8, *_EIGHTS, ("b1", "b1", "s32"))
WGMMA_K_BYTES = 32


@dataclass(frozen=True)
class Mma:
    """One form of mma.sync: D (M, N) = A (M, K) * B (K, N) + C; `saturates`: .satfinite of s32; `operation`: of b1, one
    of OPERATIONS; `is_sparse`: mma.sp, whose registers have half of the columns of A."""

    m: int
    n: int
    k: int
    a: str
    b: str
    c: str
    saturates: bool = False
    operation: str = ""
    is_sparse: bool = False

    @property
    def name(self) -> str:
        suffix = f"_{self.operation}" if self.operation else "_sat" * self.saturates
        prefix = "mma_sp_m" if self.is_sparse else "mma_m"
        return f"{prefix}{self.m}n{self.n}k{self.k}_{self.a}_{self.b}_{self.c}{suffix}"

    @property
    def pack(self) -> int:
        """Elements of A or B in a register."""
        return max(32 // BITS[self.a], 1)

    @property
    def terms(self) -> int:
        """Elements of a row of A that registers have."""
        return self.k // 2 if self.is_sparse else self.k

    @property
    def registers(self) -> tuple[int, int, int]:
        """How many registers of A, B and C (or D) a lane has."""
        accumulators = self.m * self.n // 32
        return (
            self.m * self.terms // 32 // self.pack,
            self.k * self.n // 32 // self.pack,
            accumulators // 2 if self.c == "f16" else accumulators,
        )


def forms() -> Iterator[Mma]:
    """Every form of mma.sync and mma.sp.sync."""
    for shapes, is_sparse in ((SHAPES, False), (SPARSE_SHAPES, True)):
        for shape, rows in shapes.items():
            for types in rows:
                for operation in OPERATIONS if types[0] == "b1" else ("",):
                    yield Mma(*shape, *types, operation=operation, is_sparse=is_sparse)
                if types[2] == "s32" and types[0] != "b1":
                    yield Mma(*shape, *types, saturates=True, is_sparse=is_sparse)


def a_element(form: Mma, lane: int, register: int) -> tuple[int, int]:
    """(row, column) of the first element that a register of A holds; the others follow along the row."""
    halves = form.m // 8
    return lane // 4 + 8 * (register % halves), (lane % 4 + 4 * (register // halves)) * form.pack


def b_element(form: Mma, lane: int, register: int) -> tuple[int, int]:
    """(row, column) of the first element that a register of B holds; the others follow down the column."""
    return (lane % 4 + 4 * register) * form.pack, lane // 4


def c_element(lane: int, index: int) -> tuple[int, int]:
    """(row, column) of accumulator element `index` (two f16 share a register)."""
    return lane // 4 + 8 * (index // 2), 2 * (lane % 4) + index % 2


@dataclass(frozen=True)
class Wgmma:
    """One form of wgmma.mma_async: D (64, N) = A (64, K) * B (K, N) + D. Warp w of the warpgroup has rows 16 w to
    16 w + 15 of A and D, in registers as mma.m16n8 has them, again for each 8 columns of D."""

    n: int
    a: str
    b: str
    d: str

    @property
    def k(self) -> int:
        return 8 * WGMMA_K_BYTES // BITS[self.a]

    @property
    def registers(self) -> int:
        """How many registers of D a lane has (A has 4)."""
        return self.n // (4 if self.d == "f16" else 2)
