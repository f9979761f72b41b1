"""Matrix multiply atoms: what one mma instruction computes, D = A * B + C, and which thread holds which element.

A is (M, K), B is (N, K), C and D are (M, N). A TV layout maps (thread, value) to the column-major index of an element.
PTX ISA: Matrix Fragments for mma.mNnNkN; CuTe doc: 0t_mma_atom.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dsl import layout as lay
from dsl.core.errors import DSLUserCodeError, DSLUserCodeRuntimeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.number.dtypes import (
    BFloat16,
    Boolean,
    Float8E4M3FN,
    Float8E5M2,
    Float16,
    Float32,
    Float64,
    Numeric,
    TFloat32,
    is_dynamic,
    numeric,
)
from dsl.core.number.operators import type_name
from dsl.core.phrase import shown
from dsl.layout import ComposedLayout, Layout
from dsl.layout.int_tuple import text
from dsl.tile.tensor.constant import Constant
from dsl.tile.tensor.index import as_index
from dsl.tile.tensor.tensor import Tensor, make_rmem_tensor

_WARP = Layout(32, 1)
_TEXT_INDENT = "\n  "


def _tv(shape: Any, stride: Any) -> Layout:
    return Layout(shape, stride)


_C = _tv(((4, 8), (2, 2)), ((32, 1), (16, 8)))
# (bits of an element, K) -> the TV layouts of A (16, K) and B (8, K)
_AB = {
    (16, 8): (_tv(((4, 8), (2, 2)), ((32, 1), (16, 8))), _tv(((4, 8), 2), ((16, 1), 8))),
    (16, 16): (_tv(((4, 8), (2, 2, 2)), ((32, 1), (16, 8, 128))), _tv(((4, 8), (2, 2)), ((16, 1), (8, 64)))),
    (32, 4): (_tv(((4, 8), 2), ((16, 1), 8)), _tv(((4, 8), 1), ((8, 1), 0))),
    (32, 8): (_tv(((4, 8), (2, 2)), ((16, 1), (8, 64))), _tv(((4, 8), 2), ((8, 1), 32))),
    (8, 16): (_tv(((4, 8), (4, 2)), ((64, 1), (16, 8))), _tv(((4, 8), 4), ((32, 1), 8))),
    (8, 32): (_tv(((4, 8), (4, 2, 2)), ((64, 1), (16, 8, 256))), _tv(((4, 8), (4, 2)), ((32, 1), (8, 128)))),
}
PTX_NAME = {
    Float16: "f16",
    BFloat16: "bf16",
    TFloat32: "tf32",
    Float8E4M3FN: "e4m3",
    Float8E5M2: "e5m2",
    Float32: "f32",
}


def _names(choices: tuple) -> str:
    return " or ".join(map(_shown, choices))


def _shown(choice: Any) -> str:
    if isinstance(choice, enum.Enum):
        return f"{type(choice).__name__}.{choice.name}"
    return getattr(choice, "__name__", None) or text(choice)


def require_one_of(parameter: str, value: Any, choices: tuple, operation: str) -> None:
    """Raise DSLUserCodeError where `value` is none of `choices`."""
    if value not in choices:
        is_plain = isinstance(value, (int, tuple, type))
        got = getattr(value, "__name__", None) or text(value) if is_plain else shown(value)
        raise DSLUserCodeError(
            f"{parameter} of {operation} must be {_names(choices)}, got {got}",
            fix=f"{parameter}={_names(choices[-1:])}",
        )


class MmaOperation:
    """The attributes of each matrix multiply operation: `shape_mnk`, `thr_id`, `layouts`, the types of its matrices."""

    fields: Any = None
    shape_mnk: Any
    thr_id: Any
    layouts: Any
    ab_dtype: Any
    a_dtype: Any
    b_dtype: Any
    acc_dtype: Any

    def fragment(self, name: str, part: Any) -> Tensor:
        """Registers for A, B or C of a partition, or of a shape."""
        dtype = {"A": self.a_dtype, "B": self.b_dtype, "C": self.acc_dtype}[name]
        return self.registers(part, dtype, name != "C", f"make_fragment_{name}")

    @staticmethod
    def registers(part: Any, dtype: type[Numeric], ordered: bool, what: str) -> Tensor:
        return _fragment(part, dtype, ordered, what)


@dataclass(frozen=True)
class MmaOp(MmaOperation, Constant):
    """A matrix multiply operation: the types of A and B and of the accumulator, and the shape (M, N, K)."""

    ab_dtype: type[Numeric]
    acc_dtype: type[Numeric]
    shape_mnk: tuple

    title = "MMA Operation"
    thr_id = _WARP

    @property
    def a_dtype(self) -> type[Numeric]:
        return self.ab_dtype

    b_dtype = a_dtype

    @property
    def layouts(self) -> tuple[Layout, Layout, Layout]:
        """The TV layouts of A, B and C."""
        return (*_AB[self.ab_dtype.width, self.shape_mnk[2]], _C)

    def __str__(self) -> str:
        return _TEXT_INDENT.join(
            (
                self.title,
                f"A/B data type         = {self.ab_dtype}",
                f"Accumulator data type = {self.acc_dtype}",
                f"Instruction shape MNK = {self.shape_mnk}",
            )
        )


@dataclass(frozen=True)
class MmaUniversalOp(MmaOperation, Constant):
    """One multiply-add by one thread, D = A * B + C of single elements, rounded once. Float16, Float32 or Float64."""

    abacc_dtype: type[Numeric]

    thr_id = Layout(1, 0)
    shape_mnk = (1, 1, 1)
    layouts = (Layout((1, 1), (0, 0)),) * 3

    def __post_init__(self) -> None:
        require_one_of("abacc_dtype", self.abacc_dtype, (Float16, Float64, Float32), "MmaUniversalOp")

    @property
    def ab_dtype(self) -> type[Numeric]:
        return self.abacc_dtype

    a_dtype = b_dtype = acc_dtype = ab_dtype

    def __str__(self) -> str:
        return f"universal MMA Operation using FMA{_TEXT_INDENT}A/B/Accumulator data type = {self.abacc_dtype}"


@dataclass(frozen=True)
class MmaF16BF16Op(MmaOp):
    """mma.sync of Float16 or BFloat16 (sm_80): shape (16, 8, 8) or (16, 8, 16); a BFloat16 accumulates in Float32."""

    title = "warp-level F16/BF16 MMA Operation"

    def __post_init__(self) -> None:
        require_one_of("ab_dtype", self.ab_dtype, (BFloat16, Float16), "MmaF16BF16Op")
        require_one_of("acc_dtype", self.acc_dtype, (Float16, Float32), "MmaF16BF16Op")
        if self.ab_dtype is BFloat16:
            require_one_of("acc_dtype", self.acc_dtype, (Float32,), "MmaF16BF16Op of BFloat16")
        require_one_of("shape_mnk", self.shape_mnk, ((16, 8, 8), (16, 8, 16)), "MmaF16BF16Op")


@dataclass(frozen=True, init=False)
class MmaTF32Op(MmaOp):
    """mma.sync of TFloat32 (sm_80), accumulated in Float32: shape (16, 8, 4) or (16, 8, 8)."""

    title = "warp-level TF32 MMA Operation"

    def __init__(self, shape_mnk: tuple) -> None:
        require_one_of("shape_mnk", shape_mnk, ((16, 8, 4), (16, 8, 8)), "MmaTF32Op")
        super().__init__(TFloat32, Float32, shape_mnk)


@dataclass(frozen=True)
class MmaFP8Op(MmaOp):
    """mma.sync of Float8E4M3FN or Float8E5M2 (sm_89): shape (16, 8, 16) or (16, 8, 32)."""

    title = "warp-level FP8 MMA Operation (SM89)"

    def __post_init__(self) -> None:
        require_one_of("ab_dtype", self.ab_dtype, (Float8E5M2, Float8E4M3FN), "MmaFP8Op")
        require_one_of("acc_dtype", self.acc_dtype, (Float16, Float32), "MmaFP8Op")
        require_one_of("shape_mnk", self.shape_mnk, ((16, 8, 16), (16, 8, 32)), "MmaFP8Op")


@dataclass(frozen=True)
class MmaAtom(Constant):
    """One mma: `shape_mnk`, the threads `thr_id`, and their elements: `tv_layout_A`, `tv_layout_B`, `tv_layout_C`."""

    op: MmaOperation
    fields: Any = field(default=None, kw_only=True, compare=False)

    def __reached__(self) -> tuple:
        """The objects that a dynamic statement may change through the atom (core.control_flow.mutable_state)."""
        return () if self.fields is None else (self.fields,)

    def __flatten__(self) -> tuple[tuple, Any]:
        """Its fields go by value, so that dynamic statements can merge two atoms."""
        return ((), self) if self.fields is None else ((self.fields.accumulate,), (self,))

    @classmethod
    def __unflatten__(cls, key: Any, children: Sequence[Any]) -> Any:
        if isinstance(key, MmaAtom):
            return key
        return replace(key[0], fields=replace(key[0].fields, accumulate=children[0]))

    @property
    def shape_mnk(self) -> tuple:
        return self.op.shape_mnk

    @property
    def thr_id(self) -> Layout:
        return self.op.thr_id

    @property
    def tv_layout_A(self) -> Layout:
        return self.op.layouts[0]

    @property
    def tv_layout_B(self) -> Layout:
        return self.op.layouts[1]

    @property
    def tv_layout_C(self) -> Layout:
        return self.op.layouts[2]

    def get(self, field: Any) -> Any:
        """The value of a field: `warpgroup.Field.ACCUMULATE`, a Boolean."""
        self._check_field(field, "get")
        return Boolean(self.fields.accumulate)

    def set(self, modifier: Any, value: Any) -> None:
        """Change a field of this atom, in place."""
        self._check_field(modifier, "set")
        number = numeric(value)
        if number is None:
            raise DSLUserCodeTypeError(
                f"set: {modifier} must be true or false, got {type_name(value)}", fix="tiled_mma.set(field, True)"
            )
        self.fields.accumulate = Boolean(number) if is_dynamic(number) else bool(number.value)

    def _check_field(self, field: Any, method: str) -> None:
        if self.fields is None:
            raise DSLUserCodeRuntimeError(
                f"{method}: an atom of {type(self.op).__name__} has no fields",
                fix="leave it out: fields such as ACCUMULATE are of warpgroup atoms",
            )
        if getattr(field, "value", field) != "accum_c":
            raise DSLUserCodeValueError(
                f"{method}: the field of a warpgroup's atom must be warpgroup.Field.ACCUMULATE, got {shown(field)}",
                fix="tiled_mma.set(cute.nvgpu.warpgroup.Field.ACCUMULATE, True)",
            )

    def make_fragment_A(self, input: Any) -> Tensor:
        """Registers for A: of the shape of a partition, ordered like it (values first), or of a shape, column-major.

        For a warpgroup, whose operands are in shared memory, matrix descriptors of a partition.
        """
        return self.op.fragment("A", input)

    def make_fragment_B(self, input: Any) -> Tensor:
        """Registers or descriptors for B, as for A."""
        return self.op.fragment("B", input)

    def make_fragment_C(self, input: Any) -> Tensor:
        """Registers for C and D: of the shape of a partition, or of a shape, column-major."""
        return self.op.fragment("C", input)

    def __str__(self) -> str:
        return "\n".join(("MMA Atom", *self._rows(4)))

    def _rows(self, width: int) -> list[str]:
        rows = (
            ("ThrID", self.thr_id),
            ("Shape MNK", text(self.shape_mnk)),
            ("TV Layout A", self.tv_layout_A),
            ("TV Layout B", self.tv_layout_B),
            ("TV Layout C", self.tv_layout_C),
        )
        return [f"  {name + ':':<{9 + width}}{value}" for name, value in rows]


def _fragment(x: Any, dtype: type[Numeric], ordered: bool, what: str) -> Tensor:
    if isinstance(x, Tensor):
        x.pointer()
        x = x.layout
    if isinstance(x, (Layout, ComposedLayout)):
        strided = x.outer if isinstance(x, ComposedLayout) else x
        layout = lay.make_fragment_layout(strided) if ordered else lay.make_layout(strided.shape)
    else:
        layout = lay.make_layout(as_index(x))
    if not lay.is_static(layout.shape):
        raise DSLUserCodeError(
            f"shape of {what} must be static, got {text(layout.shape)}",
            fix="take one tile: `thr_mma.partition_A(sA)[None, None, None, 0]`",
        )
    return make_rmem_tensor(layout, dtype)


def make_mma_atom(op: MmaOperation) -> MmaAtom:
    """The atom of a matrix multiply operation."""
    if not isinstance(op, MmaOperation):
        raise DSLUserCodeTypeError(
            f"an mma atom takes an mma operation, got {type(op).__name__}",
            fix="cute.nvgpu.warp.MmaF16BF16Op(ab_dtype, acc_dtype, (16, 8, 16)), for example",
        )
    return MmaAtom(op, fields=op.fields)
