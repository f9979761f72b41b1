"""Vectors: a few numbers of one type in the registers of a thread, of a static shape whose last mode is the fastest.

Operators work element by element. A number in an operation with a vector becomes one of its type; two vectors have one
type, and shapes that broadcast as in numpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Boolean, Int32, Numeric, NumericMeta, is_dynamic, numeric
from dsl.core.number.operators import operate as operate_numbers, type_name
from dsl.core.phrase import Phrase, shown
from dsl.gpu.debug import printf
from dsl.tile.vector import ssa
from dsl.tile.vector.mlir_vector import shuffle, splat
from dsl.tile.vector.reduction import ReductionOp
from dsl.tile.vector.ssa import TensorSSA

_REDUCTIONS = {"add": ReductionOp.ADD, "mul": ReductionOp.MUL, "min": ReductionOp.MIN, "max": ReductionOp.MAX}
_EXTREMES = {"min": "arith.minnumf", "max": "arith.maxnumf"}
_BITWISE = ("and", "or", "xor", "lshift", "rshift")
_COMPARED = ("eq", "ne", "lt", "le", "gt", "ge")


class Vector:
    """`shape` elements of `dtype`. It is a value: nothing can be assigned to an element."""

    __slots__ = ("flat", "shape")
    is_leaf = True  # of core.pytree
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, *, dtype: type[Numeric] | None = None, shape: Sequence[int] | None = None) -> None:
        """Of a flat value (TensorSSA), or of an SSA value of a vector type and what its elements are."""
        if not isinstance(value, TensorSSA):
            if dtype is None:
                raise DSLUserCodeTypeError("a Vector of an SSA value needs its dtype", fix="Vector(v, dtype=Float32)")
            value = TensorSSA(value, (math.prod(value.type.shape),), dtype)
        self.flat, self.shape = value, tuple(shape or (value.size,))

    @staticmethod
    def from_elements(scalars: Sequence[Any], dtype: type[Numeric]) -> Vector:
        """The vector of `scalars`, each as a `dtype`."""
        _require_type(dtype)
        if not isinstance(scalars, (tuple, list)) or not scalars:
            raise DSLUserCodeTypeError(
                f"from_elements takes a tuple of numbers, got {type_name(scalars)}", fix="from_elements((x, y), dtype)"
            )
        return Vector(ssa.from_numbers([dtype(each) for each in scalars], (len(scalars),)))

    def __class_getitem__(cls, parameters: Any) -> type[Vector]:
        """`Vector[Int8, 2]`, as annotations and result types are written: any vector."""
        return cls

    @property
    def dtype(self) -> type[Numeric]:
        return self.flat.dtype

    element_type = dtype

    @property
    def signed(self) -> bool | None:
        """Whether integers are signed; None of other elements."""
        return self.dtype.signed if self.dtype.is_integer else None

    if TYPE_CHECKING:  # set below

        def __ne__(self, other: object) -> Any: ...
        def __add__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...

    def numel(self) -> int:
        """The number of elements."""
        return self.flat.size

    # --- a leaf of core.pytree ---

    def ir(self) -> mlir.Value:
        return self.flat.ir()

    def ir_value(self, *, loc=None, ip=None) -> mlir.Value:
        """The SSA value: a vector of one dimension; `loc` and `ip` are from upstream, not used here."""
        return self.flat.ir()

    def ir_type(self) -> mlir.Type:
        return self.flat.ir_type()

    def with_ir(self, value: mlir.Value) -> Vector:
        return Vector(self.flat.with_ir(value), shape=self.shape)

    def type_key(self) -> Any:
        return (Vector, self.dtype, self.shape)

    @property
    def type_text(self) -> str:
        """The type in an error: `Vector of 4 Float32`."""
        return Phrase("Vector of {shape} {dtype}", shape="x".join(map(str, self.shape)), dtype=self.dtype)

    def __str__(self) -> str:
        return f"vector<{'x'.join(map(str, self.shape))}x{self.dtype.__name__}>"

    __repr__ = __str__

    # --- elements ---

    def __getitem__(self, index: Any) -> Any:
        """The element at an index a mode, or the vector of slices, whose integers keep their mode (of extent 1)."""
        indices = index if isinstance(index, tuple) else (index,)
        if len(indices) != len(self.shape):
            raise DSLUserCodeError(
                f"index of a vector of shape {self.shape} must have {len(self.shape)} parts, got {len(indices)}",
                fix="write `:` for a whole mode",
                id="INDEX_OUT_OF_RANGE",
            )
        if any(isinstance(each, slice) for each in indices):
            return self._sliced(indices)
        position: Any = 0
        for each, extent in zip(indices, self.shape):
            position = position * extent + _index(each, extent)
        return self.flat.element(position)

    def _sliced(self, indices: tuple) -> Vector:
        chosen = [_positions(each, extent) for each, extent in zip(indices, self.shape)]
        places = [0]
        for positions, extent in zip(chosen, self.shape):
            places = [place * extent + position for place in places for position in positions]
        return self._picked(places, tuple(map(len, chosen)))

    def _picked(self, places: list[int], shape: tuple[int, ...]) -> Vector:
        """The elements at `places`, counted in order."""
        if not places:
            raise DSLUserCodeValueError("a slice of a vector must have an element, got none", fix="v[0:2]")
        return Vector(TensorSSA(shuffle(self.ir(), places), (len(places),), self.dtype), shape=shape)

    def to_elements(self) -> tuple[Numeric, ...]:
        """The elements in order."""
        return tuple(self.flat.elements())

    def __iter__(self):
        return iter(self.to_elements())

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise DSLUserCodeTypeError(
            "assigns to an element of a Vector, which is a value",
            fix="make a new one: Vector.from_elements((...), dtype)",
        )

    def __len__(self) -> NoReturn:
        raise DSLUserCodeTypeError("a Vector has no len()", fix="`v.numel()` is the number of its elements")

    def __bool__(self) -> NoReturn:
        raise DSLUserCodeTypeError(f"condition must be scalar, got {self.type_text}", fix=self.truth_fix)

    truth_fix = "cutlass.vector.any_(v) or cutlass.vector.all_(v)"

    # --- conversion ---

    def to(self, dtype: type[Numeric]) -> Vector:
        """Every element as `dtype`."""
        return Vector(self.flat.to(dtype), shape=self.shape)

    def bitcast(self, dtype: type[Numeric]) -> Vector:
        """The same bits as elements of `dtype`; the last mode has more or fewer of them."""
        _require_type(dtype)
        if self.shape[-1] * self.dtype.width % dtype.width:
            raise DSLUserCodeValueError(
                f"{self.shape[-1]} elements of {self.dtype} have {self.shape[-1] * self.dtype.width} bits, no whole "
                f"elements of {dtype}",
                fix="convert with `.to(dtype)`",
            )
        last = self.shape[-1] * self.dtype.width // dtype.width
        return Vector(self.flat.bitcast(dtype), shape=(*self.shape[:-1], last))

    # --- operations ---

    def reduce(self, op: str = "add", *, dim: int | Sequence[int] | None = None, acc: Any = None) -> Any:
        """The sum (`add`), product (`mul`), smallest or largest (`min`, `max`) element; of modes `dim` alone, a Vector.

        `acc` is combined first.
        """
        if op not in _REDUCTIONS:
            raise DSLUserCodeValueError(
                f"reduction must be one of {', '.join(_REDUCTIONS)}, got {shown(op)}", fix='v.reduce("add")'
            )
        if dim is None:
            return _reduced(self.flat, op, acc)
        modes = [each % len(self.shape) for each in ([dim] if isinstance(dim, int) else dim)]
        kept = tuple(extent for mode, extent in enumerate(self.shape) if mode not in modes)
        if not kept:
            return _reduced(self.flat, op, acc)
        accs = acc.to_elements() if isinstance(acc, Vector) else [acc] * math.prod(kept)
        groups = [self._picked(places, (len(places),)).flat for places in _groups(self.shape, modes)]
        numbers = [_reduced(group, op, first) for group, first in zip(groups, accs)]
        return Vector(ssa.from_numbers(numbers, (len(numbers),)), shape=kept)

    def _with(self, name: str, other: Any, reflected: bool = False) -> Vector:
        if other is None and name in ("eq", "ne"):
            return NotImplemented
        left, right = _together(self, other)
        if reflected:
            left, right = right, left
        if name in _BITWISE and not self.dtype.is_integer:
            raise DSLUserCodeTypeError(
                Phrase("a Vector of {dtype} has no bitwise operators", dtype=self.dtype),
                fix="`v.bitcast(cutlass.Int32)`",
            )
        if name in ("add", "sub", "mul", "floordiv", "mod") and self.dtype is Boolean:
            raise DSLUserCodeTypeError("a Vector of Boolean has no arithmetic", fix="`v.to(cutlass.Int32)`")
        if name == "truediv" and self.dtype.is_integer:
            raise DSLUserCodeTypeError(
                "`/` of vectors needs floats, got elements of " + self.dtype.__name__,
                fix="convert with `.to(cutlass.Float32)`, or divide with `//`",
            )
        result = ssa.operate(name, left.flat, right.flat)
        return Vector(result if name in _COMPARED else result.to(self.dtype), shape=left.shape)

    def __neg__(self) -> Vector:
        return Vector(-self.flat, shape=self.shape)

    def __pos__(self) -> Vector:
        return self

    def __abs__(self) -> Vector:
        return Vector(abs(self.flat), shape=self.shape)

    def __invert__(self) -> Vector:
        return Vector(~self.flat, shape=self.shape)


def _operator(name: str, reflected: bool = False) -> Callable:
    return lambda self, other: self._with(name, other, reflected)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", *_BITWISE):
    setattr(Vector, f"__{_name}__", _operator(_name))
    setattr(Vector, f"__r{_name}__", _operator(_name, reflected=True))
for _name in _COMPARED:
    setattr(Vector, f"__{_name}__", _operator(_name))


def _require_type(dtype: Any) -> None:
    if not isinstance(dtype, NumericMeta):
        raise DSLUserCodeTypeError(
            f"elements of a Vector need a numeric type, got {type_name(dtype)}", fix="cutlass.Float32, for example"
        )


def _index(each: Any, extent: int) -> Any:
    """An index of a mode, from 0 on."""
    number = numeric(each)
    if number is None or not type(number).is_integer:
        raise DSLUserCodeTypeError(
            f"vector index must be an integer, got {type_name(each)}", fix="convert it: Int32(x)"
        )
    if is_dynamic(number):
        return number
    if not -extent <= number.value < extent:
        raise DSLUserCodeError(
            f"vector index must be {-extent}-{extent - 1}, got {number.value}",
            id="INDEX_OUT_OF_RANGE",
            fix=f"give 0 to {extent - 1}",
        )
    return number.value % extent


def _positions(each: Any, extent: int) -> list[int]:
    """The positions that an index or a slice of a mode chooses. Both are static."""
    if not isinstance(each, slice):
        place = _index(each, extent)
        if not isinstance(place, int):
            raise DSLUserCodeTypeError("an index next to a slice of a Vector must be static", fix="slice with integers")
        return [place]
    if any(is_dynamic(part) for part in (each.start, each.stop, each.step)):
        raise DSLUserCodeTypeError("a slice of a Vector must be static", fix="v[0:2], or v[i] for a dynamic element")
    return list(range(extent))[each]


def _groups(shape: tuple[int, ...], modes: list[int]) -> list[list[int]]:
    """For each element of the modes that are kept, where the elements are that are combined to it."""
    strides = [math.prod(shape[mode + 1 :]) for mode in range(len(shape))]

    def places(chosen: list[int]) -> list[int]:
        result = [0]
        for mode in chosen:
            result = [place + i * strides[mode] for place in result for i in range(shape[mode])]
        return result

    inner = places(modes)
    return [[start + place for place in inner] for start in places([m for m in range(len(shape)) if m not in modes])]


def _reduced(value: TensorSSA, op: str, acc: Any) -> Numeric:
    """The elements of a flat value, and `acc`, combined."""
    elements = value.elements()
    first = elements[0] if acc is None else value.dtype(acc)
    rest = elements[1:] if acc is None else elements
    if value.dtype.is_float and op in _EXTREMES:  # a NaN does not count, as in PTX's min and max
        for each in rest:
            first = value.dtype(mlir.result(_EXTREMES[op], value.dtype.carrier, first.ir(), each.ir()))
        return first
    if acc is None and op == "add" and value.dtype.is_float:
        first, rest = value.dtype(0), elements  # -0.0 alone sums up to 0.0
    if not rest:
        return first
    return value.dtype(ssa.from_numbers(rest, (len(rest),)).reduce(_REDUCTIONS[op], first, 0))


def _together(one: Vector, other: Any) -> tuple[Vector, Vector]:
    """Two vectors of one type and shape. A number is as many elements of the vector's type."""
    if not isinstance(other, Vector):
        number = numeric(other)
        if number is None:
            raise DSLUserCodeTypeError(
                f"an operator of a Vector takes a Vector or a number, got {type_name(other)}", fix="v + w, or v * 2.0"
            )
        if type(number).is_float and one.dtype.is_integer:
            raise DSLUserCodeTypeError(
                f"an operator of a Vector of {one.dtype} takes integers, got {type_name(other)}",
                fix="convert with `.to(cutlass.Float32)`",
            )
        return one, full(one.shape, other, one.dtype)
    if other.dtype is not one.dtype and other.dtype.carrier != one.dtype.carrier:
        raise DSLUserCodeTypeError(
            f"an operator needs two vectors of one type, got {one.dtype} and {other.dtype}",
            fix=f"convert one, for example `.to(cutlass.{one.dtype})`",
        )
    rank = max(len(one.shape), len(other.shape))
    shapes = [(1,) * (rank - len(each.shape)) + each.shape for each in (one, other)]
    if any(a != b and 1 not in (a, b) for a, b in zip(*shapes)):
        raise DSLUserCodeValueError(
            f"vectors of shapes {one.shape} and {other.shape} do not fit together", fix="broadcast_to(v, shape)"
        )
    shape = tuple(map(max, *shapes))
    return broadcast_to(one, shape), broadcast_to(other, shape)


# --- making ---------------------------------------------------------------------------------------------------------


def _static_shape(shape: Any) -> tuple[int, ...]:
    extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if not extents or not all(isinstance(extent, int) and extent > 0 for extent in extents):
        raise DSLUserCodeTypeError(
            f"shape of a Vector must be positive integers, got {shown(shape)}", fix="(4,), for example"
        )
    return extents


def full(shape: Sequence[int], fill_value: Any, dtype: type[Numeric] | None = None) -> Vector:
    """`fill_value` in every element."""
    extents, number = _static_shape(shape), numeric(fill_value)
    if number is None:
        raise DSLUserCodeTypeError(
            f"a Vector is filled with a number, got {type_name(fill_value)}", fix="full((4,), 0.0)"
        )
    dtype = dtype or type(number)
    count = math.prod(extents)
    return Vector(TensorSSA(splat(dtype(number), count), (count,), dtype), shape=extents)


def full_like(a: Vector, fill_value: Any, dtype: type[Numeric] | None = None) -> Vector:
    """`fill_value` in as many elements as `a` has."""
    return full(a.shape, fill_value, dtype or a.dtype)


def zeros_like(a: Vector, dtype: type[Numeric] | None = None) -> Vector:
    """Zeros in the shape of `a`."""
    return full_like(a, 0, dtype)


def ones_like(a: Vector, dtype: type[Numeric] | None = None) -> Vector:
    """Ones in the shape of `a`."""
    return full_like(a, 1, dtype)


empty_like = zeros_like


def broadcast_to(src: Any, target_shape: Sequence[int]) -> Vector:
    """A number or vector repeated: missing first modes, and modes of extent 1."""
    target = _static_shape(target_shape)
    if not isinstance(src, Vector):
        return full(target, src)
    if src.shape == target:
        return src
    own = (1,) * (len(target) - len(src.shape)) + src.shape
    if len(own) != len(target) or any(a not in (1, b) for a, b in zip(own, target)):
        raise DSLUserCodeValueError(
            f"a vector of shape {src.shape} is not repeated to {target}", fix="extents are equal, or 1"
        )
    places = [0]
    for extent, wanted in zip(own, target):
        places = [place * extent + (i if extent > 1 else 0) for place in places for i in range(wanted)]
    return src._picked(places, target)


def where(cond: Vector, x: Any, y: Any) -> Vector:
    """`x` where `cond`, `y` elsewhere."""
    if not isinstance(cond, Vector) or cond.dtype is not Boolean:
        raise DSLUserCodeTypeError(
            f"where takes a Vector of Boolean, got {type_name(cond)}", fix="where(v > 0, v, 0.0)"
        )
    like = x if isinstance(x, Vector) else y if isinstance(y, Vector) else full(cond.shape, x)
    sides = [each if isinstance(each, Vector) else full(cond.shape, each, like.dtype) for each in (x, y)]
    left, right = _together(*(broadcast_to(side, cond.shape) for side in sides))
    value = mlir.result("arith.select", left.ir_type(), cond.ir(), left.ir(), right.ir())
    return Vector(left.flat.with_ir(value), shape=cond.shape)


def any_(x: Vector) -> Boolean:
    """Whether an element is not 0."""
    return _truth(x, "or")


def all_(x: Vector) -> Boolean:
    """Whether no element is 0."""
    return _truth(x, "and")


def _truth(x: Vector, name: str) -> Boolean:
    truths: Vector = x if x.dtype is Boolean else x != 0
    result, *rest = truths.to_elements()
    for each in rest:
        result = operate_numbers(name, result, each)
    return Boolean(result)


def create_mask(shape: Sequence[int], dim_sizes: Sequence[Any]) -> Vector:
    """True where every index is below its number of `dim_sizes`."""
    extents = _static_shape(shape)
    if len(dim_sizes) != len(extents):
        raise DSLUserCodeValueError(
            f"a mask of shape {extents} needs {len(extents)} sizes, got {len(dim_sizes)}", fix="a size for each mode"
        )
    truths: list[Any] = [Boolean(True)]
    for extent, size in zip(extents, dim_sizes):
        inside = [Boolean(operate_numbers("lt", Int32(i), Int32(size))) for i in range(extent)]
        truths = [operate_numbers("and", before, each) for before in truths for each in inside]
    return Vector(ssa.from_numbers([Boolean(each) for each in truths], (len(truths),)), shape=extents)


def outerproduct(a: Vector, b: Vector, acc: Vector | None = None) -> Vector:
    """The matrix of products a[i] * b[j], (len a, len b), plus `acc`."""
    if len(a.shape) != 1 or len(b.shape) != 1:
        raise DSLUserCodeValueError(
            f"an outer product takes two vectors of one mode, got {a.shape} and {b.shape}", fix="give rows of them"
        )
    shape = (*a.shape, *b.shape)
    rows = a._picked([i for i in range(a.numel()) for _ in range(b.numel())], shape)
    product = rows * broadcast_to(b, shape)
    return product if acc is None else product + acc


def print_nd_vector(src: Vector) -> None:
    """Print the elements when the kernel runs, a row a line."""
    width = src.shape[-1]
    elements = src.to_elements()
    for start in range(0, len(elements), width):
        printf(", ".join(["{}"] * width), *elements[start : start + width])
