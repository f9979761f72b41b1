"""Copy atoms: what one copy instruction moves. An atom is an operation, an element type and a vector width in bits."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.number.dtypes import Numeric
from dsl.core.number.pointer import Pointer, element_name
from dsl.core.phrase import shown
from dsl.gpu.memory.copy import cp_async
from dsl.layout import Layout, size
from dsl.tile.copy.matrix_copy import MatrixOp
from dsl.tile.tensor.constant import Constant, CopyOp
from dsl.tile.vector.vector import load_vector, store_vector


class LoadCacheMode(enum.Enum):
    """The caches of a load. PTX ISA: Cache Operators."""

    ALWAYS = "ca"
    GLOBAL = "cg"
    STREAMING = "cs"
    LAST_USE = "lu"
    NONE = "cv"


class VectorOp(CopyOp, Constant):
    """A copy of contiguous elements by one thread."""

    thr_id = Layout(1, 0)
    loads = True

    def bits(self, asked: int, dtype: type[Numeric]) -> int:
        return asked or dtype.storage_width

    def layouts(self, dtype: type[Numeric], bits: int) -> tuple[Layout, Layout]:
        """(thread, value) -> element, of source and destination."""
        count = bits // dtype.storage_width
        layout = Layout((1, count), (0, 0 if count == 1 else 1))
        return layout, layout

    def check(self, dtype: type[Numeric], bits: int) -> None:
        """Raise DSLUserCodeError where the instruction does not move as many bits."""
        raise NotImplementedError

    def move(self, src: Pointer, dst: Pointer, count: int) -> None:
        """Copy `count` contiguous elements."""
        raise NotImplementedError

    def with_settings(self, settings: dict[str, Any]) -> VectorOp:
        """The operation with an atom's settings for accesses to memory."""
        raise _no_setting(self, next(iter(settings)))


def _no_setting(op: Any, name: str) -> DSLUserCodeTypeError:
    return DSLUserCodeTypeError(
        f"an atom of {type(op).__name__} has no parameter `{name}`",
        id="CALL_UNEXPECTED_KWARG",
        fix="CopyG2ROp, CopyR2GOp, CopyS2ROp and CopyR2SOp have settings for accesses to memory",
    )


@dataclass(frozen=True)
class CopyUniversalOp(VectorOp):
    """Load into registers, then store; a false predicate skips both."""

    zero_fills = False

    def check(self, dtype: type[Numeric], bits: int) -> None:
        if bits % dtype.storage_width or bits not in (8, 16, 32, 64, 128, 256):
            raise DSLUserCodeError(
                f"a CopyUniversalOp moves 8, 16, 32, 64, 128 or 256 bits, whole elements of {dtype}, got {bits}",
                fix=f"num_bits_per_copy={max(dtype.storage_width, 32)}",
            )

    def move(self, src: Pointer, dst: Pointer, count: int) -> None:
        store_vector(dst, load_vector(src, count))


@dataclass(frozen=True)
class CopyG2SOp(VectorOp):
    """cp.async from global to shared memory; a false predicate fills with zeros. PTX ISA: cp.async."""

    cache_mode: LoadCacheMode = LoadCacheMode.ALWAYS

    zero_fills = True

    def __post_init__(self) -> None:
        if self.cache_mode not in (LoadCacheMode.ALWAYS, LoadCacheMode.GLOBAL):
            raise DSLUserCodeError(
                f"cp.async has no cache mode {self.cache_mode}",
                fix="cache_mode=LoadCacheMode.ALWAYS, or GLOBAL for 128-bit copies",
            )

    def check(self, dtype: type[Numeric], bits: int) -> None:
        legal = (128,) if self.cache_mode is LoadCacheMode.GLOBAL else (32, 64, 128)
        if bits not in legal or bits % dtype.storage_width:
            raise DSLUserCodeError(
                f"cp.async.{self.cache_mode.value} copies {' or '.join(map(str, legal))} bits, got {bits}",
                fix="num_bits_per_copy=128"
                if len(legal) == 1
                else "num_bits_per_copy=32, 64 or 128 with LoadCacheMode.ALWAYS",
            )

    def move(self, src: Pointer, dst: Pointer, count: int, src_bytes: Any = None) -> None:
        """Copy `count` elements, `src_bytes` of them from memory (all without it) and zeros after them."""
        cp_async(dst, src, count * src.dtype.storage_width // 8, src_bytes, self.cache_mode.value)


@dataclass(frozen=True)
class CopyAtom(Constant):
    """One instruction's copy of elements of `value_type`, by one thread or by a warp."""

    op: VectorOp | MatrixOp
    value_type: type[Numeric]
    num_bits_per_copy: int

    @property
    def count(self) -> int:
        """The elements of one call that a thread has on the side that registers are: of a vector all it moves."""
        return size(self.layout_ref_tv, 1)

    @property
    def thr_id(self) -> Layout:
        """The threads that one call takes."""
        return self.op.thr_id

    @property
    def layout_src_tv(self) -> Layout:
        """(thread, value) -> element of what one call moves, where it is read."""
        return self.op.layouts(self.value_type, self.num_bits_per_copy)[0]

    @property
    def layout_dst_tv(self) -> Layout:
        """(thread, value) -> element of what one call moves, where it is written."""
        return self.op.layouts(self.value_type, self.num_bits_per_copy)[1]

    @property
    def layout_ref_tv(self) -> Layout:
        """That of the side that TV layouts of tiled copies speak of: registers."""
        return self.layout_dst_tv if self.op.loads else self.layout_src_tv

    def __str__(self) -> str:
        return "\n".join(("Copy Atom", *self._rows(15)))

    def _rows(self, width: int) -> list[str]:
        rows = (
            ("ThrID", self.thr_id),
            ("TV Layout Src", self.layout_src_tv),
            ("TV Layout Dst", self.layout_dst_tv),
            ("Value type", element_name(self.value_type)),
        )
        return [f"  {name + ':':<{width}}{value}" for name, value in rows]


def make_copy_atom(
    op: Any, copy_internal_type: type[Numeric], *, num_bits_per_copy: int = 0, **settings: Any
) -> CopyAtom:
    """A copy atom; without `num_bits_per_copy` it moves one element. `settings`: of memory_copy's operations."""
    if not isinstance(op, (VectorOp, MatrixOp)) and not hasattr(op, "atom_of"):
        raise DSLUserCodeTypeError(
            f"a copy atom takes a copy operation, got {shown(op)}",
            fix="cute.nvgpu.CopyUniversalOp() or cpasync.CopyG2SOp()",
        )
    if not (isinstance(copy_internal_type, type) and issubclass(copy_internal_type, Numeric)):
        raise DSLUserCodeTypeError(
            f"a copy atom needs a numeric type, got {shown(copy_internal_type)}", fix="cutlass.Float32, for example"
        )
    if not isinstance(num_bits_per_copy, int):
        raise DSLUserCodeTypeError(
            "num_bits_per_copy must be known while compiling, got a dynamic value", fix="pass it as cutlass.Constexpr"
        )
    if settings:
        if not isinstance(op, VectorOp):
            raise _no_setting(op, next(iter(settings)))
        op = op.with_settings(settings)
    if hasattr(op, "atom_of"):
        return op.atom_of(copy_internal_type, num_bits_per_copy)
    bits = op.bits(num_bits_per_copy, copy_internal_type)
    op.check(copy_internal_type, bits)
    return CopyAtom(op, copy_internal_type, bits)
