"""Tensor maps: the arguments of the driver's encoders, their rules and the 128 bytes they become.
PTX ISA 5.5 (tensors); CUDA driver API, cuTensorMapEncodeTiled.

A tensor map is 128 bytes whose form NVIDIA does not publish. It is here as host functions that NVIDIA's compiler makes
were seen to write it (sm_90a and sm_100a, release 4.8.1), in 32-bit words: 0, 1 the address; 2 flags (bits 0-3 tiled
or im2col, 4-6 dimensions less one, 7-10 type, 13-15 swizzle, 16 TF32, 19-20 the swizzle's atom, 21 128 KiB or more);
3-6 strides of dimensions 1 to 4, in 16 bytes; 8-12 extents less one; the low bits of 13 the element strides less one,
3 each, seen of im2col maps only; the last byte of 13 and the bytes of 14 the box less one. In im2col 14 has the lower
corners in its low half and the upper ones in the other, each of 16, 8 or 5 bits by rank, and 15 the pixels less one.
High bits of strides, NaN filling and interleave were never seen: word 7 has them, by our own choice. Nor were maps of
cuTensorMapEncodeIm2colWide: modes 4 and 5, with the corners along W in word 14.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from dsl.emulator.families.tensor_map.numbers import tensor_map

BYTES, ALIGNMENT_BYTES, DIMENSIONS = tensor_map.BYTES, tensor_map.ALIGNMENT_BYTES, tensor_map.DIMENSIONS
MOST_BOX, MOST_EXTENT, MOST_STRIDE = 256, 1 << 32, 1 << 40
# CUtensorMapDataType: the type's number in a map, and the bits of an element.
TYPES = {
    dtype: (code, 8 << (tensor_map.LOG2_BYTES >> 2 * code & 3))
    for dtype, code in enumerate((0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 7, 8))
} | {13: (tensor_map.PACKED_U4, 4), 14: (tensor_map.PADDED_U4, 4), 15: (tensor_map.PADDED_U6, 6)}
PACKED, PADDED_U4, PADDED_U6 = 13, 14, 15
PADDED = frozenset((PADDED_U4, PADDED_U6))
LAST_OF_HOPPER = {"type": 12, "swizzle": 3}
NEWEST = (12, 0)  # compute capability
FLOATS = frozenset((6, 7, 8, 9, 10, 11, 12))
TF32 = frozenset((11, 12))
SWIZZLE_BYTES = {0: None, 1: 32, 2: 64, 3: 128, 4: 128, 5: 128, 6: 128}
# Swizzles of 128 bytes: the number that PTX gives to what they keep together.
ATOMS = {3: tensor_map.ATOM_16B, 4: tensor_map.ATOM_32B, 5: tensor_map.ATOM_32B_FLIP_8B, 6: tensor_map.ATOM_64B}
LARGE, LARGE_BYTES = 1 << 21, 1 << 17  # a flag of maps of this size
TILED, IM2COL, ALWAYS = tensor_map.TILED, tensor_map.IM2COL, tensor_map.ALWAYS
WIDE_MODES = tensor_map.IM2COL_W, tensor_map.IM2COL_W128  # by CUtensorMapIm2ColWideMode
FLAGS_AT, BOX_AT, CORNERS_AT = tensor_map.FLAGS_AT, tensor_map.BOX_AT, tensor_map.CORNERS_AT
FILL_SHIFT, INTERLEAVE_SHIFT = tensor_map.FILL_SHIFT, tensor_map.INTERLEAVE_SHIFT
CORNER_BITS = {3: 16, 4: 8, 5: 5}  # of one of the corners of an im2col map, by rank


class BadTensorMap(ValueError):
    """Arguments that cuTensorMapEncodeTiled refuses; the text names the argument and the reason."""


@dataclass(frozen=True)
class Tiled:
    """The arguments of cuTensorMapEncodeTiled. Dimension 0 is contiguous; strides are bytes, of dimensions 1 and up."""

    dtype: int
    address: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...]
    interleave: int = 0
    swizzle: int = 0
    fill: int = 0
    l2_promotion: int = 0  # of no effect here

    def check(self, capability: tuple[int, int] = (9, 0)) -> None:
        """Raise BadTensorMap where the driver would refuse. CUDA driver API, cuTensorMapEncodeTiled."""
        rank = len(self.extents)
        for what, value, last, last_of_hopper in (
            ("a tensor map of data type", self.dtype, max(TYPES), LAST_OF_HOPPER["type"]),
            ("a swizzle of mode", self.swizzle, max(SWIZZLE_BYTES), LAST_OF_HOPPER["swizzle"]),
        ):
            _need(0 <= value <= last, f"{what} {value} does not exist")
            _need(
                value <= last_of_hopper or capability >= (10, 0),
                f"{what} {value} needs compute capability 10.0; this device has {capability[0]}.{capability[1]}",
            )
        _need(0 <= self.interleave <= 2, f"interleave must be 0 to 2, got {self.interleave}")
        _need(0 <= self.l2_promotion <= 3, f"L2 promotion must be 0 to 3, got {self.l2_promotion}")
        _need(0 <= self.fill <= 1, f"the fill of elements outside must be 0 or 1, got {self.fill}")
        _need(1 <= rank <= DIMENSIONS, f"it has {rank} dimensions, but TMA supports 1 to {DIMENSIONS}")
        _need(not self.interleave or rank >= 3, f"an interleaved tensor has 3 to 5 dimensions, got {rank}")
        unit = 32 if self.interleave == 2 or self.dtype in PADDED else 16
        _need(self.address % unit == 0, f"its address must be a multiple of {unit} bytes, got 0x{self.address:x}")
        bits = TYPES[self.dtype][1]
        for i, extent in enumerate(self.extents):
            _need(1 <= extent <= MOST_EXTENT, f"extent {i} must be 1 to 2**32, got {extent}")
        for i, stride in enumerate(self.strides, 1):
            _need(
                stride % unit == 0 and stride < MOST_STRIDE,
                f"the stride of dimension {i} is {stride} bytes; it has to be a multiple of {unit} below 2**40",
            )
        for i, (extent, step) in enumerate(zip(self.box, self.steps)):
            _need(1 <= extent <= MOST_BOX, f"extent {i} of the box must be 1 to {MOST_BOX}, got {extent}")
            _need(1 <= step <= 8, f"element stride {i} must be 1 to 8, got {step}")
        self._check_narrow()
        row_bytes = self.box[0] * (8 if self.dtype in PADDED else bits) // 8
        _need(
            bool(self.interleave) or row_bytes % 16 == 0,
            f"a row of the box has {row_bytes} bytes; it has to be a multiple of 16",
        )
        span = SWIZZLE_BYTES[self.swizzle]
        _need(self.interleave != 2 or span == 32, "an interleave of 32 bytes needs a swizzle of 32 bytes")
        _need(
            span is None or bool(self.interleave) or row_bytes <= span,
            f"a row of the box has {row_bytes} bytes, but a swizzle of {span} bytes takes at most {span}",
        )
        _need(self.fill == 0 or self.dtype in FLOATS, "only elements of a floating-point type are filled with NaN")

    def _check_narrow(self) -> None:
        """The rules of elements of 4 and 6 bits."""
        first, row = self.extents[0], self.box[0]
        if self.dtype == PACKED:
            _need(first % 2 == 0, f"extent 0 of elements of 4 bits must be a multiple of 2, got {first}")
            _need(row % 2 == 0, f"extent 0 of a box of elements of 4 bits must be a multiple of 2, got {row}")
        if self.dtype not in PADDED:
            return
        bits = TYPES[self.dtype][1]
        _need(first % 128 == 0, f"extent 0 of padded elements of {bits} bits must be a multiple of 128, got {first}")
        _need(row == 128, f"extent 0 of a box of padded elements of {bits} bits must be 128, got {row}")
        swizzles = (0, 3, 4, 6) if self.dtype == PADDED_U6 else (0, 3, 4)
        _need(self.swizzle in swizzles, f"padded elements of {bits} bits have no swizzle of mode {self.swizzle}")
        _need(self.dtype != PADDED_U6 or not self.interleave, "padded elements of 6 bits are not interleaved")

    def encode(self, capability: tuple[int, int] = (9, 0)) -> bytes:
        """The 128 bytes. Raises BadTensorMap."""
        self.check(capability)

        def padded(values, count, fill=0):
            return [*values, *(fill,) * (count - len(values))]

        code, bits = TYPES[self.dtype]
        large = max(e * s for e, s in zip(self.extents, (bits / 8, *self.strides))) >= LARGE_BYTES
        flags = TILED | ALWAYS | len(self.extents) - 1 << 4 | code << 7 | (self.dtype in TF32) << 16
        flags |= min(self.swizzle, 3) << 13 | ATOMS.get(self.swizzle, 0) << tensor_map.ATOM_SHIFT
        box = padded([extent - 1 for extent in self.box], DIMENSIONS)
        steps = sum((step - 1) << 3 * i for i, step in enumerate(self.steps) if i or self.interleave)
        low = padded([stride >> 4 & 0xFFFFFFFF for stride in self.strides], 4)
        own = sum((stride >> 36) << 4 * i for i, stride in enumerate(self.strides))
        own |= self.fill << FILL_SHIFT | self.interleave << INTERLEAVE_SHIFT
        words = (self.address, flags | LARGE * large, *low, own,
                 *padded([extent - 1 for extent in self.extents], DIMENSIONS))  # fmt: skip
        form = struct.pack("<QI4II5IHx5B", *words, steps, *box)
        return form.ljust(BYTES, b"\0")


MOST_PIXELS = 1024
WIDE_SWIZZLES = frozenset((2, 3, 4))


@dataclass(frozen=True)
class Im2col:
    """The arguments of cuTensorMapEncodeIm2col; corners are of W, H and D, as many as there are."""

    dtype: int
    address: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    pixels: int
    steps: tuple[int, ...]
    interleave: int = 0
    swizzle: int = 0
    fill: int = 0
    l2_promotion: int = 0

    def check(self, capability: tuple[int, int] = (9, 0)) -> None:
        """Raise BadTensorMap where the driver would refuse. CUDA driver API, cuTensorMapEncodeIm2col."""
        self.check_pixels(capability)
        limit = 1 << CORNER_BITS[len(self.extents)] - 1
        for what, corner in (("lower", self.lower), ("upper", self.upper)):
            for each in corner:
                holds = -limit <= each < limit
                _need(holds, f"the {what} corner of the box must be {-limit} to {limit - 1}, got {each}")
        for extent, low, high in zip(self.extents[1:], self.lower, self.upper):
            _need(extent - 1 + high >= low, f"the box from {low} to {extent - 1 + high} is empty")

    def check_pixels(self, capability: tuple[int, int]) -> None:
        """The same of all but the corners."""
        rank = len(self.extents)
        _need(rank in CORNER_BITS, f"an im2col tensor has 3 to 5 dimensions, got {rank}")
        self._tiled().check(capability)
        _need(1 <= self.pixels <= MOST_PIXELS, f"pixels of a column must be 1 to {MOST_PIXELS}, got {self.pixels}")

    def _tiled(self) -> Tiled:
        """The arguments that both kinds of map have; a box is one pixel."""
        box = self.channels, *(1,) * (len(self.extents) - 1)
        return Tiled(self.dtype, self.address, self.extents, self.strides, box, self.steps, self.interleave,
                     self.swizzle, self.fill, self.l2_promotion)  # fmt: skip

    def encode(self, capability: tuple[int, int] = (9, 0)) -> bytes:
        """The 128 bytes. Raises BadTensorMap."""
        self.check(capability)
        bits = CORNER_BITS[len(self.extents)]
        lower, upper = (
            sum((each & (1 << bits) - 1) << bits * i for i, each in enumerate(corner))
            for corner in (self.lower, self.upper)
        )
        return self.with_corners(IM2COL, lower, upper, capability)

    def with_corners(self, mode: int, lower: int, upper: int, capability: tuple[int, int]) -> bytes:
        """The 128 bytes in an im2col mode; each corner is a number of 16 bits."""
        form = bytearray(self._tiled().encode(capability))
        form[FLAGS_AT] += mode - TILED
        struct.pack_into("<HHI", form, CORNERS_AT, lower & 0xFFFF, upper & 0xFFFF, self.pixels - 1)
        return bytes(form)


@dataclass(frozen=True)
class Wide:
    """The arguments of cuTensorMapEncodeIm2colWide; corners are of W, and `mode` is 1 for im2col::w::128."""

    dtype: int
    address: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    lower: int
    upper: int
    channels: int
    pixels: int
    steps: tuple[int, ...]
    interleave: int = 0
    mode: int = 0
    swizzle: int = 0
    fill: int = 0
    l2_promotion: int = 0

    def check(self, capability: tuple[int, int] = NEWEST) -> None:
        """Raise BadTensorMap where the driver would refuse. CUDA driver API, cuTensorMapEncodeIm2colWide."""
        has = f"this device has {capability[0]}.{capability[1]}"
        _need(capability >= (10, 0), f"a wide im2col map needs compute capability 10.0; {has}")
        _need(0 <= self.mode <= 1, f"the mode of a wide im2col map must be 0 or 1, got {self.mode}")
        _need(self.swizzle in WIDE_SWIZZLES, f"a wide im2col map has a swizzle of mode 2, 3 or 4, got {self.swizzle}")
        column = self._column()
        column.check_pixels(capability)
        limit = 1 << 15
        for what, corner in (("lower", self.lower), ("upper", self.upper)):
            holds = -limit <= corner < limit
            _need(holds, f"the {what} corner of the box must be {-limit} to {limit - 1}, got {corner}")
        end = self.extents[1] - 1 + self.upper
        _need(end >= self.lower, f"the box from {self.lower} to {end} is empty")

    def _column(self) -> Im2col:
        """The arguments that both kinds of im2col map have."""
        pixels = tensor_map.WIDE_PIXELS if self.mode else self.pixels
        return Im2col(self.dtype, self.address, self.extents, self.strides, (), (), self.channels, pixels, self.steps,
                      self.interleave, self.swizzle, self.fill, self.l2_promotion)  # fmt: skip

    def encode(self, capability: tuple[int, int] = NEWEST) -> bytes:
        """The 128 bytes. Raises BadTensorMap."""
        self.check(capability)
        return self._column().with_corners(WIDE_MODES[self.mode], self.lower, self.upper, capability)


MAP_MODES = {Tiled: "tiled", Im2col: "im2col", Wide: "im2col_wide"}  # as capsules name them


def _need(holds: bool, text: str) -> None:
    if not holds:
        raise BadTensorMap(text)


def decode(form: bytes) -> Tiled | Im2col | Wide | None:
    """The arguments from which a map's 128 bytes were made; None if they are not a map. The promotion to
    L2 is not in them: it has no effect here."""
    address, flags, *words = struct.unpack_from("<QI4II5IH", form)
    low, own, lasts, steps = words[:4], words[4], words[5:10], words[10]
    rank, is_tf32 = (flags >> 4 & 7) + 1, bool(flags >> 16 & 1)
    dtypes = [each for each, (code, _) in TYPES.items() if code == flags >> 7 & 0xF and (each in TF32) == is_tf32]
    if rank > DIMENSIONS or not dtypes or flags & 0xF not in (TILED, IM2COL, *WIDE_MODES):
        return None
    strides = [(each | (own >> 4 * i & 0xF) << 32) << 4 for i, each in enumerate(low)]
    box = tuple(each + 1 for each in form[BOX_AT : BOX_AT + rank])
    tiled = Tiled(
        dtypes[0], address, tuple(each + 1 for each in lasts[:rank]), tuple(strides[: rank - 1]), box,
        tuple((steps >> 3 * i & 7) + 1 for i in range(rank)), own >> INTERLEAVE_SHIFT & 3, _swizzle_of(flags),
        own >> FILL_SHIFT & 1,
    )  # fmt: skip
    if flags & 0xF != TILED and rank not in CORNER_BITS:
        return None
    arguments = _with_corners(tiled, flags & 0xF, form)
    try:
        again = bytearray(arguments.encode(NEWEST))
    except BadTensorMap:
        return None
    again[FLAGS_AT + 2] |= form[FLAGS_AT + 2] & LARGE >> 16  # compilers differ in when they set it
    return arguments if bytes(again) == form else None


def _swizzle_of(flags: int) -> int:
    mode, atom = flags >> 13 & 7, flags >> tensor_map.ATOM_SHIFT & 3
    return next(each for each, of in ATOMS.items() if of == atom) if mode == 3 else mode


def _with_corners(tiled: Tiled, mode: int, form: bytes) -> Tiled | Im2col | Wide:
    if mode == TILED:
        return tiled
    column = _im2col(tiled, form)
    if mode == IM2COL:
        return column
    lower, upper = struct.unpack_from("<hh", form, CORNERS_AT)
    return Wide(
        column.dtype, column.address, column.extents, column.strides, lower, upper, column.channels, column.pixels,
        column.steps, column.interleave, WIDE_MODES.index(mode), column.swizzle, column.fill,
    )  # fmt: skip


def _im2col(tiled: Tiled, form: bytes) -> Im2col:
    word, pixels = struct.unpack_from("<II", form, CORNERS_AT)
    bits = CORNER_BITS[len(tiled.extents)]
    sign, dimensions = 1 << bits - 1, range(len(tiled.extents) - 2)
    lower, upper = (
        tuple(((word >> half + bits * i) + sign & (1 << bits) - 1) - sign for i in dimensions) for half in (0, 16)
    )
    return Im2col(
        tiled.dtype, tiled.address, tiled.extents, tiled.strides, lower, upper, tiled.box[0], pixels + 1, tiled.steps,
        tiled.interleave, tiled.swizzle, tiled.fill,
    )  # fmt: skip
