"""Products of a warpgroup: which operands they take, and layouts of shared memory they read.

CuTe DSL documentation: cute.nvgpu.warpgroup.  PTX ISA: wgmma.mma_async.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.number.dtypes import (
    BFloat16,
    Boolean,
    Float8E4M3FN,
    Float8E5M2,
    Float16,
    Float32,
    Int8,
    Int32,
    Numeric,
    Uint8,
)
from dsl.core.number.operators import type_name
from dsl.core.phrase import shown
from dsl.layout import ComposedLayout, Layout, Swizzle
from dsl.tile.mma.matrix_descriptor import descriptor_tensor
from dsl.tile.mma.mma import MmaOperation, require_one_of
from dsl.tile.tensor.constant import Constant
from dsl.tile.tensor.major import OperandMajorMode
from dsl.tile.tensor.tensor import Tensor

M, MOST_N = 64, 256
_THREADS = Layout(128, 1)


class OperandSource(enum.Enum):
    """Where A of a product is: in registers or in shared memory."""

    RMEM = "RMEM"
    SMEM = "SMEM"

    def __str__(self) -> str:
        return f"OperandSource.{self.name}"

    def __repr__(self) -> str:
        return f"<{self}>"


class Field(enum.Enum):
    """The state of an atom between calls: whether products are added to what the accumulator holds."""

    ACCUMULATE = "accum_c"

    def __str__(self) -> str:
        return f"Field.{self.name}"

    def __repr__(self) -> str:
        return f"<{self}>"


class SmemLayoutAtomKind(enum.Enum):
    """The contiguous mode of an operand and its swizzle: none (INTER), or one of 32, 64 or 128 bytes."""

    MN_INTER = 1
    MN_SW32 = 2
    MN_SW64 = 3
    MN_SW128 = 4
    K_INTER = 5
    K_SW32 = 6
    K_SW64 = 7
    K_SW128 = 8

    def __str__(self) -> str:
        return f"SmemLayoutAtomKind.{self.name}"


def make_smem_layout_atom(kind: SmemLayoutAtomKind, element_type: type[Numeric]) -> ComposedLayout:
    """The least (M or N, K) layout of a kind: 8 rows as long as its swizzle. The swizzle counts bytes."""
    if not isinstance(kind, SmemLayoutAtomKind):
        raise DSLUserCodeTypeError(
            f"kind of make_smem_layout_atom must be a SmemLayoutAtomKind, got {type_name(kind)}",
            fix="warpgroup.SmemLayoutAtomKind.K_SW128, for example",
        )
    bits = (kind.value - 1) % 4
    row = (128 << bits) // element_type.width
    is_k_major = kind.name.startswith("K")
    shape, stride = ((8, row), (row, 1)) if is_k_major else ((row, 8), (1, row))
    return ComposedLayout(Swizzle(bits, 4, 3), 0, Layout(shape, stride))


@dataclass(eq=False)
class MmaFields:
    """The fields of an atom, which dynamic statements carry where they change them."""

    accumulate: bool | Boolean = False

    def __extract_mlir_values__(self) -> list:
        return [Boolean(self.accumulate).ir()]

    def __new_from_mlir_values__(self, values: list) -> MmaFields:
        return MmaFields(Boolean(values[0]))


@dataclass(frozen=True)
class WarpgroupMmaOp(MmaOperation, Constant):
    """D = A * B + C by 128 threads: A (64, K) in shared memory or registers, B (N, K) in shared memory.

    N is a multiple of 8 up to 256. `a_major_mode`, `b_major_mode`: the contiguous modes in shared memory.
    """

    a_dtype: type[Numeric]
    b_dtype: type[Numeric]
    acc_dtype: type[Numeric]
    shape_mnk: tuple
    a_src: OperandSource
    a_major_mode: OperandMajorMode
    b_major_mode: OperandMajorMode

    title = "warpgroup MMA Operation"
    thr_id = _THREADS

    def __post_init__(self) -> None:
        name = type(self).__name__
        require_one_of("a_src", self.a_src, tuple(OperandSource), name)
        for parameter in ("a_major_mode", "b_major_mode"):
            require_one_of(parameter, getattr(self, parameter), tuple(OperandMajorMode), name)
        k = 256 // self.a_dtype.width
        shape = self.shape_mnk
        if not isinstance(shape, tuple) or len(shape) not in (2, 3):
            raise DSLUserCodeError(
                f"instruction_shape of {name} must be (M, N) or (M, N, K), got {shown(shape)}", fix=f"(64, 128, {k})"
            )
        if len(shape) == 2:
            object.__setattr__(self, "shape_mnk", shape := (*shape, k))
        if shape[0] != M:
            raise DSLUserCodeError(f"M of {name} must be {M}, got {shape[0]}", fix=f"({M}, {shape[1]}, {k})")
        if shape[2] != k:
            raise DSLUserCodeError(
                f"K of {name} must be {k} for {self.a_dtype}, got {shape[2]}", fix=f"({M}, {shape[1]}, {k})"
            )
        self._check_n(shape[1])

    def _check_n(self, n: Any) -> None:
        if not isinstance(n, int) or n % 8 or not 8 <= n <= MOST_N:
            raise DSLUserCodeError(
                f"N of {type(self).__name__} must be a multiple of 8 up to {MOST_N}, got {n}", fix="N=128, for example"
            )

    @property
    def layouts(self) -> tuple[Layout, Layout, Layout]:
        """The TV layouts of A, B and C; all threads hold the whole of what is in shared memory."""
        _, n, k = self.shape_mnk
        a_in_memory, b = (Layout((128, (extent, k)), (0, (1, extent))) for extent in (M, n))
        c = ((2, 2, n // 8), (64, 8, 512)) if n > 8 else ((2, 2), (64, 8))
        sums = Layout(((4, 8, 4), c[0]), ((128, 1, 16), c[1]))
        if self.a_src is OperandSource.SMEM:
            return a_in_memory, b, sums
        packed = 32 // self.a_dtype.width
        a = Layout(((4, 8, 4), (packed, 2, 2)), ((64 * packed, 1, 16), (64, 8, 256 * packed)))
        return a, b, sums

    @property
    def fields(self) -> MmaFields:
        """The fields of a new atom."""
        return MmaFields()

    def fragment(self, name: str, part: Any) -> Tensor:
        """Descriptors of the matrices of a partition in shared memory, or registers."""
        if name == "C":
            return self.registers(part, self.acc_dtype, False, "make_fragment_C")
        what = f"make_fragment_{name}"
        if name == "A" and self.a_src is OperandSource.RMEM:
            return self.registers(part, self.a_dtype, True, what)
        dtype, major = (self.a_dtype, self.a_major_mode) if name == "A" else (self.b_dtype, self.b_major_mode)
        return descriptor_tensor(part, major, dtype.width, what)

    @property
    def immediates(self) -> tuple[int, ...]:
        """The operands after the predicate of the instruction: signs of A and B, and which of them in shared memory
        are major in M or N."""
        return (1, 1)

    def __str__(self) -> str:
        return "\n  ".join(
            (
                self.title,
                f"A data type           = {self.a_dtype}",
                f"B data type           = {self.b_dtype}",
                f"Accumulator data type = {self.acc_dtype}",
                f"A source location     = {self.a_src}",
                f"A major mode          = OperandMajorMode.{self.a_major_mode.name}",
                f"B major mode          = OperandMajorMode.{self.b_major_mode.name}",
                f"Instruction shape MNK = {self.shape_mnk}",
            )
        )


@dataclass(frozen=True, init=False)
class MmaF16BF16Op(WarpgroupMmaOp):
    """wgmma of Float16 or BFloat16, K = 16; a BFloat16 accumulates in Float32."""

    title = "warpgroup F16/BF16 MMA Operation"

    def __init__(
        self, ab_dtype: Any, acc_dtype: Any, instruction_shape: Any, a_src: Any, a_major_mode: Any, b_major_mode: Any
    ) -> None:
        require_one_of("ab_dtype", ab_dtype, (BFloat16, Float16), "MmaF16BF16Op")
        allowed = (Float32,) if ab_dtype is BFloat16 else (Float16, Float32)
        require_one_of("acc_dtype", acc_dtype, allowed, f"MmaF16BF16Op of {ab_dtype}")
        super().__init__(ab_dtype, ab_dtype, acc_dtype, instruction_shape, a_src, a_major_mode, b_major_mode)

    @property
    def immediates(self) -> tuple[int, ...]:
        majors = (self.a_major_mode, self.b_major_mode)
        first = 0 if self.a_src is OperandSource.SMEM else 1
        return (1, 1, *(int(major is OperandMajorMode.MN) for major in majors[first:]))


class _Eight(WarpgroupMmaOp):
    """A product of 8-bit elements, which lie with K contiguous."""

    ab_dtypes: tuple
    acc_dtypes: tuple

    def __init__(
        self,
        a_dtype: Any,
        b_dtype: Any,
        acc_dtype: Any,
        instruction_shape: Any,
        a_src: Any,
        a_major_mode: Any,
        b_major_mode: Any,
    ) -> None:
        name = type(self).__name__
        require_one_of("a_dtype", a_dtype, self.ab_dtypes, name)
        require_one_of("b_dtype", b_dtype, self.ab_dtypes, name)
        require_one_of("acc_dtype", acc_dtype, self.acc_dtypes, name)
        super().__init__(a_dtype, b_dtype, acc_dtype, instruction_shape, a_src, a_major_mode, b_major_mode)


@dataclass(frozen=True, init=False)
class MmaF8Op(_Eight):
    """wgmma of Float8E4M3FN and Float8E5M2, in any pair, K = 32."""

    title = "warpgroup F8 MMA Operation"
    ab_dtypes = (Float8E5M2, Float8E4M3FN)
    acc_dtypes = (Float16, Float32)


@dataclass(frozen=True, init=False)
class MmaI8Op(_Eight):
    """wgmma of Int8 and Uint8, in any pair, K = 32, accumulated in Int32. N: 8, 16, 24, or a multiple of 16."""

    title = "warpgroup I8 MMA Operation"
    ab_dtypes = (Int8, Uint8)
    acc_dtypes = (Int32,)

    def _check_n(self, n: Any) -> None:
        super()._check_n(n)
        if n > 32 and n % 16:
            raise DSLUserCodeError(
                f"N of MmaI8Op must be 8, 16, 24 or a multiple of 16, got {n}", fix=f"N={-(-n // 16) * 16}"
            )

    @property
    def immediates(self) -> tuple[int, ...]:
        return ()
