"""Elements of matrices as bits, and where they are in shared memory, in tensor memory and in scales.

Written from the figures of PTX ISA 9.0, sections 5.5.1.1, 9.7.16.3 and 9.7.16.10; not from the C++ of this family.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.emulator.exact_products import FRACTION, WIDTH, bias, parts

CODES = {"f16": 0, "bf16": 1, "tf32": 2, "u8": 0, "s8": 1, "e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5}
BYTES = {"f16": 2, "bf16": 2, "tf32": 4}  # in memory; the others have containers of one byte
CHUNK = 16  # bytes that a swizzle never takes apart
# the number of a swizzle in a descriptor: chunks of a row of its pattern, and (bits, lowest bit changed, distance)
SWIZZLES = {0: (1, (0, 4, 3)), 6: (2, (1, 4, 3)), 4: (4, (2, 4, 3)), 2: (8, (3, 4, 3)), 1: (8, (2, 5, 2))}


def values(bits: np.ndarray, kind: str) -> np.ndarray:
    """The values of elements as float64, which holds all of them."""
    if kind in ("u8", "s8"):
        return bits.astype(np.uint8).view(np.int8 if kind == "s8" else np.uint8).astype(np.float64)
    significand, exponent = parts(bits, kind)
    return np.ldexp(significand.astype(np.float64), (exponent - FRACTION[kind]).astype(np.int32))


def small_integers(stream: np.random.Generator, shape: tuple[int, int], kind: str, most: int = 4) -> np.ndarray:
    """Random elements of a kind that are integers from -most to most. tf32 has garbage in the bits that do not count."""
    if kind == "tf32":
        bits = stream.integers(-most, most + 1, shape).astype(np.float32).view(np.uint32)
        return bits | stream.integers(0, 1 << 13, shape, np.uint32)
    codes = np.arange(1 << WIDTH.get(kind, 8), dtype=np.int64)
    finite = codes[_is_finite(codes, kind)]
    each = values(finite, kind)
    return stream.choice(finite[(each == np.round(each)) & (np.abs(each) <= most)], shape)


def _is_finite(codes: np.ndarray, kind: str) -> np.ndarray:
    if kind not in FRACTION or kind in ("e2m3", "e3m2", "e2m1"):
        return np.ones(codes.shape, bool)
    if kind == "e4m3":
        return codes & 0x7F != 0x7F
    top = 2 * bias(kind) + 1
    return codes >> FRACTION[kind] & top != top


@dataclass(frozen=True)
class Layout:
    """A canonical layout: `start` is the address, `across` and `down` bytes from a group of rows (or chunks of rows) and
    of ks to the next. PTX ISA 9.7.16.3."""

    swizzle: int
    by_k: bool  # whether M or N runs fastest
    start: int
    leading: int
    stride: int
    base: int = 0

    def address(self, row: np.ndarray, chunk: np.ndarray) -> np.ndarray:
        """The first byte of 16: the elements of `row` from byte 16 * chunk of its K on; or, where M or N runs fastest,
        the elements at k `row` of the chunk-th 16 bytes of rows."""
        wide, _ = SWIZZLES[self.swizzle]
        if not self.by_k:
            step = self.leading if self.swizzle == 0 else CHUNK
            inside = row % 8 * wide * CHUNK + row // 8 * self.stride + chunk * step
        else:
            lines = 4 if self.swizzle == 1 else 8
            over_chunks, over_ks = (self.stride, self.leading) if self.swizzle == 0 else (self.leading, self.stride)
            inside = chunk % wide * CHUNK + chunk // wide * over_chunks
            inside = inside + row % lines * wide * CHUNK + row // lines * over_ks
        return self._swizzled(self.start + inside)

    def _swizzled(self, address: np.ndarray) -> np.ndarray:
        """Some bits xor those above; the pattern begins `base` lines of 128 bytes after an aligned address."""
        bits, lowest, distance = SWIZZLES[self.swizzle][1]
        pattern = address - (self.base << 7)
        return address ^ (pattern >> distance & ((1 << bits) - 1) << lowest)


def lines(bits: np.ndarray, kind: str, by_k: bool) -> np.ndarray:
    """(rows, K) as (line, chunk, 16 bytes): lines are rows, or ks where M or N runs fastest."""
    along = bits.T if by_k else bits
    if kind in ("e2m1", "e2m3", "e3m2"):
        return packed(along.reshape(len(along), -1, CHUNK), WIDTH[kind])
    size = BYTES.get(kind, 1)
    flat = np.ascontiguousarray(along).astype({1: np.uint8, 2: np.uint16, 4: np.uint32}[size]).view(np.uint8)
    return flat.reshape(len(along), -1, CHUNK)


def packed(codes: np.ndarray, width: int) -> np.ndarray:
    """16 elements of 4 or 6 bits side by side, and padding with arbitrary bits up to 16 bytes. PTX ISA 5.5.1.1"""
    bits = codes[..., None] >> np.arange(width) & 1
    some = np.packbits(bits.reshape(*codes.shape[:-1], -1).astype(np.uint8), axis=-1, bitorder="little")
    return np.concatenate([some, np.full((*some.shape[:-1], CHUNK - some.shape[-1]), 0xA5, np.uint8)], -1)


def put(image: np.ndarray, layout: Layout, chunks: np.ndarray) -> None:
    """Put the lines of a matrix at the places of its layout, which are addresses less the address of `image`."""
    line, chunk = np.mgrid[: chunks.shape[0], : chunks.shape[1]]
    image[layout.address(line, chunk)[..., None] + np.arange(CHUNK)] = chunks


def in_tensor_memory(bits: np.ndarray, kind: str) -> np.ndarray:
    """The words (rows, 8) of A in tensor memory: elements of 4 and 6 bits have bytes, 4 bits in the middle of theirs.
    PTX ISA 9.7.16.10.4"""
    size = BYTES.get(kind, 1)
    codes = bits << 2 if kind == "e2m1" else bits
    flat = np.ascontiguousarray(codes.astype({1: np.uint8, 2: np.uint16, 4: np.uint32}[size]))
    return flat.view(np.uint32)


def result(bits: np.ndarray, kind: str) -> np.ndarray:
    """D's words as numbers; f16 is in the low half of a word."""
    if kind == "s32":
        return bits.view(np.int32).astype(np.float64)
    return values(bits & 0xFFFF if kind == "f16" else bits, {"f32": "f32"}.get(kind, kind))


def words_of(numbers: np.ndarray, kind: str) -> np.ndarray:
    """Exact numbers as words of D."""
    if kind == "s32":
        return numbers.astype(np.int32).view(np.uint32)
    if kind == "f16":
        return numbers.astype(np.float16).view(np.uint16).astype(np.uint32)
    return numbers.astype(np.float32).view(np.uint32)


def canonical(
    swizzle: int,
    by_k: bool,
    rows: int,
    kind: str,
    start: int,
    ks_first: bool = True,
    base: int = 0,
    row_bytes: int = 32,
) -> Layout:
    """A layout of `rows` rows of `row_bytes` bytes whose parts are side by side: `ks_first`: along K."""
    wide = SWIZZLES[swizzle][0]
    if not by_k:
        if swizzle:
            return Layout(swizzle, by_k, start, CHUNK, 8 * wide * CHUNK, base)
        return Layout(0, by_k, start, *((128, 8 * row_bytes) if ks_first else (rows * CHUNK, 128)))
    size = BYTES.get(kind, 1)
    steps = 4 if swizzle == 1 else 8
    pattern = steps * wide * CHUNK
    over_rows, over_ks = rows * size // CHUNK // wide, row_bytes // size // steps
    far_rows, far_ks = (pattern * over_ks, pattern) if ks_first else (pattern, pattern * over_rows)
    return Layout(swizzle, by_k, start, *((far_rows, far_ks) if swizzle else (far_ks, far_rows)), base)
