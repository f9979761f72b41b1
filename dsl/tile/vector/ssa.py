"""TensorSSA: the elements of a tensor as one immutable value in registers, an MLIR vector.

Elements lie colexicographically by the static shape, the first mode fastest. Operators work element by element, promote
as scalars do, and broadcast (dsl.tile.vector.broadcast).  CuTe DSL documentation: TensorSSA.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dsl import layout as lay
from dsl.core import number_rules
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, DSLUserCodeValueError
from dsl.core.ir import arithmetic, mlir
from dsl.core.number import conversion
from dsl.core.number.dtypes import Boolean, Float32, Numeric, NumericMeta, is_dynamic, numeric, promote
from dsl.core.number.operators import INTEGER_ONLY, SIGNS, type_name
from dsl.core.number.pointer import element_name
from dsl.core.phrase import Phrase, shown
from dsl.layout import LayoutError
from dsl.layout.int_tuple import text
from dsl.layout.layout import check_coord
from dsl.tile.tensor import packed
from dsl.tile.tensor.index import as_index
from dsl.tile.vector import broadcast, reduction
from dsl.tile.vector.mlir_vector import extract, from_elements, shuffle, splat

_OF_TRUTH = {"add": "or", "sub": "xor", "mul": "and"}  # Boolean + Boolean is Boolean


class TensorSSA:
    """A value of static shape; `shape` and `dtype` (also `element_type`) describe it.

    `t.load()` makes one and `t.store(value)` writes one; full, where and operators make others. It can be carried
    through dynamic loops and branches: a value of another shape or type there is an error. `stored` is the vector of
    bytes that elements of parts of a byte were unpacked from, where they were: stored again it is a copy.
    """

    __slots__ = ("_value", "_owner", "shape", "dtype", "stored")
    is_leaf = True  # of core.pytree
    __hash__ = None

    def __init__(self, value: mlir.Value, shape: Any, dtype: type[Numeric], stored: mlir.Value | None = None) -> None:
        self._value, self._owner, self.shape, self.dtype = value, mlir.current_function(), shape, dtype
        self.stored = stored

    @property
    def element_type(self) -> type[Numeric]:
        return self.dtype

    @property
    def size(self) -> int:
        """The number of elements."""
        return lay.size(self.shape)

    # --- a leaf of core.pytree ---

    def ir(self) -> mlir.Value:
        """The vector. Raises DSLUserCodeError in another function than it was made in."""
        mlir.check_owner(self._owner)
        return self._value

    ir_value = ir
    value = property(ir)

    def ir_value_int8(self) -> mlir.Value:
        """The vector as stored in memory: a Boolean is a byte."""
        return in_memory(self)

    def ir_type(self) -> mlir.Type:
        return mlir.vector(self.dtype.mlir_type, self.size)

    def with_ir(self, value: mlir.Value) -> TensorSSA:
        return TensorSSA(value, self.shape, self.dtype)

    def type_key(self) -> Any:
        return (TensorSSA, self.dtype, self.shape)

    def __flatten__(self) -> tuple[tuple, Any]:
        """The vector, and what else makes the value: two values of other keys have no common type."""
        return (self.ir(),), (self.dtype, self.shape)

    @classmethod
    def __unflatten__(cls, key: Any, children: Any) -> TensorSSA:
        dtype, shape = key
        (value,) = children
        return cls(value if isinstance(value, mlir.Value) else value.ir(), shape, dtype)

    @property
    def type_text(self) -> str:
        """The type in an error: `TensorSSA of Float32 (2,3)`."""
        return Phrase("TensorSSA of {dtype} {shape}", "VECTOR_TYPE", dtype=self.dtype, shape=text(self.shape))

    def __str__(self) -> str:
        element = element_name(self.dtype) if conversion.is_bits(self.dtype) else self.dtype.mlir_type
        return f"tensor_value<vector<{self.size}x{element}> o {self.shape}>"

    __repr__ = __str__

    def __bool__(self) -> bool:
        raise DSLUserCodeTypeError(f"condition must be scalar, got {self.type_text}", fix=self.truth_fix)

    truth_fix = "cute.any_(x) or cute.all_(x); `&`, `|` and `~` work element by element"

    def __iter__(self):
        raise DSLUserCodeTypeError(
            "a TensorSSA is not iterated", fix="for i in cutlass.range_constexpr(cute.size(x.shape)): ... x[i]"
        )

    def __contains__(self, value: Any) -> bool:
        raise DSLUserCodeTypeError("`in` does not search a TensorSSA", fix="compare and ask: `cute.any_(x == value)`")

    def __len__(self) -> int:
        raise DSLUserCodeTypeError("a TensorSSA has no len()", fix="`cute.size(x.shape)` is the number of its elements")

    # --- elements ---

    def __getitem__(self, coord: Any, *, loc=None, ip=None) -> Any:
        """The element at a coordinate, or the elements of the modes where it has None; those coordinates are static."""
        coord = as_index(coord)
        try:
            check_coord(coord, self.shape)
        except LayoutError as error:
            raise DSLUserCodeError(
                f"{error.message}; the value is {text(self.shape)}", fix=error.fix, id="INDEX_OUT_OF_RANGE"
            ) from None
        compact = lay.make_layout(self.shape)
        if not lay.has_none(coord):
            return self.element(compact(coord))
        if coord is None:
            return self
        part, start = lay.slice_and_offset(coord, compact)
        if not isinstance(start, int):
            raise DSLUserCodeValueError(
                "a slice of a TensorSSA starts at a coordinate known while compiling",
                fix="store the value to a register tensor, and load a slice of that",
            )
        return TensorSSA(shuffle(self.ir(), [start + part(i) for i in range(lay.size(part))]), part.shape, self.dtype)

    def element(self, index: Any) -> Numeric:
        """Element `index` (static or dynamic), counted colexicographically."""
        return self.dtype(extract(self.ir(), int(index) if not is_dynamic(index) else index.ir()))

    def elements(self) -> list[Numeric]:
        return [self.element(i) for i in range(self.size)]

    def reshape(self, shape: Any) -> TensorSSA:
        """The same elements in the same order as another shape of as many."""
        shape = static_shape(shape)
        if lay.size(shape) != self.size:
            raise DSLUserCodeValueError(
                f"a value of {self.size} elements {text(self.shape)} has no shape {text(shape)}",
                fix="give a shape of as many elements",
            )
        return TensorSSA(self.ir(), shape, self.dtype, self.stored)

    def broadcast_to(self, target_shape: Any) -> TensorSSA:
        """The value repeated to `target_shape`: modes of extent 1, and missing last modes, repeat."""
        target = static_shape(target_shape)
        if self.shape == target:
            return self
        source = broadcast.elements(self.shape, target)
        if source == list(range(self.size)):
            return TensorSSA(self.ir(), target, self.dtype)
        return TensorSSA(shuffle(self.ir(), source), target, self.dtype)

    # --- conversion ---

    def to(self, dtype: type[Numeric]) -> TensorSSA:
        """Every element as `dtype`. An integer becomes the Boolean that is its low bit, as NVIDIA's compiler has it."""
        if not isinstance(dtype, NumericMeta):
            raise DSLUserCodeTypeError(
                f"`.to()` takes a numeric type, got {shown(dtype)}", fix="for example `x.to(cutlass.Float32)`"
            )
        return self if dtype is self.dtype else TensorSSA(_converted(self, dtype), self.shape, dtype)

    def bitcast(self, dtype: type[Numeric]) -> TensorSSA:
        """The same bits as elements of `dtype`, a value of one mode."""
        bits = self.size * self.dtype.width
        if Boolean in (self.dtype, dtype) or bits % dtype.width:
            raise DSLUserCodeValueError(
                f"{self.size} elements of {self.dtype} are {bits} bits, no whole elements of {dtype}",
                fix="convert with `.to(dtype)`",
            )
        count = bits // dtype.width
        if self.dtype.is_packed or dtype.is_packed:
            return self._packed_bitcast(dtype, count)
        value = mlir.result("vector.bitcast", mlir.vector(dtype.mlir_type, count), self.ir())
        return TensorSSA(value, (count,), dtype)

    def _packed_bitcast(self, dtype: type[Numeric], count: int) -> TensorSSA:
        """`bitcast` where this type or `dtype` has parts of a byte. They are whole bytes together."""
        if self.dtype.is_packed:
            stored = self.packed_bytes()
        else:
            size_bytes = self.size * self.dtype.width // 8
            stored = mlir.result("vector.bitcast", mlir.vector(mlir.i8, size_bytes), self.ir())
        if dtype.is_packed:
            return TensorSSA(packed.unpack(stored, dtype, count), (count,), dtype, stored)
        return TensorSSA(mlir.result("vector.bitcast", mlir.vector(dtype.mlir_type, count), stored), (count,), dtype)

    def packed_bytes(self) -> mlir.Value:
        """The bytes, a vector of i8, that elements of parts of a byte take. They are whole."""
        return packed.pack(self.ir(), self.dtype) if self.stored is None else self.stored

    # --- operations ---

    def apply_op(self, op: Callable, other: Any, flip: bool = False) -> TensorSSA:
        """`op(self, other)` on the two brought to one type and one shape, or with `flip` `op(other, self)`."""
        left, right = _together("apply_op", self, other)
        return op(right, left) if flip else op(left, right)

    def reduce(self, op: Any, init_val: Any, reduction_profile: Any) -> Any:
        """Combine the elements of the modes for which the profile has an integer, with a ReductionOp.

        An integer alone, or no None, gives a number; otherwise a TensorSSA of the modes that have None. Elements are
        combined in order, `init_val` (converted to `dtype`) first.
        """
        value = self.ir()
        result, shape = reduction.reduce(value, self.shape, self.dtype, op, init_val, reduction_profile)
        if shape is None:
            return self.dtype(result)
        return self if result is value else TensorSSA(result, shape, self.dtype)

    def __neg__(self) -> TensorSSA:
        return self.with_ir(self.ir() if self.dtype is Boolean else arithmetic.negate(_arithmetic(self, "-")))

    def __pos__(self) -> TensorSSA:
        return self

    def __abs__(self) -> TensorSSA:
        """Of unsigned elements too the magnitude of the bits read as signed, as NVIDIA's compiler has it."""
        return self.with_ir(self.ir() if self.dtype is Boolean else arithmetic.absolute(_arithmetic(self, "abs"), True))

    def __invert__(self) -> TensorSSA:
        if not self.dtype.is_integer:
            raise DSLUserCodeTypeError(f"`~` needs integers, got elements of {self.dtype}", fix="convert them first")
        return self.with_ir(
            arithmetic.binary(
                "xor", self.ir(), arithmetic.constant(1 if self.dtype is Boolean else -1, self.ir_type()), True
            )
        )


# --- in memory ------------------------------------------------------------------------------------------------------


def in_memory(value: TensorSSA) -> mlir.Value:
    """The vector of storage elements: a Boolean is a byte of 0 or 1."""
    if value.dtype is not Boolean:
        return value.ir()
    return mlir.result("arith.extui", mlir.vector(mlir.i8, value.size), value.ir())


def from_memory(stored: mlir.Value, shape: Any, dtype: type[Numeric]) -> TensorSSA:
    """The value of the vector `stored` in memory; a Boolean is true if its byte is not 0."""
    if dtype is Boolean:
        stored = arithmetic.compare("ne", stored, arithmetic.constant(0, stored.type), False)
    return TensorSSA(stored, shape, dtype)


def static_shape(shape: Any) -> Any:
    """A shape of Python integers. Raises DSLUserCodeTypeError for dynamic extents and those below 1."""
    shape = as_index(shape)
    if not lay.is_static(shape) or any(leaf is None or leaf < 1 for leaf in lay.flatten_to_tuple(shape)):
        raise DSLUserCodeTypeError(
            f"shape of a TensorSSA must be static and positive, got {text(shape)}",
            fix="give extents as Python integers",
        )
    return shape


def _arithmetic(value: TensorSSA, sign: str) -> mlir.Value:
    """The vector, where its type has arithmetic. Raises DSLUserCodeTypeError otherwise."""
    if conversion.is_bits(value.dtype):
        raise DSLUserCodeTypeError(
            f"`{sign}` needs numbers, but {value.dtype} is a storage type", fix="convert it: `x.to(cutlass.Float32)`"
        )
    return value.ir()


def _converted(value: TensorSSA, dtype: type[Numeric]) -> mlir.Value:
    source = value.dtype
    narrow = conversion.convert_pairs([element.ir() for element in value.elements()], source, dtype)
    if narrow is not None:
        return from_elements(narrow)
    if conversion.is_bits(source) or conversion.is_bits(dtype) or source.is_packed or dtype.is_packed:
        return from_elements([conversion.convert(element.ir(), source, dtype) for element in value.elements()])
    vector = value.ir()
    if dtype is Boolean:
        return (
            arithmetic.compare("ne", vector, arithmetic.constant(0.0, vector.type), True)
            if source.is_float
            else mlir.result("arith.trunci", mlir.vector(mlir.i1, value.size), vector)
        )
    signed = source.signed and source is not Boolean
    both = dtype.signed or not dtype.is_integer or number_rules.current().extends_by_source
    return arithmetic.convert(vector, dtype.mlir_type, signed and both, dtype.signed)


# --- operators ------------------------------------------------------------------------------------------------------


def _type_of(operand: Any, sign: str) -> type[Numeric]:
    if isinstance(operand, TensorSSA):
        return operand.dtype
    number = numeric(operand)
    if number is None:
        fix = "load it first: `t.load()`" if hasattr(operand, "load") else "operands are TensorSSA and numbers"
        raise DSLUserCodeTypeError(f"`{sign}` of a TensorSSA and {type_name(operand)} is not defined", fix=fix)
    return type(number)


def _as_value(operand: Any, dtype: type[Numeric], shape: Any) -> TensorSSA:
    """`operand` as elements of `dtype` in `shape`."""
    if isinstance(operand, TensorSSA):
        return operand.to(dtype).broadcast_to(shape)
    return TensorSSA(splat(dtype(numeric(operand)), lay.size(shape)), shape, dtype)


def _together(name: str, a: Any, b: Any) -> tuple[TensorSSA, TensorSSA]:
    """Both operands in the type and shape the operation is computed in."""
    sign = SIGNS.get(name, name)
    own = number_rules.current().operation
    types = _type_of(a, sign), _type_of(b, sign)
    dtype = own(name, *types) if own else promote(*types)
    if name == "truediv" and dtype.is_integer:
        dtype = Float32
    if conversion.is_bits(dtype):
        raise DSLUserCodeTypeError(
            f"`{sign}` needs numbers, but {dtype} is a storage type", fix="convert it: `x.to(cutlass.Float32)`"
        )
    shapes = [operand.shape for operand in (a, b) if isinstance(operand, TensorSSA)]
    shape = shapes[0] if len(shapes) == 1 else broadcast.joined(*shapes)
    return _as_value(a, dtype, shape), _as_value(b, dtype, shape)


def operate(name: str, a: Any, b: Any) -> TensorSSA:
    """`a name b` element by element; one of them is a TensorSSA.
    An operand with `__tensor_ssa__` is replaced by its result."""
    a, b = (operand.__tensor_ssa__() if hasattr(operand, "__tensor_ssa__") else operand for operand in (a, b))
    if name in ("eq", "ne") and (a is None or b is None):
        return NotImplemented
    left, right = _together(name, a, b)
    dtype = left.dtype
    if name in INTEGER_ONLY and not dtype.is_integer:
        raise DSLUserCodeTypeError(
            f"`{SIGNS[name]}` needs integers, got elements of {dtype}",
            fix="convert them first, for example `x.to(cutlass.Int32)`",
        )
    number = numeric(b)
    static = number.value if number is not None and not is_dynamic(number) else None
    if name in arithmetic.COMPARE:
        return TensorSSA(arithmetic.compare(name, left.ir(), right.ir(), dtype.signed), left.shape, Boolean)
    if name == "pow" and dtype is Boolean:  # 0 ** 1 alone is 0
        return operate("or", left, ~right)
    if name == "pow":
        return elementwise(lambda x, y: x**y, left, static if static is not None else right)
    return left.with_ir(_emit(name, dtype, left.ir(), right.ir(), static))


def _emit(name: str, dtype: type[Numeric], x: mlir.Value, y: mlir.Value, static: Any) -> mlir.Value:
    if dtype is Boolean:
        name = _OF_TRUTH.get(name, name)
    if name == "truediv":
        return arithmetic.binary("div", x, y, True)
    if name == "floordiv":
        return arithmetic.divide_floor(x, y, dtype.signed, static)
    if name == "mod" and number_rules.current().floor_mod:
        return arithmetic.modulo_floor(x, y, dtype.signed, static)
    if name == "mod":
        return (
            arithmetic.binary("rem", x, y, True)
            if dtype.is_float
            else arithmetic.divide_truncating(x, y, dtype.signed, static)[1]
        )
    if name in ("lshift", "rshift"):
        return arithmetic.shift("shl" if name == "lshift" else "shr", x, y, dtype.signed, static)
    return arithmetic.binary(name, x, y, dtype.signed)


def _forward(name: str) -> Callable:
    return lambda self, other: operate(name, self, other)


def _reflected(name: str) -> Callable:
    return lambda self, other: operate(name, other, self)


for _name in SIGNS:
    setattr(TensorSSA, f"__{_name}__", _forward(_name))
    if _name not in arithmetic.COMPARE:
        setattr(TensorSSA, f"__r{_name}__", _reflected(_name))


def elementwise(function: Callable, *operands: Any) -> Any:
    """`function` of numbers, for every element of its TensorSSA operands, broadcast; without any, `function` itself."""
    shapes = [operand.shape for operand in operands if isinstance(operand, TensorSSA)]
    if not shapes:
        return function(*operands)
    shape = shapes[0]
    for other in shapes[1:]:
        shape = broadcast.joined(shape, other)
    columns = [
        operand.broadcast_to(shape).elements() if isinstance(operand, TensorSSA) else [operand] * lay.size(shape)
        for operand in operands
    ]
    results = [function(*row) for row in zip(*columns)]
    if isinstance(results[0], tuple):
        return tuple(from_numbers(list(part), shape) for part in zip(*results))
    return from_numbers(results, shape)


def from_numbers(numbers: list, shape: Any) -> TensorSSA:
    """A value of `shape` from its elements, numbers of one type."""
    elements = [element for number in numbers if (element := numeric(number)) is not None]
    return TensorSSA(from_elements([number.ir() for number in elements]), shape, type(elements[0]))
